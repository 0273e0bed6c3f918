"""The classes as sets: each method, each error, and random sequences against `set` and `Counter`."""

import copy
import pickle
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from cuculus_filter import DecodeError, Filter, FixedFilter, FullError, Maplet

CLASSES = {
    "Filter": lambda **more: Filter(1e-6, **more),
    "FixedFilter": lambda **more: FixedFilter(5000, 1e-6, **more),
}


@pytest.fixture(params=CLASSES)
def make(request):
    return CLASSES[request.param]


def test_as_a_set(make):
    seen = make()
    assert not seen and len(seen) == 0
    seen.add("text")
    seen.add(b"bytes")
    seen.add(42)
    assert seen and len(seen) == 3
    assert "text" in seen and b"bytes" in seen and 42 in seen and "other" not in seen
    assert seen.discard("text") is True and seen.discard("text") is False
    seen.remove(42)
    with pytest.raises(KeyError) as missing:
        seen.remove(42)
    assert missing.value.args == (42,)
    seen.clear()
    assert len(seen) == 0 and b"bytes" not in seen


def test_copies_are_counted(make):
    seen = make()
    for _ in range(3):
        seen.add("key")
    assert seen.count("key") == 3 and seen.count("other") == 0 and len(seen) == 3
    assert seen.discard("key") and seen.count("key") == 2


def test_what_is_the_same_key(make):
    seen = make()
    seen.update(["ä", b"raw", -1, True, np.int32(7), np.str_("numpy")])
    assert "ä".encode() in seen and "raw" in seen, "a str is its UTF-8"
    assert 2**64 - 1 in seen, "an int is its 64 bits"
    assert b"\xff" * 8 in seen, "the same bytes are the same key"
    assert 1 in seen and 7 in seen and "numpy" in seen
    assert "1" not in seen and b"\x01" not in seen


@pytest.mark.parametrize(
    ("key", "error", "words"),
    [
        (1.5, TypeError, "not float"),
        (None, TypeError, "not NoneType"),
        ((1, 2), TypeError, "not tuple"),
        (bytearray(b"x"), TypeError, "not bytearray"),
        (2**64, ValueError, "2\\*\\*64 - 1"),
        (-(2**63) - 1, ValueError, "-2\\*\\*63"),
        ("\ud800", ValueError, "surrogates"),
    ],
)
def test_what_is_no_key(make, key, error, words):
    seen = make()
    seen.add("kept")
    before = seen.to_bytes()
    for call in [seen.add, seen.discard, seen.remove, seen.count, seen.__contains__]:
        with pytest.raises(error, match=words):
            call(key)
    for call in [seen.update, seen.add_new, seen.contains_many, seen.discard_many]:
        with pytest.raises(error, match=words):
            call(["new", key])
    assert seen.to_bytes() == before, "an error changes nothing"


def test_one_key_is_no_list(make):
    for call in [make().update, make().contains_many, make().discard_many]:
        for key in ["text", b"bytes", 42]:
            with pytest.raises(TypeError, match="expected a list of keys"):
                call(key)


def test_update_takes_any_iterable(make):
    seen = make()
    seen.update(["a", "b"])
    seen.update(("c",))
    seen.update({"d": 1})
    seen.update({"e"})
    seen.update(str(i) for i in range(1000))
    seen.update(range(1000))
    assert len(seen) == 2005 and all(key in seen for key in ["a", "b", "c", "d", "e", "999", 999])
    with pytest.raises(TypeError):
        seen.update(None)


def test_add_new_of_one_key(make):
    seen = make()
    assert seen.add_new("key") is True and seen.add_new("key") is False
    assert seen.add_new(7) is True and seen.add_new(b"key") is False and len(seen) == 2


def test_parameters_that_cannot_be():
    for rate in [0.0, 1.0, -1.0, float("nan"), 1e-30]:
        with pytest.raises(ValueError, match="rate"):
            Filter(rate)
    for parameters in [{"expected_items": 2**63}, {"expected_items": -1}, {"seed": 2**64}, {"seed": -1}]:
        with pytest.raises((ValueError, OverflowError)):
            Filter(**parameters)
    with pytest.raises(TypeError):
        Filter("0.01")
    with pytest.raises(ValueError, match="value_bits"):
        Maplet(10, value_bits=65)
    with pytest.raises((ValueError, MemoryError)):
        FixedFilter(2**62)


