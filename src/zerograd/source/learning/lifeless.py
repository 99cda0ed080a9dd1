"""Terms of a loss that were cut from their graph: they are in its value, and teach nothing (ZG003).

entropy = dist.entropy().mean().item()
loss = policy_loss - 0.01 * entropy        # no bonus for entropy: a number has no gradient
"""

import ast
from collections.abc import Iterator

from zerograd.core.events import Kind
from zerograd.core.findings import Finding
from zerograd.rules import REGISTRY
from zerograd.rules.telling import note
from zerograd.source.counting.losses import loss_of
from zerograd.source.graphs.addends import Sum, Term, words_of
from zerograd.source.graphs.cut import Cut
from zerograd.source.graphs.leaves import leaves_of
from zerograd.source.graphs.makers import Has
from zerograd.source.learning.barren import made_anew
from zerograd.source.learning.judged import is_judgement
from zerograd.source.learning.severed import passed
from zerograd.source.learning.suspects import suspects
from zerograd.source.names.scopes import Function
from zerograd.source.text.cutting import cuts_in
from zerograd.source.text.lines import lines_with, within
from zerograd.source.text.nodes import below, written
from zerograd.source.text.paths import path_of
from zerograd.source.text.patterns import pattern
from zerograd.source.text.wording import is_factor, is_term
from zerograd.source.values.callers import brings_cut
from zerograd.source.values.definitions import Item, definitions_of
from zerograd.source.values.reading import File, Reading

_WORDS = (
    "item()",
    "detach()",
    ".data",
    "no_grad",
    "ensor(",
    "from_numpy",
    "argmax(",
    "autograd",
    ".round(",
    ".grad",
    "requires_grad",
)
_ENGINE = pattern(r"accelerator|fabric|engine|manual_backward")
_CURE = "leave its graph on: no item(), detach(), no_grad() or torch.tensor() between the model and the loss"
_CUT = pattern(
    r"\.(item|detach|numpy|tolist)\(\)|\.data\b|no_grad|ensor\(|from_numpy|argm(ax|in)\(|(?<!_)\bgrad\(|\.round\("
    r"|= \w+\.grad\b|Variable\(.*requires_grad=True|loss\w*\.requires_grad"
)
_CUTS = (
    ".item()",
    ".detach()",
    ".numpy()",
    ".tolist()",
    ".data",
    "no_grad",
    "ensor(",
    "from_numpy",
    "argm",
    "grad(",
    ".round(",
    ".grad",
    "requires_grad",
)
_TELLS = pattern(
    r"\bacc|correct|\+=|append\(|print|\blog(?!_softmax|_prob|its?\b)|add_scalar|write|update\(|format|wandb|tqdm|postfix|f\"|f'"
)
_RETURNS = pattern(r"return\b[^\n]*loss")
_HOOKED = pattern(r"\w\] = \w+\.(detach\(\)|data\b)")  # activation[name] = output.detach()
_CRITIC = pattern(r"critic|value|baseline|(^|_|\.)(q|v|vf|qf|td)\d?(_|$)")
_ACTOR = pattern(r"actor|polic|(^|_)(pi|pg|surr\w*|act|total)(_|$)")


def detect(file: File) -> Iterator[Finding]:
    if not file.says("backward(") or file.says("enable_grad") or file.says("set_grad_enabled(True"):
        return
    worded = any(map(file.says, _WORDS))
    if not worded and not _brings_cut(file):
        return
    program = file.program
    functions = program.roots.functions
    cutting = {one.node for one in functions if _is_cutting(one, file)}
    handed = passed(file) if any(_RETURNS.search(within(file.text, node)) for node in cutting) else {}
    trains = {one.node for one in functions if one.node in program.relevant and _goes_backward(one, file)}
    asked = [one for one in functions if one.node in trains or one.node in handed]
    module = Reading(program.tree, program.module, program.roots.module, file)
    deposits = module.having(Kind.DEPOSIT)
    cuts = bool(deposits) and _cuts_off(file.text)
    # Others may cut for who does not: they are asked last, since some are in other files.
    alone = all(one.node in cutting for one in asked) and (cuts or not deposits)
    named = any(_is_named(one) for one in functions if one.node in cutting)
    helped = not alone and (named or not worded or _brings_cut(file))
    if deposits and (helped or cuts):
        yield from _inside(module, set())
    for one in asked:
        if helped or one.node in cutting:
            block = program.function(one) if one.node in trains else ()
            yield from _inside(Reading(one.node, block, one.scope, file), handed.get(one.node, set()))


