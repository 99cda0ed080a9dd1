"""Abstract objects: one for each place that makes them, in each context of calls."""

from collections.abc import Hashable
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

from zerograd.core.events import Site

if TYPE_CHECKING:
    from zerograd.source.heap.values import Value
    from zerograd.source.project.index import Class, File, Function


class ObjectKind(Enum):
    MODULE = auto()
    CRITERION = auto()  # a module without parameters that computes a loss
    OPTIMIZER = auto()
    SCALER = auto()
    SCHEDULER = auto()
    ACCELERATOR = auto()
    ENGINE = auto()  # goes backward and steps by itself
    LEAF = auto()  # a tensor that takes a gradient
    PARAMETER = auto()  # one of a module's parameters, standing for all of them
    PARAMETERS = auto()  # parameters()
    GRADIENT = auto()  # a `.grad`
    CONTAINER = auto()
    INSTANCE = auto()  # of a class of the project
    FUNCTION = auto()
    BOUND = auto()  # a method with its receiver
    CLASS = auto()
    GENERATOR = auto()
    CONTEXT = auto()  # what a `with` enters
    FILE = auto()  # a module of the project
    EXTERNAL = auto()  # known by its qualified name alone
    LOADER = auto()
    NONE = auto()
    ANYTHING = auto()  # among what a graph is made of: it may be anything
    STAGE = auto()  # what a scaler remembers of an optimizer
    HAND = auto()  # whoever updates parameters with their own gradients, and is no optimizer
    GIVEN = auto()  # comes from outside: what it is follows from what is done with it
    CALLER = auto()  # operator.methodcaller: calls a method of what it is given
    REPLAY = auto()  # a captured graph
    ITERATOR = auto()  # what can be read once: see [Note: iterators]

    __hash__ = object.__hash__


class Shape(Enum):
    """What tells an object from others of its kind."""

    PLAIN = auto()
    DICT = auto()  # of a CONTAINER
    RANGE = auto()
    ENUMERATE = auto()
    ZIP = auto()  # of which one counts
    PARTS = auto()  # the parts of a batch
    GROUPS = auto()  # an optimizer's
    NAMED = auto()  # of PARAMETERS: with their names
    UNSEEN = auto()  # of an OPTIMIZER: whoever is to step on what was clipped here, elsewhere
    REPEATS = auto()  # of an OPTIMIZER: its step evaluates its closure again and again
    CALLABLE = auto()  # of a SCALER: one call does it all
    SETTLED = auto()  # of a STAGE: whether a scaler was updated behind a step
    CLIPPED = auto()  # of a GRADIENT: what a clip has made of it, elsewhere
    INCOMING = auto()  # of a GRADIENT: what a hook is handed
    SHARING = auto()  # of a HAND: it hands its gradient over, see [Note: sharing]
    READING = auto()  # of a HAND: it uses the gradient, see [Note: readers]
    HALF = auto()  # of an ACCELERATOR: it scales the loss
    REPLACED = auto()  # of a STAGE: what stands in the place of a network, see [Note: replaced]


class Mode(Enum):
    """What a CONTEXT changes where it is entered; and that an OPTIMIZER was prepared by what scales the loss."""

    PLAIN = auto()
    ON = auto()  # gradients are recorded
    OFF = auto()
    MAYBE = auto()
    ACCUMULATES = auto()
    SCALES_LOSS = auto()
    PREPARED = auto()
    QUIET = auto()  # gradients are not averaged over the ranks
    FAILS = auto()  # something is to go wrong

    __hash__ = object.__hash__


