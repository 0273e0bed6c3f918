"""What programs take: wall time, processor time and peak memory. Knows processes, not what they do."""

import multiprocessing
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass

# Cargo's build directory.
TARGET = os.environ.get("CUCULUS_TARGET", "")


@dataclass
class Usage:
    wall: float = 0.0
    # User and system time, including that of children it has waited for.
    cpu: float = 0.0
    # In bytes. Never less than `floor()`.
    peak: int = 0

    def __add__(self, after):
        """Both in sequence."""
        return Usage(self.wall + after.wall, self.cpu + after.cpu, max(self.peak, after.peak))


def floor():
    """A child shares the memory of this process until it starts, so less than this cannot be measured."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run(command, codes=(0,), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, **options):
    """Runs a program to its end; returns what it took, and its standard error."""
    start = time.monotonic()
    try:
        child = subprocess.Popen(
            command, stdin=stdin, stdout=stdout, stderr=subprocess.PIPE, text=True, **options
        )
    except OSError as error:
        sys.exit(f"cannot run {command[0]}: {error}; install it and try again")
    said = child.stderr.read()
    _, status, took = os.wait4(child.pid, 0)
    usage = Usage(time.monotonic() - start, took.ru_utime + took.ru_stime, took.ru_maxrss * 1024)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in codes:
        sys.exit(f"{' '.join(map(str, command))} failed ({child.returncode}): {said.strip()}")
    return usage, said


def apart(work, *arguments):
    """Does work in a process of its own, so that this one stays small."""
    child = multiprocessing.get_context("fork").Process(target=work, args=arguments)
    child.start()
    child.join()
    if child.exitcode:
        sys.exit(child.exitcode)


def table(head, rows):
    """A table in Markdown."""
    rows = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)
