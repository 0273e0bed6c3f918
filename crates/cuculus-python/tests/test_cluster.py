"""One set over a cluster and over one server, through redis-py and valkey-py, while a primary is killed."""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import redis
import redis.asyncio
import valkey
from redis.backoff import NoBackoff
from redis.retry import Retry

sys.path.append(str(Path(__file__).parents[2] / "cuculus-valkey/tests"))
from cluster import Cluster  # noqa: E402
from servers import HOST, Server  # noqa: E402

from cuculus_filter.cluster import PartitionedFilter  # noqa: E402


@pytest.fixture(scope="module")
def server():
    server = Server("redis")
    yield server
    server.remove()


@pytest.fixture(scope="module")
def cluster():
    cluster = Cluster("valkey")
    yield cluster
    cluster.remove()


def check(seen):
    keys = [f"key {i}" for i in range(20_000)]
    assert seen.add_new(keys).sum() > 19_950 and not seen.add_new(keys).any()
    assert seen.contains_many(keys).all() and "key 5" in seen and b"key 5" in seen
    assert seen.contains_many(f"absent {i}" for i in range(10_000)).sum() < 50
    assert seen.add_new(["key 1", "new", "new", 42]).tolist() == [False, True, False, True]
    seen.update(np.arange(100))
    assert 99 in seen and (42).to_bytes(8, "little") in seen
    assert seen.add_new([]).tolist() == []
    with pytest.raises(TypeError, match="not float"):
        seen.add_new([1.5])
    assert 20_000 < seen.stats()["keys"] < 20_102


@pytest.mark.parametrize("library", [redis.Redis, valkey.Valkey])
@pytest.mark.parametrize("protocol", [2, 3])
def test_one_server(server, library, protocol):
    client = library(HOST, server.port, protocol=protocol)
    client.flushall()
    check(PartitionedFilter(client, "seen", parts=8))
    again = PartitionedFilter(client, "seen")
    assert "key 7" in again and again.stats()["parts"] == 8


@pytest.mark.parametrize("library", [redis.RedisCluster, valkey.ValkeyCluster])
def test_a_cluster(cluster, library):
    client = library(HOST, cluster.servers[0].port)
    check(PartitionedFilter(client, f"seen by {library.__name__}", parts=64, expected_items=100_000))


def test_the_tool_uses_the_same_set(cluster):
    node = f"--node=redis://{HOST}:{cluster.servers[0].port}"

    def tool(*words, lines):
        text = "".join(f"{line}\n" for line in lines)
        command = [os.environ["CUCULUS_TOOL"], "cluster", *words, node]
        return subprocess.check_output(command, input=text, text=True)

    client = redis.RedisCluster(HOST, cluster.servers[0].port)
    PartitionedFilter(client, "both", parts=16).update(["from Python"])
    assert tool("query", "both", lines=["from Python", "absent"]) == "from Python\n"
    assert json.loads(tool("add", "both", lines=["from the tool"]))["added"] == 1
    assert "from the tool" in PartitionedFilter(client, "both")
    tool("create", "other", "--parts", "4", lines=[])
    assert PartitionedFilter(client, "other").add_new(["a", "a"]).tolist() == [True, False]


def test_clients_that_make_the_same_set_agree(server):
    client = redis.Redis(HOST, server.port)
    client.flushall()
    wins = []

    def add(i):
        wins.append(PartitionedFilter(redis.Redis(HOST, server.port), "raced", parts=64).add_new(range(1000)))

    threads = [threading.Thread(target=add, args=[i]) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert np.sum(wins, axis=0).max() == 1 and np.sum(wins) > 990


def test_asyncio(server, cluster):
    async def run(client):
        seen = PartitionedFilter(client, "async", parts=16)
        keys = [f"key {i}" for i in range(10_000)]
        assert (await seen.add_new(keys)).sum() > 9950 and (await seen.contains_many(keys)).all()
        assert not (await seen.add_new(keys)).any() and (await seen.stats())["keys"] > 9950
        with pytest.raises(TypeError, match="await"):
            "key 1" in seen
        await client.aclose()

    asyncio.run(run(redis.asyncio.Redis(host=HOST, port=server.port)))
    asyncio.run(run(redis.asyncio.RedisCluster(host=HOST, port=cluster.servers[0].port)))


def test_what_cannot_be(server):
    client = redis.Redis(HOST, server.port)
    for parts in [0, 3, 2048]:
        with pytest.raises(ValueError, match="power of two"):
            PartitionedFilter(client, "none", parts=parts)
    with pytest.raises(ValueError, match="rate"):
        PartitionedFilter(client, "none", false_positive_rate=0)
    client.set("a text", "value")
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        PartitionedFilter(client, "a text").add_new(["key"])
    nobody = redis.Redis(HOST, 1, retry=Retry(NoBackoff(), 0))
    start = time.monotonic()
    with pytest.raises(redis.ConnectionError):
        PartitionedFilter(nobody, "none", patience=0.5).add_new(["key"])
    assert time.monotonic() - start < 20


def test_keys_whose_answer_was_lost_count_as_new(server):
    client = redis.Redis(HOST, server.port)
    client.flushall()
    pipeline, cuts = client.pipeline, ["CF.INSERTNX"]

    def cut_off(**options):
        pipe = pipeline(**options)
        execute = pipe.execute

        def done_and_lost(**options):
            inserts = any(command[0][0] in cuts for command in pipe.command_stack)
            replies = execute(**options)
            if inserts:
                cuts.clear()
                raise redis.ConnectionError("cut off")
            return replies

        pipe.execute = done_and_lost
        return pipe

    client.pipeline = cut_off
    seen = PartitionedFilter(client, "lost", parts=4)
    assert seen.add_new(range(1000)).all() and seen.repeated == 1 and not cuts
    assert not seen.add_new(range(1000)).any() and seen.repeated == 1


def test_nothing_is_lost_with_a_primary():
    """Last, and with a cluster of its own: afterwards a server is missing."""
    cluster = Cluster("valkey")
    try:
        client = redis.RedisCluster(HOST, cluster.servers[0].port)
        seen = PartitionedFilter(client, "seen", parts=64, patience=90)
        added, errors = [], []

        def add():
            try:
                for batch in range(60):
                    keys = [f"{batch} {i}" for i in range(2000)]
                    new = seen.add_new(keys)
                    assert new.sum() > 1950, "every key came the first time"
                    added.extend(keys)
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=add)
        thread.start()
        while len(added) < 10_000 and thread.is_alive():
            time.sleep(0.01)
        before = len(added)
        cluster.servers[1].kill()
        thread.join(150)
        assert not thread.is_alive() and not errors, errors
        assert before < len(added) == 120_000, "the primary was killed meanwhile"
        assert seen.repeated > 0 and seen.contains_many(added).all()
    finally:
        cluster.remove()
