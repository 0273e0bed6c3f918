"""What the server knows of the module: names, rules, settings, events, figures."""

import os
import pathlib
import re
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
        assert info[0] == name.encode() and info[1] == arity and flag in info[2]
        # Where the key is, for clients that route by it.
        assert info[3:6] == [1, 1, 1]
        about = docs[name.encode()]
        about = dict(zip(about[::2], about[1::2], strict=True))
        assert about[b"summary"] and about[b"complexity"] and about[b"arguments"]


def test_keys_are_found_in_commands(plain):
    plain.response_callbacks = {}
    for words in [("CF.INSERT", "the key", "ITEMS", "x", "y"), ("CF.MEXISTS", "the key", "x", "y")]:
        assert plain.execute_command("COMMAND", "GETKEYS", *words) == [b"the key"]


def has_categories(client):
    """Whether the server has ACL categories for modules; Redis 7.0 has not."""
    return b"cuckoo" in client.execute_command("ACL", "CAT")


def user(plain, shared, name, *rules):
    plain.execute_command("ACL", "SETUSER", name, "reset", "on", "nopass", "~set:*", *rules)
    return shared.client(username=name, password="any")


def allowed(client, name):
    """Whether a user may run a command; what it says then does not matter."""
    words = {"cf.reserve": ["9"], "cf.insert": ["ITEMS", "x"], "cf.insertnx": ["ITEMS", "x"]}
    more = words.get(name, ["1", "x"])[: abs(COMMANDS[name][0]) - 2]
    try:
        client.execute_command(name, "set:1", *more)
    except NoPermissionError as refused:
        assert name in str(refused)
        return False
    except ResponseError:
        pass
    return True


def test_users_can_be_given_the_commands(plain, shared):
    """By name on every server."""
    ada = user(plain, shared, "ada", "+cf.add", "+cf.exists")
    assert ada.execute_command("CF.ADD", "set:1", "x") == 1
    for words in [("CF.ADD", "other", "x"), ("CF.DEL", "set:1", "x"), ("SET", "set:2", "x")]:
        with pytest.raises(NoPermissionError):
            ada.execute_command(*words)


def test_categories_give_and_take_the_commands(plain, shared, kind):
    if not has_categories(plain):
        assert kind == "redis"
        return
    reading = {name for name, (_, flag) in COMMANDS.items() if flag == b"readonly"}
    fast = {"cf.add", "cf.addnx", "cf.exists", "cf.mexists", "cf.count", "cf.del", "cf.info"}
    for rules, expected in [
        (["+@cuckoo"], set(COMMANDS)),
        (["+@all", "-@write"], reading),
        (["+@all", "-@read"], set(COMMANDS) - reading),
        (["+@read"], reading),
        (["+@write"], set(COMMANDS) - reading),
        (["+@fast"], fast),
        (["+@all", "-@fast"], set(COMMANDS) - fast),
        (["+@slow"], set(COMMANDS) - fast),
        (["+@all", "-@cuckoo"], set()),
    ]:
        someone = user(plain, shared, "someone", *rules)
        assert {name for name in COMMANDS if allowed(someone, name)} == expected, rules
        someone.close()
    plain.response_callbacks = {}
    names = plain.execute_command("COMMAND", "LIST", "FILTERBY", "ACLCAT", "cuckoo")
    assert {name.decode() for name in names} - {"cf.panic"} == set(COMMANDS)


def test_names_are_in_lower_case(plain):
    plain.response_callbacks = {}
    plain.execute_command("CF.ADD", "set", "x")
    assert plain.execute_command("COMMAND", "INFO", "CF.ADD")[0][0] == b"cf.add"
    assert b"cmdstat_cf.add:" in plain.execute_command("INFO", "commandstats")


def test_a_panic_is_an_error_and_the_server_lives_on(plain, shared):
    """Builds for tests have a command that panics."""
    plain.cf().add("set", "x")
    before = plain.info("cuculus")["cuculus_panics"]
    with pytest.raises(ResponseError, match="^CF.PANIC failed because of an error in the module"):
        plain.execute_command("CF.PANIC", "set")
    assert plain.info("cuculus")["cuculus_panics"] == before + 1
    assert plain.cf().exists("set", "x") and shared.process.poll() is None
    assert "a panic on purpose" in shared.log()


def test_the_version_is_that_of_the_crate(plain):
    manifest = (pathlib.Path(__file__).parents[3] / "Cargo.toml").read_text()
    (version,) = re.findall(r'\n\[workspace.package\]\nversion = "(\d+)\.(\d+)\.(\d+)"', manifest)
    major, minor, patch = map(int, version)
    plain.response_callbacks = {}
    modules = plain.execute_command("MODULE", "LIST")
    modules = [dict(zip(fields[::2], fields[1::2], strict=True)) for fields in modules]
    (ours,) = [module for module in modules if module[b"name"] == b"cuculus"]
    assert ours[b"ver"] == major * 10_000 + minor * 100 + patch


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
    with pytest.raises(ResponseError, match="for 'cuckoo.add' command"):
        client.execute_command("CUCKOO.ADD", "set")
    header = client.execute_command("CUCKOO.SCANDUMP", "set", 0)[1]
    client.execute_command("CUCKOO.LOADCHUNK", "half", 1, header)
    with pytest.raises(ResponseError, match="with CUCKOO.LOADCHUNK"):
        client.execute_command("CUCKOO.ADD", "half", "x")
    client.delete("half")
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
