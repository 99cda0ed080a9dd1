"""What others rely on, frozen: exported names, commands, flags, exit codes, JSON fields, kinds of event."""

import subprocess
import sys
from importlib import import_module

import pytest

import zerograd
from zerograd.cli import CLEAN, COMMANDS, FOUND, USAGE
from zerograd.core.events import Kind
from zerograd.core.findings import Certainty, Finding, Severity, Site
from zerograd.report.json import as_object
from zerograd.rules import REGISTRY


def test_exports() -> None:
    assert zerograd.__all__ == [
        "CaptureError",
        "CheckpointError",
        "Checkpoints",
        "Cursor",
        "Diverged",
        "FaultFound",
        "Finding",
        "PeerFailed",
        "Step",
        "StepError",
        "TornStep",
        "ZerogradError",
        "audit",
        "check",
        "groups",
        "join",
    ]
    assert all(getattr(zerograd, name) for name in zerograd.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = zerograd.nothing


FLAGS = {
    "check": "--add-ignore --baseline --color --config --diff --exclude --exit-non-zero-on-fix --exit-zero "
    "--extend-exclude --extend-select --fix --force-exclude --help --ignore --isolated --jobs --no-cache "
    "--no-respect-gitignore --notes --output-file --output-format --possible --quiet --select --statistics "
    "--stdin-filename --unsafe-fixes --watch --write-baseline -h -q",
    "run": "--help --live --mode --notes --possible --report --require-all --sample --strict --trace -h -m",
    "report": "--beside --help --output-file --output-format -h -o",
    "diff": "--help --output-file --output-format -h -o",
    "rule": "--all --help --output-format -h",
    "explain": "--all --help -h",
    "lab": "--count --docs --folder --from --help --json --list --output-file --output-format -h",
    "demo": "--folder --help -h",
    "server": "--help --stdio -h",
    "completion": "--help -h",
}


def test_commands_and_flags() -> None:
    assert list(COMMANDS) == list(FLAGS)
    for command, flags in FLAGS.items():
        assert import_module(f"zerograd.cli.{command}").parser().options() == flags.split()


def test_exit_codes() -> None:
    assert (CLEAN, FOUND, USAGE) == (0, 1, 2)


def test_the_status_of_a_run_that_was_asked_to_stop() -> None:
    from zerograd.engine.checkpoint.stopping import STOPPED

    assert STOPPED == 75


def test_json_fields() -> None:
    finding = Finding("ZG001", "n", "m", Site("p", 1), Certainty.CERTAIN, Severity.ERROR)
    assert list(as_object(finding)) == [
        "code",
        "name",
        "message",
        "path",
        "cell",
        "line",
        "column",
        "end_line",
        "end_column",
        "certainty",
        "severity",
        "cure",
        "fix",
        "related",
    ]


def test_kinds_of_event() -> None:
    assert [kind.value for kind in Kind] == [
        "deposit",
        "spill",
        "consume",
        "clear",
        "unscale",
        "clip",
        "reduce",
        "rescale",
        "abandon",
        "schedule",
    ]


def test_rule_codes_and_names() -> None:
    assert {code: rule.name for code, rule in REGISTRY.items()} == {
        "ZG001": "stale-accumulation",
        "ZG002": "discarded-gradient",
        "ZG003": "step-without-gradient",
        "ZG004": "repeated-step",
        "ZG005": "leaked-gradient",
        "ZG006": "partial-clear",
        "ZG007": "inherited-gradient",
        "ZG008": "unowned-gradient",
        "ZG009": "closure-without-clear",
        "ZG010": "orphaned-optimizer",
        "ZG101": "unnormalised-accumulation",
        "ZG102": "dropped-tail",
        "ZG103": "uneven-groups",
        "ZG104": "mean-of-means",
        "ZG105": "twice-normalised",
        "ZG106": "accumulation-not-applied",
        "ZG107": "rescaled-each-micro-batch",
        "ZG201": "clip-before-unscale",
        "ZG202": "scaler-bypassed",
        "ZG203": "scale-never-updated",
        "ZG204": "repeated-unscale",
        "ZG301": "scheduler-before-step",
        "ZG302": "clip-out-of-place",
        "ZG303": "grad-may-be-none",
        "ZG304": "update-with-grad",
        "ZG305": "aliased-gradient",
        "ZG306": "exhausted-parameters",
        "ZG401": "zeros-kept",
        "ZG402": "retained-graph",
        "ZG403": "cleared-twice",
        "ZG501": "sync-every-micro-batch",
        "ZG502": "sync-skipped",
        "ZG503": "replicas-differ",
        "ZG901": "unused-suppression",
    }


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(command: str) -> None:
    done = subprocess.run([sys.executable, "-m", "zerograd", command, "--help"], capture_output=True, text=True)
    assert done.returncode == 0
    assert f"usage: zerograd {command}" in done.stdout
    assert "examples:" in done.stdout


def test_the_surface_of_a_step() -> None:
    from inspect import signature

    from zerograd import Checkpoints, Cursor, Step, groups, join

    def names(function: object) -> str:
        return " ".join(name for name in signature(function).parameters if name != "self")

    assert names(Step) == (
        "optimizers model clip scheduler scaler autocast nonfinite max_skips inspect grads isolate sync restore trace "
        "ranges"
    )
    public = {
        name: names(getattr(Step, name)) for name in vars(Step) if name[0] != "_" and callable(getattr(Step, name))
    }
    assert public == {
        "abort": "",
        "backward": "loss weight also retain_graph create_graph gradient",
        "micro_batches": "iterable weight reduce",
        "split": "batch fn weight",
        "minimize": "fn",
        "capture": "fn example compile",
        "carry": "state",
        "state_dict": "inflight",
        "load_state_dict": "state",
    }
    assert sorted(name for name in dir(Step(_sgd())) if name[0] != "_" and name not in public) == [
        "committed",
        "in_flight",
        "optimizers",
        "outcome",
        "skipped",
    ]
    assert names(Checkpoints) == "path steps model loader also every keep"
    assert {name for name in vars(Checkpoints) if name[0] != "_"} == {"close", "keep_up", "resume", "save", "stopping"}
    assert {name for name in vars(Cursor) if name[0] != "_"} == {"load_state_dict", "state_dict"}
    assert names(groups) == "iterable n begun"
    assert {name for name in vars(join) if name[0] != "_"} == {"abort", "micro_batches"}


def _sgd() -> object:
    import torch

    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))])
