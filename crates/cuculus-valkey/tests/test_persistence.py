"""One state everywhere: on replicas, after restarts, in copies and in dumps. A digest covers every
byte of a filter and all of its parameters."""

import pytest
from redis.exceptions import ResponseError

from servers import digests, same_state, wait_until
from workload import Workload, chunks_of, ship

#: Nothing that a server is set to may change what it is told by its primary.
OTHER_SETTINGS = (
    "--cuculus.default-capacity 77 --cuculus.default-error 0.25 --cuculus.max-object-bytes 1024"
).split()


def everything(server):
    """Digests of all keys."""
    keys = sorted(server.client().keys())
    return dict(zip(keys, digests(server, keys), strict=True))


ITEMS = 20_000


def half_shipped(client):
    """Two filters of which the last chunk has not come, in sections and as bytes, and these chunks."""
    rest = {}
    for name, expansion in [("half", 1), ("half fixed", 0)]:
        client.execute_command("CF.RESERVE", f"source of {name}", ITEMS, "EXPANSION", expansion, "SEED", 1)
        for first in range(0, ITEMS, 5000):
            client.cf().insert(f"source of {name}", range(first, first + 5000))
        chunks = list(chunks_of(client, f"source of {name}"))
        *begin, (position, last) = chunks
        if expansion == 0:
            middle = len(last) // 2
            begin.append((position - len(last) + middle, last[:middle]))
            last = last[middle:]
        assert len(begin) > 1
        for chunk in begin:
            client.execute_command("CF.LOADCHUNK", name, *chunk)
        rest[name] = position, last
    return rest


def same_items(client, name):
    """The copy has all items, counts them as often, and takes about as much memory."""
    source, copy = (client.cf().info(key) for key in (f"source of {name}", name))
    assert source.insertedNum == copy.insertedNum == ITEMS
    assert copy.size < 1.3 * source.size
    return all(all(client.cf().mexists(name, *range(i, i + 5000))) for i in range(0, ITEMS, 5000))


def test_replicas_hold_the_same_bytes(start):
    primary = start()
    replica, late = start(*OTHER_SETTINGS), start(*OTHER_SETTINGS)
    replica.follow(primary)
    client, workload = primary.client(), Workload(1)
    workload.run(client, 50_000)
    # One that comes in the middle begins with a dump.
    late.follow(primary)
    workload.run(client, 50_000)
    assert same_state(primary, replica) and same_state(primary, late)
    sizes = [client.cf().info(key)["insertedNum"] for key in client.keys()]
    assert max(sizes) > 10_000, "a workload that grows nothing proves nothing"


@pytest.mark.parametrize("how", ["rdb", "aof", "rewritten aof", "rewritten aof without preamble"])
def test_a_restart_keeps_every_byte(start, how):
    preamble = "no" if "without" in how else "yes"
    log = ["--appendonly", "yes", "--aof-use-rdb-preamble", preamble] if "aof" in how else []
    server, twin = start(*log), start()
    twin.follow(server)
    client = server.client()
    Workload(2).run(client, 10_000)
    rest = half_shipped(client)
    if how == "rdb":
        client.save()
    if "rewritten" in how:
        client.bgrewriteaof()
        wait_until(
            lambda: not client.info("persistence")["aof_rewrite_in_progress"]
            and not client.info("persistence")["aof_rewrite_scheduled"],
            "the log is rewritten",
        )
        assert client.info("persistence")["aof_last_bgrewrite_status"] == "ok"
    assert same_state(server, twin)
    twin.client().replicaof("NO", "ONE")
    before = everything(server)
    server.restart()
    assert everything(server) == before and len(before) > 3
    # Growth and shrinking go on as if nothing had been: a twin that was not restarted agrees.
    client = server.client()
    Workload(3).change(client, 5_000, before)
    Workload(3).change(twin.client(), 5_000, before)
    after = everything(server)
    assert after == everything(twin) and sum(after[key] != before[key] for key in before) > 3
    for name, chunk in rest.items():
        client.execute_command("CF.LOADCHUNK", name, *chunk)
        assert same_items(client, name)


def test_copies_and_dumps_hold_the_same_bytes(client, shared):
    Workload(4).run(client, 10_000)
    keys = sorted(client.keys())
    assert len(keys) >= 3
    for key in keys:
        client.copy(key, b"copy")
        client.restore(b"restored", 0, client.dump(key))
        ship(client, key, b"shipped")
        copies = [b"copy", b"restored"]
        assert set(digests(shared, copies)) == set(digests(shared, [key]))
        same = range(0, 30_000, 100)
        if client.exists(b"shipped"):
            assert counts(client, b"shipped", same) == counts(client, key, same)
        client.delete(*copies, b"shipped")


