"""Filters on a cluster: spread over shards, moved between them, and not lost with one."""

import json
import os
import subprocess
import threading
import time
from types import SimpleNamespace

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
            assert kind != "valkey", error
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


def tool(cluster, *words, lines=(), code=0):
    """Runs `cuculus cluster`; what it prints."""
    nodes = [f"--node=redis://127.0.0.1:{server.port}" for server in cluster.servers if server.process]
    text = "".join(f"{line}\n" for line in lines)
    command = [os.environ["CUCULUS_TOOL"], "cluster", *words, *nodes]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, (words, done.stderr)
    return done.stdout


def test_one_set_over_a_cluster(cluster, tmp_path):
    tool(cluster, "create", "seen", "--parts", "64", "--seed", "7")
    tool(cluster, "create", "seen", code=2)
    told = json.loads(tool(cluster, "add", "seen", lines=range(50_000)))
    assert told["read"] == 50_000 and told["added"] > 49_800
    stats = json.loads(tool(cluster, "stats", "seen", "--json"))
    assert stats["items"] == told["added"] and stats["parts"] == 64
    parts = [primary["parts"] for primary in stats["primaries"]]
    assert len(parts) == PRIMARIES and max(parts) - min(parts) <= 1

    # A primary is killed while items come.
    lines = [f"later {i}" for i in range(300_000)]
    adding = threading.Thread(target=tool, args=(cluster, "add", "seen"), kwargs={"lines": lines})
    adding.start()
    time.sleep(0.3)
    cluster.servers[1].kill()
    adding.join(120)
    assert not adding.is_alive()
    assert int(tool(cluster, "query", "--count", "seen", lines=lines)) == len(lines)
    assert int(tool(cluster, "query", "--count", "seen", lines=range(50_000))) == 50_000
    absent = [f"absent {i}" for i in range(50_000)]
    # 0.1 %, and five sigmas.
    found = set(tool(cluster, "query", "--invert", "seen", lines=absent).splitlines())
    assert found <= set(absent) and len(found) >= 50_000 - (50 + 5 * 7)

    # To a file and back, and from a filter that was made without the cluster.
    file = str(tmp_path / "seen.parts")
    tool(cluster, "export", "seen", file)
    tool(cluster, "import", "again", file)
    assert int(tool(cluster, "query", "--count", "again", lines=lines)) == len(lines)
    assert json.loads(tool(cluster, "stats", "again", "--json"))["items"] >= 349_000
    assert json.loads(tool(cluster, "add", "again", lines=["one more"]))["added"] <= 1
    tool(cluster, "export", "seen", file, code=2)
    tool(cluster, "export", "again", file, "--force")
    words = ["build", file, "--force", "--parts", "16", "--items", "10k"]
    tool(cluster, *words, lines=range(10_000))
    tool(cluster, "import", "local", file)
    assert int(tool(cluster, "query", "--count", "local", lines=range(10_000))) == 10_000
    with open(file, "r+b") as damaged:
        damaged.seek(5000)
        damaged.write(b"damage")
    tool(cluster, "import", "damaged", file, code=2)

    # Copies count, and items may contain line ends.
    waiting = ["--replicas", "0", "--patience", "5"]
    tool(cluster, "create", "copies", "--parts", "4", "--fpr", "1%", "--items", "1k", *waiting)
    assert json.loads(tool(cluster, "add", "copies", "--copies", lines=["same"] * 3))["added"] == 3
    assert json.loads(tool(cluster, "add", "copies", "--null", lines=["two", "lines\0"]))["read"] == 2
    assert tool(cluster, "query", "copies", "--null", lines=["two", "lines\0"]).startswith("two\nlines\0")


def test_one_set_on_one_server(start, tmp_path):
    """A single server has all parts, and is told from a cluster that is down."""
    one = SimpleNamespace(servers=[start()])
    begun = time.monotonic()
    tool(one, "create", "seen", "--parts", "16")
    told = json.loads(tool(one, "add", "seen", lines=range(20_000)))
    assert told["read"] == 20_000 and told["sent_again"] == 0
    assert int(tool(one, "query", "--count", "seen", lines=range(20_000))) == 20_000
    stats = json.loads(tool(one, "stats", "seen", "--json"))
    node = f"127.0.0.1:{one.servers[0].port}"
    assert stats["primaries"] == [{"node": node, "parts": 16, "items": told["added"]}]
    file = str(tmp_path / "seen.parts")
    tool(one, "export", "seen", file)
    tool(one, "import", "again", file)
    assert int(tool(one, "query", "--count", "again", lines=range(20_000))) == 20_000
    # Far below the minute for which it waits for a cluster that is down.
    assert time.monotonic() - begun < 30

    # One line, however many parts were refused.
    other = SimpleNamespace(servers=[start(module_arguments=["PREFIX", "OTHER"])])
    words = [os.environ["CUCULUS_TOOL"], "cluster", "create", "seen"]
    words.append(f"--node=redis://127.0.0.1:{other.servers[0].port}")
    refused = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    assert refused.returncode == 2 and len(refused.stderr) < 300, refused.stderr
    assert "the server refused a command of the module; load it there" in refused.stderr


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
