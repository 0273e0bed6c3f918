"""`cuculus dedup` on gigabytes of generated documents, beside a Python set and beside reading alone; then on
fewer documents, killed at random moments and continued, until the output must equal that of an undisturbed
run. `cargo xtask bench-dedup` builds what is measured and runs this."""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

import measure
from measure import TARGET

# Bytes per file.
FILE = 1_000_000_000
# The bytes of the documents for the killed runs.
SMALL = 200_000_000

# What people write. It keeps the texts themselves, so it reads one file only.
PYTHON = """
import json, sys
seen = set()
with open(sys.argv[2], "wb") as out:
    for line in open(sys.argv[1], "rb"):
        text = json.loads(line)["text"]
        if text not in seen:
            seen.add(text)
            out.write(line)
"""


def write_documents(paths, size):
    """Documents of about a kilobyte, of which every third has the text of an earlier one; what they are is
    written beside each file."""
    numbers = random.Random(1)
    letters = "abcdefghijklmnop"
    vocabulary = ["".join(numbers.choices(letters, k=numbers.randint(2, 7))) for _ in range(4096)]
    babble = " ".join(numbers.choices(vocabulary, k=1 << 20))
    documents = different = 0
    for path in paths:
        with open(path, "w", buffering=1 << 20) as out:
            while out.tell() < size:
                for _ in range(1000):
                    is_repeated = documents % 3 == 2
                    text = numbers.randrange(different) if is_repeated else different
                    different += not is_repeated
                    first = text * 7919 % (len(babble) - 2000)
                    words = babble[first : first + 400 + text * 31 % 800]
                    out.write(f'{{"id": {documents}, "text": "document {text}: {words}"}}\n')
                    documents += 1
        with open(f"{path}.json", "w") as out:
            json.dump([documents, different], out)


def made(path):
    with open(f"{path}.json") as known:
        return json.load(known)


def dedup(directory, inputs, name, interval):
    out, state = f"{directory}/{name}", f"{directory}/{name}.state"
    options = ["--key", "text", "--threads", "2", "--json", "--save-every", interval]
    return [f"{TARGET}/release/cuculus", "dedup", *inputs, *options, "--out", out, "--state", state]


def speed(directory, gigabytes):
    inputs = [f"{directory}/{number}.jsonl" for number in range(gigabytes)]
    measure.apart(write_documents, inputs, FILE)
    documents, different = made(inputs[-1])
    # All files together may be larger than what the system keeps in memory, so reading comes twice.
    whole = dedup(directory, inputs, "all", "30")
    programs = [
        ("cat", documents, ["cat", *inputs]),
        ("cat, again", documents, ["cat", *inputs]),
        ("Python set, one file", made(inputs[0])[0], ["python3", "-c", PYTHON, inputs[0], f"{directory}/python"]),
        ("`cuculus dedup`", documents, whole),
    ]
    rows = []
    for name, read, command in programs:
        took, _ = measure.run(command)
        figures = [f"{took.wall:.1f}", f"{took.cpu:.1f}", f"{read / took.wall:.0f}", took.peak >> 20]
        rows.append([name, read, *figures])
    print(f"{gigabytes} GB, {documents} documents, {different} different:\n")
    print(measure.table(["program", "documents", "s", "CPU s", "documents/s", "peak, MiB"], rows))
    # What it says again when there is nothing left to do.
    totals = json.loads(subprocess.check_output(whole))
    if totals["kept"] != different:
        sys.exit(f"{different} documents are different; {totals['kept']} were kept")


def killed(directory, kills):
    """Kills runs at random moments. A run that ends is compared, and another is begun."""
    source = f"{directory}/small.jsonl"
    measure.apart(write_documents, [source], SMALL)
    undisturbed, _ = measure.run(dedup(directory, [source], "whole", "0"))
    command = dedup(directory, [source], "killed", "0")
    numbers = random.Random(1)
    done = ended = 0
    while done < kills or not ended:
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        if done < kills:
            # Some are killed before they have read anything, and some after saving many times.
            time.sleep(undisturbed.wall * numbers.random() / 10)
            child.kill()
        if child.wait() < 0:
            done += 1
            continue
        whole, again = f"{directory}/whole/small.jsonl", f"{directory}/killed/small.jsonl"
        if child.returncode or subprocess.run(["cmp", whole, again]).returncode:
            sys.exit(f"a run failed, or its output differs, after {done} kills")
        ended += 1
        shutil.rmtree(f"{directory}/killed")
        os.remove(f"{directory}/killed.state")
    print(f"\nkilled {done} times; {ended} outputs equal that of an undisturbed run")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="bench-dedup")
    parser.add_argument("--gigabytes", type=int, default=10)
    parser.add_argument("--kills", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=TARGET) as directory:
        if options.gigabytes:
            speed(directory, options.gigabytes)
        if options.kills:
            killed(directory, options.kills)
