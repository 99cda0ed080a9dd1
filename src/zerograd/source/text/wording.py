"""What names say of values where nothing else does: whether they are data, settings, or something that was kept."""

import builtins
import re
from collections.abc import Callable
from functools import lru_cache

from zerograd.source.text.patterns import pattern

BUILTINS = frozenset(dir(builtins))
# What has no graph, whatever it is asked of: numbers, shapes, places.
CUTS = frozenset(
    {"detach", "detach_", "data", "item", "numpy", "tolist", "shape", "size", "dim", "argmax", "argmin", "device"}
    | {"dtype", "is_cuda", "grad", "numel", "ndim", "long", "int", "bool", "eq", "ne", "argsort"}
)
# What has a graph if it is asked of something that has one, unless it is told to make integers.
SMOOTH = frozenset(
    {"mean", "sum", "abs", "pow", "sqrt", "exp", "log", "sigmoid", "softmax", "log_softmax", "tanh", "relu", "clamp"}
    | {"clone", "cpu", "cuda", "to", "float", "double", "half", "view", "reshape", "squeeze", "unsqueeze", "flatten"}
    | {"transpose", "permute", "contiguous", "expand", "repeat", "norm", "square", "add", "sub", "mul", "div", "neg"}
    | {
        "cat",
        "stack",
        "exp_",
        "nan_to_num",
        "type_as",
        "t",
        "log1p",
        "maximum",
        "minimum",
        "logsumexp",
        "log10",
        "log2",
    }
)
INTEGER = pattern(r"\b(u?int\d*|long|bool|short)\b")
NUMBERS = frozenset({"numpy", "math", "random", "os", "time", "len", "int", "float", "range", "str", "bool", "print"})
SAME = frozenset({"to", "cuda", "cpu", "float", "double", "half", "view", "reshape", "squeeze", "unsqueeze", "clone"})
SHAPES = frozenset({"view", "reshape", "repeat", "expand", "permute", "transpose", "squeeze", "unsqueeze", "to"})
TENSORS = frozenset({"contiguous", "permute", "transpose", "flatten", "view_as", "masked_fill", "masked_fill_"})
COUNTS = frozenset({"argmax", "argmin", "argsort", "eq", "ne", "gt", "lt", "ge", "le", "isnan", "isinf", "isfinite"})
RANKS = frozenset({"topk", "sort", "kthvalue", "mode"})  # values, and where they stand, which has no graph
MODULES = frozenset({"parameters", "named_parameters", "zero_grad", "train", "eval", "state_dict", "modules"})
ENDINGS = frozenset({"exit", "quit", "sys.exit", "os._exit"})  # nobody comes back from them
HANDS_OUT = frozenset({"tqdm", "trange", "cycle", "islice"})  # what they are given, item by item
_COPIES = frozenset(
    {"tensor", "from_numpy", "zeros", "ones", "rand", "randn", "full", "arange", "randint", "device"} | {"one_hot"}
)
_LIKE = pattern(r"_like$|Tensor$")
_LOADS = pattern(
    r"^_?(get|load|read|fetch)_(?!\w*(loss|fake|emb|feat|gen|pred|out))(\w*_)?(data|dataset|loader|csv)(_|s?$)"
)
_DATA_CLASS = pattern(r"(data_?set|data_?loader|sampler)$")
_DATA = pattern(r"load|data|batch|range|replay|sampler|iter")
# What is asked for data, by its last word: no data_encoder, and no criterion.
_SOURCE = pattern(r"(load(er)?|data(set|module)?s?|batch(es|er)?|sampler|iter(ator)?|replay|fetcher)s?\d*$|replay")
_GIVEN = pattern(
    r"^(real\w*|images?|imgs?|inputs?(_tensor|_ima?ge?s?|_batch)?|labels?|rewards?|dones?|masks?|input_ids|gt\w*|ones"
    r"|zeros|noise|targets?|epochs?|experiences?|transitions?|mini_?batch|\w*_size)$"
    r"|(^|_)(data|batch|loader|iter|dataset|sampler)$"
)
_SETTING = pattern(
    r"(^|[._])((device|args?|opts?|options?|cfg|config|hparams|flags)(\.|\[|$)|conf\.)",
    re.IGNORECASE,  # conf: also of boxes
)
_COEFFICIENT = pattern(
    r"(^|[._])(weight|coef\w*|lambda\w*|lmbda|alpha|beta|gamma|eps\w*|tau|lr|num|max|min|scale|ratio|temp\w*|clip\w*)(_|$)",
    re.IGNORECASE,
)
_KEEPS = pattern(r"hidden|memor|mem$|traj|storage|buffer|prev|last|old|cache|log_?prob|log_?prior|loss|state$|history")
_MOVES = pattern(r"roll_?out|unroll|simul|(^|_)step")
_TELLS = pattern(r"(^|\.)(log\w*|add_scalars?|\w*print\w*|info|debug|write|set_postfix\w*|set_description|step)$")
_RECURRENT = pattern(
    r"hidden(?!s|_?(size|dim|layer|unit|channel|feature|node|num|neuron))|\b[hc]x\b|\b[hc]_?0\b|lstm|\bgru|rnn|init_state",
    re.IGNORECASE,
)
_CARRIES = pattern(  # in no comment
    r"^[^#\n]*(\.\w*(hidden(?!s|_?(size|dim|layer|unit|channel|feature|node|num|neuron|act|drop))|cell_|\b[hc]_|[hc]x\b)"
    r"\w* *=(?!=)|init_?_?(hidden|state)\(\)|reset_?\w*(hidden|state)|hidden\w*\.detach|repackage"
    r"|detach_\w*(hidden|state)|zero_state|tbptt)",
    re.IGNORECASE | re.MULTILINE,
)
_VARIATIONAL = pattern(r"log_variational|log_prior|bayes(ian)?_?(linear|conv|net|layer)|\bbbb\b", re.IGNORECASE)
_STATE = pattern(r"hidden|(^|[._])[hc](x|_?0|_t|_prev)$")
_MODEL = pattern(r"model|net(work)?$|(^|[._])(net|vae|flow|encoder|decoder|unet|generator|policy)\w*$")
_MEASURES = pattern(r"(^|_)(accuracy|auc|auroc|f1_score|confusion_matrix|(get|calc|compute|calculate)_acc)$")
_LEARNED = pattern(r"\bhigher\b|learn2learn|\bl2l\b|fmodel|\bmaml\.|\.clone\(\)|Meta(Module|Learner)")
_QUIET = pattern(r"no_grad|inference_mode(?!\(False)|set_grad_enabled\(False")