def _brings_cut(file: File) -> bool:
    hooked = file.says("register_forward_hook") and _HOOKED.search(file.text) is not None
    return hooked or brings_cut(file)


def _goes_backward(function: Function, file: File) -> bool:
    return "backward(" in within(file.text, function.node)


def _is_named(function: Function) -> bool:
    """Whether what it returns is to be a term, by its name or that of its class."""
    return is_term(function.node.name.lower())


def _is_cutting(function: Function, file: File) -> bool:
    """Whether one that goes backward, returns a loss or is named for a term cuts something off."""
    text = within(file.text, function.node)
    if _is_named(function):
        return _cuts_off(text) or cuts_in(text)
    return ("backward(" in text or ("loss" in text and _RETURNS.search(text) is not None)) and _cuts_off(text)


def _cuts_off(text: str) -> bool:
    """Whether something is cut from its graph, and not only to be told: total += loss.item()."""
    return any(_CUT.search(line) and not _TELLS.search(line) for line in _lines_with(_CUTS, text))


def _lines_with(words: tuple[str, ...], text: str) -> Iterator[str]:
    """The lines that have one of these words, but for their comments: words are faster than patterns."""
    places = (place for word in words for place in lines_with(word, text))
    for place in places:
        yield text[place : text.find("\n", place) + 1 or None].partition("#")[0]


def _inside(function: Reading, handed: set[Item]) -> Iterator[Finding]:
    """`handed`: which of its results go backward where they are returned to."""
    gone = _deposited(function)
    losses = [*gone, *_returned(function, handed)]
    added = suspects(losses, function)
    if not added:
        return
    named = {name for loss in losses if (name := path_of(loss)) is not None}
    cut, told = Cut(function), set[int]()
    sums = [Sum(loss, function, cut) for loss in added]
    for number, one in enumerate(sums):
        if cut.of(one.loss) is Has.LOST:
            # Leaves may be among others, in a list; but not behind the detach() that the loss itself was given.
            if one.loss in gone and cut.revived:
                yield from _stopped(function, one.loss)
            elif one.loss in gone and (not leaves_of(function) or _is_detached(one.loss, function)):
                yield _refused(function, one.loss)
            continue
        others = one.live.union(named, *(other.names for place, other in enumerate(sums) if place != number))
        lost = [term for term in one.terms if cut.of(term.node) is Has.LOST]
        if not one.lives or any(not words_of(term).isdisjoint(others) for term in lost):
            continue  # loss - loss.detach(): the value of another, with the gradient of this
        for term in lost if not _is_of_critic(one, function) else ():
            meant = _is_meant(term, function) or is_judgement(term, one, function)
            if id(term.node) not in told and meant and not _is_compared(term, one, function):
                told.add(id(term.node))
                yield _told(function, term)


def _is_of_critic(whole: Sum, function: Reading) -> bool:
    """critic_loss = mse(v, target) - 0.01 * entropy.detach(): a soft value, of which no policy is to learn here."""
    names = ((path_of(whole.loss) or "").lower(), getattr(function.node, "name", "").lower())
    acts = any("log_prob" in written(term.node) for term in whole.terms)
    return (
        any(map(_CRITIC.search, names))
        and not acts
        and not any(map(_ACTOR.search, {*names, *map(str.lower, whole.names)}))
    )


def _is_compared(term: Term, whole: Sum, function: Reading) -> bool:
    """criterion(pruned(x), y) - criterion(whole(x), y).detach(): how much worse it is, by the same measure."""
    others = (other for other in whole.terms if other is not term and not other.minus)
    made = _called(term, function)
    return term.minus and any(not made.isdisjoint(_called(other, function)) for other in others)


