"""What the server knows of the module: names, rules, settings, events, figures."""

import os
import subprocess

import pytest
from redis.exceptions import NoPermissionError, ResponseError

from servers import BINARIES, MODULE, free_port, wait_until

COMMANDS = {
    "cf.reserve": (-3, b"write"),
    "cf.add": (3, b"write"),
    "cf.addnx": (3, b"write"),
    "cf.insert": (-4, b"write"),
    "cf.insertnx": (-4, b"write"),
    "cf.exists": (3, b"readonly"),
    "cf.mexists": (-3, b"readonly"),
    "cf.count": (3, b"readonly"),
    "cf.del": (3, b"write"),
    "cf.info": (2, b"readonly"),
    "cf.scandump": (3, b"readonly"),
    "cf.loadchunk": (4, b"write"),
    "cf.compact": (2, b"write"),
    "cf.debug": (2, b"readonly"),
}


@pytest.fixture
def plain(shared):
    client = shared.client(protocol=2)
    client.flushall()
    yield client
    client.close()


def test_every_command_is_described(plain):
    plain.response_callbacks = {}
    found = plain.execute_command("COMMAND", "INFO", *COMMANDS)
    docs = plain.execute_command("COMMAND", "DOCS", *COMMANDS)
    docs = dict(zip(docs[::2], docs[1::2], strict=True))
    for info, (name, (arity, flag)) in zip(found, COMMANDS.items(), strict=True):
        assert info[0].lower() == name.encode() and info[1] == arity and flag in info[2]
        # Where the key is, for clients that route by it.
        assert info[3:6] == [1, 1, 1]
        (lower,) = [key for key in docs if key.lower() == name.encode()]
        about = dict(zip(docs[lower][::2], docs[lower][1::2], strict=True))
        assert about[b"summary"] and about[b"complexity"] and about[b"arguments"]


def test_keys_are_found_in_commands(plain):
    plain.response_callbacks = {}
    for words in [("CF.INSERT", "the key", "ITEMS", "x", "y"), ("CF.MEXISTS", "the key", "x", "y")]:
        assert plain.execute_command("COMMAND", "GETKEYS", *words) == [b"the key"]


def test_users_can_be_given_the_commands(plain, shared, kind):
    """Redis 7.0 has no categories of modules; there, names do the same."""
    rule = "+@cuckoo" if kind == "valkey" else "+cf.add +cf.exists"
    plain.execute_command("ACL", "SETUSER", "ada", "on", "nopass", "~set:*", *rule.split())
    ada = shared.client(username="ada", password="any")
    assert ada.execute_command("CF.ADD", "set:1", "x") == 1
    for words in [("CF.ADD", "other", "x"), ("SET", "set:2", "x")]:
        with pytest.raises(NoPermissionError):
            ada.execute_command(*words)
    if kind == "valkey":
        plain.response_callbacks = {}
        names = plain.execute_command("COMMAND", "LIST", "FILTERBY", "ACLCAT", "cuckoo")
        assert sorted(name.decode().lower() for name in names) == sorted(COMMANDS)


def test_changes_are_announced(plain, shared):
    plain.config_set("notify-keyspace-events", "Kd")
    listener = shared.client().pubsub(ignore_subscribe_messages=True)
    listener.psubscribe("__keyspace@0__:*")
    wait_until(lambda: plain.pubsub_numpat() == 1, "the listener listens")
    cf = plain.cf()
    cf.reserve("set", 1000)
    cf.add("set", "one")
    cf.addnx("set", "one")
    cf.insert("set", ["two"])
    cf.delete("set", "two")
    cf.delete("set", "never added")
    plain.execute_command("CF.COMPACT", "set")
    header = plain.execute_command("CF.SCANDUMP", "set", 0)[1]
    plain.execute_command("CF.LOADCHUNK", "copy", 1, header)
    heard = []

    def all_heard():
        while message := listener.get_message(timeout=0.1):
            heard.append(message["data"])
        return len(heard) >= 6

    wait_until(all_heard, "all is heard")
    events = ["reserve", "add", "insert", "del", "compact", "loadchunk"]
    assert heard == [f"cf.{event}".encode() for event in events]
    listener.close()
    plain.config_set("notify-keyspace-events", "")


