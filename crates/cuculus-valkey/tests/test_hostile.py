"""Bytes that someone changed: refused or taken, never a crash, and an error changes nothing."""

import random
import resource
import struct

import pytest
from redis.exceptions import ResponseError

from servers import wait_until
from workload import chunks_of

CASES = 1000


def crc64_table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ 0x95AC9329AC4BC9B5 if byte & 1 else byte >> 1
        table.append(byte)
    return table


CRC64 = crc64_table()


def sealed(payload):
    """A payload of DUMP with the checksum that RESTORE looks at."""
    crc = 0
    for byte in payload:
        crc = CRC64[(crc ^ byte) & 0xFF] ^ crc >> 8
    return payload + struct.pack("<Q", crc)


def changed(chance, data):
    """The same bytes with one or a few changes of the kinds that happen and that people try."""
    data = bytearray(data)
    for _ in range(chance.choice([1, 1, 1, 2, 5])):
        at = chance.randrange(len(data)) if data else 0
        match chance.randrange(6):
            case 0 if data:
                data[at] ^= 1 << chance.randrange(8)
            case 1 if data:
                data[at] = chance.choice([0, 1, 0x7F, 0x80, 0xFF])
            case 2:
                del data[at : at + chance.randrange(1, 9)]
            case 3:
                data[at:at] = chance.randbytes(chance.randrange(1, 9))
            case 4:
                data[at : at + 8] = struct.pack("<q", chance.choice([-1, 1 << 62, 1 << 40, 0]))
            case 5:
                del data[at:]
    return bytes(data)


def use(pipe, key):
    """Everything that touches a filter; whether it is refused does not matter."""
    for words in [
        ("CF.INFO", key),
        ("CF.DEBUG", key),
        *[("CF.ADD", key, i) for i in range(50)],
        *[("CF.DEL", key, i) for i in range(50)],
        ("CF.SCANDUMP", key, 0),
        ("CF.SCANDUMP", key, 1),
        ("CF.COMPACT", key),
        ("DEBUG", "DIGEST-VALUE", key),
        ("DUMP", key),
        ("MEMORY", "USAGE", key),
        ("COPY", key, "copy", "REPLACE"),
        ("DEL", key),
    ]:
        pipe.execute_command(*words)


def examples(client):
    """Filters of all forms."""
    client.cf().insert("small", range(5))
    client.cf().insert("large", range(2000))
    client.execute_command("CF.RESERVE", "fixed", 300, "EXPANSION", 0)
    client.cf().insert("fixed", range(200))
    client.execute_command("CF.RESERVE", "empty", 300)
    client.execute_command("CF.RESERVE", "hinted", 3000, "ERROR", "0.0001")
    client.cf().insert("hinted", range(700))
    position, header = client.execute_command("CF.SCANDUMP", "large", 0)
    client.execute_command("CF.LOADCHUNK", "half", position, header)
    return ["small", "large", "fixed", "empty", "hinted", "half"]


def test_the_checksum_is_that_of_the_server(client):
    for key in examples(client):
        dump = client.dump(key)
        assert sealed(dump[:-8]) == dump
        client.restore(f"{key} again", 0, dump)


def test_changed_payloads_of_restore(client, shared):
    chance = random.Random(5)
    dumps = [client.dump(key)[:-8] for key in examples(client)]
    taken = 0
    for _ in range(CASES):
        payload = sealed(changed(chance, chance.choice(dumps)))
        with client.pipeline(transaction=False) as pipe:
            pipe.execute_command("RESTORE", "hostile", 0, payload)
            use(pipe, "hostile")
            taken += not isinstance(pipe.execute(raise_on_error=False)[0], Exception)
    assert client.ping() and shared.process.poll() is None
    # Nearly all changes break a checksum.
    assert taken < CASES / 10


def test_changed_chunks_of_loadchunk(client, shared):
    chance = random.Random(6)
    dumps = []
    for key in examples(client)[:5]:
        if key != "empty":
            header, body = (client.execute_command("CF.SCANDUMP", key, i)[1] for i in (0, 1))
            dumps.append((header, body))
    for _ in range(CASES):
        header, body = chance.choice(dumps)
        middle = chance.randrange(len(body))
        chunks = [(1, header), (1 + middle, body[:middle]), (1 + len(body), body[middle:])]
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(chunks))
            position, data = chunks[at]
            match chance.randrange(5):
                case 0:
                    chunks[at] = position, changed(chance, data)
                case 1:
                    chunks[at] = chance.choice([0, 1, 2, -1, 2**63, 2**64, position + 1]), data
                case 2:
                    chance.shuffle(chunks)
                case 3:
                    chunks.append(chunks[at])
                case 4 if len(chunks) > 1:
                    del chunks[at]
        with client.pipeline(transaction=False) as pipe:
            for position, data in chunks:
                pipe.execute_command("CF.LOADCHUNK", "hostile", position, data)
            use(pipe, "hostile")
            pipe.execute(raise_on_error=False)
    assert client.ping() and shared.process.poll() is None


