"""The pages about captures show a model that fails and what ``fx-lsp check`` tells of it: it still tells the same."""

import re
from pathlib import Path

import pytest

from tests.cli.test_cli import check

PAGES = Path(__file__).parents[2] / "docs" / "howto"

SHOWN = re.compile(r"```python\n(.*?)```.*?```sh\nfx-lsp check (.*?)\n```\n\n```text\n(.*?)```", re.DOTALL)


@pytest.mark.parametrize("page", ["export_to_onnx", "quantize_pt2e", "compile_whole"])
def test_a_page_shows_what_is_told(tmp_path: Path, page: str) -> None:
    ((model, arguments, told),) = SHOWN.findall((PAGES / f"{page}.md").read_text(encoding="utf-8"))
    (tmp_path / "model.py").write_text(model, encoding="utf-8")
    # In a terminal, `full` is the default.
    assert check(*arguments.split(), "--format", "full", cwd=tmp_path).stdout == told
