"""Measures how many classes of public research repositories get a verdict.

    .venv/bin/python benchmarks/reach_repositories.py FOLDER [--python PYTHON] [--keep KEPT] [--truth OTHER] [--write]

`repositories.txt` lists the repositories, each with a commit and a half. The script clones those that FOLDER lacks,
runs `fx-lsp check --report` on each with the interpreter PYTHON, and counts the classes that have base classes and
their own `forward` that does something. The ``seen`` half may be looked at class by class. Of the ``held-out`` half,
the script shows only counts: whoever works on fx-lsp must not see its classes.

``--truth`` names the KEPT folder of a run whose interpreter has the repositories' packages. A class counts as judged if
the verdicts of both runs are unconditional or conditional; a failure that the other run traces is false, and so is a
trace that fails there. With ``--write``, the script writes docs/reach-repositories.md.
"""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.reach import classes_of
from benchmarks.reach_reasons import table

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reach-repositories.md"
LIST = Path(__file__).with_name("repositories.txt")

KINDS = ("traces", "traces on a condition", "fails", "can't be built", "unknown")
"""The verdicts, in the order of the table's columns."""


@dataclass(frozen=True)
class Repository:
    """A line of `repositories.txt`."""

    name: str
    """``owner/name`` on GitHub."""
    commit: str
    half: str
    """``seen`` or ``held-out``."""

    def folder(self, below: Path) -> Path:
        """Its checkout."""
        return below / self.name.partition("/")[2]


@dataclass(frozen=True)
class Class:
    """The verdict on one class."""

    name: str
    """``path:qualified name``."""
    kind: str
    """One of `KINDS`, or ``skipped``."""
    reason: str


def repositories() -> list[Repository]:
    """All repositories of the list."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return [Repository(*line.split()) for line in lines if line and not line.startswith("#")]


def check_out(repository: Repository, folder: Path) -> bool:
    """Clone a repository unless ``folder`` has it; whether it is there."""
    if not (place := repository.folder(folder)).exists():
        clone = ["git", "clone", "--quiet", f"https://github.com/{repository.name}", str(place)]
        if subprocess.run(clone, check=False).returncode:
            return False
        subprocess.run(["git", "-C", str(place), "checkout", "--quiet", repository.commit], check=True)
    return True


def report(folder: Path, python: str, kept: Path) -> list[dict[str, Any]]:
    """The rows of `fx-lsp check --report` for a folder, also if it has files that can't be parsed.

    Raises FileNotFoundError if the check fails.
    """
    if not kept.exists():
        options = ("--no-cache", "--summary", "--python", python, "--report", str(kept))
        command = [sys.executable, "-m", "fx_lsp", "check", ".", *options]
        subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
    return [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]


def kind_of(row: dict[str, Any]) -> str:
    """Which of `KINDS` a row of a report is, or ``skipped``."""
    match row["verdict"]:
        case "ok":
            return "traces on a condition" if row["condition"] else "traces"
        case "fails":
            return "can't be built" if any(failure["code"] == "build" for failure in row["failures"]) else "fails"
        case verdict:
            return str(verdict)


def classes(folder: Path, rows: Iterable[dict[str, Any]]) -> list[Class]:
    """The verdicts on the classes in ``folder``, without those that turned out not to be modules."""
    by_name: dict[str, dict[str, Any]] = {}
    for told in rows:
        by_name.setdefault(f"{told['path']}:{told['qualname']}", told)
    found = []
    paths = [path for path in sorted(folder.rglob("*.py")) if b"torch" in path.read_bytes()]  # not of other frameworks
    for path in paths:
        for name in classes_of(path):
            key = f"{path.relative_to(folder).as_posix()}:{name}"
            row = by_name.get(key)
            found.append(Class(key, kind_of(row), row["reason"] or "") if row else Class(key, "unknown", "no target"))
    return [one for one in found if one.kind != "skipped"]


def shares(found: Sequence[Class]) -> str:
    """The cells of a table's row: the number of classes, of each kind, and the share with a verdict."""
    counts = collections.Counter(one.kind for one in found)
    verdicts = len(found) - counts["unknown"]
    share = f"{100 * verdicts / len(found):.1f} %" if found else "none"
    return " | ".join([str(len(found)), *(str(counts[kind]) for kind in KINDS), share])