def test_a_full_filter_says_how_far_it_came():
    seen = FixedFilter(100, seed=1)
    with pytest.raises(FullError, match="capacity") as full:
        seen.update(range(10_000))
    assert 100 <= full.value.added == len(seen) < 200
    assert all(seen.contains_many(range(full.value.added)))
    before = seen.to_bytes()
    with pytest.raises(FullError) as full:
        for key in range(10_000, 20_000):
            before = seen.to_bytes()
            seen.add(key)
    assert full.value.added == 0 and seen.to_bytes() == before, "an error changes nothing"
    copies = FixedFilter(100)
    with pytest.raises(FullError, match="already stored 8 times"):
        for _ in range(9):
            copies.add("key")


def test_merge():
    ours, theirs = Filter(seed=7), Filter(seed=7)
    ours.update(["one", "both"])
    theirs.update(["two", "both"])
    ours |= theirs
    assert len(ours) == 4 and all(key in ours for key in ["one", "two", "both"]) and len(theirs) == 2
    ours.merge(ours)
    assert len(ours) == 8
    before = ours.to_bytes()
    with pytest.raises(ValueError, match=r"make both with the same seed, as in Filter\(seed=7\)$"):
        ours.merge(Filter(seed=8))
    with pytest.raises(TypeError):
        ours |= {"key"}
    with pytest.raises(TypeError):
        ours.merge(FixedFilter(10))
    assert ours.to_bytes() == before


def test_copies_and_pickles_change_on_their_own(make):
    seen = make()
    seen.update(range(1000))
    for again in [seen.copy(), copy.copy(seen), copy.deepcopy(seen), pickle.loads(pickle.dumps(seen))]:
        assert again == seen and not again != seen and type(again) is type(seen)
        again.add("more")
        assert again != seen and "more" not in seen
    assert seen != make() and seen != set() and (seen == 5) is False
    with pytest.raises(TypeError, match="unhashable"):
        hash(seen)


def test_figures(make):
    seen = make(seed=3)
    small = sys.getsizeof(seen)
    seen.update(range(4000))
    stats = seen.stats()
    assert stats["keys"] == 4000 and stats["size_in_bytes"] == seen.size_in_bytes
    assert sys.getsizeof(seen) >= seen.size_in_bytes and sys.getsizeof(seen) >= small
    assert stats["bits_per_key"] == pytest.approx(8 * seen.size_in_bytes / 4000)
    assert 0 < seen.expected_false_positive_rate < 1e-5 and seen.seed == 3
    assert "4000 keys" in repr(seen) and str(seen.size_in_bytes) in repr(seen)
    assert make().stats()["bits_per_key"] is None


def test_the_rate_is_kept_while_it_grows():
    seen, asked = Filter(0.01, seed=5), 100_000
    for size in [10_000, 100_000, 1_000_000]:
        seen.update(np.arange(len(seen), size))
        wrong = seen.contains_many(np.arange(-asked, 0)).sum()
        # Three in a thousand would be 300; five sigmas around what the filter expects.
        expected = asked * seen.expected_false_positive_rate
        assert abs(wrong - expected) <= 5 * max(expected, 1) ** 0.5 and wrong < 0.01 * asked
        assert seen.contains_many(np.arange(size)).all()
    hinted = Filter(0.01, expected_items=1_000_000)
    hinted.update(np.arange(1_000_000))
    assert hinted.size_in_bytes < 0.9 * seen.size_in_bytes
    grown = seen.size_in_bytes
    assert seen.discard_many(np.arange(1000, 1_000_000)).all()
    assert seen.size_in_bytes < grown / 50 and seen.contains_many(np.arange(1000)).all()