def refused(client, words, *command):
    with pytest.raises(ResponseError, match=f"^{words}$"):
        client.execute_command(*command)


def test_loadchunk_says_what_is_wrong(client):
    examples(client)
    load = "CF.LOADCHUNK"
    for key in ["large", "fixed"]:
        (_, header), (end, body) = chunks_of(client, key)
        refused(client, "not found", load, "new", end, body)
        refused(client, "Invalid header", load, "new", 1, b"nonsense")
        refused(client, "Invalid header", load, "new", 1, header[:-1])
        refused(client, "Invalid header", load, "new", 1, header[:20] + b"x" + header[21:])
        for position in ["x", "-1", "0", "", "1.5", 2**64]:
            refused(client, "Invalid position", load, "new", position, header)
        refused(client, "item exists", load, key, 1, header)
        refused(client, "Couldn't load chunk!", load, key, end, body)
        assert client.exists("new") == 0
        assert client.execute_command(load, "new", 1, header) == b"OK"
        refused(client, "item exists", load, "new", 1, header)
        refused(client, "Invalid position", load, "new", end + 1, body)
        refused(client, "Couldn't load chunk!", load, "new", end, body[:-1] + b"x")
        assert client.execute_command(load, "new", end, body) == b"OK"
        assert all(client.cf().mexists("new", *range(200)))
        client.delete("new")


def test_a_piece_of_another_filter_is_refused(client):
    """Pieces belong to the seed and the parameters of the header, and to each other."""
    for key, seed in [("set", 1), ("other", 2)]:
        client.execute_command("CF.RESERVE", key, 1024, "SEED", seed)
        for first in range(0, 30_000, 5000):
            client.cf().insert(key, range(first, first + 5000))
    (_, header), first, second, *_ = chunks_of(client, "set")
    client.execute_command("CF.LOADCHUNK", "copy", 1, header)
    refused(client, "Invalid position", "CF.LOADCHUNK", "copy", *second)
    assert client.execute_command("CF.LOADCHUNK", "copy", *first) == b"OK"
    refused(client, "Invalid position", "CF.LOADCHUNK", "copy", *first)
    assert client.execute_command("CF.LOADCHUNK", "copy", *second) == b"OK"
    refused(client, "Couldn't load chunk!", "CF.LOADCHUNK", "copy", second[0], second[1][:-9])


def test_scandump_says_what_is_wrong(client):
    examples(client)
    dump = "CF.SCANDUMP"
    refused(client, "not found", dump, "missing", 0)
    for position in ["x", "-1", "", "1.5"]:
        refused(client, "Invalid position", dump, "large", position)
    assert client.execute_command(dump, "empty", 0) == [0, None]
    end, _ = client.execute_command(dump, "large", 1)
    assert client.execute_command(dump, "large", end) == [0, None]


def test_no_call_of_scandump_depends_on_the_size(client):
    """The header comes at once: it does not count the bytes that follow."""
    for first in range(0, 300_000, 10_000):
        client.cf().insert("set", range(first, first + 10_000))

    def microseconds(position):
        client.config_resetstat()
        for _ in range(20):
            assert client.execute_command("CF.SCANDUMP", "set", position)[0] > 0
        return client.info("commandstats")["cmdstat_cf.scandump"]["usec"]

    # Other programs may take the processor away.
    assert any(5 * microseconds(0) < microseconds(1) for _ in range(5))


def test_a_filter_is_copied_while_it_is_in_use(client):
    """All items that were there at the start, and are not deleted, are in the copy."""
    items = 60_000
    for first in range(0, items, 5000):
        client.cf().insert("set", range(first, first + 5000))
    chunks = 0
    for position, data in chunks_of(client, "set"):
        client.execute_command("CF.LOADCHUNK", "copy", position, data)
        client.cf().insert("set", range(10**9 + chunks * 2000, 10**9 + (chunks + 1) * 2000))
        with client.pipeline(transaction=False) as pipe:
            for item in range(50_000 + chunks * 500, 50_000 + (chunks + 1) * 500):
                pipe.execute_command("CF.DEL", "set", item)
            pipe.execute()
        chunks += 1
    assert chunks > 8
    for first in range(0, 50_000, 5000):
        assert all(client.cf().mexists("copy", *range(first, first + 5000)))
    assert client.cf().add("copy", "after all")


