"""Threads: no key is lost, `add_new` has one winner, and batches leave the interpreter to others."""

import subprocess
import sys
import sysconfig
import threading
import time

import numpy as np
import pytest

from cuculus_filter import Filter, FixedFilter

THREADS = 4
KEYS = 50_000


@pytest.fixture(params=["Filter", "FixedFilter"])
def seen(request):
    sys.setswitchinterval(1e-5)
    yield Filter(0.001) if request.param == "Filter" else FixedFilter(2 * THREADS * KEYS, 0.001)
    sys.setswitchinterval(0.005)


def in_threads(*works):
    errors = []

    def run(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=[work]) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_no_key_is_lost(seen):
    def one_by_one(start):
        for key in range(start, start + KEYS):
            seen.add(key)
            if key % 16 == 0:
                assert key in seen

    def in_batches(start):
        for at in range(start, start + KEYS, 5000):
            seen.update(np.arange(at, at + 5000))
            assert seen.contains_many(np.arange(at, at + 5000)).all()

    starts = [i * KEYS for i in range(THREADS)]
    works = [lambda at=at: one_by_one(at) for at in starts[::2]]
    works += [lambda at=at: in_batches(at) for at in starts[1::2]]
    in_threads(*works)
    assert len(seen) == THREADS * KEYS and seen.contains_many(np.arange(THREADS * KEYS)).all()
    halves = np.arange(THREADS * KEYS).reshape(THREADS, KEYS)
    in_threads(*(lambda keys=keys: seen.discard_many(keys[::2]) for keys in halves))
    assert len(seen) == THREADS * KEYS // 2 and seen.contains_many(np.arange(1, THREADS * KEYS, 2)).all()


def test_a_new_key_is_new_to_one_thread(seen):
    keys, wins = np.arange(KEYS), np.zeros((THREADS, KEYS), dtype=bool)

    def batches(i):
        wins[i] = seen.add_new(keys)

    def singles(i):
        wins[i] = [seen.add_new(key) for key in range(KEYS)]

    in_threads(*(lambda i=i: (batches, singles)[i % 2](i) for i in range(THREADS)))
    winners = wins.sum(axis=0)
    assert winners.max() == 1, "never two"
    # A key that looked like another one has no winner.
    assert len(seen) == winners.sum() and winners.sum() > 0.99 * KEYS


def test_keys_stay_while_others_come_and_go(seen):
    seen.update(np.arange(1000))
    end = threading.Event()

    def come_and_go(i):
        keys = np.arange((i + 1) * KEYS, (i + 1) * KEYS + KEYS // 2)
        for _ in range(4):
            seen.update(keys)
            seen.discard_many(keys)
        end.set()

    def look():
        while not end.is_set():
            assert seen.contains_many(np.arange(1000)).all()
            assert all(key in seen for key in range(0, 1000, 50))

    def save():
        while not end.is_set():
            again = type(seen).from_bytes(seen.to_bytes())
            assert again.contains_many(np.arange(1000)).all()

    in_threads(*(lambda i=i: come_and_go(i) for i in range(2)), look, save)
    assert seen.contains_many(np.arange(1000)).all()


def test_merging_into_each_other_ends():
    filters = [Filter(0.01, seed=1) for _ in range(2)]
    for i, seen in enumerate(filters):
        seen.update(np.arange(1000 * i, 1000 * (i + 1)))
    in_threads(lambda: filters[0].merge(filters[1]), lambda: filters[1].merge(filters[0]))
    assert all(seen.contains_many(np.arange(2000)).all() for seen in filters)


def test_batches_leave_the_interpreter_to_others():
    seen, keys = Filter(), np.arange(2_000_000)
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    seen.update(keys)
    end = time.perf_counter()
    done.set()
    thread.join()
    meanwhile = [tick for tick in ticks if start < tick < end]
    # One call, which would otherwise let nobody in.
    assert len(meanwhile) > 5, (end - start, len(meanwhile))


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="an interpreter with a global lock")
def test_the_global_lock_stays_off():
    code = "import sys, cuculus_filter._cuculus; sys.exit(sys._is_gil_enabled())"
    # A module that needs the lock turns it on, with a warning.
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
