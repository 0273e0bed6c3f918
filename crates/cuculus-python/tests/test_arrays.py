"""Arrays and columns: what is read in place gives the same answers as a list of the same keys."""

import array
import ctypes

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from cuculus_filter import Filter, FixedFilter

WORDS = [f"{'long ' * (i % 7)}word {i}" for i in range(5000)] + ["", "ä€𐍈"]
NUMBERS = [*range(-128, 128)]


def filters():
    return [Filter(1e-6, seed=1), FixedFilter(20_000, 1e-6, seed=1)]


def check(column, keys):
    """A column is its list of keys, in every method."""
    keys = list(keys)
    for by_list, by_column in zip(filters(), filters(), strict=True):
        by_list.update(keys)
        by_column.update(column)
        assert by_list.to_bytes() == by_column.to_bytes(), "the same keys in the same order"
        found = by_list.contains_many(column)
        assert found.dtype == bool and found.shape == (len(keys),) and found.all()
        by_list.discard_many(keys[::2])
        assert (by_list.contains_many(column) == by_list.contains_many(keys)).all()
        by_list.clear()
        new = by_list.add_new(column)
        assert new.sum() == len(set(keys)) and not by_list.add_new(column).any()
        assert by_list.discard_many(column).sum() == len(set(keys)) and len(by_list) == 0


@pytest.mark.parametrize("dtype", "bhilqBHILQnNpP")
def test_integer_arrays(dtype):
    numbers = np.array(NUMBERS).astype(dtype)
    check(numbers, numbers.tolist())


@pytest.mark.parametrize(
    "numbers",
    [
        array.array("i", NUMBERS),
        array.array("q", [-(2**63), 2**63 - 1]),
        array.array("Q", [0, 2**64 - 1]),
        memoryview(np.array(NUMBERS)),
        memoryview(array.array("h", NUMBERS))[::3],
        bytearray(range(100)),
        np.arange(1000)[::-1],
        np.arange(1000)[7::13],
        np.zeros(0, dtype=np.int32),
        np.arange(6).reshape(2, 3)[:, 1],
        np.broadcast_to(np.int64(5), 4),
        (ctypes.c_int16 * 3)(1, -2, 3),
        np.frombuffer(b"\0" + np.arange(9).tobytes(), dtype=np.int64, offset=1)[:8],
    ],
    ids=lambda numbers: type(numbers).__name__,
)
def test_other_arrays(numbers):
    check(numbers, list(numbers))


def test_arrays_are_not_written_to():
    numbers = np.arange(1000)
    numbers.flags.writeable = False
    Filter().update(numbers)
    assert (numbers == np.arange(1000)).all()


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        (np.zeros(3), "float64"),
        (np.zeros(3, np.float16), "float16"),
        (np.zeros(3, np.longdouble), "longdouble|float128"),
        (np.zeros(3, complex), "complex128"),
        (np.zeros(3, bool), "bool"),
        (np.zeros(3, ">i4"), ">i4"),
        (array.array("d", [1.0]), "'d'"),
        (pd.Series([1.5]), "float64|double"),
        (pl.Series([1.5]), "float64"),
        (pa.array([True]), "bool"),
        (pl.Series([[1]]), "Arrow"),
        (pa.table({"a": [1], "b": [2]}), "2 columns"),
        (np.array(["2020-01-01"], "M8[D]"), "datetime64"),
        (np.array([None, 1]), "NoneType"),
        (pl.LazyFrame({"a": ["x"]}), r"^a LazyFrame has no keys until it is run; give its result, LazyFrame.collect\(\)$"),
        (pl.col("a"), "^expected a list, an array, a column or another iterable of keys, got Expr$"),
        (None, "^expected a list, .* got NoneType$"),
    ],
)
def test_what_is_refused(numbers, words):
    for seen in filters():
        for call in [seen.update, seen.add_new, seen.contains_many, seen.discard_many]:
            with pytest.raises(TypeError, match=words):
                call(numbers)
        assert len(seen) == 0


def test_more_dimensions_and_nulls_are_refused():
    for seen in filters():
        with pytest.raises(ValueError, match="2 dimensions"):
            seen.update(np.zeros((2, 2), dtype=int))
        for column in [
            pl.Series(["a", None]),
            pa.array([1, None, None])[1:],
            pd.Series(["a", None]),
            pa.chunked_array([["a"], ["b", None]]),
            pa.array(["a", None]).dictionary_encode(),
        ]:
            with pytest.raises(ValueError, match="nulls"):
                seen.update(column)
        with pytest.raises(ValueError, match="2 masked elements, .* array.compressed"):
            seen.update(np.ma.array([1, 2, 3], mask=[1, 0, 1]))
        assert len(seen) == 0
        # A null that is not in the slice does not count.
        seen.update(pa.array(["a", None, "b"])[2:])
        assert len(seen) == 1 and "b" in seen


