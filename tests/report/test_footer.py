from report.samples import IN_CELL as SAFE
from report.samples import STALE as UNSAFE
from zerograd.core.findings import Finding
from zerograd.report.footer import Rest, footer


def told(found: list[Finding], rest: Rest, *, notes: bool = True) -> str:
    return footer(found, rest, possible=False, notes=notes)


def test_the_footer_counts() -> None:
    assert told([], Rest(1)) == "nothing found; 1 file read"
    assert told([SAFE], Rest(3, unread=1), notes=False) == (
        "1 note (hidden: --notes); 3 files read, 1 file could not be read"
    )
    assert told([], Rest(2, known=3, gone=1)) == (
        "nothing found; 2 files read, 3 in the baseline, "
        "1 entry of the baseline not found any more (--write-baseline removes them)"
    )
    assert told([SAFE, UNSAFE, UNSAFE], Rest(1)) == (
        "2 errors, 1 note; 1 file read, 1 fixable with --fix, 2 more fixable with --fix --unsafe-fixes"
    )
    assert told([UNSAFE], Rest(1, fixed=2)) == ("1 error; 1 file read, 2 fixed, 1 fixable with --fix --unsafe-fixes")
