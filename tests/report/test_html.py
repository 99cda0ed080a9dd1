"""The page in a real browser: what a person sees, clicks and hears."""

import os
import re
import shutil
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from report.traces import BACKWARD, BAD, CLEAR, GOOD, SKIP, STALE, STEP, stale, trace
from zerograd.core.events import Site
from zerograd.core.findings import Certainty
from zerograd.report.html import html
from zerograd.report.story import Story
from zerograd.report.walk import processes

pytestmark = pytest.mark.xdist_group("browser")  # one browser for all of them
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no chromium here: apt-get install chromium, or name one in CHROMIUM")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield started
        started.close()


class Opened:
    """A report in the browser, and everything it complained about or asked the network for."""

    def __init__(self, browser: Browser, path: Path, *, width: int = 1200, scheme: str = "light") -> None:
        self.page: Page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
        self.complaints: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "request", lambda request: self.complaints.append(request.url) if path.name not in request.url else None
        )
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready=yes]")
        # A selector, since a function that is polled is evaluated in the page, and the page's policy forbids that.
        self.page.wait_for_selector("#lanes[data-view]", state="attached")

    def view(self) -> list[float]:
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        return [float(end) for end in str(self.page.get_attribute("#lanes", "data-view")).split()]

    def text(self, selector: str) -> str:
        return self.page.inner_text(selector)

    def close(self) -> None:
        assert self.complaints == []
        self.page.close()


def worked(browser: Browser) -> float:
    """Seconds of CPU of all pages so far: the clock would count whoever else uses the machine."""
    known = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    return sum(float(one["cpuTime"]) for one in known if one["type"] == "renderer")


def report(folder: Path, *traces: Path, rows: int = 120_000) -> Path:
    page = folder / "report.html"
    page.write_text(html(Story(processes(traces or [folder / "run.jsonl"]), rows=rows)))
    return page


@pytest.fixture
def found(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    (tmp_path / "train.py").write_text("".join(f"line_{number} = 1\n" for number in range(1, 20)))
    stale(tmp_path / "run.jsonl", called="opt_d")
    opened = Opened(browser, report(tmp_path))
    yield opened
    opened.close()


def test_it_says_what_is_wrong(found: Opened) -> None:
    assert found.text("h1") == "opt_d.step() at train.py:7 uses old gradients."
    assert found.text("#edit") == "Fix: call opt_d.zero_grad() right after opt_d.step()"
    assert found.text("#also") == "It happened in 19 of 20 steps of opt_d."
    assert found.page.title().startswith("\u2717 train.py")
    card = found.text("#finding-0")
    assert "ZG001" in card
    assert "line_7 = 1" in card  # the user's own source
    assert "was changed after this run began" not in card
    rows = [row.locator("li").all_inner_texts() for row in found.page.locator("#finding-0 .chain").all()]
    assert [[text.split()[0] for text in row] for row in rows] == [
        ["step", "backward", "clip", "step"],
        ["step", "clear", "backward", "clip", "step"],
    ]
    assert [row[-2].split()[-1] for row in rows] == ["mixed", "fresh"]
    assert "is never cleared" in found.text("#parameter-table")
    titles = found.page.locator("figcaption").all_inner_texts()
    assert any("Gradient norm" in title for title in titles)
    assert any("Stale share" in title for title in titles)


def test_zoom_and_pan(found: Opened) -> None:
    page = found.page
    first = found.view()
    page.click("#zoom-out")
    wider = found.view()
    assert wider[1] - wider[0] > first[1] - first[0]
    page.click("#zoom-all")
    assert found.view() == pytest.approx([-0.7, 60.5])
    box = page.locator("#lanes").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -600)
    page.keyboard.up("Control")
    near = found.view()
    assert near[1] - near[0] < 30
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2 - 200, box["y"] + 40, steps=4)
    page.mouse.up()
    assert found.view()[0] > near[0]
    page.select_option("#axis", "time")
    assert found.view()[1] != near[1]


