"""Forks while threads change a set: `python forks.py CLASS HOW FORKS`; prints how many children could not go on.

A child that waits for ever is ended by its alarm.
"""

import multiprocessing
import os
import signal
import sys
import threading
import traceback

import numpy as np

from cuculus_filter import Filter, FixedFilter, Maplet

KEPT = 2000
#: Longer than any child takes that is not stuck, on a busy machine.
SECONDS = 20


class Set:
    def __init__(self, make):
        self.seen = make()
        self.seen.update(np.arange(KEPT))

    def change(self, i):
        """With one thread: batches of keys come and go."""
        keys = np.arange((i + 1) * 10**6, (i + 1) * 10**6 + 60_000)
        self.seen.update(keys)
        assert self.seen.contains_many(keys).all()
        self.seen.discard_many(keys)

    def check(self):
        """What was there is there, whole, and can be changed."""
        assert KEPT - 1 in self.seen and self.seen.contains_many(np.arange(KEPT)).all()
        before = len(self.seen)
        self.seen.add("one")
        self.seen.update(["two"])
        assert self.seen.discard("one") and "two" in self.seen and len(self.seen) == before + 1
        assert type(self.seen).from_bytes(self.seen.to_bytes()) == self.seen.copy()
        self.seen.remove("two")


class Values:
    def __init__(self, make):
        self.seen = make()
        for key in range(KEPT):
            self.seen.add(key, key)

    def change(self, i):
        self.seen.add(f"key {i}", i)
        assert self.seen.copy().get(KEPT - 1) and Maplet.from_bytes(self.seen.to_bytes()).get(KEPT - 1)
        self.seen.remove(f"key {i}", i)

    def check(self):
        assert all(key in self.seen.get(key) for key in range(KEPT))
        self.seen.add("one", 1)
        assert self.seen.copy() == self.seen
        self.seen.remove("one", 1)


WORKS = {
    "Filter": lambda: Set(lambda: Filter(0.001)),
    "FixedFilter": lambda: Set(lambda: FixedFilter(400_000, 0.001)),
    "Maplet": lambda: Values(lambda: Maplet(200_000, 0.001)),
}


def child(work, generations=1):
    """The life of a child: as its parent, with a thread, and a child of its own."""
    signal.alarm(SECONDS)
    work.check()
    thread = threading.Thread(target=work.change, args=[7])
    thread.start()
    if generations:
        assert by_os(work, generations - 1) == 0
    thread.join()
    work.check()


def by_os(work, generations=1):
    pid = os.fork()
    if pid == 0:
        try:
            child(work, generations)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitpid(pid, 0)[1]


def by_multiprocessing(work):
    process = multiprocessing.get_context("fork").Process(target=child, args=[work])
    process.start()
    process.join()
    return process.exitcode


if __name__ == "__main__":
    name, how, forks = sys.argv[1:]
    work, end = WORKS[name](), threading.Event()

    def failed(arguments):
        traceback.print_exception(arguments.exc_value)
        os._exit(1)

    threading.excepthook = failed

    def run(i):
        while not end.is_set():
            work.change(i)

    threads = [threading.Thread(target=run, args=[i], daemon=True) for i in range(3)]
    for thread in threads:
        thread.start()
    fork = {"os": by_os, "multiprocessing": by_multiprocessing}[how]
    stuck = sum(fork(work) != 0 for _ in range(int(forks)))
    end.set()
    for thread in threads:
        thread.join()
    work.check()
    print(stuck)
