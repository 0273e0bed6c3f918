"""Filters on a cluster: spread over shards, moved between them, and not lost with one."""

import threading
import time

import pytest
from redis.exceptions import (
    ClusterDownError,
    ConnectionError,
    RedisClusterException,
    ResponseError,
    TimeoutError,
)

from cluster import PRIMARIES, Cluster, acknowledged
from servers import wait_until

SETS = [f"set:{i}" for i in range(24)]
ITEMS = 2000


@pytest.fixture
def cluster(kind):
    cluster = Cluster(kind)
    yield cluster
    cluster.remove()


def fill(cluster, keys, items):
    for key in keys:
        words = ["CF.INSERT", key, "ITEMS", *items]
        assert acknowledged(cluster.owner(key), words) == [[1] * len(items)]


def all_found(client, keys, items):
    return all(all(client.execute_command("CF.MEXISTS", key, *items)) for key in keys)


def move_all(cluster, kind, source, target):
    """Moves the slots of all filters of one primary to another."""
    here = [key for key in SETS if cluster.owner(key) is source]
    slots = [source.client().execute_command("CLUSTER", "KEYSLOT", key) for key in here]
    for slot in slots[: len(slots) // 2]:
        cluster.move(slot, source, target)
    rest = slots[len(slots) // 2 :]
    for slot in rest:
        try:
            # All at once, while the keys stay in use: not on every server.
            words = "SLOTSRANGE", slot, slot, "NODE", cluster.name(target)
            source.client().execute_command("CLUSTER", "MIGRATESLOTS", *words)
        except ResponseError as error:
            assert kind.startswith("redis"), error
            cluster.move(slot, source, target)
    wait_until(
        lambda: all(cluster.owner(key) is target for key in here), "the slots have moved"
    )
    return here


def test_a_cluster(cluster, kind):
    fill(cluster, SETS, range(ITEMS))
    client = cluster.client()
    primaries = cluster.servers[:PRIMARIES]
    spread = [sum(cluster.owner(key) is server for key in SETS) for server in primaries]
    assert min(spread) > 0, spread
    assert all_found(client, SETS, range(ITEMS))

    # Filters move while clients go on.
    going_on = GoingOn(cluster)
    moved = move_all(cluster, kind, primaries[0], primaries[1])
    assert moved and all_found(client, SETS, range(ITEMS))

    # A primary is gone at once, and its replica takes over.
    fill(cluster, SETS, range(ITEMS, 2 * ITEMS))
    lost = primaries[1]
    lost.kill()
    survivors = [server for server in cluster.servers if server.process]
    wait_until(
        lambda: all(map(cluster.is_ok, survivors))
        and all(cluster.owner(key) is not lost for key in SETS),
        "a replica has taken over",
    )
    client = cluster.client()
    assert all_found(client, SETS, range(2 * ITEMS)), "what was acknowledged is there"
    at_failover = going_on.added
    wait_until(lambda: going_on.added > at_failover + len(SETS), "clients go on")
    going_on.stop()
    for key in SETS:
        assert client.execute_command("CF.ADD", key, "after all") in (1, True)
    assert all_found(client, SETS, ["after all"])


class GoingOn:
    """A client that adds items all the time and tries again when it must."""

    def __init__(self, cluster):
        self.client = cluster.client()
        self.added = 0
        self.error = None
        self.end = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.end.is_set():
            key = SETS[self.added % len(SETS)]
            try:
                self.client.execute_command("CF.ADD", key, f"on the way {self.added}")
                self.added += 1
            except (ConnectionError, ClusterDownError, RedisClusterException, TimeoutError):
                # Until the cluster has found a new primary.
                time.sleep(0.05)
            except Exception as error:
                self.error = error
                return

    def stop(self):
        self.end.set()
        self.thread.join(60)
        assert self.error is None, self.error