def is_data(name: str) -> bool:
    """A loader, a batch, a replay buffer: what it hands out has no graph."""
    return _DATA.search(name.lower()) is not None


def loads(name: str) -> bool:
    """A function that fetches data: load_data(path), get_batch(i)."""
    return _LOADS.search(name.lower()) is not None


def makes_data(name: str) -> bool:
    """The class of a data set or a loader."""
    return _DATA_CLASS.search(name.lower()) is not None


def is_loader(name: str) -> bool:
    """The same of an attribute, if it is not named for what was kept."""
    return is_data(name) and not keeps(name)


def hands_out_data(owner: str, method: str) -> bool:
    """loader.next(), dataset.get(i), memory.sample(n)."""
    kept = keeps(owner)
    return (_SOURCE.search(owner.lower()) is not None and not kept) or (kept and method.startswith("sample"))


def is_given(name: str) -> bool:
    """A parameter that is named for what a data set holds."""
    return _GIVEN.search(name) is not None


def is_setting(path: str) -> bool:
    return _SETTING.search(path) is not None


def is_coefficient(path: str) -> bool:
    return _COEFFICIENT.search(path) is not None


def keeps(path: str) -> bool:
    """Something that holds what earlier calls gave it."""
    return _KEEPS.search(path.lower()) is not None


def tells(path: str) -> bool:
    """A call that tells people of a value, or a schedule: bar.set_description(...), writer.add_scalar(...)."""
    return _TELLS.search(path) is not None


def moves(name: str) -> bool:
    """A method that goes on from where it was: a simulation, a state that is unrolled."""
    return _MOVES.search(name.lower()) is not None


def is_model(path: str) -> bool:
    """model, self.net, vae: something with weights that is called."""
    return _MODEL.search(path.lower()) is not None


def is_state(path: str) -> bool:
    """hidden, hx: what goes from one call of a recurrent module to the next."""
    return _STATE.search(path.lower()) is not None


@lru_cache(maxsize=4)  # asked of one file again and again
def is_recurrent(text: str) -> bool:
    """Whether a file speaks of states that go from call to call."""
    return _RECURRENT.search(text) is not None


def carries(text: str) -> bool:
    """Whether a file has an object keep such a state, or lets go of one."""
    return _CARRIES.search(text) is not None


@lru_cache(maxsize=4)
def is_variational(text: str) -> bool:
    """Whether a file speaks of layers that draw their weights: many make the spread of them once, with its graph."""
    return _VARIATIONAL.search(text) is not None


def measures(name: str) -> bool:
    """A function that counts what is right: no gradient comes out of it."""
    return _MEASURES.search(name) is not None


@lru_cache(maxsize=4)
def computes_weights(text: str) -> bool:
    """Whether a file speaks of modules whose weights were computed, and have a graph."""
    return _LEARNED.search(text) is not None


def is_made_anew(name: str) -> bool:
    """A function of torch that makes a tensor of numbers, or copies one without its graph."""
    return name in _COPIES or _LIKE.search(name) is not None


def looks_away(expression: str) -> bool:
    """torch.no_grad(), torch.inference_mode(), torch.set_grad_enabled(False)."""
    return _QUIET.search(expression) is not None


def saying(words: str) -> Callable[[str], bool]:
    """Whether a name has one of these words in it, in whatever case: the same names are called all the time."""
    said = pattern(words)
    return lru_cache(maxsize=4096)(lambda name: said.search(name.lower()) is not None)
