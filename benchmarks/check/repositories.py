"""What a checker says of well-known repositories: every certain error and warning, to be read and judged."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from answers import speaks_of_gradients
from corpus import Snapshot, laid_out
from tools import Tool, named_files


def lines(tool: Tool, repositories: list[Snapshot], mirrors: Path) -> Iterator[str]:
    codes: Counter[str] = Counter()
    files = 0
    for snapshot in repositories:
        with laid_out(mirrors, snapshot) as folder:
            if folder is None:
                yield f"  trouble: {snapshot.repo}: not in the mirrors"
                continue
            targets = named_files(folder)
            files += len(targets)
            answer = tool.check(folder, targets)
        if answer.trouble:
            yield f"  trouble: {snapshot.repo}: {answer.trouble}"
        for found in answer.findings:
            if found.fails and (speaks_of_gradients(found.code) or found.code.startswith("ZG")):
                codes[found.code] += 1
                yield f"  {snapshot.repo} {found.path}:{found.line} {found.code}"
    told = ", ".join(f"{code} {count}" for code, count in sorted(codes.items())) or "none"
    yield f"{tool.name}: {codes.total()} certain errors and warnings in {files} files: {told}"