def test_filters(found: Opened) -> None:
    page = found.page
    page.fill("#filter-text", "clip")
    assert found.text("#filter-count") == "20 events shown"
    page.click("#events summary")
    page.wait_for_selector("#event-table tbody tr")
    assert set(page.locator("#event-table td:nth-child(3)").all_inner_texts()) == {"clip"}
    page.fill("#filter-text", "train.py:7")
    assert found.text("#filter-count") == "20 events shown"
    page.fill("#filter-text", "")
    page.check("#filter-faults")
    assert found.text("#filter-count") == "19 events shown"
    page.uncheck("#filter-faults")
    page.uncheck("#filter-kinds label:nth-of-type(1) input")
    assert found.text("#filter-count") == "40 events shown"


def test_a_finding_leads_to_its_events(found: Opened) -> None:
    page = found.page
    page.click("#finding-0 >> text=Next time")
    assert "event 9: step, opt_d.step(), at train.py:7, opt_d is spent after it" in found.text("#selected")
    assert "ZG001 stale-accumulation" in found.text("#selected")
    assert found.view()[0] < 8 < found.view()[1]
    page.keyboard.press("e")
    page.wait_for_selector("#event-table tr[aria-current=true]")
    assert page.locator("#event-table tr[aria-current=true] td").all_inner_texts()[0] == "9"
    page.click("#event-table tr:nth-child(2) button")
    assert "event 2: clip" in found.text("#selected")


def test_pointing_at_an_event_says_what_it_does(found: Opened) -> None:
    page = found.page
    page.keyboard.press("0")
    found.view()
    box = page.locator("#lanes").bounding_box()
    assert box is not None
    page.keyboard.press("n")  # the sixth event, a step at a finding
    first, last = found.view()
    x = 174 + (5.5 - first) / (last - first) * (box["width"] - 182)
    page.mouse.move(box["x"] + x, box["y"] + 56)
    assert page.locator("#tip p").all_inner_texts() == [
        "step, opt_d.step(), train.py:7",
        "step() updates the weights with .grad, and does not clear it.",
        "After it spent: a step has used it, and nothing has cleared it.",
        "A finding is here: ZG001 stale-accumulation.",
    ]
    page.mouse.move(box["x"] + 40, box["y"] + 56)
    assert not page.locator("#tip").is_visible()
    assert "step() updates the weights with .grad" in found.text("#selected")


def test_the_legend_holds_what_is_drawn_and_no_more(found: Opened) -> None:
    def marks() -> list[str]:
        return found.page.locator("#legend > li:last-child li").all_inner_texts()

    assert found.page.locator("#legend ul li").all_inner_texts() == [
        "fresh: no step has used it yet",
        "spent: a step has used it, and nothing has cleared it",
        "mixed: new gradients added to used ones",
        "backward adds",
        "step uses",
        "clip shortens",
        "a finding (a red tick where there is no room)",
        "what led to it",
    ]
    found.page.keyboard.press("n")
    assert marks()[1:] == ["what led to it", "selected"]
    found.page.keyboard.press("Escape")
    assert len(marks()) == 1


def test_what_is_only_possible_is_not_called_well(browser: Browser, tmp_path: Path) -> None:
    maybe = STALE._replace(certainty=Certainty.POSSIBLE)
    trace(tmp_path / "run.jsonl", BAD * 4, found=[(maybe, [5, 8])])
    opened = Opened(browser, report(tmp_path))
    assert opened.text("h1").startswith("Possible fault: SGD.step() at train.py:7 uses")
    assert opened.page.title().startswith("? ")
    assert opened.text("#finding-0").startswith("ZG001")
    assert opened.page.locator("#finding-0").is_visible()
    opened.close()


def test_what_a_screen_reader_says(found: Opened) -> None:
    page = found.page
    said = ["Fault: opt_d.step() at train.py:7 uses old gradients."]
    said += ["ZG001 stale-accumulation error at train.py:7, seen 19 times"]
    assert [page.get_by_role("heading", name=name, exact=True).count() for name in said] == [1, 1]
    assert page.get_by_role("list", name="As is").locator("li").all_text_contents() == [
        "step:7, then spent",
        "backward:5, then mixed",
        "clip:6, then mixed",
        "step:7, the finding",
    ]
    assert page.get_by_role("table", name="Parameters", exact=True).count() == 1
    assert page.get_by_role("button", name="Keys", exact=True).count() == 1
    page.get_by_role("application").focus()
    page.keyboard.press("ArrowRight")
    assert "backward() adds to .grad" in found.text("#selected")
    for role in ("button", "combobox", "searchbox", "checkbox", "application", "img", "table", "region"):
        assert page.get_by_role(role, name=re.compile(r"\S")).count() == page.get_by_role(role).count(), role


