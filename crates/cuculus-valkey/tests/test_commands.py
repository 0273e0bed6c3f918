"""Every command, option, reply and error through redis-py, in both protocols."""

import pytest
from redis.exceptions import ResponseError

RESERVE_ERRORS = [
    ("x", "Bad capacity"),
    ("1.5", "Bad capacity"),
    ("", "Bad capacity"),
    ("3", "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"),
    ("-1", "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"),
    ("1073741825", "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"),
    ("9 BUCKETSIZE 5", "Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"),
    ("1000 BUCKETSIZE 0", "BUCKETSIZE: value must be in the range [1, 255]"),
    ("1000 BUCKETSIZE 256", "BUCKETSIZE: value must be in the range [1, 255]"),
    ("1000 BUCKETSIZE x", "Couldn't parse BUCKETSIZE"),
    ("1000 MAXITERATIONS 0", "MAXITERATIONS: value must be in the range [1, 65535]"),
    ("1000 MAXITERATIONS 65536", "MAXITERATIONS: value must be in the range [1, 65535]"),
    ("1000 MAXITERATIONS x", "Couldn't parse MAXITERATIONS"),
    ("1000 EXPANSION -1", "EXPANSION: value must be in the range [0, 32768]"),
    ("1000 EXPANSION 32769", "EXPANSION: value must be in the range [0, 32768]"),
    ("1000 EXPANSION x", "Couldn't parse EXPANSION"),
    ("1000 ERROR 0", "ERROR: value must be in the range [0.00001, 1)"),
    ("1000 ERROR 1", "ERROR: value must be in the range [0.00001, 1)"),
    ("1000 ERROR nan", "ERROR: value must be in the range [0.00001, 1)"),
    ("1000 ERROR x", "Couldn't parse ERROR"),
    ("1000 SEED -1", "Couldn't parse SEED"),
    ("1000 LIKE THIS", "Unknown argument received"),
]
WRONG_TYPE = "WRONGTYPE Operation against a key holding the wrong kind of value"


def raw(client, *words):
    """The reply as it came, without what redis-py makes of it."""
    client.response_callbacks = {}
    return client.execute_command(*words)


def yes(client, answer):
    """A boolean in RESP3, an integer in RESP2."""
    expected = bool(answer) if protocol(client) == 3 else int(answer)
    return type(expected), expected


def protocol(client):
    return int(client.connection_pool.connection_kwargs["protocol"])


def same(got, expected):
    assert (type(got), got) == expected


def refuses(client, words, *command):
    with pytest.raises(ResponseError) as refused:
        client.execute_command(*command)
    # The client takes the code ERR away.
    assert str(refused.value) == words.removeprefix("ERR ")


def test_a_newcomers_calls(client):
    cf = client.cf()
    assert cf.reserve("set", 1000)
    assert cf.add("set", "one") and cf.add("set", b"two\0\xff") and cf.add("set", "")
    assert cf.exists("set", "one") and cf.exists("set", b"two\0\xff") and cf.exists("set", "")
    assert not cf.exists("set", "three")
    assert cf.delete("set", "one") and not cf.exists("set", "one")
    info = cf.info("set")
    get = info.get if protocol(client) == 2 else lambda name: info[name.encode()]
    names = {"insertedNum": "Number of items inserted", "deletedNum": "Number of items deleted"}
    for name, value in {"insertedNum": 2, "deletedNum": 1}.items():
        assert get(name if protocol(client) == 2 else names[name]) == value


def test_reserve(client):
    cf = client.cf()
    assert cf.create("a", 1000, expansion=4, bucket_size=3, max_iterations=7)
    every = "BUCKETSIZE 3 ERROR 0.01 EXPANSION 4 SEED 18446744073709551615 MAXITERATIONS 7"
    assert raw(client, "CF.RESERVE", "b", 1000, *every.lower().split()) == b"OK"
    refuses(client, "ERR item exists", "CF.RESERVE", "a", 1000)
    client.set("text", "x")
    refuses(client, WRONG_TYPE, "CF.RESERVE", "text", 1000)


@pytest.mark.parametrize("words, error", RESERVE_ERRORS)
def test_reserve_refuses(client, words, error):
    refuses(client, error, "CF.RESERVE", "set", *(words.split(" ")))
    assert client.exists("set") == 0


def test_add_creates_and_stores_duplicates(client):
    for _ in range(3):
        same(raw(client, "CF.ADD", "set", "item"), yes(client, 1))
    same(raw(client, "CF.COUNT", "set", "item"), (int, 3))


