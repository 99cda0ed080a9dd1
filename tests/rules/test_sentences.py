"""What a person reads of a finding is short, and whole: every rule and every variant of its sentence."""

import re
from pathlib import Path

import pytest

import zerograd
from zerograd.core.events import Site
from zerograd.report.colour import Paint
from zerograd.report.text import full
from zerograd.rules import REGISTRY
from zerograd.rules.rule import USUAL, Rule, Usual
from zerograd.rules.telling import clearing, filled, note
from zerograd.source.check import check_text

WIDEST, LONGEST = 100, 400
TYPICAL = Usual(
    USUAL,
    step="self.optimizer.step()",
    clear="optimizer.zero_grad() on line 12",
    other="model.zero_grad() on line 11",
    deposit="loss.backward()",
    clip="nn.utils.clip_grad_norm_()",
    size="accumulation_steps",
    what="model.head = nn.Linear(64, 10)",
    test="i % accumulation_steps == 0",
    place="gradients that step() has already used",
    scaled="that are still multiplied by the loss scale",
    slot="self.optimizer",
    parameters="the parameters of features",
    optimizer="optimizer",
    name="parameters",
    consumer="torch.optim.SGD() on line 9",
    scaler="self.scaler.update()",
    why="the loss is divided by accumulation_steps",
    first="1 micro-batch",
    held="2 parameters",
    counts="8, 4, 8, 2, ...",
    line="12",
    allowed="ZG001, which is not found here",
    modules="self.model",
    ranks="0 and 1",
)
MARK = re.compile(r"\s*# (?:error|note|source|run|full): \[\w+\]")
# Sentences are the strings of a rule's file that name something in braces, or that stand under an upper-case name.
VARIANT = re.compile(r'^_?[A-Z_]+ = "([^"]+)"$|^\s+(?:Why|Scaling)\.\w+: "([^"]+)"', re.M)


def sentences() -> list[str]:
    folder = Path(zerograd.__file__).parent / "rules"
    own = [text for rule in REGISTRY.values() for text in (rule.message, rule.as_run().message, rule.remedy)]
    texts = (path.read_text() for path in sorted(folder.glob("*.py")))
    variants = [one or other for text in texts for one, other in VARIANT.findall(text)]
    return sorted({*own, *variants})


@pytest.mark.parametrize("sentence", sentences())
def test_a_sentence_is_short_with_typical_names(sentence: str) -> None:
    said = sentence.format_map(TYPICAL)
    assert len(said) <= WIDEST
    assert said == said.strip().rstrip(".")
    assert "{" not in said


@pytest.mark.parametrize("rule", REGISTRY.values(), ids=lambda rule: rule.code)
def test_a_finding_is_short(rule: Rule) -> None:
    """Of the rule's own program: the headline fits a terminal, and all that is said fits four lines of one."""
    text = MARK.sub("", rule.bad)
    for finding in check_text(text, "train.py") if "SOURCE" in str(rule.sees) else ():
        headline, *rest = full(finding, lambda _: None, Paint(on=False)).splitlines()
        assert len(headline.removesuffix(" (note)").removesuffix(" (possible)")) <= WIDEST, headline
        assert len("\n".join([headline, *rest])) <= LONGEST
        assert len(full(finding, lambda _: text.splitlines(), Paint(on=False)).splitlines()) <= 5
        assert sum(line.startswith("  fix: ") for line in rest) == 1


@pytest.mark.parametrize("rule", REGISTRY.values(), ids=lambda rule: rule.code)
def test_no_name_is_left_open(rule: Rule) -> None:
    found = note(rule, Site("a.py", 1), certain=True, **TYPICAL)
    assert "{" not in found.message + found.cure
    assert filled(rule.remedy, {}) == rule.general_remedy


def test_the_call_that_clears() -> None:
    assert clearing("self.opt.step()") == "self.opt.zero_grad()"
    assert clearing("lbfgs.step(closure)") == "lbfgs.zero_grad()"
    assert clearing("scaler.step(opt_d)", scaled=True) == "opt_d.zero_grad()"
    assert clearing("scaler.step()", scaled=True) == "optimizer.zero_grad()"
    assert clearing("the update of delta") == "optimizer.zero_grad()"
