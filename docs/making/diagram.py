"""python docs/making/diagram.py: draw docs/pictures/architecture.svg. The colours follow the reader's light or dark."""

from pathlib import Path
from typing import NamedTuple

PICTURE = Path(__file__).parents[1] / "pictures" / "architecture.svg"
WIDTH, HEIGHT = 760, 560
STYLE = """
text { font: 14px ui-sans-serif, system-ui, sans-serif; fill: #1f2328; text-anchor: middle }
.name { font: 600 15px ui-monospace, monospace }
.small { font-size: 12.5px; fill: #57606a }
.way { font-size: 12.5px; fill: #57606a; text-anchor: start }
rect { fill: #ffffff; stroke: #8c959f }
.model { fill: #ddf4ff; stroke: #0969da }
.front { fill: #dafbe1; stroke: #1a7f37 }
path { stroke: #57606a; fill: none; stroke-width: 1.5 }
.tip { fill: #57606a; stroke: none }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .small, .way { fill: #9198a1 }
  rect { fill: #161b22; stroke: #6e7681 }
  .model { fill: #0c2d4d; stroke: #4493f8 }
  .front { fill: #12301c; stroke: #3fb950 }
  path { stroke: #9198a1 } .tip { fill: #9198a1 }
}"""


class Box(NamedTuple):
    x: int
    y: int
    width: int
    name: str
    says: str
    kind: str = ""
    height: int = 58

    def draw(self) -> str:
        middle = self.x + self.width // 2
        return (
            f'<rect class="{self.kind}" x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}" rx="6"/>'
            f'<text class="name" x="{middle}" y="{self.y + 24}">{self.name}</text>'
            f'<text class="small" x="{middle}" y="{self.y + 44}">{self.says}</text>'
        )


BOXES = [
    Box(20, 20, 220, "train.py", "what you wrote"),
    Box(270, 20, 220, "a running script", "what torch does"),
    Box(520, 20, 220, "your loop", "what you want"),
    Box(20, 130, 220, "source/", "check: reads, runs nothing", "front"),
    Box(270, 130, 220, "run/ + attach/", "run, audit: looks at .grad", "front"),
    Box(520, 130, 220, "engine/", "Step: clear, deposit, commit", "front"),
    Box(20, 250, 720, "core/", "slot, event, state: advance(state, event) -> state, lifted to sets of facts", "model"),
    Box(20, 330, 470, "rules/", "one file per fault: message, cure, a bad and a good program", "model"),
    Box(520, 330, 220, "trace/", "events on disk, in order"),
    Box(20, 440, 720, "report/", "one finding, every form of it"),
]
ARROWS = [
    (130, 78, 130, 130, ""),
    (380, 78, 380, 130, ""),
    (630, 78, 630, 130, ""),
    (130, 188, 130, 250, "sets of states"),
    (380, 188, 380, 250, "one state"),
    (630, 188, 630, 250, "never a fault"),
    (255, 308, 255, 330, ""),
    (630, 308, 630, 330, ""),
    (255, 388, 255, 440, "findings"),
    (630, 388, 630, 440, "timeline"),
]


def _arrow(x: int, y: int, x2: int, y2: int, says: str) -> str:
    label = f'<text class="way" x="{x + 9}" y="{(y + y2) // 2 + 4}">{says}</text>' if says else ""
    tip = f'<polygon class="tip" points="{x2 - 5},{y2 - 8} {x2 + 5},{y2 - 8} {x2},{y2}"/>'
    return f'<path d="M{x} {y}V{y2 - 8}"/>{tip}{label}'


def picture() -> str:
    """The whole diagram as SVG."""
    outputs = "terminal, HTML timeline, JSON, SARIF, GitHub, GitLab, JUnit, Perfetto, TensorBoard, rule pages"
    drawn = [box.draw() for box in BOXES] + [_arrow(*arrow) for arrow in ARROWS]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" '
        f'aria-label="Three front ends over one model of a gradient"><style>{STYLE}</style>\n'
        + "\n".join(drawn)
        + f'\n<text class="small" x="{WIDTH // 2}" y="{HEIGHT - 30}">{outputs}</text>\n</svg>\n'
    )


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
