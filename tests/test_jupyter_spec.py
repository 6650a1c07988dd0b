import json
import subprocess
import sys
from pathlib import Path

from fx_lsp.jupyter_spec import server_specs
from tests.source_tree import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def test_the_command_starts_the_server_whatever_is_in_the_folder_of_the_notebooks(tmp_path: Path) -> None:
    for name in ("attrs", "pygls", "fx_lsp", "settings"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('this is a file of the user')\n", encoding="utf-8")
    (spec,) = server_specs(None).values()
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}).encode()
    (importable := tmp_path / "packages").mkdir()
    (importable / "fx_lsp").symlink_to(ROOT / "fx_lsp")
    done = subprocess.run(
        spec["argv"],
        input=b"Content-Length: %d\r\n\r\n%s" % (len(body), body),
        capture_output=True,
        cwd=tmp_path,
        env={"PYTHONPATH": str(importable)},
    )
    assert b'"serverInfo": {"name": "fx-lsp"' in done.stdout, done.stderr


def test_the_entry_point_is_this_function() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    assert declared["jupyter_lsp_spec_v1"] == {"fx-lsp": f"{server_specs.__module__}:{server_specs.__name__}"}