class Obj:
    """`number` gives an order that is the same in every run. What a field means depends on the kind."""

    __slots__ = (
        "alone",
        "born",
        "brought",
        "children",
        "cls",
        "complete",
        "constructed",
        "context",
        "copied_from",
        "divisor",
        "element_of",
        "file",
        "frame",
        "function",
        "given",
        "held",
        "hinted",
        "key",
        "kind",
        "learns",
        "loose",
        "made",
        "many",
        "mode",
        "name",
        "no_grad",
        "number",
        "off",
        "optimizers",
        "receiver",
        "reduction",
        "regions",
        "shape",
        "shown",
        "site",
        "source",
        "taken",
        "told",
        "uses",
        "wholly",
    )

    def __init__(self, key: tuple[Hashable, ...], kind: ObjectKind, number: int) -> None:
        self.key = key
        self.kind = kind
        self.number = number
        self.made = ""  # of an OPTIMIZER: the call that made it, for the sentences of findings alone
        self.name = ""  # of an EXTERNAL its qualified name, of a BOUND its method, of a GIVEN the name it was met under
        self.given = False  # it comes from outside, whatever it turned out to be
        self.constructed = False  # of a GIVEN: a class that cannot be read has made it
        self.alone = False  # of what is constructed: nothing that the program made was ever handed to it
        self.shown = False  # it was handed to something that cannot be read, which may keep it
        self.brought = False  # of a GIVEN: it comes out of a file, or a method of a class has made it: it is new
        self.hinted = False  # what it is rests on a hint, or on something that may change it unseen
        self.uses: set[str] = set()
        self.cls: Class | None = None
        self.file: File | None = None
        self.function: Function | None = None
        self.frame: object = None  # of a FUNCTION: where its free names are looked up
        self.receiver: Value | None = None
        self.children: set[Obj] = set()  # of a MODULE: its parts and its parameters
        self.taken: set[Obj] = set()  # of a MODULE: given things that were put into it, and may be parts
        self.copied_from: frozenset[Obj] = NOTHING_HELD  # of a MODULE: those whose weights it has taken over
        self.loose: set[Obj] = set()  # of a MODULE: the parts that it keeps in a list, where torch does not see them
        self.held: frozenset[Obj] = NOTHING_HELD  # of an OPTIMIZER: the regions it steps
        self.wholly: frozenset[Obj] = NOTHING_HELD  # of an OPTIMIZER: those of which it was given every parameter
        self.complete = False  # of an OPTIMIZER: all that it was given is seen, and it holds nothing else
        self.learns = False  # of a MODULE: a layer whose weights are drawn at random, and are to be learned
        self.regions: frozenset[Obj] = NOTHING_HELD  # of PARAMETERS, PARAMETER, GRADIENT: whose
        self.optimizers: set[Obj] = set()  # of a SCHEDULER or a wrapper: those it was given
        self.many = False  # it stands for several
        self.off = False  # a scaler that is switched off; a schedule that is told what to do
        self.no_grad = False
        self.shape = Shape.PLAIN
        self.mode = Mode.PLAIN
        self.reduction = ""
        self.divisor: Hashable = None  # of an ACCELERATOR: what its backward() divides by, as far as it is known
        self.born: tuple[object, ...] = ()  # the loops in which it is made
        self.context: object = None
        self.source: Obj | None = None  # of a GIVEN: what it was read from or called on
        self.element_of: Obj | None = None
        self.told: Any = (
            None  # of a CONTEXT: the test that switches it on, None where nothing does; of a STAGE: what is kept
        )
        self.site: Site | None = (
            None  # of a LEAF that was copied from something, and of an OPTIMIZER: where it was made
        )

    def __repr__(self) -> str:
        return f"<{self.kind.name.lower()} {self.number} {self.name}>"

    def __lt__(self, other: "Obj") -> bool:
        return self.number < other.number


NOTHING_HELD: frozenset["Obj"] = frozenset()


class Heap:
    """All objects of one root, by what makes them."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Obj] = {}
        self.none = self.of("none", kind=ObjectKind.NONE)
        self.anything = self.of("anything", kind=ObjectKind.ANYTHING)

    def of(self, *key: Hashable, kind: ObjectKind) -> Obj:
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Obj(key, kind, len(self._known))
        return known

    def known(self, *key: Hashable) -> Obj | None:
        return self._known.get(key)

    def all(self) -> list[Obj]:
        return list(self._known.values())
