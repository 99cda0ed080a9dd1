"""`pytest --zerograd`: every test is audited, and one that made a certain error or warning fails, with the site.

Every pytest loads this where zerograd is installed: until it is asked for, it imports nothing but pytest.
"""

from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from zerograd.core.findings import Finding
    from zerograd.run.audit import Audit

_ALLOW = "zerograd_allow"
_REQUIRE = "--zerograd-require-all"
_COUNTED = "zerograd-coverage"  # what a worker of xdist sends to the process that reports


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("zerograd", "gradients")
    group.addoption("--zerograd", action="store_true", help="fail tests whose optimizer steps consume wrong gradients")
    group.addoption(_REQUIRE, action="store_true", help="with --zerograd: fail tests with steps that are not audited")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", f"{_ALLOW}(*rules): findings of these rules, or of all, do not fail the test")
    if config.getoption("--zerograd"):
        _need_torch()
        config.pluginmanager.register(_Auditor(require_all=config.getoption(_REQUIRE)), "zerograd-auditor")
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


class _Auditor:
    """Begins anew with every test; fails the phase (setup, call, teardown) in which a finding was made."""

    def __init__(self, *, require_all: bool) -> None:
        self._require_all = require_all
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
        with Audit(on_finding=self._note, shared=True) as self._audit:
            try:
                return (yield)
            finally:
                if self._audit.steps:
                    self._coverage.append((self._audit.steps, dict(self._audit.unaudited)))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        sent = getattr(session.config, "workeroutput", None)
        if sent is not None:
            sent[_COUNTED] = self._coverage

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        """A worker of xdist has ended."""
        self._coverage += getattr(node, "workeroutput", {}).get(_COUNTED, ())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        from zerograd.trace.coverage import Coverage, together

        coverage = together(Coverage.of(steps, unaudited) for steps, unaudited in self._coverage)
        if coverage.steps:
            told = f"zerograd: {coverage.share} audited" + (f"; {coverage.why}" if coverage.why else "")
            terminalreporter.write_line(told, yellow=not coverage.whole, green=coverage.whole)

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
        return f"zerograd: {self._audit.counts()}" if self._require_all and self._missed > before else ""

    def _note(self, finding: "Finding") -> None:
        from zerograd.run.audit import program_has_its_own

        if finding.fails and not program_has_its_own():  # a test that audits itself says itself what it expects
            self._found.append(finding)

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