def test_by_keyboard_alone(found: Opened) -> None:
    page = found.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("?")
    assert page.locator("dialog[open]").count() == 1
    page.keyboard.press("Escape")
    assert page.locator("dialog[open]").count() == 0
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.id") == "lanes"
    assert "event 6: step" in found.text("#selected")
    page.keyboard.press("ArrowLeft")
    assert "event 5: clip" in found.text("#selected")
    page.keyboard.press("n")
    assert "event 6: step" in found.text("#selected")
    before = page.locator("#lanes").bounding_box()
    page.keyboard.press("o")  # groups and parameters
    after = page.locator("#lanes").bounding_box()
    assert before is not None
    assert after is not None
    assert after["height"] > before["height"]
    first = found.view()
    page.keyboard.press("+")
    assert found.view()[1] - found.view()[0] < first[1] - first[0]
    page.keyboard.press("0")
    assert found.view()[1] == pytest.approx(60.5)
    page.keyboard.press("e")
    page.wait_for_selector("#event-table tbody tr")
    assert page.locator("#event-table tbody tr").count() == 60
    page.keyboard.press("/")
    page.keyboard.type("clip")
    assert found.text("#filter-count") == "20 events shown"


def test_clean_runs_skips_and_what_is_lost(browser: Browser, tmp_path: Path) -> None:
    trace(tmp_path / "run.jsonl", [*GOOD * 5, CLEAR, BACKWARD, SKIP, CLEAR, BACKWARD, CLEAR, *GOOD])
    opened = Opened(browser, report(tmp_path), scheme="dark")
    assert opened.text("h1") == (
        "Every gradient accounted for: 6 steps used the gradients computed for them, 1 was skipped (not finite)."
    )
    assert not opened.page.locator("#edit").is_visible()
    assert opened.page.locator("#legend ul li").all_inner_texts() == [
        "fresh: no step has used it yet",
        "spent: a step has used it, and nothing has cleared it",
        "never used: no step ever uses it",
        "refused: not finite, so the step was skipped",
        "empty: no gradient",
        "backward adds",
        "step uses",
        "clear",
        "clip shortens",
        "skipped step uses nothing",
    ]
    assert opened.text("#findings").endswith("No fault was found.")
    assert opened.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(13, 17, 23)"
    opened.page.emulate_media(media="print", color_scheme="light")
    assert not opened.page.locator("#filters").is_visible()
    assert len(opened.page.pdf()) > 10_000
    opened.close()


def test_ranks_side_by_side(browser: Browser, tmp_path: Path) -> None:
    one = trace(tmp_path / "run.rank0.jsonl", GOOD * 10, rank=0, world_size=2)
    two = trace(tmp_path / "run.rank1.jsonl", GOOD * 4 + BAD * 6, found=[(STALE, [18, 21])], rank=1, world_size=2)
    opened = Opened(browser, report(tmp_path, one, two))
    told = opened.text("#rank-differences")
    assert "ranks differ in 6 of 10 steps, first in step 5" in told
    assert "rank 0: clear, backward, clip, step" in told
    assert "rank 1: backward, clip, step" in told
    assert opened.page.locator("#rank-table td.differs").count() == 6  # events, clears and faults of both
    opened.page.click("#rank-differences button")
    assert "rank 1" in opened.text("#finding-0")
    opened.close()


def test_parameters_without_gradients(browser: Browser, tmp_path: Path) -> None:
    some = [(BACKWARD, 0), STEP, (CLEAR, 0)]
    trace(tmp_path / "run.jsonl", some * 6, sets=[[0, 1, 2]])
    opened = Opened(browser, report(tmp_path))
    assert "head.bias never gets a gradient" in opened.text("#parameters-told")
    first = opened.page.locator("#parameter-table tbody tr").first.inner_text()
    assert first.startswith("head.bias")
    opened.page.click("#parameter-table >> text=deposits")
    assert opened.page.get_attribute("#parameter-table th:nth-child(4)", "aria-sort") == "descending"
    opened.close()


NAMES = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"'`${alert(1)}--><!--",
    "a\x00\x1b[31m\x07\u2028\u2029\u202eevil\u2066",
    "n" * 10_000,
    "\u05e2\u05d1\u05e8\u05d9\u05ea \U0001f600",
    "{{script}}{{data}}",
]


