"""What nobody should feed a checker: files that are broken, deep, huge, old, or not text at all."""

import ast
import random
import sysconfig
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Protocol

from zerograd.rules import REGISTRY

Chance = random.Random


class Maker(Protocol):
    __name__: str

    def __call__(self, chance: Chance, /) -> bytes: ...


_TRAINS = "import torch\nfor x in y:\n    loss = f(x)\n    loss.backward()\n    optimizer.step()\n"
_TOKENS = (
    *"()[]{}:;,.=*@\\'#\t\f\0\r",
    *("==", "+=", "->", "**", '"', "'''", ":=", "...", "0777", "1e999", "if", "else", "for", "while", "try", "except"),
    *("lambda", "yield", "await", "async", "def", "class", "finally", "with", "as", "return", "break", "match", "case"),
    *("loss.backward()", "optimizer.step()", "optimizer.zero_grad()", "scaler.step(optimizer)", "global", "nonlocal"),
)
_HEADS = (
    *(
        "for i, x in enumerate(loader):",
        "while f(x):",
        "if i % 4 == 0:",
        "with torch.no_grad():",
        "def f(x, optimizer):",
    ),
    *("class A(B):", "async def g(self):", "for x in y:", "with accelerator.accumulate(model):", "def closure():"),
)
_CODECS = (
    *("utf-8", "latin-1", "cp1252", "utf-16", "utf-32", "utf-7", "ascii", "rot13", "hex", "base64", "zip", "idna"),
    *("punycode", "undefined", "unicode_escape", "mbcs", "utf-8-sig", "big5", "shift_jis", "no-such-codec", "...."),
)


def inputs(count: int) -> Iterator[tuple[str, bytes]]:
    """`count` names and contents; the same name always has the same content."""
    for number in range(count):
        maker = MAKERS[number % len(MAKERS)]
        yield f"{number:05}_{maker.__name__}.py", maker(Chance(number))


def noise(chance: Chance) -> bytes:
    """Random bytes, some of them with the words that make a file worth parsing."""
    body = chance.randbytes(chance.choice((0, 1, 10, 1000, 20_000)))
    at = chance.randrange(len(body) + 1)
    return body[:at] + chance.choice((b"", _TRAINS.encode())) + body[at:]


def characters(chance: Chance) -> bytes:
    """Random text: what decodes, and does not parse."""
    ranges = ((32, 127), (0, 256), (0x300, 0x2100), (0x1F000, 0x1FA00))
    low, high = chance.choice(ranges)
    text = "".join(chr(chance.randrange(low, high)) for _ in range(chance.randrange(3000)))
    return (_TRAINS + text).encode("utf-8", "replace")


def broken(chance: Chance) -> bytes:
    """A real source with a few wounds."""
    lines = _source(chance).split("\n")
    for _ in range(chance.randrange(1, 8)):
        at = chance.randrange(len(lines))
        line = lines[at]
        column = chance.randrange(len(line) + 1)
        wound = chance.randrange(8)
        if wound == 0:
            del lines[at : at + chance.randrange(1, 4)]
            lines = lines or [""]
        elif wound == 1:
            lines.insert(at, chance.choice(lines))
        elif wound == 2:
            lines[at] = line[:column] + chance.choice(_TOKENS) + line[column:]
        elif wound == 3:
            lines[at] = line[:column] + line[column + 1 :]
        elif wound == 4:
            lines[at] = " " * chance.randrange(9) + line.lstrip()
        elif wound == 5:
            lines = lines[: at + 1]
        elif wound == 6:
            lines[at] = line.replace("    ", "\t", 1)
        else:
            lines[at:at] = _source(chance).split("\n")[: chance.randrange(1, 40)]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def composed(chance: Chance) -> bytes:
    """Statements of the rules' programs in blocks that nobody has seen before. Always Python."""
    lines = ["import torch", "from helper import *"]
    while len(lines) < chance.choice((5, 20, 80)):
        lines += _block(chance, depth=chance.randrange(1, 6))
    return "\n".join(lines).encode()


