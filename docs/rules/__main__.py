"""python docs/rules: write the pages of all rules into this folder, and take away those of rules that are gone."""

from pathlib import Path

from zerograd.report.rules import pages
from zerograd.rules import REGISTRY

HERE = Path(__file__).parent
wanted = pages(REGISTRY.values())
for page in HERE.glob("*.md"):
    if page.name not in wanted:
        page.unlink()
for name, text in wanted.items():
    (HERE / name).write_text(text, encoding="utf-8")
