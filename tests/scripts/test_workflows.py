"""The workflows name what exists. They can't be run here; actionlint checks the rest, where it is installed."""

import re
import shutil
import subprocess
import sys
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.source_tree import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def jobs(name: str) -> Any:
    return YAML(typ="safe").load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))["jobs"]


def shell_lines() -> list[str]:
    """What the steps of all workflows run."""
    steps = [step for file in WORKFLOWS for job in jobs(file.name).values() for step in job.get("steps", ())]
    found = [step["run"] for step in steps if "run" in step]
    assert found
    return [line.strip() for text in found for line in text.splitlines()]


def test_each_command_of_dev_py_exists() -> None:
    listed = subprocess.run([sys.executable, "dev.py", "--help"], cwd=ROOT, capture_output=True, text=True, check=True)
    named = {match[1] for line in shell_lines() if (match := re.search(r"\bdev\.py (\S+)", line))}
    assert len(named) > 3
    assert {name for name in named if not re.search(rf"^ +{name} ", listed.stdout, re.MULTILINE)} == set()


def test_each_file_and_folder_exists() -> None:
    named = {word for line in shell_lines() for word in re.findall(r"(?<!\S)(?:scripts|tests|examples)/[\w./-]+", line)}
    assert "scripts/release.py" in named
    assert {name for name in named if not (ROOT / name).exists()} == set()


def test_the_extension_is_published_for_each_platform() -> None:
    text = (ROOT / "vscode-client" / "scripts" / "bundle.py").read_text(encoding="utf-8")
    (table,) = re.findall(r"WHEEL_PLATFORMS = \{(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    (line,) = (line for line in shell_lines() if line.startswith("for target in "))
    words = line.removeprefix("for target in ").removesuffix("; do")
    targets = subprocess.run(["bash", "-c", f"echo {words}"], capture_output=True, text=True, check=True).stdout.split()
    assert sorted(targets) == sorted(re.findall(r'"([\w-]+)":', table))


def test_only_the_jobs_that_publish_have_rights_and_they_wait_for_the_tests() -> None:
    release = jobs("release.yml")
    publishing = {name: job for name, job in release.items() if "environment" in job}
    assert sorted(publishing) == ["documentation", "extension", "pypi"]
    assert all({"tests", "build"} == set(job["needs"]) for job in publishing.values())
    assert {name for name, job in release.items() if "id-token" in job.get("permissions", {})} == {
        "documentation",
        "pypi",
    }
    assert {name for name, job in release.items() if "secrets." in str(job)} == {"extension"}
    for file in WORKFLOWS:
        assert YAML(typ="safe").load(file.read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}


@pytest.mark.skipif(shutil.which("actionlint") is None, reason="actionlint is not installed")
def test_actionlint_finds_nothing() -> None:
    done = subprocess.run(["actionlint"], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
