"""Which rule has which maker of fixes. A rule that is not here has a cure that only its author can choose."""

from collections.abc import Callable, Iterator, Mapping

from zerograd.core.findings import Finding, Fix
from zerograd.source.fixes import clears, groups, order, scaling, values
from zerograd.source.fixes.page import Page

Maker = Callable[[Page, Finding], Iterator[Fix]]

MAKERS: Mapping[str, Maker] = {
    "ZG001": clears.stale,
    "ZG002": clears.discarded,
    "ZG003": order.call_backward,
    "ZG004": order.step_once,
    "ZG005": clears.leaked,
    "ZG006": clears.partial,
    "ZG007": clears.inherited,
    "ZG009": clears.closure,
    "ZG010": order.make_the_optimizer_last,
    "ZG101": groups.unnormalised,
    "ZG102": groups.tail,
    "ZG103": groups.uneven,
    "ZG105": groups.normalised_twice,
    "ZG107": groups.rescaled,
    "ZG201": scaling.unscale_first,
    "ZG202": scaling.let_the_scaler_step,
    "ZG203": scaling.update,
    "ZG204": scaling.unscale_once,
    "ZG301": order.schedule_behind,
    "ZG302": order.clip_in_place,
    "ZG303": values.clear_by_none,
    "ZG304": values.update_unwatched,
    "ZG305": clears.aliased,
    "ZG306": order.keep_a_list,
    "ZG401": clears.zeros,
    "ZG402": values.let_go_of_the_graph,
    "ZG403": clears.twice,
    "ZG502": groups.unsynchronised,
}
# These change nothing that a wrapper of an optimizer could take differently: tests of counters, losses, values.
OF_VALUES = frozenset({"ZG102", "ZG103", "ZG105", "ZG303", "ZG304", "ZG306", "ZG402", "ZG502"})
# These change one value each, which nothing else depends on: what was tried for many at once holds for each alone.
APART = frozenset({"ZG402"})