def test_maplet(tmp_path):
    shards = Maplet(1000, 0.001, value_bits=8, seed=1)
    for i in range(1000):
        shards.add(f"user:{i}", i % 256)
    assert len(shards) == 1000 and all(i % 256 in shards.get(f"user:{i}") for i in range(1000))
    assert "user:1" in shards and sum(len(shards.get(i)) for i in range(10_000)) < 40
    assert shards.discard("user:17", 17) and not shards.discard("user:17", 17)
    with pytest.raises(KeyError):
        shards.remove("user:17", 17)
    with pytest.raises(ValueError, match="value_bits"):
        shards.add("user:17", 256)
    with pytest.raises(FullError):
        for i in range(2000):
            shards.add(i, 0)
    shards.save(tmp_path / "shards.cf")
    for again in [Maplet.load(tmp_path / "shards.cf"), pickle.loads(pickle.dumps(shards)), shards.copy()]:
        assert again == shards and again.get("user:3") == shards.get("user:3")
    with pytest.raises(DecodeError):
        Filter.load(tmp_path / "shards.cf")
    assert shards.value_bits == 8 and shards.capacity == 1000 and "values of 8 bits" in repr(shards)
    shards.clear()
    assert not shards and sys.getsizeof(shards) > 1000


KEYS = st.one_of(
    st.text(max_size=20), st.binary(max_size=20), st.integers(-(2**63), 2**64 - 1), st.integers(0, 50)
)


def canonical(key):
    """What makes two keys the same."""
    if isinstance(key, str):
        return key.encode()
    return key if isinstance(key, bytes) else (key % 2**64).to_bytes(8, "little")


class AsCounter(RuleBasedStateMachine):
    """A filter through everything that can happen to it, beside an exact multiset."""

    def fresh(self):
        return Filter(1e-8, seed=9)

    @initialize()
    def begin(self):
        self.filter, self.exact = self.fresh(), Counter()

    @rule(key=KEYS)
    def add(self, key):
        self.filter.add(key)
        self.exact[canonical(key)] += 1

    @rule(keys=st.lists(KEYS, max_size=300), form=st.sampled_from([list, tuple, iter]))
    def update(self, keys, form):
        self.filter.update(form(keys))
        self.exact.update(map(canonical, keys))

    @rule(keys=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=300))
    def update_with_an_array(self, keys):
        self.filter.update(np.array(keys, dtype=np.int64))
        self.exact.update(map(canonical, keys))

    @rule(key=KEYS)
    def discard(self, key):
        there = self.exact[canonical(key)] > 0
        assert self.filter.discard(key) == there
        self.exact[canonical(key)] -= there

    @rule(data=st.data())
    def discard_many(self, data):
        keys = sorted(key for key, count in self.exact.items() if count)
        gone = data.draw(st.lists(st.sampled_from(keys), max_size=50)) if keys else []
        answers = self.filter.discard_many(gone)
        for key, answer in zip(gone, answers, strict=True):
            assert answer == (self.exact[key] > 0)
            self.exact[key] -= int(answer)

    @rule(keys=st.lists(KEYS, max_size=50))
    def add_new(self, keys):
        for key, is_new in zip(keys, self.filter.add_new(keys), strict=True):
            assert is_new == (self.exact[canonical(key)] == 0)
            self.exact[canonical(key)] += int(is_new)

    @rule(keys=st.lists(KEYS, max_size=100))
    def merge(self, keys):
        other = self.fresh()
        other.update(keys)
        self.filter |= other
        self.exact.update(map(canonical, keys))

    @rule()
    def save_and_load(self):
        again = Filter.from_bytes(self.filter.to_bytes())
        assert again == self.filter
        self.filter = again

    @rule()
    def pickled(self):
        self.filter = pickle.loads(pickle.dumps(self.filter))

    @rule(key=KEYS)
    def looked_up(self, key):
        assert (key in self.filter) == (self.exact[canonical(key)] > 0)

    @invariant()
    def the_same(self):
        if not hasattr(self, "filter"):
            return
        held = {key: count for key, count in self.exact.items() if count}
        assert len(self.filter) == sum(held.values())
        assert self.filter.contains_many(list(held)).all()
        assert all(self.filter.count(key) == count for key, count in list(held.items())[:20])


TestAsCounter = AsCounter.TestCase
TestAsCounter.settings = settings(max_examples=60, stateful_step_count=30)


@given(st.lists(KEYS, max_size=400))
def test_add_new_is_what_a_set_says(keys):
    seen, exact = Filter(1e-8, seed=2), set()
    for key, is_new in zip(keys, seen.add_new(keys), strict=True):
        assert is_new == (canonical(key) not in exact)
        exact.add(canonical(key))
    assert len(seen) == len(exact)
