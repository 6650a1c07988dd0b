"""What the VS Code extension says about itself is what the server says."""

import ast
import json
import re
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

import fx_lsp
from fx_lsp.settings.settings import vscode_properties

CLIENT = Path(__file__).resolve().parents[2] / "vscode-client"
REMEDY = "run: python vscode-client/scripts/manifest.py"


def manifest() -> Any:
    return json.loads((CLIENT / "package.json").read_text("utf-8"))


def test_settings_are_the_servers() -> None:
    assert manifest()["contributes"]["configuration"][0]["properties"] == vscode_properties(), REMEDY


def test_each_command_is_run_in_a_real_window() -> None:
    """By its name in the palette, in one of the files that drive VS Code."""
    run = "".join(file.read_text("utf-8") for file in Path(__file__).parent.glob("*.test.mjs"))
    commands = manifest()["contributes"]["commands"]
    labels = [f"{command['category']}: {command['title'].removesuffix('…')}" for command in commands]
    assert [label for label in labels if label not in run] == []


def test_version_is_the_servers() -> None:
    lock = json.loads((CLIENT / "package-lock.json").read_text("utf-8"))
    versions = {manifest()["version"], lock["version"], lock["packages"][""]["version"]}
    assert versions == {fx_lsp.__version__}, REMEDY


def test_the_bundle_has_what_the_package_asks_for() -> None:
    """Read as text, since Python 3.10 has no TOML reader."""
    declared = re.search(
        r"^dependencies = (\[.*?\])", (CLIENT.parent / "pyproject.toml").read_text("utf-8"), re.M | re.S
    )
    assert declared is not None
    lines = (CLIENT / "requirements.txt").read_text("utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if "==" in line)
    for requirement in map(Requirement, ast.literal_eval(declared[1])):
        assert requirement.specifier.contains(pinned[requirement.name])