def deep(chance: Chance) -> bytes:
    depth = chance.choice((5, 15, 25, 90, 99, 200, 1000, 5000))
    shapes = (
        "x = " + "(" * depth + "1" + ")" * depth,
        "x = " + "[" * depth + "1" + "]" * depth,
        "x = " + "{1: " * depth + "1" + "}" * depth,
        "x = " + "f(" * depth + "loss" + ")" * depth + ".backward()",
        "x = " + "not " * depth + "y",
        "x = " + "-" * depth + "1",
        "x = " + " + ".join(["y"] * depth),
        "x = " + "lambda: " * depth + "loss.backward()",
        "x = loss" + ".y" * depth + ".backward()",
        "x = loss" + "[0]" * depth + "\nx.backward()",
        "x = loss" + "()" * depth + "\nx.backward()",
        "x = " + "1 if y else " * depth + "2",
        "x = " + "f'{" * min(depth, 4) + "1" + "}'" * min(depth, 4),
        "x = " + "(yield " * depth + ")" * depth,
        "x" + " = x" * depth,
        "\n".join(" " * level + "if y:" for level in range(depth)) + "\n" + " " * depth + "loss.backward()",
        "\n".join(" " * level + "for a in b:" for level in range(depth)) + "\n" + " " * depth + "optimizer.step()",
        "\n".join(" " * level + f"def f{level}():" for level in range(depth)) + "\n" + " " * depth + "loss.backward()",
        "\n".join(" " * level + "class A:" for level in range(depth)) + "\n" + " " * depth + "y = 1",
        "\n".join(" " * level + "try:" for level in range(depth)) + "\n" + " " * depth + "loss.backward()",
        "if y:\n  loss.backward()\n" + "elif z:\n  optimizer.step()\n" * depth,
    )
    return (_TRAINS + chance.choice(shapes) + "\n").encode()


def branchy(chance: Chance) -> bytes:
    """Few lines, very many ways through them: tests, calls, cycles, optimizers."""
    lines = ["import torch"]
    count = chance.choice((3, 8, 20, 60, 200))
    acts = ("loss.backward()", "optimizer.step()", "optimizer.zero_grad()", "return", "break", "continue", "raise E")
    for number in range(count):
        lines.append(f"def f{number}(optimizer, loss, a{number}):")
        lines.append("  for x in y:")
        for _ in range(chance.randrange(1, 12)):
            act = chance.choice((*acts, f"f{chance.randrange(count)}(optimizer, loss, x)"))
            if chance.random() < 0.3:
                act = act.replace("optimizer", f"optimizer{chance.randrange(20)}")
            lines.append(f"    if a{chance.randrange(count)} % {chance.randrange(9)} == x:")
            lines.append(f"      {act}")
            lines.append(f"    {chance.choice(acts[:3])}")
    return "\n".join(lines).encode()