def counts(client, key, items):
    with client.pipeline(transaction=False) as pipe:
        for item in items:
            pipe.execute_command("CF.COUNT", key, item)
        return pipe.execute()


def test_a_half_loaded_filter_is_refused_everywhere_and_replicated(start):
    primary, replica = start(), start(*OTHER_SETTINGS)
    replica.follow(primary)
    client = primary.client()
    rest = half_shipped(client)
    assert same_state(primary, replica)
    for words in [
        ("CF.ADD", "half", "x"),
        ("CF.ADDNX", "half", "x"),
        ("CF.INSERT", "half", "ITEMS", "x"),
        ("CF.EXISTS", "half", "x"),
        ("CF.MEXISTS", "half", "x"),
        ("CF.COUNT", "half", "x"),
        ("CF.DEL", "half", "x"),
        ("CF.INFO", "half"),
        ("CF.DEBUG", "half"),
        ("CF.COMPACT", "half"),
        ("CF.SCANDUMP", "half", 0),
    ]:
        with pytest.raises(ResponseError, match="still being loaded"):
            client.execute_command(*words)
    client.copy("half", "copy")
    client.execute_command("CF.LOADCHUNK", "half", *rest["half"])
    client.execute_command("CF.LOADCHUNK", "copy", *rest["half"])
    assert len(set(digests(primary, ["half", "copy"]))) == 1
    assert same_state(primary, replica)
    assert same_items(replica.client(), "half")


def test_of_a_batch_what_went_in_is_replicated(start):
    """The primary reaches its largest size in the middle of a batch; the replica has another."""
    primary, replica = start("--cuculus.max-object-bytes", "64kb"), start()
    replica.follow(primary)
    client = primary.client()
    client.cf().insert("set", range(100))
    answers = client.cf().insertnx("set", range(30_000))
    assert 1 in answers and -1 in answers and 0 in answers
    answers = client.cf().insert("new", range(30_000))
    assert 1 in answers and -1 in answers
    assert same_state(primary, replica)


def test_what_changes_nothing_is_not_replicated(start):
    primary, replica = start(), start()
    replica.follow(primary)
    client = primary.client()
    client.cf().insert("set", ["one", "two"])
    client.execute_command("CF.RESERVE", "full", 4, "EXPANSION", 0)
    client.cf().insert("full", range(100))
    offset = client.info("replication")["master_repl_offset"]
    client.cf().addnx("set", "one")
    client.cf().insertnx("set", ["one", "two"])
    client.cf().delete("set", "three")
    client.cf().insert("full", [101])
    for words in [("CF.ADD", "full", 102), ("CF.RESERVE", "set", 9), ("CF.DEL", "no", "x")]:
        with pytest.raises(ResponseError):
            client.execute_command(*words)
    assert client.info("replication")["master_repl_offset"] == offset
    assert same_state(primary, replica)


def test_transactions_and_scripts(start):
    primary, replica = start(), start()
    replica.follow(primary)
    client = primary.client()
    with client.pipeline(transaction=True) as pipe:
        pipe.execute_command("CF.ADD", "set", "one")
        pipe.execute_command("CF.INSERT", "other", "ITEMS", "x", "y")
        pipe.execute_command("CF.EXISTS", "set", "one")
        assert pipe.execute() == [1, [1, 1], 1]
    script = "redis.call('CF.ADD', KEYS[1], ARGV[1]) return redis.call('CF.COUNT', KEYS[1], ARGV[1])"
    assert client.eval(script, 1, "scripted", "item") == 1
    assert client.eval(script, 1, "scripted", "item") == 2
    assert same_state(primary, replica) and len(client.keys()) == 3


def test_watchers_see_changes_only(client):
    client.cf().add("set", "one")
    with client.pipeline() as pipe:
        pipe.watch("set")
        client.cf().addnx("set", "one")
        client.cf().delete("set", "never added")
        pipe.multi()
        pipe.set("done", "1")
        assert pipe.execute() == [True]


def test_a_replica_takes_no_changes_from_clients(start):
    primary, replica = start(), start()
    replica.follow(primary)
    primary.client().cf().add("set", "one")
    assert same_state(primary, replica)
    for words in [("CF.ADD", "set", "x"), ("CF.DEL", "set", "one"), ("CF.COMPACT", "set")]:
        with pytest.raises(ResponseError, match="read only replica|READONLY"):
            replica.client().execute_command(*words)
    assert replica.client().cf().exists("set", "one")


def test_expiry_and_eviction_are_the_servers_matter(client):
    client.cf().add("set", "one")
    client.pexpire("set", 1)
    wait_until(lambda: not client.exists("set"), "the key is gone")
    assert not client.cf().exists("set", "one")
