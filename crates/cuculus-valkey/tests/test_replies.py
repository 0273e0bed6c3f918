"""Replies byte by byte, as clients know them from other servers with these commands. What differs on
purpose is listed in docs/valkey.md. With `cargo xtask test-valkey --peer PATH.so` another module is asked the
same."""

import os
import socket

import pytest

from servers import HOST, Server

OK = "+OK"
NIL = {2: "$-1", 3: "_"}
YES, NO = {2: ":1", 3: "#t"}, {2: ":0", 3: "#f"}
WRONG_TYPE = "-WRONGTYPE Operation against a key holding the wrong kind of value"


def arity(name):
    return f"-ERR wrong number of arguments for '{name}' command"


def array(*replies):
    return {p: "\r\n".join([f"*{len(replies)}", *(of(r, p) for r in replies)]) for p in (2, 3)}


def of(reply, protocol):
    return reply[protocol] if isinstance(reply, dict) else reply


CAPACITY = "-Capacity must be in the range [2 * BUCKETSIZE, 1073741824]"
#: Commands in order, on a server that has only the string `text`.
REPLIES = [
    ("CF.RESERVE a 1000", OK),
    ("CF.RESERVE a 1000", "-ERR item exists"),
    ("CF.RESERVE text 1000", WRONG_TYPE),
    ("CF.RESERVE b 1000 EXPANSION 2 MAXITERATIONS 10 BUCKETSIZE 4", OK),
    ("CF.RESERVE c x", "-Bad capacity"),
    ("CF.RESERVE c 3", CAPACITY),
    ("CF.RESERVE c 1073741825", CAPACITY),
    ("CF.RESERVE c 1000 BUCKETSIZE 0", "-BUCKETSIZE: value must be in the range [1, 255]"),
    ("CF.RESERVE c 1000 BUCKETSIZE x", "-Couldn't parse BUCKETSIZE"),
    ("CF.RESERVE c 1000 MAXITERATIONS 0", "-MAXITERATIONS: value must be in the range [1, 65535]"),
    ("CF.RESERVE c 1000 MAXITERATIONS x", "-Couldn't parse MAXITERATIONS"),
    ("CF.RESERVE c 1000 EXPANSION 32769", "-EXPANSION: value must be in the range [0, 32768]"),
    ("CF.RESERVE c 1000 EXPANSION x", "-Couldn't parse EXPANSION"),
    ("CF.RESERVE c 1000 BUCKETSIZE", arity("cf.reserve")),
    ("CF.RESERVE c 1000 EXPANSION 2 BUCKETSIZE", arity("cf.reserve")),
    ("CF.RESERVE c 1000 BOGUS 1", "-Unknown argument received"),
    ("CF.RESERVE c", arity("cf.reserve")),
    ("CF.ADD a x", YES),
    ("CF.ADD a x", YES),
    ("CF.COUNT a x", ":2"),
    ("CF.ADD new x", YES),
    ("CF.ADD text x", WRONG_TYPE),
    ("CF.ADD a", arity("cf.add")),
    ("CF.ADDNX a x", NO),
    ("CF.ADDNX a y", YES),
    ("CF.ADDNX text y", WRONG_TYPE),
    ("CF.ADDNX a", arity("cf.addnx")),
    ("CF.INSERT a ITEMS p q", array(YES, YES)),
    ("CF.INSERT d CAPACITY 1000 ITEMS p", array(YES)),
    ("CF.INSERT e NOCREATE ITEMS p", "-ERR not found"),
    ("CF.INSERT a BOGUS ITEMS p", "-Unknown argument received"),
    (
        "CF.INSERT a CAPACITY 1 ITEMS p",
        "-Capacity must be in the range [cf-bucket-size * 2, 1073741824]",
    ),
    ("CF.INSERT text ITEMS p", WRONG_TYPE),
    ("CF.INSERT a ITEMS", arity("cf.insert")),
    ("CF.INSERT a NOCREATE", arity("cf.insert")),
    ("CF.INSERT a CAPACITY 1000", arity("cf.insert")),
    ("cf.insert a capacity 1000 nocreate items p", array(YES)),
    ("CF.INSERTNX a ITEMS p r", array(":0", ":1")),
    ("CF.INSERTNX e NOCREATE ITEMS p", "-ERR not found"),
    ("CF.INSERTNX a ITEMS", arity("cf.insertnx")),
    ("CF.RESERVE f 4 EXPANSION 0", OK),
    ("CF.INSERT f ITEMS 1 2 3 4 5", array(YES, YES, YES, YES, {2: ":-1", 3: "#f"})),
    ("CF.INSERTNX f ITEMS 6", array(":-1")),
    ("CF.ADD f 7", "-Filter is full"),
    ("CF.EXISTS a x", YES),
    ("CF.EXISTS a absent", NO),
    ("CF.EXISTS missing x", NO),
    ("CF.EXISTS text x", NO),
    ("CF.MEXISTS a x absent", array(YES, NO)),
    ("CF.MEXISTS missing x", array(NO)),
    ("CF.MEXISTS text x", array(NO)),
    ("CF.EXISTS a", arity("cf.exists")),
    ("CF.MEXISTS a", arity("cf.mexists")),
    ("CF.COUNT a", arity("cf.count")),
    ("CF.COUNT missing x", ":0"),
    ("CF.COUNT text x", ":0"),
    ("CF.DEL a x", YES),
    ("CF.DEL a absent", NO),
    ("CF.DEL missing x", "-Not found"),
    ("CF.DEL text x", "-Not found"),
    ("CF.DEL a", arity("cf.del")),
    ("CF.INFO missing", "-ERR not found"),
    ("CF.INFO text", WRONG_TYPE),
    ("CF.INFO", arity("cf.info")),
    ("CF.RESERVE empty 1000", OK),
    ("CF.SCANDUMP empty 0", array(":0", NIL)),
    ("CF.SCANDUMP a 99999999999", array(":0", NIL)),
    ("CF.SCANDUMP a x", "-Invalid position"),
    ("CF.SCANDUMP a -1", "-Invalid position"),
    ("CF.SCANDUMP missing 0", "-ERR not found"),
    ("CF.SCANDUMP text 0", WRONG_TYPE),
    ("CF.SCANDUMP a", arity("cf.scandump")),
    ("CF.LOADCHUNK a 1 x", "-ERR item exists"),
    ("CF.LOADCHUNK g 1 x", "-Invalid header"),
    ("CF.LOADCHUNK g 0 x", "-Invalid position"),
    ("CF.LOADCHUNK g 2 x", "-ERR not found"),
    ("CF.LOADCHUNK a 2 x", "-Couldn't load chunk!"),
    ("CF.LOADCHUNK text 1 x", WRONG_TYPE),
    ("CF.LOADCHUNK g -1 x", "-Invalid position"),
    ("CF.LOADCHUNK a 1", arity("cf.loadchunk")),
    ("CF.COMPACT a", OK),
    ("CF.COMPACT missing", "-Cuckoo filter was not found"),
    ("CF.COMPACT text", "-Cuckoo filter was not found"),
    ("CF.COMPACT", arity("cf.compact")),
    ("CF.DEBUG missing", "-ERR not found"),
    ("CF.DEBUG text", WRONG_TYPE),
    ("CF.DEBUG", arity("cf.debug")),
]
#: Commands to which RedisBloom replies otherwise, in some release. docs/valkey.md has the reasons.
OTHERWISE = {
    # Older releases have other words for a range, and no upper bound of the capacity.
    "CF.RESERVE c 3",
    "CF.RESERVE c 1073741825",
    "CF.RESERVE c 1000 BUCKETSIZE 0",
    "CF.RESERVE c 1000 MAXITERATIONS 0",
    "CF.RESERVE c 1000 EXPANSION 32769",
    "CF.INSERT a CAPACITY 1 ITEMS p",
    # Unknown options are ignored there.
    "CF.RESERVE c 1000 BOGUS 1",
    # Chunks are taken although the filter is complete, and positions are not checked.
    "CF.LOADCHUNK a 2 x",
    "CF.LOADCHUNK g -1 x",
}
INFO = [
    "Size",
    "Number of buckets",
    "Number of filters",
    "Number of items inserted",
    "Number of items deleted",
    "Bucket size",
    "Expansion rate",
    "Max iterations",
]


