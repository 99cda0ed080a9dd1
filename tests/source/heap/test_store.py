"""The table of names is a log of writes: a branch takes its changes away again."""

from hypothesis import given
from hypothesis import strategies as st

from zerograd.source.heap.store import Store
from zerograd.source.heap.values import Value

ONE, TWO = Value(1), Value(2)
X, Y = ("frame", "x"), ("frame", "y")


def test_a_level_is_undone() -> None:
    store = Store()
    store.put(X, ONE)
    level = store.open()
    store.put(X, TWO)
    store.put(Y, TWO)
    assert store.changes(level) == {X: TWO, Y: TWO}
    store.undo(level)
    assert store.get(X) is ONE
    assert store.get(Y) is None


def test_a_committed_level_belongs_to_the_one_below() -> None:
    store = Store()
    outer = store.open()
    inner = store.open()
    store.put(X, ONE)
    store.commit(inner)
    assert store.changes(outer) == {X: ONE}
    store.undo(outer)
    assert store.get(X) is None


def test_what_was_read_is_recorded() -> None:
    store = Store()
    store.put(X, ONE)
    store.reads = {}
    store.get(X)
    store.get(Y)
    reads = store.reads
    assert reads == {X: ONE, Y: None}
    assert store.holds(reads)
    store.put(Y, TWO)
    assert not store.holds(reads)


@given(st.lists(st.tuples(st.sampled_from(["x", "y", "z"]), st.integers(0, 3)), max_size=12))
def test_undoing_brings_everything_back(writes: list[tuple[str, int]]) -> None:
    store = Store()
    for name, number in writes[:4]:
        store.put(("frame", name), Value(number))
    before = store.fields("frame")
    level = store.open()
    for name, number in writes:
        if number == 0:
            store.drop(("frame", name))
        else:
            store.put(("frame", name), Value(number))
    store.undo(level)
    assert store.fields("frame") == before
