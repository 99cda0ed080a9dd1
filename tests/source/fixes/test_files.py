"""What is written back is what was there, but for the text."""

from pathlib import Path

import pytest

from zerograd.errors import SourceError
from zerograd.source.fixes.files import File


@pytest.mark.parametrize(
    "raw",
    [
        b"x = 1\r\ny = 2\n\rz = 3",
        b"\xef\xbb\xbfx = 1\n",
        b"# -*- coding: latin-1 -*-\n# caf\xe9\n",
        b"\xef\xbb\xbf# coding: utf-8\n# caf\xc3\xa9\n",
        b"# coding: cp1252\n# \x80\n",
    ],
)
def test_a_file_is_written_back_byte_for_byte(raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_bytes(raw)
    file = File(str(path))
    file.write(file.text)
    assert path.read_bytes() == raw
    assert not file.text.startswith("\ufeff")


@pytest.mark.parametrize("raw", [b"# caf\xe9\n", b"# coding: utf-7\n# +AGE-\n", b"# coding: nothing\n"])
def test_what_cannot_be_written_back_is_left(raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "file.py"
    path.write_bytes(raw)
    with pytest.raises(SourceError, match="cannot be fixed"):
        File(str(path))
    with pytest.raises(SourceError, match="cannot be read"):
        File(str(tmp_path / "none.py"))
