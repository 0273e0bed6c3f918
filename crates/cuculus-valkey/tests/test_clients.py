"""Client libraries of others: the calls that they have for filters work as they are."""

import os
import pathlib
import subprocess

import pytest
import redis
import valkey

SCRIPT = pathlib.Path(__file__).with_name("clients.mjs")


@pytest.mark.parametrize("protocol", [2, 3])
@pytest.mark.parametrize("library", [redis.Redis, valkey.Valkey], ids=["redis-py", "valkey-py"])
def test_clients_in_python(shared, library, protocol):
    # Chunks are bytes, so nothing is decoded.
    client = library(port=shared.port, protocol=protocol)
    client.flushall()
    cf = client.cf()
    assert cf.create("seen", 1000)
    assert cf.add("seen", "page/1") == 1
    assert cf.addnx("seen", "page/1") == 0
    assert cf.exists("seen", "page/1") == 1 and cf.exists("seen", "page/2") == 0
    assert cf.insert("seen", ["page/2", "page/3"]) == [1, 1]
    assert cf.insertnx("seen", ["page/3", "page/4"]) == [0, 1]
    assert cf.mexists("seen", "page/3", "page/5") == [1, 0]
    assert cf.count("seen", "page/2") == 1
    assert cf.delete("seen", "page/1") == 1
    info = cf.info("seen")
    # In RESP3 both libraries leave the names as the server has them.
    names = ["insertedNum", "deletedNum"] if protocol == 2 else [b"Number of items inserted", b"Number of items deleted"]
    assert [info[name] for name in names] == [3, 1]
    position = 0
    while True:
        position, chunk = cf.scandump("seen", position)
        if position == 0:
            break
        assert cf.loadchunk("copy", position, chunk)
    assert cf.mexists("copy", "page/2", "page/3", "page/4") == [1, 1, 1]
    client.close()


@pytest.mark.skipif("CUCULUS_NODE" not in os.environ, reason="`cargo xtask test-valkey` installs the packages")
def test_clients_in_node(shared):
    shared.client().flushall()
    command = ["node", SCRIPT, os.environ["CUCULUS_NODE"], str(shared.port)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("all calls work\n", 0), done.stderr
