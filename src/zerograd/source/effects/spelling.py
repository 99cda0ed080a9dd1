"""The keywords of calls that say something about gradients, and the names that frameworks look for in a program."""

ASSIGN = "assign"  # of load_state_dict()
COPY_WEIGHTS = "copy_initial_weights"  # of higher's contexts
CREATE_GRAPH = "create_graph"
DELAY_UNSCALE = "delay_unscale"
ENABLED = "enabled"
LOSS = "loss"
SEED = "gradient"
INPUTS = "inputs"  # of a backward: what is to take a gradient, leaf or not
INIT_SCALE = "init_scale"  # of a scaler: where its scale begins
MODULE = "module"  # of add_module()
NAME = "name"
MAX_LENGTH = "maxlen"  # of a deque
MAX_NORM = "max_norm"
CLIP_VALUE = "clip_value"
MIXED_PRECISION = "mixed_precision"
NEED_UPDATE = "need_update"
OPTIMIZER_KEYWORD = "optimizer"  # of a scheduler, and of the dict that configure_optimizers() may return
OUT = "out"  # of a function that computes a tensor: where it is written
PARAMS = "params"  # of an optimizer, and of its groups
PARAM_GROUPS = "param_groups"
RETAIN_GRAPH = "retain_graph"
RETAIN_VARIABLES = "retain_variables"  # what that was called before torch 0.4
REDUCTION = "reduction"
OLD_REDUCTIONS = ("size_average", "reduce")
DIMENSION = "dim"
DEVICE = "device"
REQUIRES_GRAD = "requires_grad"
SET_TO_NONE = "set_to_none"  # of zero_grad()
START = "start"
ZERO_GRAD = "zero_grad"  # of the halves of a sharpness-aware step

TRAINING_STEP = "training_step"  # Lightning goes backward with what it returns,
AUTOMATIC = "automatic_optimization"  # unless this is off
CONFIGURE_OPTIMIZERS = "configure_optimizers"  # Lightning asks a module for its optimizers


def is_far(device: object) -> bool:
    """Whether this is a device on which no tensor is made unless it is told so."""
    return isinstance(device, str) and device != "cpu"


def is_half(precision: object) -> bool:
    """Whether this setting of `mixed_precision` is the one that needs a loss scale."""
    return precision == "fp16"


def is_class(name: str) -> bool:
    """Whether the last part of a qualified name is written as Python writes classes."""
    return name.rpartition(".")[2][:1].isupper()
