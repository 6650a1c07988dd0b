"""``fx-lsp mcp`` says in one sentence why it can't serve."""

import sys
from pathlib import Path

import pytest

from fx_lsp.cli.main import main


def test_a_folder_that_does_not_exist(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["mcp", str(tmp_path / "gone")]) == 2
    assert capsys.readouterr().err == f"fx-lsp: {tmp_path / 'gone'} is not a folder.\n"


def test_a_python_that_cannot_be_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["mcp", str(tmp_path), "--python", "/no/such/python"]) == 2
    assert capsys.readouterr().err == "fx-lsp: /no/such/python is not an executable program.\n"


def test_without_the_extra(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.delitem(sys.modules, "fx_lsp.mcp_server.mcp_tools", raising=False)
    assert main(["mcp", str(tmp_path)]) == 2
    assert "install fx-lsp with its extra `mcp`" in capsys.readouterr().err