def huge(chance: Chance) -> bytes:
    size = chance.choice((5000, 50_000, 200_000))
    shapes = (
        lambda: "x = " + "9" * size,
        lambda: "x = 0x" + "f" * size,
        lambda: "x = '" + "a" * size + "'",
        lambda: "x = '''" + "a\n" * size + "'''",
        lambda: "x = [" + "1, " * size + "]",
        lambda: "x = {" + "'a': 1, " * (size // 2) + "}",
        lambda: "x = f'" + "{a}" * (size // 5) + "'",
        lambda: "x = 1e" + "9" * size,
        lambda: "#" + "a" * size,
        lambda: "a" * size + " = 1",
        lambda: "x = " + "\\\n" * size + "1",
        lambda: "; ".join(["loss.backward()"] * (size // 100)),
        lambda: "f(" + ", ".join(f"a{number}" for number in range(size // 10)) + ")",
        lambda: "import torch\n" * (size // 10),
        lambda: "\n".join(f"def f{number}(): pass" for number in range(size // 20)),
    )
    return (_TRAINS + chance.choice(shapes)() + "\n").encode()


def encoded(chance: Chance) -> bytes:
    """A declared encoding and a real one, seldom the same; byte order marks; NULs; lone surrogates."""
    text = _program(chance)
    body = chance.choice(
        (text, text + "# caf\u00e9\n", text + "x = '\u4e2d'\n", text + "x = '\ud800'\n", text + "\0\n")
    )
    real = chance.choice(("utf-8", "latin-1", "utf-16", "utf-16-le", "utf-32", "cp1252"))
    cookie = chance.choice(("", f"# -*- coding: {chance.choice(_CODECS)} -*-\n"))
    mark = chance.choice((b"", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb"))
    handler = "surrogatepass" if real.startswith("utf") else "replace"
    return mark + cookie.encode() + body.encode(real, handler)


def old(chance: Chance) -> bytes:
    """Python 2."""
    lines = (_program(chance) + _TRAINS).split("\n")
    past = (
        "print 'loss', loss", "print >>f, x,", "exec 'x = 1' in {}", "x = `y`", "raise E, 'no'", "x = 0777",
        "x = ur'y'", "if x <> y: pass", "x = 10L", "def f((a, b)): pass", "try: pass\nexcept E, e: pass", "print",
    )  # fmt: skip
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(lines))
        indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
        lines.insert(at, indent + chance.choice(past).replace("\n", "\n" + indent))
    return "\n".join(lines).encode()


def spaced(chance: Chance) -> bytes:
    """Form feeds, carriage returns, tabs, other line breaks and other blanks."""
    text = _program(chance)
    ends = ("\r\n", "\r", "\n\f", "\f\n", "\n\n\r", "\x0b\n", "\u2028", "\x85", "\\\n", "\n\ufeff", " \t\n", "\x1c\n")
    end = chance.choice(ends)
    text = text.replace("\n", end) if chance.random() < 0.7 else text.replace("\n", end, chance.randrange(1, 5))
    return text.replace("    ", chance.choice(("\t", "    ", "  \t", "\u00a0" * 4, "\f    "))).encode()


def wide(chance: Chance) -> bytes:
    """Very long lines, or very many."""
    shape = chance.randrange(40)
    program = _program(chance)
    if shape == 0:  # few of these: each is some megabytes
        return (program + "x = 1\n" * 100_000).encode()
    if shape == 1:
        return (program + "\n" * 100_000).encode()
    if shape == 2:
        return (_program(chance) * (100_000 // (program.count("\n") + 1))).encode()
    if shape == 3:
        return (program + "def f(x):\n    return [y for y in x if y]\n" * 50_000).encode()
    length = chance.choice((1000, 20_000, 100_000))
    return (
        program + "x = " + chance.choice(("y + ", "y, ", "y and ", "f(y) or ", "y if y else ")) * (length // 5) + "y\n"
    ).encode()


# What is cheap to read comes more often than what is large.
MAKERS: list[Maker] = [
    *(composed, broken, encoded, spaced, old) * 3,
    *(composed, noise, characters, deep) * 2,
    *(branchy, huge, wide),
]


def _block(chance: Chance, *, depth: int) -> list[str]:
    lines = [chance.choice(_statements()) for _ in range(chance.randrange(1, 5))]
    if depth:
        within = [f"    {line}" for line in _block(chance, depth=depth - 1)]
        lines += [chance.choice(_HEADS), *within]
        if chance.random() < 0.3:
            lines += ["try:", *within, "finally:", *within]
        if chance.random() < 0.3:
            lines += ["if f(x):", *within, "elif i % 4 == 3:", *within, "else:", *within]
    chance.shuffle(last := [chance.choice(_statements()), *chance.choices(("break", "return", "raise E", "pass"), k=1)])
    return [*lines, *(last if chance.random() < 0.2 else last[:1])]


def _source(chance: Chance) -> str:
    """A file of the standard library that is made to train, or a rule's program."""
    if chance.random() < 0.6:
        return _program(chance)
    file = chance.choice(_standard_library())
    return _TRAINS + file.read_text(encoding="utf-8", errors="replace") + _TRAINS


def _program(chance: Chance) -> str:
    rule = chance.choice(list(REGISTRY.values()))
    return chance.choice((rule.bad, rule.good))


@cache
def _statements() -> list[str]:
    """Every simple statement of the rules' programs that stands on one line."""
    programs = [program for rule in REGISTRY.values() for program in (rule.bad, rule.good)]
    simple = (ast.Expr, ast.Assign, ast.AugAssign, ast.Delete)
    nodes = [node for program in programs for node in ast.walk(ast.parse(program)) if isinstance(node, simple)]
    return sorted({line for node in nodes if "\n" not in (line := ast.unparse(node))})


@cache
def _standard_library() -> list[Path]:
    folder = Path(sysconfig.get_paths()["stdlib"])
    return sorted(file for file in folder.glob("*.py") if file.stat().st_size < 60_000)
