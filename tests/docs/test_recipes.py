"""docs/ci.md and docs/editors.md: files have the shape that others ask of them, and name commands that exist."""

import json
import re
import shlex
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft7Validator

from surface.schemas import schema
from zerograd.server.actions import FIX_ALL

DOCS = Path(__file__).parents[2] / "docs"
CI, EDITORS = (DOCS / "ci.md").read_text(), (DOCS / "editors.md").read_text()


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page, re.M | re.S)


def recipes(key: str) -> list[dict]:
    """The YAML of ci.md that has a key."""
    return [recipe for recipe in map(yaml.safe_load, blocks(CI, "yaml")) if key in recipe]


def test_workflows_are_what_github_asks_for() -> None:
    validator = Draft7Validator(schema("https://json.schemastore.org/github-workflow.json"))
    workflows = recipes("jobs")
    assert len(workflows) == 3
    for workflow in workflows:
        told = json.loads(json.dumps({"on" if key is True else key: value for key, value in workflow.items()}))
        assert [error.message for error in validator.iter_errors(told)] == []


def test_the_action_takes_the_inputs_that_are_told() -> None:
    inputs = set(yaml.safe_load((DOCS.parent / "action.yml").read_text())["inputs"])
    steps = [step for workflow in recipes("jobs") for job in workflow["jobs"].values() for step in job["steps"]]
    used = [step["with"] for step in steps if "/zerograd@" in step.get("uses", "")]
    assert len(used) == 2
    assert all(set(one) <= inputs for one in used)
    assert set(re.findall(r"^\| `([\w-]+)` \|", CI, re.M)) == inputs


def test_hooks_are_ours() -> None:
    (ours,) = yaml.safe_load((DOCS.parent / ".pre-commit-hooks.yaml").read_text())
    repos = [repo for config in recipes("repos") for repo in config["repos"] if "OWNER" in repo["repo"]]
    named = [hook for repo in repos for hook in repo["hooks"]]
    assert [hook["id"] for hook in named] == [ours["id"]] * 2
    assert ours["types_or"] == ["python", "jupyter"]
    assert ours["require_serial"]
    for hook in named:
        _parse(" ".join([ours["entry"], *hook.get("args", [])]))


def test_commands_can_be_parsed() -> None:
    commands = re.findall(r"(?:run: |script: |- |`)(zerograd \w+(?: [-\w./]+)*)(?=[\n`])", CI + EDITORS)
    assert len(commands) > 8
    for command in commands:
        _parse(command.replace("FILE", "file.py").replace("train.py", ""))


def _parse(command: str) -> None:
    _, name, *words = shlex.split(command)
    parser = import_module(f"zerograd.cli.{name}").parser()
    parser.parse_args([word for word in words if word != "--help"])


def test_the_baseline_is_adopted(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(blocks((DOCS / "check.md").read_text(), "text")[0])
    first, *others = [pair for block in blocks(CI, "console") for pair in re.findall(r"^\$ (.*)\n([^$]*)", block, re.M)]
    assert _told(*first, folder=tmp_path) == first[1]
    (config,) = [block for block in blocks(CI, "toml") if "[tool.zerograd]" in block]
    (tmp_path / "pyproject.toml").write_text(config)
    for command, expected in others:
        assert _told(command, expected, folder=tmp_path) == expected


def _told(command: str, expected: str, *, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(shlex.split(command), cwd=folder, env={"PATH": path}, text=True, check=False, **both)
    return done.stdout


@pytest.mark.parametrize("block", blocks(EDITORS, "json"))
def test_settings_are_json(block: str) -> None:
    settings = json.loads(block)
    saved = settings.get("[python]", {}).get("editor.codeActionsOnSave", {FIX_ALL: "explicit"})
    assert saved == {FIX_ALL: "explicit"}


def test_every_editor_starts_the_server() -> None:
    started = [block for language in ("lua", "elisp", "toml", "json") for block in blocks(EDITORS, language)]
    starting = [block for block in started if re.search(r'"zerograd"', block) and re.search(r'"server"', block)]
    assert len(starting) == 5
    assert all(tomllib.loads(block) for block in blocks(EDITORS, "toml"))
    assert [block for block in started if block.count("(") != block.count(")")] == []
