"""Names of files, as the editor says them and as the checker does."""

from pathlib import Path

import pytest

from zerograd.server.documents import path_of, uri_of


def test_paths_count_from_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert path_of((tmp_path / "sub" / "a b.py").as_uri()) == "sub/a b.py"
    assert path_of((tmp_path.parent / "other.py").as_uri()) == str(tmp_path.parent / "other.py")
    assert path_of(f"{tmp_path.as_uri()}-beside/x.py") == f"{tmp_path}-beside/x.py"
    assert path_of("untitled:Untitled-1") == "Untitled-1"
    assert path_of(uri_of("sub/a b.py")) == "sub/a b.py"