class Wire:
    """A connection that shows every byte."""

    def __init__(self, port, protocol):
        self.socket = socket.create_connection((HOST, port))
        self.file = self.socket.makefile("rb")
        if protocol == 3:
            self.ask("HELLO", "3")

    def ask(self, *words):
        parts = [f"*{len(words)}\r\n".encode()]
        for word in words:
            word = word.encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(word), word))
        self.socket.sendall(b"".join(parts))
        return self.reply()

    def reply(self):
        line = self.file.readline().rstrip(b"\r\n")
        kind, number = line[:1], line[1:]
        if kind == b"$" and number != b"-1":
            return (line + b"\r\n" + self.file.read(int(number) + 2).removesuffix(b"\r\n")).decode(
                errors="replace"
            )
        count = {b"*": 1, b"%": 2}.get(kind, 0) * int(number or 0) if kind in b"*%" else 0
        return "\r\n".join([line.decode(), *(self.reply() for _ in range(count))])

    def close(self):
        self.file.close()
        self.socket.close()


@pytest.mark.parametrize("protocol", [2, 3])
def test_replies_byte_by_byte(shared, protocol):
    shared.client().flushall()
    shared.client().set("text", "x")
    wire = Wire(shared.port, protocol)
    for words, expected in REPLIES:
        assert (words, wire.ask(*words.split())) == (words, of(expected, protocol))
    info = wire.ask("CF.INFO", "b").split("\r\n")
    # Three more names and numbers, which a setting turns off.
    assert info[0] == ("*22" if protocol == 2 else "%11")
    assert info[1:17:2] == [f"+{name}" for name in INFO]
    assert all(number.startswith(":") for number in info[2:17:2])
    wire.close()


@pytest.mark.skipif("CUCULUS_PEER" not in os.environ, reason="no other module was given")
@pytest.mark.parametrize("protocol", [2, 3])
def test_another_module_replies_the_same(protocol):
    server = Server("redis", module=os.environ["CUCULUS_PEER"])
    try:
        server.client().set("text", "x")
        wire = Wire(server.port, protocol)
        replies = [(words, wire.ask(*words.split()), of(expected, protocol)) for words, expected in REPLIES]
        wire.close()
        differ = [reply for reply in replies if reply[1] != reply[2] and reply[0] not in OTHERWISE]
        assert differ == [] and len(replies) > 2 * len(OTHERWISE)
        print(f"{sum(said == known for _, said, known in replies)} of {len(replies)} are the same")
    finally:
        server.remove()
