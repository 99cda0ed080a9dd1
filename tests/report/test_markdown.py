"""The step summary: the whole text of one, and nothing in it that is markup by accident."""

from pathlib import Path

from report.traces import BAD, GOOD, STALE, stale, trace
from zerograd.report.markdown import markdown
from zerograd.report.story import Story
from zerograd.report.walk import processes

SUMMARY = """\
## zerograd

:x: **opt\\_d.step() at train.py:7 uses old gradients.** It happened in 2 of 3 steps of opt\\_d.

| optimizer | steps | backwards | skipped | never used | old gradients used |
|---|--:|--:|--:|--:|--:|
| opt\\_d | 3 | 3 | 0 | 0 | 2 |

### ZG001 stale-accumulation: `train.py:7`

opt\\_d.step() uses old gradients. Seen 2 times.

```python
     3  c = 3
     4  d = 4
     5  e = 5    # <- adds to them
     6  f = 6
>    7  g = 7    # <- ZG001
```

**Fix:** call opt\\_d.zero\\_grad() right after opt\\_d.step()
"""


def test_a_summary(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("".join(f"{name} = {i}\n" for i, name in enumerate("abcdefg", start=1)))
    assert markdown(Story(processes([stale(tmp_path / "run.jsonl", 3, called="opt_d")]))) == SUMMARY


def test_a_clean_run(tmp_path: Path) -> None:
    text = markdown(Story(processes([trace(tmp_path / "run.jsonl", GOOD * 3)])))
    assert ":white_check_mark: **Every gradient accounted for: 3 steps" in text


def test_names_are_no_markup(tmp_path: Path) -> None:
    evil = "<img src=x>|*a*`b`[c](d)"
    events = [event._replace(slot=evil) for event in BAD]
    path = trace(tmp_path / "run.jsonl", events, slot=evil, found=[(STALE._replace(message=evil), [2])])
    text = markdown(Story(processes([path])))
    assert "<img" not in text.replace("\\<img", "")
    assert "\\|" in text
