"""Files: the same for Python, the command-line tool and Rust; whole or not at all; damage is noticed."""

import os
import pickle
import socket
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cuculus_filter import DecodeError, Filter, FixedFilter, Maplet

TOOL = os.environ["CUCULUS_TOOL"]
GOLDEN = Path(__file__).parents[2] / "cuculus/tests/golden"


def tool(*words, lines=(), code=0):
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run([TOOL, *map(str, words)], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout


def test_round_trip(tmp_path):
    for seen in [Filter(0.001, expected_items=100_000), FixedFilter(100_000)]:
        seen.update(np.arange(50_000))
        path = tmp_path / "seen.cf"
        seen.save(path)
        again = type(seen).load(str(path))
        assert again == seen and again.contains_many(range(50_000)).all()
        assert path.read_bytes() == seen.to_bytes()
        assert again.size_in_bytes == pytest.approx(seen.size_in_bytes, rel=0.05)
        assert type(seen).from_bytes(bytearray(seen.to_bytes())) == seen
        again.update(range(1000))
        again.save(path)
        assert len(type(seen).load(path)) == 51_000
    assert os.listdir(tmp_path) == ["seen.cf"], "nothing is left behind"


def test_a_file_of_the_tool(tmp_path):
    path = tmp_path / "seen.cf"
    tool("build", path, lines=["one", "two", "ä"])
    seen = Filter.load(path)
    assert len(seen) == 3 and "one" in seen and "ä" in seen and "three" not in seen
    seen.add("three")
    seen.save(path)
    assert tool("query", path, lines=["one", "three", "four"]) == "one\nthree\n"
    tool("add", path, lines=["four"])
    assert "four" in Filter.load(path)
    tool("verify", path)


def test_numbers_are_those_of_the_tool(tmp_path):
    path = tmp_path / "numbers.cf"
    tool("build", "--u64", path, lines=range(1000))
    seen = Filter.load(path)
    assert seen.contains_many(np.arange(1000)).all() and 5 in seen and "5" not in seen
    seen.add(2**64 - 1)
    seen.save(path)
    # The tool still knows what the keys are.
    assert tool("query", "--u64", path, lines=[2**64 - 1, 1000]) == f"{2**64 - 1}\n"
    tool("query", path, lines=["5"], code=2)


def test_a_file_for_the_tool(tmp_path):
    for seen in [Filter(0.001), FixedFilter(1000, 0.001)]:
        path = tmp_path / f"{type(seen).__name__}.cf"
        seen.update(f"key {i}" for i in range(1000))
        seen.save(path)
        tool("verify", path)
        found = tool("query", path, lines=[f"key {i}" for i in range(500, 1500)]).splitlines()
        assert found[:500] == [f"key {i}" for i in range(500, 1000)] and len(found) < 510


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("v*/*")), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_golden_files(path):
    """Files of all releases: one of the two classes loads them, or they are of another kind."""
    loaded = []
    for kind in [Filter, FixedFilter]:
        try:
            loaded.append(kind.load(path))
        except DecodeError as error:
            assert "kind" in str(error)
    name = path.name
    assert len(loaded) == int(name.startswith(("elastic", "cuckoo"))), name
    for seen in loaded:
        assert type(seen).from_bytes(seen.to_bytes()) == seen


def test_damage_is_noticed(tmp_path):
    seen = Filter(seed=1)
    seen.update(range(1000))
    whole = seen.to_bytes()
    for at in range(0, len(whole), 37):
        damaged = bytearray(whole)
        damaged[at] ^= 0x10
        with pytest.raises(DecodeError):
            Filter.from_bytes(damaged)
    for length in [0, 7, 47, 100, len(whole) - 1]:
        with pytest.raises(DecodeError):
            Filter.from_bytes(whole[:length])
    with pytest.raises(DecodeError, match="follow"):
        Filter.from_bytes(whole + b"more")
    with pytest.raises(DecodeError, match="kind"):
        FixedFilter.from_bytes(whole)
    with pytest.raises(DecodeError):
        pickle.loads(pickle.dumps(seen).replace(whole, whole[:-1] + bytes([whole[-1] ^ 1])))
    path = tmp_path / "text"
    path.write_text("no filter")
    with pytest.raises(DecodeError, match="magic"):
        Filter.load(path)


