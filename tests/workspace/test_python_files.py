import os
import sys
from pathlib import Path

import pytest

from fx_lsp.documents.documents import on_disk, why_not_python
from fx_lsp.workspace.python_files import files_of, python_files


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_named_pipe_is_not_read(tmp_path: Path) -> None:
    pipe, file = tmp_path / "pipe.py", tmp_path / "model.py"
    os.mkfifo(pipe)
    file.write_text("import torch\n")
    assert list(python_files(tmp_path)) == [file]
    assert files_of([tmp_path]) == [file]
    assert on_disk(str(pipe)) is None
    assert why_not_python(str(pipe)) == "it cannot be read: not a regular file"
