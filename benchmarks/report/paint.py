"""How soon a page is painted, and how long two frames take while it is zoomed and moved: `paint.py report.html`."""

import shutil
import sys
from pathlib import Path
from statistics import median

from playwright.sync_api import Browser, sync_playwright

FIRST = "performance.getEntriesByName('timeline-painted')[0]?.startTime"
FRAMES = """async () => {
  const times = [];
  document.dispatchEvent(new KeyboardEvent("keydown", { key: "0" }));
  for (let i = 0; i < 20; i++) {
    document.dispatchEvent(new KeyboardEvent("keydown", { key: i % 2 ? "-" : "]" }));
    const before = performance.now();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    times.push(performance.now() - before);
  }
  return times;
}"""


def measured(browser: Browser, page: str) -> tuple[float, float]:
    tab = browser.new_page(viewport={"width": 1400, "height": 900})
    tab.goto(Path(page).resolve().as_uri())
    tab.wait_for_selector("#lanes[data-view]", state="attached")
    first, frames = tab.evaluate(FIRST), tab.evaluate(FRAMES)
    tab.close()
    return first, median(frames)


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
        )
        for page in sys.argv[1:]:
            tries = [measured(browser, page) for _ in range(5)]
            first, frames = (median(column) for column in zip(*tries, strict=True))
            print(f"{page}: first paint {first:.0f} ms, two frames {frames:.0f} ms")
        browser.close()


if __name__ == "__main__":
    main()