def test_a_set_in_parts_is_named(tmp_path):
    path = tmp_path / "seen.parts"
    tool("cluster", "build", "--parts", "2", path, lines=["one", "two"])
    for kind in [Filter, FixedFilter, Maplet]:
        for read in [lambda: kind.load(path), lambda: kind.from_bytes(path.read_bytes())]:
            with pytest.raises(DecodeError, match="^a set in parts, .* `cuculus cluster import`, .*PartitionedFilter$"):
                read()


def test_errors_of_files_are_those_of_python(tmp_path):
    with pytest.raises(FileNotFoundError) as missing:
        Filter.load(tmp_path / "missing")
    assert missing.value.filename == str(tmp_path / "missing")
    with pytest.raises(FileNotFoundError):
        Filter().save(tmp_path / "missing" / "file")
    with pytest.raises(IsADirectoryError):
        Filter.load(tmp_path)
    with pytest.raises(OSError):
        Filter().save(tmp_path)
    with pytest.raises(TypeError):
        Filter.load(5)


def test_what_is_no_file_is_not_replaced(tmp_path):
    """A program that saves to /dev/null as root must not remove the device."""
    pipe, socket_file, directory, link = (tmp_path / name for name in ["pipe", "socket", "directory", "link"])
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(socket_file))
    directory.mkdir()
    link.symlink_to(pipe)
    device = Path("/dev/null")
    if os.geteuid() == 0:
        # Another one of its kind, which nobody misses.
        device = tmp_path / "device"
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    for path in [pipe, socket_file, directory, link, device]:
        before = path.lstat()
        for seen in [Filter(), FixedFilter(10), Maplet(10)]:
            with pytest.raises(OSError, match="is not a regular file; choose another") as refused:
                seen.save(path)
            assert isinstance(refused.value, IsADirectoryError) == (path == directory)
        after = path.lstat()
        assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    link.unlink()
    link.symlink_to("nowhere")
    with pytest.raises(FileNotFoundError, match="nowhere, which does not exist; remove the link"):
        Filter().save(link)


def test_one_writer_at_a_time(tmp_path):
    path = tmp_path / "seen.cf"
    code = "import fcntl, sys; f = open(sys.argv[1], 'x'); fcntl.flock(f, fcntl.LOCK_EX); print(1, flush=True); input()"
    command = [sys.executable, "-c", code, tmp_path / ".seen.cf.cuculus-new"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        with pytest.raises(BlockingIOError, match="being written by another process; try again"):
            Filter().save(path)
        other.communicate(b"\n")
    Filter().save(path)
    assert os.listdir(tmp_path) == ["seen.cf"], "what a killed process leaves behind is removed"


def test_saving_keeps_links_and_permissions(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    seen = Filter()
    seen.save(path)
    umask = os.umask(0)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask, "as open() makes files"
    path.chmod(0o640)
    link.symlink_to(path)
    seen.add("key")
    seen.save(link)
    assert link.is_symlink() and "key" in Filter.load(path) and path.stat().st_mode & 0o777 == 0o640
    os.chdir(tmp_path)
    seen.save("here")
    assert Filter.load("here") == seen


def test_a_pickle_is_read_by_another_process(tmp_path):
    seen = Filter()
    seen.update(["a", 1, b"c"])
    (tmp_path / "pickle").write_bytes(pickle.dumps(seen))
    code = "import pickle, sys; s = pickle.load(open(sys.argv[1], 'rb')); print('a' in s, 1 in s, b'c' in s, len(s))"
    said = subprocess.check_output([sys.executable, "-c", code, tmp_path / "pickle"], text=True)
    assert said.split() == ["True", "True", "True", "3"]