def test_chunks_of_a_fixed_filter_that_changed_on_the_way_are_refused(client):
    client.execute_command("CF.RESERVE", "set", 1000, "EXPANSION", 0)
    client.cf().insert("set", range(900))
    header, before = (client.execute_command("CF.SCANDUMP", "set", i)[1] for i in (0, 1))
    for i in range(0, 900, 10):
        client.cf().delete("set", i)
        client.cf().add("set", 10_000 + i)
    after = client.execute_command("CF.SCANDUMP", "set", 1)[1]
    middle, end = len(before) // 2, len(before)
    client.execute_command("CF.LOADCHUNK", "copy", 1, header)
    client.execute_command("CF.LOADCHUNK", "copy", 1 + middle, before[:middle])
    rest = after[middle:end]
    refused(client, "Couldn't load chunk!", "CF.LOADCHUNK", "copy", 1 + middle + len(rest), rest)


def test_large_promises_take_no_memory(client):
    """Headers and capacities may say anything; nothing is allocated on their word."""
    before = client.info("memory")["used_memory"]
    client.execute_command("CF.RESERVE", "vast", 2**30, "ERROR", "0.00001")
    client.cf().add("vast", "item")
    with pytest.raises(ResponseError, match="more than the 536870912 of cuculus.max-object-bytes"):
        client.execute_command("CF.RESERVE", "rigid", 2**30, "EXPANSION", 0)
    client.cf().insert("set", range(10))
    header = client.execute_command("CF.SCANDUMP", "set", 0)[1]
    assert client.execute_command("CF.LOADCHUNK", "half", 1, header) == b"OK"
    assert client.info("memory")["used_memory"] < before + (1 << 20)


def test_a_filter_has_a_largest_size(client):
    client.config_set("cuculus.max-object-bytes", "64kb")
    try:
        words = "is more than the 65536 of cuculus.max-object-bytes; raise it or spread"
        with pytest.raises(ResponseError, match=words):
            for i in range(100_000):
                client.cf().add("set", i)
        size = client.memory_usage("set", samples=0)
        assert 60_000 < size < 75_000
        before = client.execute_command("DEBUG", "DIGEST-VALUE", "set")
        assert set(client.cf().insert("set", ["x", "y"])) <= {-1, False}
        assert client.execute_command("DEBUG", "DIGEST-VALUE", "set") == before
        with pytest.raises(ResponseError, match=words):
            client.execute_command("CF.RESERVE", "rigid", 100_000, "EXPANSION", 0)
        (_, header), *pieces = chunks_of(client, "set")
        client.execute_command("CF.RESERVE", "small", 9000, "EXPANSION", 0)
        client.cf().add("small", "x")
        (_, whole), *_ = chunks_of(client, "small")
        client.config_set("cuculus.max-object-bytes", "1kb")
        refused(client, "Couldn't create filter!", "CF.LOADCHUNK", "copy", 1, whole)
        assert client.execute_command("CF.LOADCHUNK", "copy", 1, header) == b"OK"
        with pytest.raises(ResponseError, match="is more than the 1024 of cuculus.max-object-bytes"):
            for chunk in pieces:
                client.execute_command("CF.LOADCHUNK", "copy", *chunk)
    finally:
        client.config_set("cuculus.max-object-bytes", "512mb")
    assert client.cf().add("set", "x")


def test_a_server_without_memory_says_so(client):
    client.cf().insert("set", range(100))
    client.config_set("maxmemory", 1 << 20)
    try:
        for words in [("CF.ADD", "set", "x"), ("CF.RESERVE", "new", 9), ("CF.ADDNX", "set", "x")]:
            with pytest.raises(ResponseError, match="OOM|used memory"):
                client.execute_command(*words)
        # Asking and deleting still work.
        assert client.cf().exists("set", 1) and client.cf().delete("set", 1)
    finally:
        client.config_set("maxmemory", 0)


def test_memory_that_the_system_refuses_is_an_error(start):
    """The table is larger than what the process may have."""
    server = start()
    client = server.client()
    client.config_set("cuculus.max-object-bytes", "1000gb")
    limit = 1 << 30
    resource.prlimit(server.process.pid, resource.RLIMIT_AS, (limit, limit))
    with pytest.raises(ResponseError, match="^no memory for the filter; free memory"):
        client.execute_command("CF.RESERVE", "set", 2**30, "EXPANSION", 0, "ERROR", "0.00001")
    assert client.ping() and not client.exists("set")
    client.cf().add("set", "item")
    wait_until(lambda: client.cf().exists("set", "item"), "the server works on")
