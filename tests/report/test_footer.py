from report.samples import IN_CELL as SAFE
from report.samples import STALE as UNSAFE
from zerograd.report.footer import Told, footer


def test_the_footer_counts() -> None:
    assert footer([], Told(1)) == "0 findings in 1 file"
    assert footer([], Told(3, hidden=2, unread=1)) == (
        "0 findings in 3 files, 2 hidden (--possible, --notes), 1 file could not be read"
    )
    assert footer([], Told(2, known=3, gone=1)) == (
        "0 findings in 2 files, 3 known, 1 of the baseline gone (--write-baseline)"
    )
    assert footer([SAFE, UNSAFE, UNSAFE], Told(1)) == (
        "3 findings in 1 file, 1 fixable with --fix, 2 more fixable with --fix --unsafe-fixes"
    )
    assert footer([UNSAFE], Told(1)) == "1 finding in 1 file, 1 fixable with --fix --unsafe-fixes"