def test_copies_are_counted_and_take_no_memory(client):
    for _ in range(8):
        client.cf().add("set", "item")
    size = client.execute_command("MEMORY", "USAGE", "set")
    for _ in range(1000):
        same(raw(client, "CF.ADD", "set", "item"), yes(client, 1))
    same(raw(client, "CF.COUNT", "set", "item"), (int, 1008))
    assert client.execute_command("MEMORY", "USAGE", "set") == size
    for left in reversed(range(1008)):
        same(raw(client, "CF.DEL", "set", "item"), yes(client, 1))
        if left % 100 == 0:
            same(raw(client, "CF.COUNT", "set", "item"), (int, left))
    same(raw(client, "CF.DEL", "set", "item"), yes(client, 0))


def test_copies_in_a_filter_of_fixed_size_are_refused(client):
    client.execute_command("CF.RESERVE", "fixed", 1000, "EXPANSION", 0)
    for _ in range(8):
        client.cf().add("fixed", "item")
    before = client.execute_command("DEBUG", "DIGEST-VALUE", "fixed")
    words = (
        "ERR the item is already stored 8 times, which is the limit; delete it first or use CF.ADDNX"
    )
    for _ in range(3):
        refuses(client, words, "CF.ADD", "fixed", "item")
    assert client.execute_command("DEBUG", "DIGEST-VALUE", "fixed") == before


def test_addnx(client):
    same(raw(client, "CF.ADDNX", "set", "item"), yes(client, 1))
    same(raw(client, "CF.ADDNX", "set", "item"), yes(client, 0))
    same(raw(client, "CF.COUNT", "set", "item"), (int, 1))


def test_insert(client):
    got = raw(client, "CF.INSERT", "set", "CAPACITY", 2000, "ITEMS", *["item"] * 9, "other")
    if protocol(client) == 3:
        assert got == [True] * 10 and all(type(answer) is bool for answer in got)
    else:
        assert got == [1] * 10
    client.execute_command("CF.RESERVE", "fixed", 2000, "EXPANSION", 0)
    got = raw(client, "CF.INSERT", "fixed", "ITEMS", *["item"] * 9, "other")
    if protocol(client) == 3:
        assert got == [True] * 8 + [False, True] and all(type(answer) is bool for answer in got)
    else:
        assert got == [1] * 8 + [-1, 1]
    assert client.cf().insert("set", ["third"], nocreate=True) == [1]
    assert client.cf().insert("new", ["one", "two"], capacity=1000) == [1, 1]
    words = "items", "error", "0.01", "nocreate", "ITEMS", "x"
    refuses(client, "Unknown argument received", "CF.INSERT", "set", "BOGUS", *words)


def test_insertnx(client):
    got = raw(client, "CF.INSERTNX", "set", "ERROR", "0.01", "ITEMS", "one", "two", "one")
    assert got == [1, 1, 0] and all(type(answer) is int for answer in got)
    client.execute_command("CF.RESERVE", "full", 4, "EXPANSION", 0)
    got = client.cf().insertnx("full", [f"item {i}" for i in range(100)])
    assert got[:4] == [1] * 4 and set(got[4:]) <= {0, -1}


@pytest.mark.parametrize("command", ["CF.INSERT", "CF.INSERTNX"])
def test_insert_refuses(client, command):
    refuses(client, "ERR not found", command, "set", "NOCREATE", "ITEMS", "x")
    range_error = "Capacity must be in the range [cf-bucket-size * 2, 1073741824]"
    refuses(client, range_error, command, "set", "CAPACITY", 3, "ITEMS", "x")
    refuses(client, range_error, command, "set", "CAPACITY", 1073741825, "ITEMS", "x")
    refuses(client, "Bad capacity", command, "set", "CAPACITY", "x", "ITEMS", "x")
    refuses(client, "Unknown argument received", command, "set", "EXPANSION", "1", "ITEMS", "x")
    refuses(client, "Couldn't parse ERROR", command, "set", "ERROR", "ITEMS", "x")
    for words in [("ITEMS",), ("NOCREATE", "ITEMS"), ("CAPACITY", "9")]:
        with pytest.raises(ResponseError, match="wrong number of arguments"):
            client.execute_command(command, "set", *words)
    assert client.exists("set") == 0


def test_a_full_filter_that_must_not_grow(client):
    client.execute_command("CF.RESERVE", "set", 100, "EXPANSION", 0)
    added = 0
    with pytest.raises(ResponseError, match="^Filter is full$"):
        for added in range(10_000):
            client.cf().add("set", f"item {added}")
    assert added == 100
    assert all(client.cf().mexists("set", *[f"item {i}" for i in range(added)]))


def test_exists_mexists_count(client):
    client.cf().add("set", "item")
    client.set("text", "x")
    same(raw(client, "CF.EXISTS", "set", "item"), yes(client, 1))
    for key in ["set", "missing", "text"]:
        same(raw(client, "CF.EXISTS", key, "no"), yes(client, 0))
        same(raw(client, "CF.COUNT", key, "no"), (int, 0))
        got = raw(client, "CF.MEXISTS", key, "item", "no", "item")
        there = key == "set"
        assert [(type(x), x) for x in got] == [yes(client, x) for x in [there, False, there]]


