"""The command-line tool on millions of lines, beside awk, sort, runiq, huniq and a program that only reads
and hashes. `cargo xtask bench-cli` builds what is measured and runs this."""

import argparse
import os
import random
import re
import shutil
import subprocess
import tempfile

import measure
from measure import TARGET, Usage

CUCULUS = f"{TARGET}/release/cuculus"
REFERENCE = f"{TARGET}/release/examples/read_and_hash"
# Lines that are made at once.
BATCH = 1 << 20
# Random bytes per line: 24 digits.
WIDTH = 12


def write_lines(path, count, is_half):
    """The same lines each time, all different; or every other one repeats any of the earlier ones."""
    numbers, earlier = random.Random(1), bytearray()
    with open(path, "w") as out:
        for first in range(0, count, BATCH):
            lines = min(BATCH, count - first)
            new = numbers.randbytes(WIDTH * (-(-lines // 2) if is_half else lines))
            if not is_half:
                out.write(new.hex("\n", WIDTH) + "\n")
                continue
            earlier += new
            for number, line in enumerate(new.hex("\n", WIDTH).splitlines()):
                out.write(f"{line}\n")
                if 2 * number + 1 < lines:
                    at = WIDTH * numbers.randrange(len(earlier) // WIDTH)
                    out.write(earlier[at : at + WIDTH].hex() + "\n")


class Program:
    """A program to be measured; a slow one once, because ten percent do not matter there."""

    def __init__(self, name, *command, piped=None, fresh=None, is_slow=False):
        self.name, self.command, self.piped = name, command, piped
        self.fresh, self.is_slow, self.best = fresh, is_slow, None
        self.filter_bytes = None

    def run(self):
        if self.fresh and os.path.exists(self.fresh):
            os.remove(self.fresh)
        stdin = subprocess.DEVNULL
        if self.piped:
            stdin = subprocess.Popen(["cat", self.piped], stdout=subprocess.PIPE).stdout
        environment = os.environ | {"LC_ALL": "C"}
        usage, said = measure.run(self.command, (0, 1), stdin=stdin, env=environment)
        if found := re.search(r'"filter_bytes":\s*(\d+)', said):
            self.filter_bytes = int(found[1])
        best = self.best or usage
        wall, cpu = min(best.wall, usage.wall), min(best.cpu, usage.cpu)
        self.best = Usage(wall, cpu, max(best.peak, usage.peak))


def contest(title, programs, rounds, lines):
    """All in turn, so that a slow phase of the machine affects all; prints the table."""
    for number in range(rounds):
        for program in programs:
            if number == 0 or not program.is_slow:
                program.run()
    rows = []
    for program in programs:
        best = program.best
        is_known = best.peak > measure.floor()
        peak = f"{best.peak / 2**20:.0f}" if is_known else f"< {measure.floor() / 2**20:.0f}"
        filter_bytes = program.filter_bytes if is_known else None
        held = f"{best.peak / filter_bytes:.2f}" if filter_bytes else "–"
        each = f"{best.wall * 1e9 / lines:.1f}"
        rows.append([program.name, f"{best.wall:.2f}", f"{best.cpu:.2f}", each, peak, held])
    print(f"{title}:\n")
    print(measure.table(["program", "s", "CPU s", "ns per line", "peak, MiB", "/ filter"], rows))
    print(flush=True)


def uniq(options, directory, is_half):
    lines, state = f"{directory}/lines", f"{directory}/seen"
    measure.apart(write_lines, lines, options.lines, is_half)
    stats = ["uniq", "--stats", "--json"]
    programs = [
        Program("read and hash only", REFERENCE, lines),
        Program("`cuculus uniq`", CUCULUS, *stats, lines),
        Program("`cuculus uniq`, from a pipe", CUCULUS, *stats, piped=lines),
        Program(
            "`cuculus uniq --state`", CUCULUS, *stats, "--state", state, lines, fresh=state, is_slow=True
        ),
        Program("`cuculus uniq --fpr 1e-5`", CUCULUS, *stats, "--quiet", "--fpr", "1e-5", lines),
        Program("`awk '!seen[$0]++'`", "awk", "!seen[$0]++", lines, is_slow=True),
        Program("`sort -u`", "sort", "-u", lines, is_slow=True),
    ]
    # Not needed for the tests: compared where somebody has installed them.
    found = filter(shutil.which, ["runiq", "huniq"])
    programs += [Program(f"`{name}`", name, piped=lines) for name in found]
    share = "half of them repeated" if is_half else "all different"
    contest(f"uniq, {options.lines:,} lines of 24 bytes, {share}", programs, options.rounds, options.lines)


def query(options, directory):
    """Looks up all lines in filters that hold four fifths of them."""
    asked, held, nothing = (f"{directory}/{name}" for name in ["lines", "held", "nothing"])
    keys = options.lines // 5 * 4
    measure.apart(write_lines, asked, options.lines, False)
    measure.apart(write_lines, held, keys, False)
    open(nothing, "w").close()
    programs = [Program("read and hash only", REFERENCE, asked)]
    for kind in ["elastic", "cuckoo"]:
        file = f"{directory}/{kind}"
        build = ["build", "--force", "--kind", kind, file, held]
        programs.append(Program(f"`cuculus build --kind {kind}`", CUCULUS, *build, is_slow=True))
        programs.append(Program(f"`cuculus query`, {kind}", CUCULUS, "query", file, asked))
        programs.append(Program(f"`cuculus query`, {kind}, no keys", CUCULUS, "query", file, nothing))
    title = f"query, {options.lines:,} keys of 24 bytes in filters of {keys:,}"
    contest(title, programs, options.rounds, options.lines)


def above_zero(text):
    if (number := int(text)) <= 0:
        raise ValueError
    return number


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="bench-cli")
    parser.add_argument("--lines", type=above_zero, default=20_000_000)
    parser.add_argument("--rounds", type=above_zero, default=3)
    options = parser.parse_args()
    # The files are large, and quick to write again.
    with tempfile.TemporaryDirectory(dir=TARGET) as directory:
        print("## bench-cli")
        uniq(options, directory, is_half=False)
        uniq(options, directory, is_half=True)
        query(options, directory)