def _called(term: Term, function: Reading) -> set[str]:
    """What makes a term: `model` of model(x).loss.item()."""
    path = path_of(term.node)
    pending = [one.value for one in definitions_of(function).every(path)] if path is not None else [term.node]
    found = set[str]()
    for value in pending:  # it grows on the way
        if isinstance(value, ast.Attribute) or (isinstance(value, ast.Call) and path_of(value.func) is None):
            pending.append(value.value if isinstance(value, ast.Attribute) else value.func)
        elif isinstance(value, ast.Call):
            found.add(path_of(value.func) or "")
    return found


def _is_detached(loss: ast.expr, function: Reading) -> bool:
    """loss = loss.detach() / 4"""
    match loss:
        case ast.Name(id=name):
            reached = definitions_of(function).reaching(name, loss)
            made = reached.here if reached is not None else []
            return bool(made) and all(_is_detached(one.value, function) for one in made)
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div()):
            return _is_detached(left, function)
        case ast.Call(func=ast.Attribute(attr=attr)):
            return attr == "detach"
    return False


def _told(function: Reading, term: Term) -> Finding:
    name = term.names[0] if term.names else written(term.node)
    found = note(REGISTRY["ZG003"], function.site(term.node), certain=True, step=name)
    return found._replace(
        message=f"{name} is a term of the loss and has no gradient: backward() learns nothing from it",
        cure=_CURE,
    )


def _refused(function: Reading, loss: ast.expr) -> Finding:
    found = note(REGISTRY["ZG003"], function.site(loss), certain=True, step=written(loss))
    return found._replace(
        message=f"{written(loss)} has no graph: backward() has nothing to go through, and says so",
        cure=_CURE,
    )


def _stopped(function: Reading, loss: ast.expr) -> Iterator[Finding]:
    """Where somebody steps: who only tries a backward() learns nothing anyway."""
    if not function.file.says(".step(") or any(made_anew(function)):
        return  # or where the leaf itself is told
    found = note(REGISTRY["ZG003"], function.site(loss), certain=True, step=written(loss))
    yield found._replace(
        message=f"{written(loss)} was cut from its graph and made of new leaves: backward() stops there, and nothing "
        "that it was computed from gets a gradient",
        cure=_CURE,
    )


def _deposited(function: Reading) -> list[ast.expr]:
    calls = [act.node for act in function.having(Kind.DEPOSIT) if isinstance(act.node, ast.Call)]
    return [loss for call in calls if (loss := loss_of(call)) is not None and not _is_gradient(loss, call)]


def _is_gradient(given: ast.expr, call: ast.Call) -> bool:
    """x.backward(gradient), layer.backward(loss_grad): not the loss of accelerator.backward(loss)."""
    return given in call.args and _ENGINE.search(written(call.func).lower()) is None


def _returned(function: Reading, handed: set[Item]) -> Iterator[ast.expr]:
    """The losses that go backward where they are returned to."""
    for back in function.of(ast.Return) if handed else ():
        several = back.value.elts if isinstance(back.value, ast.Tuple) else []
        yield from (value for place, value in enumerate(several) if place in handed)
        if None in handed and back.value is not None and not several:
            yield back.value


def _is_meant(term: Term, function: Reading) -> bool:
    """Whether it is there to be learned from: named for it, or made of what is."""
    words = words_of(term)
    name = term.names[0] if term.names else path_of(term.node) or ""
    made = [one.value for word in words for one in definitions_of(function).every(word)]
    said = [name, *words, *(maker for value in made for maker in _makers(value))]
    return not is_factor(name.lower()) and any(is_term(word.lower()) or "criteri" in word.lower() for word in said)


def _makers(value: ast.expr) -> Iterator[str]:
    """What it is computed of and by, but not what is handed to whom it calls."""
    for part in below(value) if not isinstance(value, ast.Call) else (value.func,):
        if isinstance(part, ast.Call):
            yield from _makers(part)
        elif (path := path_of(part)) is not None:
            yield path
