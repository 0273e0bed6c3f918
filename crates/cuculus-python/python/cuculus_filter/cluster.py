"""One set over a Valkey or Redis cluster with the module, or over one server.

The set is divided into parts by the library's partition; every part is a filter of its own in the
cluster. The tool's `cuculus cluster` and other clients can use the same set.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import time
from collections.abc import Generator, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._cuculus import Partition

__all__ = ["PartitionedFilter"]

#: Keys that are sent at once.
_BATCH = 8192
#: Between two attempts, and for replicas to confirm, in seconds.
_PAUSE = 0.2
_CONFIRM = 2.0
#: The capacity that means "unknown" to the module, and the largest; parts differ by chance.
_UNKNOWN, _LARGEST, _SLACK = 1024, 1 << 30, 1.05
#: Replies after which the same command can succeed a little later.
_PASSING = ("CLUSTERDOWN", "TRYAGAIN", "LOADING", "MASTERDOWN", "READONLY", "MOVED", "ASK", "NOREPLICAS")

_Command = tuple[Any, ...]
#: What a method does: yields commands that are sent at once, gets a reply or an error for each.
_Steps = Generator[list[_Command], list[Any], Any]


class PartitionedFilter:
    """A set in parts, for clients of redis-py and valkey-py: cluster or single, sync and asyncio.

    Opens the set `name`, or makes it if there is none, with the given parameters. With an asyncio client
    every method returns an awaitable, and `in` is not available.

    A call goes on while slots move and while a replica takes over from a primary that failed, for `patience`
    seconds. It returns when `replicas` of each primary have the keys, or as many as there are.
    """

    def __init__(
        self,
        client: Any,
        name: str,
        *,
        parts: int = 256,
        false_positive_rate: float = 0.001,
        expected_items: int | None = None,
        seed: int | None = None,
        replicas: int = 1,
        patience: float = 60.0,
    ) -> None:
        if parts < 1 or parts > 1024 or parts & (parts - 1):
            raise ValueError(f"{parts} parts are not possible; use a power of two up to 1024")
        if not 0.00001 <= false_positive_rate < 1:
            raise ValueError(f"a rate of {false_positive_rate} is not possible; use 0.00001 to below 1")
        self._client, self.name = client, name
        self._asked = parts, false_positive_rate, expected_items, seed
        self._replicas, self._patience = replicas, patience
        self._is_cluster = hasattr(client, "nodes_manager")
        self._is_async = inspect.iscoroutinefunction(client.execute_command)
        library = type(client).__mro__[0].__module__.split(".")[0]
        library = library if library in ("redis", "valkey") else "redis"
        self._errors = importlib.import_module(f"{library}.exceptions")
        self._partition: Partition | None = None
        self._keys: list[str] = []
        #: How often commands were sent again.
        self.repeated = 0

    def add_new(self, keys: Iterable[Any]) -> Any:
        """Adds the keys that are not in the set yet: a numpy array of bool, True for those.

        If the connection is lost during a call, nobody can tell which keys of the last batch were new:
        they are added again and all counted as new. So a key may be new twice, but none is missed.
        """
        return self._run(self._add_new(keys))

    def update(self, keys: Iterable[Any]) -> Any:
        """Adds keys; those that the set contains are not added again."""
        return self._run(self._update(keys))

    def contains_many(self, keys: Iterable[Any]) -> Any:
        """Looks up many keys: a numpy array of bool."""
        return self._run(self._contains_many(keys))

    def stats(self) -> Any:
        """Keys, memory and parameters of the set."""
        return self._run(self._stats())

    def __contains__(self, key: Any) -> bool:
        if self._is_async:
            raise TypeError("`in` cannot wait; use await set.contains_many([key])")
        return bool(self.contains_many([key])[0])

    # What the methods do, whether they wait or block.

    def _open(self) -> _Steps:
        """Reads the parameters of the set, or makes one."""
        if self._partition is not None:
            return
        fields: dict[str, Any] = {}
        while not fields:
            [found] = yield from self._reads([("HGETALL", self.name)])
            fields = _fields(found)
            if not fields:
                yield from self._make()
        parts, seed = int(fields["parts"]), int(fields["seed"])
        if parts < 1 or parts & (parts - 1):
            raise ValueError(f"the set {self.name} has {parts} parts, not a power of two")
        partition = Partition(parts.bit_length() - 1, seed)
        self._keys = [f"{self.name}:{{{tag}}}" for tag in partition.tags()]
        self._partition = partition

    def _make(self) -> _Steps:
        parts, rate, items, seed = self._asked
        if seed is None:
            seed = int.from_bytes(np.random.default_rng().bytes(8), "little")
        capacity = _UNKNOWN
        if items is not None:
            capacity = min(max(int(items / parts * _SLACK) + 1, 4), _LARGEST)
        # Whoever makes a set at the same time gets the same seed: the first one counts. It is removed after
        # the set is there, so who comes too late for the seed sees the set.
        yield from self._reads([("HSETNX", f"{self.name}:making", "seed", seed)])
        [text] = yield from self._reads([("HGET", f"{self.name}:making", "seed")])
        [found] = yield from self._reads([("HGETALL", self.name)])
        if _fields(found) or text is None:
            yield from self._reads([("DEL", f"{self.name}:making")])
            return
        seed = int(text)
        tags = Partition(parts.bit_length() - 1, seed).tags()
        reserve = [
            ("CF.RESERVE", f"{self.name}:{{{tag}}}", capacity, "ERROR", rate, "SEED", seed) for tag in tags
        ]
        yield from self._reads(reserve, allowed="exists")
        fields = "parts", parts, "seed", seed, "error", rate, "capacity", capacity
        yield from self._reads([("HSET", self.name, *fields)])
        yield from self._reads([("DEL", f"{self.name}:making")])

    def _reads(self, commands: list[_Command], allowed: str | None = None) -> _Steps:
        """Sends commands until there are replies to all of them."""
        while True:
            replies = yield commands
            if not any(map(self._passes, replies)):
                break
        for reply in replies:
            if isinstance(reply, Exception) and not (allowed and allowed in str(reply)):
                raise reply
        return replies

    def _batches(self, command: _Command, keys: Iterable[Any], writes: bool) -> _Steps:
        """Sends one command for each part with its keys; an answer for each key."""
        yield from self._open()
        assert self._partition is not None
        items, parts = self._partition.split(keys)
        answers = np.zeros(len(items), dtype=bool)
        for start in range(0, len(items), _BATCH):
            places: dict[int, list[int]] = {}
            for place in range(start, min(start + _BATCH, len(items))):
                places.setdefault(parts[place], []).append(place)
            commands = [
                (command[0], self._keys[part], *command[1:], *(items[place] for place in there))
                for part, there in places.items()
            ]
            replies = yield from self._answered(commands, writes)
            for there, reply in zip(places.values(), replies, strict=True):
                answers[there] = reply
        return answers

    def _answered(self, commands: list[_Command], writes: bool) -> _Steps:
        """The answers to commands, when replicas have what was written. Such commands may be repeated."""
        answers: list[Any] = [None] * len(commands)
        lost = [False] * len(commands)
        while True:
            waits = self._waits(commands) if writes else []
            replies = yield [*commands, *waits]
            for i, reply in enumerate(replies[: len(commands)]):
                if not isinstance(reply, Exception):
                    if answers[i] is None:
                        # What a lost attempt may have added counts as new.
                        answers[i] = True if lost[i] else self._checked(reply)
                elif not self._passes(reply):
                    raise reply
                elif writes and not self._is_refusal(reply):
                    lost[i] = True
            if all(answer is not None for answer in answers):
                confirmed = replies[len(commands) :]
                enough = (isinstance(n, int) and n >= wait[1] for n, wait in zip(confirmed, waits, strict=True))
                # If a part has moved meanwhile, others than those that were asked have its keys.
                if not waits or (all(enough) and waits == self._waits(commands)):
                    return answers

    def _checked(self, reply: list[Any]) -> NDArray[np.bool_]:
        numbers = np.array([int(answer) for answer in reply])
        if (numbers < 0).any():
            raise self._errors.ResponseError(
                f"a part of {self.name} accepts no more keys; raise cuculus.max-object-bytes, or make a set "
                "with more parts"
            )
        return numbers == 1

    def _add_new(self, keys: Iterable[Any]) -> _Steps:
        return (yield from self._batches(("CF.INSERTNX", "NOCREATE", "ITEMS"), keys, True))

    def _update(self, keys: Iterable[Any]) -> _Steps:
        yield from self._add_new(keys)

    def _contains_many(self, keys: Iterable[Any]) -> _Steps:
        return (yield from self._batches(("CF.MEXISTS",), keys, False))

    def _stats(self) -> _Steps:
        yield from self._open()
        infos = yield from self._reads([("CF.INFO", key) for key in self._keys])
        infos = [_fields(info) for info in infos]
        return {
            "keys": sum(int(info["Number of items inserted"]) for info in infos),
            "size_in_bytes": sum(int(info["Size"]) for info in infos),
            "parts": len(infos),
        }

    # How commands are sent.

    def _waits(self, commands: list[_Command]) -> list[_Command]:
        """For each primary of the commands: the replicas to wait for, and the node."""
        if not self._is_cluster:
            return []
        nodes = {}
        for _, key, *_ in commands:
            # While slots have no owner the commands fail anyway.
            primary, *replicas = self._client.nodes_manager.slots_cache.get(self._slot(key)) or [None]
            wanted = min(self._replicas, len(replicas))
            if primary is not None and wanted > 0:
                nodes[primary.name] = ("WAIT", wanted, int(1000 * _CONFIRM), primary.name)
        return [nodes[name] for name in sorted(nodes)]

    def _slot(self, key: str) -> int:
        return int(self._client.keyslot(key))

    def _pipe(self, commands: list[_Command]) -> Any:
        pipe = self._client.pipeline() if self._is_cluster else self._client.pipeline(transaction=False)
        for command in commands:
            if command[0] == "WAIT":
                *words, name = command
                pipe.execute_command(*words, target_nodes=[self._client.get_node(node_name=name)])
            else:
                pipe.execute_command(*command)
        return pipe

    def _passes(self, reply: Any) -> bool:
        """Whether an error may go away: a node is down or moved."""
        if isinstance(reply, _classes(self._errors, "AuthenticationError", "AuthorizationError")):
            return False
        names = "ConnectionError", "TimeoutError", "RedisClusterException", "ValkeyClusterException"
        return self._is_refusal(reply) or isinstance(reply, (*_classes(self._errors, *names), OSError))

    def _is_refusal(self, reply: Any) -> bool:
        """Whether a server said that it did nothing, and that somebody else may, or itself later."""
        cluster = "ClusterDownError", "TryAgainError", "MovedError", "AskError", "SlotNotCoveredError"
        server = "BusyLoadingError", "MasterDownError", "ReadOnlyError"
        return isinstance(reply, _classes(self._errors, *cluster, *server)) or (
            isinstance(reply, self._errors.ResponseError) and str(reply).startswith(_PASSING)
        )

    def _run(self, steps: _Steps) -> Any:
        return self._wait(steps) if self._is_async else self._block(steps)

    def _block(self, steps: _Steps) -> Any:
        attempts = _Attempts(self, steps)
        while attempts.commands is not None:
            try:
                replies = self._pipe(attempts.commands).execute(raise_on_error=False)
            except Exception as error:
                replies = attempts.failed(error)
            if attempts.next(replies):
                time.sleep(_PAUSE)
        return attempts.value

    async def _wait(self, steps: _Steps) -> Any:
        attempts = _Attempts(self, steps)
        if self._is_cluster and hasattr(self._client, "initialize"):
            await self._client.initialize()
        while attempts.commands is not None:
            try:
                replies = await self._pipe(attempts.commands).execute(raise_on_error=False)
            except Exception as error:
                replies = attempts.failed(error)
            if attempts.next(replies):
                await asyncio.sleep(_PAUSE)
        return attempts.value


class _Attempts:
    """The steps of one call, and how long they may still fail."""

    def __init__(self, owner: PartitionedFilter, steps: _Steps) -> None:
        self.owner, self.steps, self.value = owner, steps, None
        self.commands: list[_Command] | None = None
        self.failing_since: float | None = None
        self.advance(None)

    def advance(self, replies: list[Any] | None) -> None:
        try:
            self.commands = next(self.steps) if replies is None else self.steps.send(replies)
        except StopIteration as end:
            self.commands, self.value = None, end.value

    def failed(self, error: Exception) -> list[Any]:
        """A pipeline that failed as a whole: the same error for each command."""
        if not self.owner._passes(error):
            raise error
        assert self.commands is not None
        return [error] * len(self.commands)

    def next(self, replies: list[Any]) -> bool:
        """Goes on with replies; whether to pause before the next commands."""
        before = self.commands
        errors = [reply for reply in replies if self.owner._passes(reply)]
        self.advance(replies)
        if self.commands is None:
            return False
        if not errors and self.commands is not before and self.commands != before:
            self.failing_since = None
            return False
        now = time.monotonic()
        self.failing_since = self.failing_since or now
        if now - self.failing_since > self.owner._patience:
            raise errors[0] if errors else TimeoutError("replicas do not get the last keys")
        self.owner.repeated += 1
        return True


def _classes(module: Any, *names: str) -> tuple[type[Exception], ...]:
    return tuple(getattr(module, name) for name in names if hasattr(module, name))


def _fields(reply: Any) -> dict[str, Any]:
    """The fields of a hash or of CF.INFO, as clients of both protocols return them."""
    if isinstance(reply, Sequence):
        reply = dict(zip(reply[::2], reply[1::2], strict=True))
    if not isinstance(reply, dict):
        reply = {name: getattr(reply, name) for name in vars(reply)}
    return {_text(name): _text(value) for name, value in reply.items()}


def _text(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