def test_del(client):
    client.cf().add("set", "item")
    client.set("text", "x")
    same(raw(client, "CF.DEL", "set", "item"), yes(client, 1))
    same(raw(client, "CF.DEL", "set", "item"), yes(client, 0))
    for key in ["missing", "text"]:
        refuses(client, "Not found", "CF.DEL", key, "item")
    # An empty filter is still one.
    assert client.exists("set") == 1


def test_info(client):
    every = "BUCKETSIZE 3 MAXITERATIONS 7 EXPANSION 4 ERROR 0.02"
    client.execute_command("CF.RESERVE", "set", 1000, *every.split())
    client.cf().insert("set", ["one", "two", "three"])
    client.cf().delete("set", "two")
    got = raw(client, "CF.INFO", "set")
    if protocol(client) == 2:
        assert isinstance(got, list) and len(got) == 22
        got = dict(zip(got[::2], got[1::2], strict=True))
        floats = [float(value) for value in list(got.values())[8:]]
    else:
        assert isinstance(got, dict)
        floats = list(got.values())[8:]
    assert list(got)[:8] == [
        b"Size",
        b"Number of buckets",
        b"Number of filters",
        b"Number of items inserted",
        b"Number of items deleted",
        b"Bucket size",
        b"Expansion rate",
        b"Max iterations",
    ]
    names = [b"False positive rate", b"Expected false positive rate", b"Bits per item"]
    assert list(got)[8:] == names
    size, buckets, *rest = list(got.values())[:8]
    assert rest == [1, 2, 1, 3, 4, 7] and size > 0 and buckets > 0
    assert floats[0] == 0.02 and 0 < floats[1] < 0.02 and floats[2] == 8 * size / 2
    refuses(client, "ERR not found", "CF.INFO", "missing")
    client.set("text", "x")
    refuses(client, WRONG_TYPE, "CF.INFO", "text")


def test_info_can_be_kept_to_the_names_that_strict_clients_know(client):
    client.cf().add("set", "item")
    try:
        client.config_set("cuculus.info-more", "no")
        assert len(raw(client, "CF.INFO", "set")) == (16 if protocol(client) == 2 else 8)
    finally:
        client.config_set("cuculus.info-more", "yes")


def test_compact_and_debug(client):
    client.cf().insert("set", [f"item {i}" for i in range(2000)])
    assert raw(client, "CF.COMPACT", "set") == b"OK"
    assert all(client.cf().mexists("set", *[f"item {i}" for i in range(2000)]))
    text = raw(client, "CF.DEBUG", "set")
    assert text.startswith(b"keys") and b"2000" in text
    client.set("text", "x")
    for key in ["missing", "text"]:
        refuses(client, "Cuckoo filter was not found", "CF.COMPACT", key)
    refuses(client, "ERR not found", "CF.DEBUG", "missing")
    refuses(client, WRONG_TYPE, "CF.DEBUG", "text")


def test_other_types_are_refused(client):
    client.set("text", "x")
    for words in [
        ("CF.ADD", "text", "x"),
        ("CF.ADDNX", "text", "x"),
        ("CF.INSERT", "text", "ITEMS", "x"),
        ("CF.INSERTNX", "text", "NOCREATE", "ITEMS", "x"),
        ("CF.SCANDUMP", "text", 0),
        ("CF.LOADCHUNK", "text", 1, "x"),
    ]:
        refuses(client, WRONG_TYPE, *words)
    assert client.get("text") == b"x"


def test_arity_is_the_servers_matter(client):
    names = "ADD ADDNX INSERT INSERTNX EXISTS MEXISTS COUNT DEL INFO SCANDUMP LOADCHUNK COMPACT"
    for name in [*names.split(), "DEBUG", "RESERVE"]:
        with pytest.raises(ResponseError, match="wrong number of arguments"):
            client.execute_command(f"CF.{name}")


def test_a_rate_is_kept_and_memory_follows_the_set(client):
    cf = client.cf()
    client.execute_command("CF.RESERVE", "set", 1024, "ERROR", "0.01", "SEED", 7)
    items = 40_000
    for start in range(0, items, 1000):
        cf.insert("set", range(start, start + 1000))
    absent = range(10**9, 10**9 + 20_000)
    false = sum(sum(map(bool, cf.mexists("set", *absent[i : i + 1000]))) for i in range(0, 20_000, 1000))
    # Three sigmas above 1 %.
    assert false <= 200 + 3 * 14
    large = client.memory_usage("set", samples=0)
    with client.pipeline(transaction=False) as pipe:
        for i in range(1000, items):
            pipe.execute_command("CF.DEL", "set", i)
        assert all(pipe.execute())
    assert all(cf.mexists("set", *range(1000)))
    assert client.memory_usage("set", samples=0) < large / 10
