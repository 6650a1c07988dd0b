import os
import sys
from pathlib import Path

import pytest

from fx_lsp.documents.documents import on_disk, why_not_python
from fx_lsp.workspace.python_files import files_of, python_files


def test_a_closed_folder_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("closed", "open"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "net.py").touch()
    stat = os.stat

    def refusing(path: "str | os.PathLike[str] | int", *args: object, **kwargs: object) -> os.stat_result:
        if not isinstance(path, int) and Path(path).is_relative_to(tmp_path / "closed" / ""):
            raise PermissionError(13, "Permission denied", path)
        return stat(path, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "stat", refusing)
    assert list(python_files(tmp_path)) == [tmp_path / "open" / "net.py"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_named_pipe_is_not_read(tmp_path: Path) -> None:
    pipe, file = tmp_path / "pipe.py", tmp_path / "model.py"
    os.mkfifo(pipe)
    file.write_text("import torch\n")
    assert list(python_files(tmp_path)) == [file]
    assert files_of([tmp_path]) == [file]
    assert on_disk(str(pipe)) is None
    assert why_not_python(str(pipe)) == "it cannot be read: not a regular file"
