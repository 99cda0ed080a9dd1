"""The pictures of docs/report.md: real runs, their reports, a real browser. `make pictures` draws them all.

Each run under runs/ is traced in full mode. Two ranks are started by torchrun. Pictures are what a reader sees first,
1400 pixels wide; --all adds the dark ones and those of a narrow screen, for looking at them.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

RUNS = Path(__file__).parent / "runs"
HEIGHTS = {"missing_clear": 930, "gan_leak": 1080, "lost_tail": 860, "two_ranks": 1080, "mixed_precision": 900}
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
ARGUMENTS += ["--disable-sync", "--no-first-run"]


def report(name: str, folder: Path) -> Path:
    page = folder / f"{name}.html"
    run = ["-m", "zerograd", "run", "--mode", "full", "--report", str(page), f"{name}.py"]
    start = [sys.executable, *run]
    if name == "two_ranks":
        start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", *run]
    subprocess.run(start, cwd=RUNS, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True)
    return page


def smaller(picture: Path) -> None:
    """Fewer shades, by less than an eye sees. A palette would keep common colours, and turn small marks into others."""
    whole = Image.open(picture).convert("RGB")
    whole.point([round(shade / 5) * 5 for shade in range(256)] * 3).save(picture, optimize=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--all", action="store_true", help="dark and narrow ones as well, and a run that is right")
    options.add_argument("--only", metavar="RUN", help="one of runs/")
    chosen = options.parse_args()
    chosen.folder.mkdir(parents=True, exist_ok=True)
    looks = [("light", 1400, "")]
    if chosen.all:
        looks += [("dark", 1400, "-dark"), ("light", 420, "-narrow"), ("dark", 420, "-narrow-dark")]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        for name in [chosen.only] if chosen.only else [*HEIGHTS, *(["correct"] if chosen.all else [])]:
            page = report(name, Path(folder))
            for scheme, width, suffix in looks:
                picture = chosen.folder / f"{name}{suffix}.png"
                tab = browser.new_page(viewport={"width": width, "height": HEIGHTS.get(name, 900)}, color_scheme=scheme)
                tab.goto(page.as_uri())
                tab.wait_for_selector("#lanes[data-view]", state="attached")
                tab.screenshot(path=picture, full_page=width < 1000)
                tab.close()
                smaller(picture)
                print(f"{picture}: {picture.stat().st_size // 1000} kB")
        browser.close()


if __name__ == "__main__":
    main()