@pytest.mark.parametrize("name", NAMES, ids=["script", "img", "quotes", "control", "long", "rtl", "places"])
def test_hostile_names_are_text(browser: Browser, tmp_path: Path, name: str) -> None:
    path = name[:200]
    events = [
        event._replace(slot=name, what=name, site=Site(path, 5), numbers=((name, 1.0), ("norm", float("nan"))))
        for event in BAD * 4
    ]
    evil = STALE._replace(code=name, name=name, message=name, cure=name, site=Site(path, 5))
    about = {"script": name, "mode": name, "pid": name, "folder": name}
    names = {"slot": name, "called": name}
    trace(tmp_path / "run.jsonl", events, found=[(evil, [5, 8])], groups=[[name] * 3], **names, **about)  # type: ignore[arg-type]
    opened = Opened(browser, report(tmp_path), width=400)
    page = opened.page
    assert page.locator("script").count() == 2
    assert page.locator("img").count() == 0
    assert page.locator("#finding-0").count() == 1
    page.click("#finding-0 .show")
    page.keyboard.press("o")
    page.keyboard.press("e")
    page.wait_for_selector("#event-table tbody tr")
    assert page.locator("#event-table tbody tr").count() == 12
    assert page.evaluate("document.documentElement.scrollWidth") <= 400
    opened.close()


def test_a_narrow_screen_needs_no_sideways_scrolling(browser: Browser, tmp_path: Path) -> None:
    stale(tmp_path / "run.jsonl")
    opened = Opened(browser, report(tmp_path), width=400)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 400
    opened.close()


def test_a_hundred_thousand_events_are_painted_within_two_seconds_of_cpu(browser: Browser, tmp_path: Path) -> None:
    trace(tmp_path / "run.jsonl", (GOOD * 6 + BAD) * 3705, found=[(STALE, [26, 53])])
    page = report(tmp_path)
    assert page.stat().st_size < 10_000_000
    idle = worked(browser)
    opened = Opened(browser, page)
    opened.view()
    assert opened.page.evaluate("performance.getEntriesByName('timeline-painted').length") >= 1
    painted = worked(browser)
    assert painted - idle < 2
    opened.page.evaluate(
        """async () => {
          for (let i = 0; i < 10; i++) {
            document.dispatchEvent(new KeyboardEvent("keydown", { key: i % 2 ? "+" : "]" }));
            await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
          }
        }"""
    )
    assert worked(browser) - painted < 10 * 0.2
    opened.close()


def test_more_events_than_a_page_holds_are_bundled_and_it_says_so(browser: Browser, tmp_path: Path) -> None:
    trace(tmp_path / "run.jsonl", (GOOD * 6 + BAD) * 400, found=[(STALE, [5399])])
    opened = Opened(browser, report(tmp_path, rows=1000))
    assert "10,800 events, more than a page can hold one by one" in opened.text("#bundled")
    opened.page.click("#finding-0 .show")
    assert "event 5,400" in opened.text("#selected").replace("5400", "5,400")
    opened.page.keyboard.press("0")
    opened.page.keyboard.press("o")
    opened.view()
    opened.close()


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_stand_out(scheme: str) -> None:
    """WCAG 2.2, AA: text 4.5 to 1, and 3 to 1 for what must be told apart without being read."""
    style = (files("zerograd.report") / "page" / "style.css").read_text()
    blocks = re.findall(r":root {(.*?)}", style, re.S)
    tones: dict[str, str] = {}
    for block in blocks[: 1 if scheme == "light" else 2]:
        tones |= dict(re.findall(r"--(\w+): (#\w{6});", block))
    text = [(one, on) for one in ("text", "faint", "accent", "good", "bad", "warn", "lost") for on in ("page", "card")]
    text += [("text", "mark"), ("faint", "mark"), ("bad", "mark")]
    shapes = [(one, "page") for one in ("fresh", "spent", "mixed", "lost", "warn", "hollow", "edge", "bad", "accent")]
    low = [(*pair, 4.5) for pair in text] + [(*pair, 3.0) for pair in shapes]
    told = {
        f"{one} on {on}": contrast(tones[one], tones[on])
        for one, on, least in low
        if contrast(tones[one], tones[on]) < least
    }
    assert told == {}
