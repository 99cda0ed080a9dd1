"""How regions lie to each other: parts of one module, strangers, and things nobody knows."""

from zerograd.source.heap.objects import Heap, Obj, ObjectKind
from zerograd.source.heap.regions import Covers, Overlap, reach


def module(heap: Heap, name: str, *, given: bool = False) -> Obj:
    obj = heap.of(name, kind=ObjectKind.MODULE)
    obj.given = given
    return obj


def test_a_part_lies_in_its_whole() -> None:
    heap = Heap()
    net, head = module(heap, "net"), module(heap, "head")
    net.children.add(head)
    assert reach(net) == {net, head}
    assert Overlap().of(head, {net}) is Covers.YES
    assert Overlap().of(net, {head}) is Covers.YES


def test_strangers_share_nothing_unless_somebody_ties_them() -> None:
    heap = Heap()
    one, other = module(heap, "one"), module(heap, "other")
    overlap = Overlap()
    assert overlap.of(one, {other}) is Covers.NO
    overlap.tied |= {one, other}
    assert overlap.of(one, {other}) is Covers.MAYBE


def test_what_was_given_may_be_what_was_made() -> None:
    heap = Heap()
    made, given = module(heap, "made"), module(heap, "given", given=True)
    assert Overlap().of(made, {given}) is Covers.MAYBE
    assert Overlap().of(given, {module(heap, "other", given=True)}) is Covers.NO
    assert Overlap().of(made, {heap.anything}) is Covers.MAYBE


def test_what_was_made_later_is_in_no_part_of_what_was_there() -> None:
    heap = Heap()
    whole = module(heap, "whole", given=True)
    made = module(heap, "made")
    part = heap.of("part", whole, "head", kind=ObjectKind.MODULE)
    part.given = True
    assert Overlap().of(made, {part}) is Covers.NO
