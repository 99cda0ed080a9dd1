"""The vocabulary of the tables: what a call does, and what an attribute is."""

from enum import Enum, auto
from typing import NamedTuple


class Act(Enum):
    """What calling something does. `first` is its first argument, or the receiver of a method."""

    # Makes an object.
    MODULE = auto()  # a network with parameters of its own, and of the modules it is given
    PLAIN_MODULE = auto()  # a module without parameters
    CRITERION = auto()  # a module that computes a loss: the mean, unless `reduction` says otherwise
    OPTIMIZER = auto()  # over its first argument
    SCALER = auto()
    SCHEDULER = auto()  # of the optimizer it is given
    PLATEAU = auto()  # a scheduler that is told a metric: it may move whenever it likes
    PARAMETER = auto()  # a leaf that takes a gradient
    LOADER = auto()
    ACCELERATOR = auto()
    WRAPPER = auto()  # the module it is given, in another coat
    MAKES = auto()  # a thing whose kind its uses will tell
    REPLICATES = auto()  # the module it is given, in a coat that averages gradients over the ranks
    CALLABLE_SCALER = auto()  # timm's: scale, backward, unscale, clip, step and update in one call
    # Computes a value.
    COMPUTES = auto()  # its graph is that of what it is given
    LOSS = auto()  # a loss function: the mean, unless `reduction` says otherwise
    MEAN = auto()
    SUM = auto()
    CUTS = auto()  # a tensor without a graph
    SPLITS = auto()  # the parts of a tensor, in order
    CASTS = auto()  # its receiver, as another type or elsewhere
    LIKE = auto()  # the receiver in the shape of what it is given
    FLAT = auto()  # a tensor with a graph whose gradient is 0: rounding
    NUMBER = auto()  # no tensor at all
    NEW_TENSOR = auto()  # a tensor of its own: a leaf if `requires_grad` says so
    COPIES = auto()  # a new tensor of what it is given, without a graph; a leaf if `requires_grad` says so
    WRAPS = auto()  # the tensor it is given, or a new one of numbers; a leaf if `requires_grad` says so
    SAME = auto()  # its first argument
    MOVES = auto()  # its first argument, on another device: another tensor, unless it is there already
    ASKS = auto()  # a number that can be asked of its first argument again: the same one while nothing changes it
    DIVIDES = auto()
    MULTIPLIES = auto()
    LEAF = auto()  # requires_grad_(): a leaf, if it has no graph
    AUTOGRAD = auto()  # autograd.grad: gradients as a value, nothing is deposited
    CHECKPOINT = auto()  # calls its first argument with the others
    CUTS_ITSELF = auto()  # detach_()
    FUNCTIONAL = auto()  # calls a module with the parameters that it is given
    # Changes the mode.
    NO_GRAD = auto()
    GRAD = auto()
    GRAD_IF = auto()  # as its first argument says
    ACCUMULATES = auto()  # a block in which steps and clears happen only where a window ends
    COPIES_WEIGHTS = auto()  # higher: a block that hands out a copy of a model, unless it is told otherwise
    SCALE_LOSS = auto()  # apex: a block that hands out the scaled loss, and unscales where it ends
    CONTEXT = auto()  # a block that changes nothing here
    CAPTURE = auto()  # a CUDA graph records what the block does
    FAILS = auto()  # a block in which something is to go wrong: a test of errors
    # Does something to gradients.
    DEPOSITS = auto()
    STEPS = auto()
    ASCENDS = auto()  # the first half of a sharpness-aware step: moves along the gradient, and clears if it is told to
    DESCENDS = auto()  # the second half: moves back, steps, and clears if it is told to
    CLEARS = auto()
    CLIPS = auto()
    UNSCALES = auto()
    SCHEDULES = auto()
    SCALES = auto()  # the loss times a loss scale
    UPDATES = auto()  # scaler.update()
    RESTORES = auto()  # a scaler takes over the scale that another one has found
    LOSS_SCALE = auto()  # the loss scale as a number
    STEPS_ALL = auto()  # DeepSpeed: clip, unscale, step, schedule and clear, where a window ends
    MANUAL = auto()  # Lightning's manual_backward
    CLIPS_ALL = auto()  # Fabric's and Lightning's clip_gradients
    TOGGLES = auto()  # Lightning's toggle_optimizer: freezes the parameters of the others
    REPLAYS = auto()  # runs what was captured again: anything may have happened
    # Reads or changes a structure.
    PARAMETERS = auto()
    NAMED_PARAMETERS = auto()
    FREEZES = auto()
    PARTS = auto()  # modules(), children()
    NAMED_PARTS = auto()
    ADDS_PART = auto()
    ADDS_GROUP = auto()
    STATE = auto()  # state_dict(): the weights of a module
    LOADS = auto()  # load_state_dict(): copies weights into a module; with `assign`, takes them over
    PREPARES = auto()  # hands back what it is given, prepared
    UNWRAPS = auto()
    FORWARD_HOOK = auto()  # a function that is handed what this computes, whenever it does
    HOOKS = auto()  # a function that runs whenever this steps, clears or goes backward
    OPTIMIZERS = auto()  # Lightning's self.optimizers()
    APPENDS = auto()
    EXTENDS = auto()
    ITEMS = auto()
    VALUES = auto()
    KEYS = auto()
    GETS = auto()
    POPS = auto()
    EMPTIES = auto()
    MERGES = auto()
    COPY = auto()  # another object that is like it
    SETS_DEVICE = auto()  # tensors are made elsewhere from here on
    SEEDS = auto()  # random numbers begin anew
    UNPICKLES = auto()  # things out of a file, which were not there before
    FILLS = auto()  # fill_(x): of a gradient, a clear where x is 0
    ZEROES = auto()
    REPLACES = auto()  # copy_(): of a gradient, a clear and a deposit
    CLAMPS = auto()  # of a gradient, a clip
    CLAMPED = auto()  # clamp() into a new tensor
    ADDS = auto()  # add_(): of a gradient, one more deposit
    TOUCHES = auto()  # changes in place: of a gradient, rescaled by hand
    # Python.
    ENUMERATE = auto()
    RANGE = auto()
    COUNTS = auto()  # itertools.count: a range without an end
    LENGTH = auto()
    LIST = auto()  # reads what it is given to the end
    ITERATES = auto()
    SET = auto()
    FILTER = auto()
    MAP = auto()
    ZIP = auto()
    NEXT = auto()
    EXHAUSTED = auto()  # the exception that next() raises behind the last element
    GETATTR = auto()
    SETATTR = auto()
    TOTAL = auto()
    INTEGER = auto()
    IS_INSTANCE = auto()
    HAS_ATTRIBUTE = auto()
    IS_TENSOR = auto()
    CALLS = auto()  # partial, lru_cache: the function it is given
    CHAINS = auto()  # itertools.chain
    CYCLES = auto()  # itertools.cycle: its first argument, for ever
    METHOD_CALLER = auto()
    SUPER = auto()
    STATIC = auto()
    CLASS_METHOD = auto()
    PROPERTY = auto()
    CONTEXT_MANAGER = auto()
    SAME_FUNCTION = auto()  # a decorator that leaves the function what it is
    NAMESPACE = auto()  # an object with the attributes it is given: SimpleNamespace, DotDict
    QUIETS = auto()  # a context in which a module's gradients are not averaged over the ranks
    REDUCES = auto()  # averages over the ranks by hand
    OPAQUE = auto()  # deposits, steps or clears somewhere else
    READS = auto()  # the learning rate or the state of an optimizer
    LOCALS = auto()  # all names of the function
    ENDS = auto()  # the program
    THING = auto()  # an object whose methods have rows under the name of its class
    UNWRITTEN = auto()  # the exception that says: somebody else is to write this
    NOTHING = auto()  # reads what it is given; its result is of no interest here

    __hash__ = object.__hash__


class Row(NamedTuple):
    act: Act
    reduction: str = ""  # of a criterion or a loss, where it is not told
    scaled: bool = False  # it goes through a scaler, or unscales first
    keyword: str = ""  # the name of its first argument
    divides: str = ""  # of an accelerator: the keyword that tells by which number its backward() divides
    asks: str = ""  # of what answers the same as long as its subject is the same: what is asked
    alone: bool = False  # it is handed nothing: a method of this name that is handed something is another one
    learns: bool = False  # a layer whose weights are drawn at random
    joins: bool = False  # what it is given comes out side by side
    repeats: bool = False  # an optimizer whose step evaluates its closure again and again


class Trait(Enum):
    """What reading an attribute gives."""

    GRADIENT = auto()
    DATA = auto()  # the tensor without its graph
    REQUIRES_GRAD = auto()
    GROUPS = auto()  # an optimizer's parameter groups
    ITSELF = auto()  # the same thing, unwrapped
    SYNCED = auto()  # whether a window of accumulation ends here
    TOLD = auto()  # what it was told under this name when it was made
    NUMBER = auto()  # the same one, while nothing changes it
    VIEW = auto()  # another view of the tensor: its graph is the tensor's
    SETTING = auto()
