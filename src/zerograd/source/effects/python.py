"""What Python, its library and the packages around training do: as far as it matters what they hand back."""

import builtins

from zerograd.source.effects.rows import Act, Row
from zerograd.source.effects.torch import _each

FUNCTIONS: dict[str, Row] = {
    "builtins.enumerate": Row(Act.ENUMERATE),
    "builtins.range": Row(Act.RANGE),
    "builtins.len": Row(Act.LENGTH),
    **_each(Act.LIST, "list tuple sorted", before="builtins."),
    **_each(Act.ITERATES, "iter reversed", before="builtins."),
    **_each(Act.SET, "set frozenset", before="builtins."),
    "builtins.dict": Row(Act.NAMESPACE),
    "builtins.filter": Row(Act.FILTER),
    "builtins.map": Row(Act.MAP),
    "builtins.zip": Row(Act.ZIP),
    "builtins.next": Row(Act.NEXT),
    "builtins.StopIteration": Row(Act.EXHAUSTED),
    "builtins.NotImplementedError": Row(Act.UNWRITTEN),
    "builtins.getattr": Row(Act.GETATTR),
    "builtins.setattr": Row(Act.SETATTR),
    "builtins.sum": Row(Act.TOTAL),
    **_each(Act.COMPUTES, "min max abs pow", before="builtins."),
    **_each(Act.INTEGER, "int", before="builtins."),
    **_each(Act.NUMBER, "float bool str round", before="builtins."),
    "builtins.isinstance": Row(Act.IS_INSTANCE),
    "builtins.hasattr": Row(Act.HAS_ATTRIBUTE),
    "builtins.super": Row(Act.SUPER),
    "builtins.staticmethod": Row(Act.STATIC),
    "builtins.classmethod": Row(Act.CLASS_METHOD),
    "builtins.property": Row(Act.PROPERTY),
    "functools.cached_property": Row(Act.PROPERTY),
    **_each(Act.LOCALS, "locals vars", before="builtins."),
    "argparse.ArgumentParser": Row(Act.THING),
    "argparse.ArgumentParser.error": Row(Act.ENDS),
    "argparse.ArgumentParser.exit": Row(Act.ENDS),
    "builtins.exit": Row(Act.ENDS),
    "builtins.quit": Row(Act.ENDS),
    "sys.exit": Row(Act.ENDS),
    "os._exit": Row(Act.ENDS),
    "contextlib.contextmanager": Row(Act.CONTEXT_MANAGER),
    "contextlib.asynccontextmanager": Row(Act.CONTEXT_MANAGER),
    "contextlib.nullcontext": Row(Act.CONTEXT),
    "contextlib.suppress": Row(Act.FAILS),
    "pytest.raises": Row(Act.FAILS),
    **_each(Act.FAILS, "assertRaises assertRaisesRegex", before="unittest.TestCase."),
    **_each(Act.FAILS, "assertRaises assertRaisesRegex", before="unittest.case.TestCase."),
    **_each(Act.FAILS, "assertRaises assertRaisesRegex", before="torch.testing._internal.common_utils.TestCase."),
    **_each(Act.SAME_FUNCTION, "wraps lru_cache cache singledispatch", before="functools."),
    "functools.partial": Row(Act.CALLS),
    "itertools.chain": Row(Act.CHAINS),
    "itertools.chain.from_iterable": Row(Act.LIST),
    "itertools.count": Row(Act.COUNTS),
    "itertools.cycle": Row(Act.CYCLES),
    "itertools.islice": Row(Act.CYCLES),
    "operator.methodcaller": Row(Act.METHOD_CALLER),
    "copy.deepcopy": Row(Act.COPY),
    "copy.copy": Row(Act.COPY),
    "types.SimpleNamespace": Row(Act.NAMESPACE),
    "collections.OrderedDict": Row(Act.NAMESPACE),
    "collections.defaultdict": Row(Act.NAMESPACE),
    "collections.deque": Row(Act.LIST),
    **_each(Act.MAKES, "instantiate call", before="hydra.utils."),
    "pydoc.locate": Row(Act.MAKES),
    "tqdm.tqdm": Row(Act.SAME),
    "tqdm.auto.tqdm": Row(Act.SAME),
    "tqdm.notebook.tqdm": Row(Act.SAME),
    "tqdm": Row(Act.SAME),
    "tqdm.trange": Row(Act.RANGE),
    "tqdm.auto.trange": Row(Act.RANGE),
}
# Packages that read what they are given and touch no gradient.
PREFIXES: dict[str, Row] = {
    **_each(
        Act.NUMBER,
        "builtins numpy math random time os sys json logging wandb warnings matplotlib sklearn pandas PIL tensorboard "
        "tensorboardX torchsummary torchinfo shutil pickle datetime collections argparse yaml scipy cv2 gc dataclasses "
        "typing pathlib re enum functools itertools contextlib string subprocess gym gymnasium datasets evaluate "
        "tabulate copy operator types torchvision tqdm pprint inspect traceback signal threading mlflow neptune "
        "torch.utils.tensorboard abc hashlib struct socket statistics platform textwrap glob csv io tempfile urllib "
        "requests h5py imageio skimage nltk psutil rich click absl hydra omegaconf fire ml_collections",
    ),
    "einops": Row(Act.COMPUTES),
}
CONTAINER: dict[str, Row] = {
    **_each(Act.APPENDS, "append add appendleft put insert"),
    "extend": Row(Act.EXTENDS),
    "items": Row(Act.ITEMS),
    "values": Row(Act.VALUES),
    "keys": Row(Act.KEYS),
    **_each(Act.GETS, "get setdefault"),
    **_each(Act.POPS, "pop popleft popitem"),
    "clear": Row(Act.EMPTIES),
    "update": Row(Act.MERGES),
    "copy": Row(Act.SAME),
}
# Methods of texts: what they hand back is the same as long as the text is.
TEXT: dict[str, Row] = {
    name: Row(Act.ASKS, asks=name)
    for name in [
        "lower",
        "upper",
        "strip",
        "lstrip",
        "rstrip",
        "casefold",
        "title",
        "capitalize",
        "startswith",
        "endswith",
    ]
}
# Names that the language itself calls.
INIT, POST_INIT, CALL, ENTER, EXIT, ITER, NEXT_ITEM, FORWARD, MAIN = (
    "__init__",
    "__post_init__",
    "__call__",
    "__enter__",
    "__exit__",
    "__iter__",
    "__next__",
    "forward",
    "__name__",
)
GETITEM, GETATTR_METHOD = "__getitem__", "__getattr__"
# Exceptions that a backward pass may raise, and what they say when memory has run out.
RAISED_BY_BACKWARD = frozenset(
    ["Exception", "BaseException", "RuntimeError", "OutOfMemoryError", "FloatingPointError", "ValueError"]
)
OUT_OF_MEMORY = ("memory", "CUDA")
BUILTINS = frozenset(dir(builtins))
