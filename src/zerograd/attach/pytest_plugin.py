"""`pytest --zerograd`: every test is audited, and one that made a certain error or warning fails, with the site.

Every pytest loads this where zerograd is installed: until it is asked for, it imports nothing but pytest.
"""

from collections import Counter
from collections.abc import Generator
from typing import TYPE_CHECKING, Literal, NamedTuple

import pytest

if TYPE_CHECKING:
    from zerograd.core.findings import Finding
    from zerograd.run.audit import Audit

_ALLOW = "zerograd_allow"
_REQUIRE = "--zerograd-require-all"
_COUNTED, _PLACES = "zerograd-coverage", "zerograd-places"  # what a worker of xdist sends to the process that reports
_MODES = ("lean", "full")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("zerograd", "gradients")
    group.addoption("--zerograd", action="store_true", help="fail tests whose optimizer steps use wrong gradients")
    group.addoption(
        _REQUIRE, action="store_true", help="with --zerograd: fail tests with steps that could not be audited"
    )
    group.addoption("--zerograd-select", metavar="RULES", help="codes, prefixes, names, comma-separated (default: ALL)")
    group.addoption("--zerograd-mode", metavar="MODE", help="lean, or full: also read losses and norms")
    group.addoption("--zerograd-possible", action="store_true", help="also list possible findings, at the end")
    parser.addini("zerograd_select", "codes, prefixes or names of rules", type="args", default=["ALL"])
    parser.addini("zerograd_mode", "lean, or full: also read losses and norms", default="lean")
    parser.addini("zerograd_possible", "also list possible findings, at the end", type="bool", default=False)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{_ALLOW}(*rules): findings of these rules, or of all, do not fail the test")
    if config.getoption("--zerograd"):
        _need_torch()
        config.pluginmanager.register(_Auditor(_Wanted.of(config)), "zerograd-auditor")
    elif config.getoption(_REQUIRE):
        raise pytest.UsageError(f"{_REQUIRE} needs --zerograd")


def _need_torch() -> None:
    """Said before the first test. Not by importing it: with xdist the process that is asked runs no test."""
    from importlib.util import find_spec

    from zerograd.errors import missing_package

    if find_spec("torch") is None:
        raise pytest.UsageError(str(missing_package("pytest --zerograd", "torch")))


def _imported() -> "type[Audit]":
    from zerograd.errors import without_torch

    try:
        from zerograd.run.audit import Audit
    except (ImportError, AttributeError) as error:
        if told := without_torch("pytest --zerograd", error):
            pytest.exit(str(told), returncode=pytest.ExitCode.USAGE_ERROR)
        raise
    return Audit


class _Wanted(NamedTuple):
    """The command line over the settings in pyproject.toml, pytest.ini and the like."""

    select: list[str]
    full: bool
    possible: bool
    require_all: bool

    @classmethod
    def of(cls, config: pytest.Config) -> "_Wanted":
        from zerograd.errors import UsageError
        from zerograd.rules import select

        given: str | None = config.getoption("--zerograd-select")
        words = given.split(",") if given else [str(word) for word in config.getini("zerograd_select")]
        mode = str(config.getoption("--zerograd-mode") or config.getini("zerograd_mode"))
        possible = bool(config.getoption("--zerograd-possible") or config.getini("zerograd_possible"))
        try:
            select(words)
        except UsageError as error:
            raise pytest.UsageError(f"zerograd_select: {error}") from None
        if mode not in _MODES:
            raise pytest.UsageError(f"zerograd_mode: {mode!r} is neither of {', '.join(_MODES)}")
        return cls(words, mode == "full", possible, bool(config.getoption(_REQUIRE)))


class _Place(NamedTuple):
    """Where a finding was made, as the summary names it."""

    code: str
    path: str
    line: int
    certainty: str
    severity: str

    @classmethod
    def of(cls, finding: "Finding") -> "_Place":
        site = finding.site
        return cls(finding.code, site.path, site.line, finding.certainty.value, finding.severity.value)

    def as_finding(self) -> "Finding":
        """What is left of the finding: enough to count it."""
        from zerograd.core.events import Site
        from zerograd.core.findings import Certainty, Finding, Severity

        site = Site(self.path, self.line)
        return Finding(self.code, "", "", site, Certainty(self.certainty), Severity(self.severity))

    def __str__(self) -> str:
        return f"{self.code} at {self.path}:{self.line}"