@pytest.mark.parametrize("before", [0, 5000])
def test_add_new_of_many_keys_marks_the_first_of_equal_ones(before):
    """Many keys are added in bulk, another way than few."""
    keys = np.random.default_rng(3).integers(0, 20_000, 50_000)
    for seen in [Filter(1e-6, seed=1), FixedFilter(60_000, 1e-6, seed=1)]:
        seen.update(np.arange(before))
        first = np.zeros(len(keys), dtype=bool)
        first[np.unique(keys, return_index=True)[1]] = True
        expected = first & (keys >= before)
        assert (seen.add_new(keys) == expected).all()
        assert len(seen) == before + expected.sum() and seen.contains_many(keys).all()


TEXT = {
    "polars": pl.Series(WORDS),
    "polars categorical": pl.Series(WORDS).cast(pl.Categorical),
    "polars frame": pl.DataFrame({"word": WORDS}),
    "pandas": pd.Series(WORDS),
    "pandas objects": pd.Series(WORDS, dtype=object),
    "pandas category": pd.Series(WORDS, dtype="category"),
    "pyarrow": pa.array(WORDS),
    "pyarrow large": pa.array(WORDS, pa.large_string()),
    "pyarrow views": pa.array(WORDS, pa.string_view()),
    "pyarrow dictionary": pa.array(WORDS).dictionary_encode(),
    "pyarrow chunks": pa.chunked_array([WORDS[:7], [], WORDS[7:4100], WORDS[4100:]]),
    "pyarrow table": pa.table({"word": WORDS}),
    "pyarrow batch": pa.record_batch({"word": WORDS}),
    "numpy": np.array(WORDS),
    "numpy objects": np.array(WORDS, dtype=object),
    "numpy strings": np.array(WORDS, dtype=np.dtypes.StringDType()),
}


@pytest.mark.parametrize("name", TEXT)
def test_text_columns(name):
    check(TEXT[name], WORDS)


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary_view()])
def test_byte_columns(kind):
    check(pa.array([word.encode() for word in WORDS], kind), [word.encode() for word in WORDS])


def test_other_columns():
    check(pa.array([b"abc", b"def"], pa.binary(3)), [b"abc", b"def"])
    check(pa.array(WORDS)[10:4500], WORDS[10:4500])
    check(pa.table({"word": WORDS})[10:4500], WORDS[10:4500])
    check(pa.record_batch({"word": WORDS}).slice(3, 100), WORDS[3:103])
    check(pa.array(WORDS * 2).dictionary_encode()[9:6000], (WORDS * 2)[9:6000])
    check(pa.array([], pa.string()), [])
    check(pl.Series([], dtype=pl.String), [])
    for kind in [pa.int8(), pa.int16(), pa.int32(), pa.int64()]:
        check(pa.array(NUMBERS, kind)[5:100], NUMBERS[5:100])
    for kind in [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]:
        check(pa.array(range(200), kind), range(200))
    check(pd.Series(NUMBERS, index=NUMBERS[::-1]), NUMBERS)
    check(pd.Series(NUMBERS).astype("int16"), NUMBERS)
    check(pl.Series(NUMBERS), NUMBERS)


class ArrayOnly:
    """Offers the interface for one piece."""

    def __init__(self, column):
        self.column = column

    def __arrow_c_array__(self, requested_schema=None):
        return self.column.__arrow_c_array__(requested_schema)


def test_arrays_of_one_piece():
    check(ArrayOnly(pa.array(WORDS)), WORDS)


class Broken:
    def __arrow_c_stream__(self, requested_schema=None):
        return "no capsule"


def test_a_broken_producer_is_an_error():
    with pytest.raises(TypeError):
        Filter().update(Broken())
    capsule = pa.chunked_array([WORDS]).__arrow_c_stream__()

    class Twice:
        def __arrow_c_stream__(self, requested_schema=None):
            return capsule

    Filter().update(Twice())
    with pytest.raises(ValueError, match="taken already"):
        Filter().update(Twice())


def test_a_reader_of_batches():
    """It is an iterator as well, of batches."""
    batches = [pa.record_batch({"word": [word]}) for word in WORDS[:3]]
    for seen in filters():
        seen.update(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
        assert len(seen) == 3 and seen.contains_many(WORDS[:3]).all()


def test_a_query_of_duckdb():
    check(duckdb.sql("select 'key ' || i as key from range(20000) t(i)"), (f"key {i}" for i in range(20_000)))