def judged(found: Iterable[Class], truth: Iterable[Class]) -> str:
    """A sentence that compares verdicts with those of another run."""
    sides = {"traces": "ok", "traces on a condition": "ok", "fails": "fails"}
    other = {one.name: sides[one.kind] for one in truth if one.kind in sides}
    pairs = collections.Counter(
        (sides[one.kind], other[one.name]) for one in found if one.kind in sides and one.name in other
    )
    return (
        f"Of {pairs.total()} classes that both runs judge, {pairs['fails', 'ok']} are false failures and "
        f"{pairs['ok', 'fails']} are false traces."
    )


def reasons(found: Iterable[Class]) -> str:
    """A table that counts why classes have no verdict, and says what to do."""
    return table(one.reason for one in found if one.kind == "unknown")


Rows = Sequence[tuple[Repository, list[Class]]]

WITH_PACKAGES = """ The last rows sum up another
run, whose interpreter also had those of the packages that can be installed."""


def totals(rows: Rows, run: str = "") -> list[str]:
    """The rows of a table that sum up each half; ``run`` says which run they are of."""
    halves = {half: [cls for one, found in rows if one.half == half for cls in found] for half in ("seen", "held-out")}
    return [f"| *{half}{run}* | {shares(found)} |" for half, found in halves.items() if found]


def page(rows: Rows, truth: Rows) -> str:
    """The text of docs/reach-repositories.md. ``truth`` are the rows of a run with more packages, or none."""
    lines = [f"| {one.name} | {shares(found)} |" for one, found in rows]
    lines += [*totals(rows), *totals(truth, ", with their packages")]
    comparison = judged(_classes(rows), _classes(truth)) if truth else ""
    return f"""# Reach over repositories

`benchmarks/reach_repositories.py` checked public repositories of research code with an interpreter that has torch,
torchvision, timm and NumPy, but none of the repositories' other packages. The table counts the classes that have base
classes and their own `forward`. The held-out half was never looked at class by class.{WITH_PACKAGES if truth else ""}

| repository | classes | {" | ".join(KINDS)} | with a verdict |
|---|---|{"---|" * len(KINDS)}---|
{chr(10).join(lines)}

{comparison}

## Why there is no verdict

{reasons(_classes(rows))}
"""


def _classes(rows: Rows) -> list[Class]:
    return [cls for _, found in rows for cls in found]


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of the checkouts")
    parser.add_argument("--python", default=sys.executable, help="the interpreter that traces")
    parser.add_argument("--keep", type=Path, help="store the reports here, and skip repositories that have one")
    parser.add_argument("--truth", type=Path, help="the --keep folder of a run with more packages, to compare with")
    parser.add_argument("--only", choices=("seen", "held-out"), help="measure one half")
    parser.add_argument("--write", action="store_true", help="write docs/reach-repositories.md")
    arguments = parser.parse_args()
    rows: list[tuple[Repository, list[Class]]] = []
    truth: list[tuple[Repository, list[Class]]] = []
    with tempfile.TemporaryDirectory() as scratch:
        kept = arguments.keep or Path(scratch)
        kept.mkdir(parents=True, exist_ok=True)
        for one in repositories():
            if arguments.only in (None, one.half) and check_out(one, arguments.folder):
                place, file = one.folder(arguments.folder), f"{one.name.partition('/')[2]}.json"
                found = classes(place, report(place, arguments.python, kept / file))
                print(f"{one.name:40} {one.half:8} | {shares(found)}", flush=True)
                rows.append((one, found))
                if arguments.truth and (arguments.truth / file).exists():
                    truth.append((one, classes(place, report(place, arguments.python, arguments.truth / file))))
    text = page(rows, truth)
    print(text)
    if arguments.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
