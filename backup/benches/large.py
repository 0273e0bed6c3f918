"""A sparse file of two terabytes and a directory of two million files: saved, checked, listed and restored.
The limit on memory is a promise of the documentation. `cargo xtask bench-backup --large` runs this."""

import argparse
import os
import random
import shutil
import sys

import measure
from measure import TARGET

# The promise: no step takes more memory, in bytes.
MOST = 80_000_000
FILE_SIZE = 2_000_000_000_000
# Where the file has data, and how much.
STRIDE = 32 << 20
DATA = 8 << 10
PLACE = f"{TARGET}/backup-large"
RESTORED = f"{PLACE}/restored"

rows = []


def took(what, step, *words, out=None):
    """Runs a command of the backup and adds a row with what it took."""
    environment = os.environ | {
        "CUCULUS_BACKUP_REPO": f"{PLACE}/{what}",
        "CUCULUS_BACKUP_PASSPHRASE": "a passphrase",
        "XDG_CACHE_HOME": f"{PLACE}/cache",
    }
    command = [f"{TARGET}/release/cuculus-backup", *words]
    with open(out or os.devnull, "wb") as stdout:
        usage, _ = measure.run(command, stdout=stdout, env=environment)
    peak = f"{usage.peak / 1e6:.1f}"
    print(f"    {what}: {step}: {usage.cpu:.1f} CPU s, {peak} MB", file=sys.stderr)
    if step != "init":
        rows.append([f"{what}: {step}", f"{usage.cpu:.1f}", peak])
    if usage.peak > MOST:
        sys.exit(f"{step} took {peak} MB of memory")


def stretches():
    """Where each stretch of data is, and bytes that do not compress."""
    for number in range(FILE_SIZE // STRIDE):
        yield number * STRIDE + number % 5000, random.Random(number).randbytes(DATA)


def large_file():
    path = f"{PLACE}/large file"
    with open(path, "wb") as file:
        for at, data in stretches():
            file.seek(at)
            file.write(data)
        file.truncate(FILE_SIZE)
    took("file", "init", "init")
    took("file", "backup", "backup", path)
    took("file", "backup --read-all", "backup", path, "--read-all")
    took("file", "check", "check")
    took("file", "ls", "ls", "latest")
    took("file", "restore", "restore", "latest", "--target", RESTORED)
    with open(RESTORED + path, "rb") as file:
        for at, data in stretches():
            file.seek(at)
            if file.read(DATA) != data:
                sys.exit(f"the data at {at} came back wrong")
        if file.seek(0, os.SEEK_END) != FILE_SIZE:
            sys.exit("the restored file has another size")
    shutil.rmtree(RESTORED)
    shutil.rmtree(f"{PLACE}/file")
    os.remove(path)


def many_files(files):
    directory = f"{PLACE}/many files"
    os.mkdir(directory)
    path = lambda number: f"{directory}/file{number:07}"
    for number in range(files):
        with open(path(number), "w") as file:
            file.write(f"contents of {number}")
    took("files", "init", "init")
    took("files", "backup", "backup", directory)
    took("files", "backup, unchanged", "backup", directory)
    took("files", "check", "check")
    listing = f"{PLACE}/listing"
    took("files", "ls", "ls", "latest", out=listing)
    with open(listing) as lines:
        listed = sum(1 for _ in lines)
    # And the directories above them.
    if listed != files + directory.count("/"):
        sys.exit(f"{listed} lines for {files} files")
    chosen = [part * files // 10 + 7 for part in range(10)]
    included = [word for number in chosen for word in ["--include", path(number)]]
    took("files", "restore of ten", "restore", "latest", "--target", RESTORED, *included)
    for number in chosen:
        with open(RESTORED + path(number)) as file:
            if file.read() != f"contents of {number}":
                sys.exit(f"file {number} came back wrong")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="bench-backup --large")
    parser.add_argument("--files", type=int, default=2_000_000)
    options = parser.parse_args()
    shutil.rmtree(PLACE, ignore_errors=True)
    os.makedirs(PLACE)
    try:
        large_file()
        many_files(options.files)
    finally:
        shutil.rmtree(PLACE)
    print("## large")
    print(measure.table(["step", "CPU s", "peak, MB"], rows))