def test_figures_of_the_module(plain):
    def no_filters():
        return plain.info("cuculus")["cuculus_filters"] == 0

    # Servers may free values in the background.
    wait_until(no_filters, "the filters of other tests are freed")
    before = plain.info("cuculus")
    plain.cf().insert("set", range(1000))
    plain.cf().delete("set", 1)
    after = plain.info("cuculus")
    grown = {name: after[name] - before[name] for name in after}
    assert grown["cuculus_filters"] == 1
    assert grown["cuculus_items_added"] == 1000 and grown["cuculus_items_deleted"] == 1
    assert plain.memory_usage("set", samples=0) >= grown["cuculus_bytes"] * 0.8
    plain.delete("set")
    wait_until(no_filters, "the filter is freed")


def test_memory_is_the_servers(plain):
    """What a filter says that it takes is what the server counts, and both are given back."""
    empty = plain.info("memory")["used_memory"]
    for start in range(0, 200_000, 10_000):
        plain.cf().insert("set", range(start, start + 10_000))
    counted = plain.info("memory")["used_memory"] - empty
    claimed = plain.memory_usage("set", samples=0)
    assert 0.9 * claimed < counted < 1.3 * claimed + 100_000
    plain.unlink("set")
    wait_until(
        lambda: plain.info("memory")["used_memory"] < empty + counted / 5, "memory is given back"
    )


def test_settings_are_used_and_checked(plain, shared):
    plain.config_set("cuculus.default-capacity", 5000)
    plain.config_set("cuculus.default-error", "0.05")
    try:
        plain.cf().add("set", "one")
        info = shared.client(protocol=3).execute_command("CF.INFO", "set")
        assert info[b"False positive rate"] == 0.05
        assert plain.config_get("cuculus.*") == {
            "cuculus.default-capacity": "5000",
            "cuculus.default-error": "0.05",
            "cuculus.info-more": "yes",
            "cuculus.max-object-bytes": "536870912",
        }
    finally:
        plain.config_set("cuculus.default-capacity", 1024)
        plain.config_set("cuculus.default-error", "0.001")
    for name, value in [
        ("default-capacity", 3),
        ("default-capacity", 2**30 + 1),
        ("default-error", "0"),
        ("default-error", "1"),
        ("default-error", "low"),
        ("max-object-bytes", 1),
    ]:
        with pytest.raises(ResponseError):
            plain.config_set(f"cuculus.{name}", value)
    assert plain.config_get("cuculus.default-error")["cuculus.default-error"] == "0.001"


def test_another_prefix(start):
    """For servers that have a module with the same names; dumps are the same under any prefix."""
    server = start("--appendonly", "yes", module_arguments=("PREFIX", "Cuckoo"))
    client = server.client()
    with pytest.raises(ResponseError, match="unknown command"):
        client.cf().add("set", "one")
    assert client.execute_command("CUCKOO.INSERT", "set", "ITEMS", *range(1000)) == [1] * 1000
    client.config_set("aof-use-rdb-preamble", "no")
    client.bgrewriteaof()
    wait_until(
        lambda: not client.info("persistence")["aof_rewrite_in_progress"], "the log is written"
    )
    server.restart()
    assert sum(server.client().execute_command("Cuckoo.MEXISTS", "set", *range(1000))) == 1000
    usual = start()
    usual.client().restore("set", 0, server.client().dump("set"))
    assert all(usual.client().cf().mexists("set", *range(1000)))


@pytest.mark.parametrize("arguments", [["PREFIX"], ["PREFIX", ""], ["PREFIX", "a b"], ["BOGUS", "x"]])
def test_wrong_arguments_of_the_module(kind, arguments, tmp_path):
    command = [BINARIES[kind], "--port", str(free_port()), "--bind", "127.0.0.1"]
    command += ["--dir", str(tmp_path), "--loadmodule", MODULE, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode != 0
    assert "PREFIX" in ended.stdout


def test_a_second_module_with_the_same_names_is_refused(plain, tmp_path):
    other = tmp_path / "other.so"
    os.symlink(MODULE, other)
    with pytest.raises(ResponseError):
        plain.execute_command("MODULE", "LOAD", str(other))
    assert plain.ping()
