"""Calls that cannot be read, and by their names and what they are made on do nothing to gradients.

env.reset(), model.train(), scheduler.step(loss), self.assertTrue(...), YoloLoss(out, y), x.to(loss.device): each has a
word in it that elsewhere means training or clearing. And who is handed an optimizer to set its rate, or to save it.
"""

import ast

from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import is_model, saying

# What begins anew and has no weights: an environment, a meter, a buffer.
_begins = saying(
    r"(^|_)(v?envs?|game|simulator|world|board|timer|clock|watch|bars?|pbar|iter|loader|dataset|sampler|noise|ou|buffer)\d*(_|$)"
    r"|env$|environment|rec(ord|od)er|meter|metric|buffer|memory|histor|statist|stats?$|track|logger|monitor|queue|average"
    r"|accuracy|progress|storage|rollout|evaluator|confusion|scorer|early_?stop"
)
_schedules = saying(r"sched|(^|_)sch$")
_OWN = frozenset({"to", "type_as", "view_as", "expand_as", "reshape_as", "new_tensor", "new_zeros", "new_ones", "cpu"})
_ASKS = pattern(r"^_*(get|num|count|is|has|should)_(?!.*(grad|loss|train|backward|update))")  # recorder.get_steps()
OF_OWNER = frozenset({"reset", "step", "train", "eval"})  # what these do is told by what they are called on
_LOSS = pattern(r"^[A-Z][A-Za-z0-9]*(Loss|Criterion)$")
keeps_optimizer = saying(  # adjust_learning_rate(optimizer, epoch): no step is taken, nothing cleared
    r"(adjust|update|set|change|decay|get|print|show|log|poly|warm\w*|cosine|anneal|schedule|scale|modify|reduce)\w*_(lr|learning_?rate)s?"
    r"|(lr|learning_?rate)_?(sched\w*|policy|decay|adjust\w*|update\w*)$|^(lr_?)?scheduler$|save|checkpoint|^(re)?store"
    r"|^_*(get|make|build|create|init|setup|set_up|configure|define|select|choose|new)_\w*sched"
)


def does_nothing(receiver: str, name: str, call: ast.Call) -> bool:
    """Of what is in OF_OWNER: that it does nothing to whom it is called on."""
    last = receiver.rpartition(".")[2]
    if name == "reset":
        return bool(last) and _begins(last)
    if name == "step":
        return bool(last) and _schedules(last)
    return is_model(receiver) and _is_told_mode(call)


def is_moot(name: str) -> bool:
    """Whether a name does nothing, whoever it is called on."""
    return name in _OWN or name.startswith("assert") or bool(_LOSS.match(name) or _ASKS.search(name.lower()))


def _is_told_mode(call: ast.Call) -> bool:
    """model.train(), model.train(False), model.train(mode=training)"""
    given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg != "mode")]
    return len(given) < 2 and all(isinstance(one, ast.Constant) and isinstance(one.value, bool) for one in given)
