"""The package beside others: time per key, memory and false positives, in one run.

Time is processor time of the thread, best of several rounds in which the candidates take turns. Answers are
checked. Single keys are text of 26 characters; arrays are numpy's uint64, and text columns Polars'.
"""

import argparse
import gc
import json
import sys
import time

import fastbloom_rs
import numpy as np
import polars as pl
import probables
import pybloom_live
import rbloom

from cuculus_filter import Filter, FixedFilter

RATE = 0.01
ROUNDS = 3


def timed(work, keys):
    gc.collect()
    gc.disable()
    start = time.thread_time_ns()
    answer = work()
    spent = time.thread_time_ns() - start
    gc.enable()
    return spent / keys, answer


def each(call, keys):
    for key in keys:
        call(key)


def found(seen, keys):
    hits = 0
    for key in keys:
        if key in seen:
            hits += 1
    return hits


def memory_of(thing):
    if isinstance(thing, set):
        return sys.getsizeof(thing) + sum(map(sys.getsizeof, thing))
    return sys.getsizeof(thing)


SINGLE = {
    # name: (make for n keys, add, discard or None, bytes or None, the keys that it can take in a reasonable time)
    "set": (lambda n: set(), set.add, set.discard, memory_of, 1.0),
    "cuculus_filter.Filter": (lambda n: Filter(RATE), Filter.add, Filter.discard, memory_of, 1.0),
    "cuculus_filter.Filter, size given": (
        lambda n: Filter(RATE, expected_items=n),
        Filter.add,
        Filter.discard,
        memory_of,
        1.0,
    ),
    "cuculus_filter.FixedFilter": (
        lambda n: FixedFilter(n, RATE),
        FixedFilter.add,
        FixedFilter.discard,
        memory_of,
        1.0,
    ),
    "rbloom": (lambda n: rbloom.Bloom(n, RATE), rbloom.Bloom.add, None, lambda f: f.size_in_bits / 8, 1.0),
    "fastbloom-rs": (
        lambda n: fastbloom_rs.BloomFilter(n, RATE),
        fastbloom_rs.BloomFilter.add_str,
        None,
        lambda f: len(f.get_bytes()),
        1.0,
    ),
    "pybloom-live, scalable": (
        lambda n: pybloom_live.ScalableBloomFilter(1000, RATE),
        pybloom_live.ScalableBloomFilter.add,
        None,
        lambda f: sum(len(part.bitarray) for part in f.filters) / 8,
        0.1,
    ),
    "pyprobables, Bloom": (
        lambda n: probables.BloomFilter(n, RATE),
        probables.BloomFilter.add,
        None,
        lambda f: len(bytes(f)),
        0.04,
    ),
}


def contains_loop(name):
    if name == "fastbloom-rs":
        return lambda seen, keys: sum(map(seen.contains_str, keys))
    return found


def singles(total):
    rows = {name: {"keys": int(total * share)} for name, (*_, share) in SINGLE.items()}
    best = {name: {} for name in SINGLE}
    for _ in range(ROUNDS):
        for name, (make, add, discard, weigh, share) in SINGLE.items():
            n = int(total * share)
            # New objects each time, as keys come from a file or a socket: nothing of them is known.
            fresh = lambda kind: [f"https://{kind}.org/{i:08}/" for i in range(n)]  # noqa: E731
            keys, again, absent = fresh("example"), fresh("example"), fresh("missing")
            seen = make(n)
            look = contains_loop(name)
            bound = add.__get__(seen)
            times = {}
            times["add"], _ = timed(lambda: each(bound, keys), n)
            times["in, hit"], hits = timed(lambda: look(seen, again), n)
            assert hits == n, (name, hits)
            times["in, miss"], wrong = timed(lambda: look(seen, absent), n)
            rows[name]["false positives"] = wrong / n
            rows[name]["bytes per key"] = weigh(seen) / n
            if discard:
                bound = discard.__get__(seen)
                times["discard"], _ = timed(lambda: each(bound, again), n)
            for what, ns in times.items():
                best[name][what] = min(ns, best[name].get(what, ns))
            del seen, keys, again, absent
    return {name: best[name] | rows[name] for name in SINGLE}


def arrays(total):
    keys = np.random.default_rng(1).integers(0, 2**63, total, dtype=np.uint64)
    absent = keys + np.uint64(2**63)
    words = pl.Series([f"https://example.org/{i:08}/" for i in range(total)])
    listed, texts = keys.tolist(), words.to_list()
    best = {}

    def note(name, ns):
        best[name] = min(ns, best.get(name, ns))

    for _ in range(ROUNDS):
        for label, make in [
            ("Filter", lambda: Filter(RATE)),
            ("Filter, size given", lambda: Filter(RATE, expected_items=total)),
            ("FixedFilter", lambda: FixedFilter(total, RATE)),
        ]:
            seen = make()
            note(f"{label}: update(numpy)", timed(lambda: seen.update(keys), total)[0])
            ns, hits = timed(lambda: seen.contains_many(keys), total)
            assert hits.all()
            note(f"{label}: contains_many(numpy), hit", ns)
            ns, wrong = timed(lambda: seen.contains_many(absent), total)
            assert wrong.mean() < 1.1 * RATE
            note(f"{label}: contains_many(numpy), miss", ns)
            ns, gone = timed(lambda: seen.discard_many(keys), total)
            assert gone.all()
            note(f"{label}: discard_many(numpy)", ns)
            seen = make()
            ns, new = timed(lambda: seen.add_new(keys), total)
            assert new.mean() > 0.99
            note(f"{label}: add_new(numpy)", ns)
            seen = make()
            note(f"{label}: update(Polars text)", timed(lambda: seen.update(words), total)[0])
            ns, hits = timed(lambda: seen.contains_many(words), total)
            assert hits.all()
            note(f"{label}: contains_many(Polars text)", ns)
            ns, hits = timed(lambda: seen.contains_many(texts), total)
            assert hits.all()
            note(f"{label}: contains_many(list of str)", ns)
        exact = set()
        note("set: update(list of int)", timed(lambda: exact.update(listed), total)[0])
        note("set: in, list of int", timed(lambda: [key in exact for key in listed], total)[0])
        bloom = rbloom.Bloom(total, RATE)
        note("rbloom: update(list of int)", timed(lambda: bloom.update(listed), total)[0])
        note("rbloom: in, list of int", timed(lambda: [key in bloom for key in listed], total)[0])
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", type=int, default=2_000_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows, many = singles(options.keys // 4), arrays(options.keys)
    if options.json:
        print(json.dumps({"single": rows, "arrays": many}))
        return
    columns = ["keys", "add", "in, hit", "in, miss", "discard", "bytes per key", "false positives"]
    print(f"one key at a time, ns\n{'':<28}" + "".join(f"{column:>16}" for column in columns))
    for name, row in rows.items():
        cells = [row.get(column) for column in columns]
        words = [
            "–" if cell is None else f"{100 * cell:.3f} %" if column == "false positives" else f"{cell:.4g}"
            for column, cell in zip(columns, cells, strict=True)
        ]
        words[0] = str(row["keys"])
        print(f"{name:<28}" + "".join(f"{word:>16}" for word in words))
    print(f"\n{options.keys} keys at a time, ns per key")
    for name, ns in many.items():
        print(f"{name:<44}{ns:>8.1f}")


if __name__ == "__main__":
    main()