class _Auditor:
    """Begins anew with every test; fails the phase (setup, call, teardown) in which a finding was made."""

    def __init__(self, wanted: _Wanted) -> None:
        self._wanted = wanted
        self._here: set[_Place] = set()  # of this test
        self._places: list[tuple[str, str, int, str, str]] = []  # of each test, and of each worker
        self._coverage: list[tuple[int, dict[str, int]]] = []  # of each test, and of each worker
        self._missed = 0  # steps of this test that were not audited, up to the last phase
        self._found: list[Finding] = []
        self._audit: Audit
        self._allowed: frozenset[str] = frozenset()

    def pytest_report_header(self) -> str:
        return "zerograd: every test is audited"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        Audit = _imported()
        # Shared: a test may have an audit of its own.
        self._missed = 0
        self._here.clear()
        mode: Literal["lean", "full"] = "full" if self._wanted.full else "lean"
        with Audit(on_finding=self._note, shared=True, select_rules=self._wanted.select, mode=mode) as self._audit:
            try:
                return (yield)
            finally:
                self._places += sorted(self._here | self._doubtful())
                if self._audit.steps:
                    self._coverage.append((self._audit.steps, dict(self._audit.unaudited)))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        sent = getattr(session.config, "workeroutput", None)
        if sent is not None:
            sent[_COUNTED] = self._coverage
            sent[_PLACES] = [tuple(place) for place in self._places]

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """A worker of xdist has ended."""
        sent = getattr(node, "workeroutput", {})
        self._coverage += sent.get(_COUNTED, ())
        self._places += sent.get(_PLACES, ())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        from zerograd.core.tally import tally
        from zerograd.trace.coverage import Coverage, together

        coverage = together(Coverage.of(steps, unaudited) for steps, unaudited in self._coverage)
        places = Counter(_Place(*place) for place in self._places)
        if coverage.steps:
            found = tally(place.as_finding() for place in places) or "nothing found"
            told = f"zerograd: {found}; {coverage.share} audited" + (f"; {coverage.why}" if coverage.why else "")
            terminalreporter.write_line(told, yellow=not coverage.whole, green=coverage.whole and not places)
        for place, tests in sorted(places.items()):
            where = "" if tests == 1 else f" in {tests} tests"
            certain = place.certainty == "certain"
            doubt = "" if certain else " (possible)"
            terminalreporter.write_line(f"zerograd: {place}{doubt}{where}", red=certain, yellow=not certain)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, None, None]:
        yield from self._phase(item, "setup")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        yield from self._phase(item, "call")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        yield from self._phase(item, "teardown")

    def _phase(self, item: pytest.Item, when: str) -> Generator[None, None, None]:
        self._found.clear()
        if when == "setup":
            self._allowed = _allowed(item)
        try:
            yield
            if when == "call":
                self._audit.conclude()
            if when == "teardown":
                self._audit.stop()  # here, so that what it says in the end still finds a phase to fail
        except BaseException as error:  # it fails for a reason of its own: ours is told beside it
            self._audit.raised(error)
            if told := _told(self._unallowed()):
                item.add_report_section(when, "zerograd", told)
            raise
        if told := _told(self._unallowed()) or self._left_out():
            pytest.fail(told, pytrace=False)

    def _left_out(self) -> str:
        """What this phase did that was not audited, where all of it has to be."""
        before, self._missed = self._missed, self._audit.missed
        return f"zerograd: {self._audit.counts()}" if self._wanted.require_all and self._missed > before else ""

    def _note(self, finding: "Finding") -> None:
        from zerograd.run.audit import program_has_its_own

        if finding.fails and not program_has_its_own():  # a test that audits itself says itself what it expects
            self._found.append(finding)
            if finding.code not in self._allowed:
                self._here.add(_Place.of(finding))

    def _doubtful(self) -> set[_Place]:
        """Of this test: the audit keeps them, and announces none."""
        found = self._audit.findings if self._wanted.possible else ()
        return {_Place.of(one) for one in found if one.certainty == "possible" and one.code not in self._allowed}

    def _unallowed(self) -> "list[Finding]":
        return [finding for finding in self._found if finding.code not in self._allowed]


def _allowed(item: pytest.Item) -> frozenset[str]:
    """The rules whose findings its markers allow. A word that names none fails the test before it begins."""
    from zerograd.errors import UsageError
    from zerograd.rules import select

    words = [word for marker in item.iter_markers(_ALLOW) for word in marker.args or ("ALL",)]
    try:
        return select(words) if words else frozenset()
    except UsageError as error:
        told = f"{_ALLOW}: {error}"
    pytest.fail(told, pytrace=False)


def _told(findings: "list[Finding]") -> str:
    from zerograd.attach.listing import listing
    from zerograd.report.colour import Paint
    from zerograd.report.text import full

    return "\n\n".join(full(finding, listing, Paint(on=False)) for finding in findings)
