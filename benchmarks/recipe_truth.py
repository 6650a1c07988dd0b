"""Compares the verdicts on the classes of repositories with torch.fx, which traces what the same recipes build.

    .venv/bin/python benchmarks/recipe_truth.py FOLDER KEPT [--python PYTHON] [--only HALF]

KEPT is the folder in which `reach_repositories.py` kept its reports on the repositories in FOLDER. For each class whose
recipe is an expression of its own file, a process of the interpreter PYTHON imports the file in the usual way, builds
what the recipe builds, and calls ``torch.fx.symbolic_trace``. PYTHON should have the repositories' packages. The script
counts the classes that were judged so, the false failures and the false traces, and lists those of the ``seen`` half.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import importlib
import importlib.util
import json
import os
import resource
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, NoReturn

SECONDS = 60
"""The time limit for importing a file, and for each recipe."""

MOST_BYTES = 8 << 30
"""The memory limit of a process."""


class OutOfTime(BaseException):
    """A limit of `SECONDS` was exceeded."""


def judge(root: Path, rows: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """For each row of one file that can be judged: its qualified name, and ``traces`` or the error's place and text."""
    import torch.fx

    signal.signal(signal.SIGALRM, _out_of_time)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    warnings.simplefilter("ignore")
    signal.alarm(SECONDS)
    module = imported(root, root / rows[0]["path"])
    for row in rows:
        with contextlib.suppress(Exception, SystemExit, OutOfTime):
            signal.alarm(SECONDS)
            torch.manual_seed(0)
            built = eval(row["recipe"], vars(module))
            try:
                torch.fx.symbolic_trace(built)
            except Exception as error:
                yield row["qualname"], f"{_place(root, error)} {type(error).__name__}: {error}"
            else:
                yield row["qualname"], "traces"
    signal.alarm(0)


def _out_of_time(signum: int, frame: FrameType | None) -> NoReturn:
    raise OutOfTime


def imported(root: Path, path: Path) -> ModuleType:
    """The module that a file defines, imported as from the repository's root or from its own folder."""
    for folder in (path.parent, root):
        sys.path.insert(0, str(folder))
    os.chdir(root)
    name = ".".join(path.relative_to(root).with_suffix("").parts)
    try:
        return importlib.import_module(name)
    except Exception:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        if spec is None or spec.loader is None:
            raise
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
        return module


def _place(root: Path, error: BaseException) -> str:
    """The innermost line of the repository that an error went through."""
    steps = traceback.extract_tb(error.__traceback__)
    own = [step for step in steps if Path(step.filename).is_relative_to(root)]
    return f"{Path(own[-1].filename).relative_to(root)}:{own[-1].lineno}" if own else "?"


def truths(root: Path, rows: Iterable[dict[str, Any]], python: str) -> dict[str, str]:
    """What `judge` says of a repository's rows, by ``path:qualified name``."""
    by_file = collections.defaultdict(list)
    for row in rows:
        if "…" not in row["recipe"] and row["recipe"]:
            by_file[row["path"]].append(row)
    found = dict[str, str]()
    for path, own in by_file.items():
        command = [python, __file__, "--judge", str(root)]
        with contextlib.suppress(subprocess.TimeoutExpired):
            told = subprocess.run(
                command, input=json.dumps(own), capture_output=True, text=True, timeout=SECONDS * 3, check=False
            )
            lines = [line for line in told.stdout.splitlines() if line.startswith("judged ")]
            found |= {f"{path}:{name}": text for name, text in (json.loads(line[7:]) for line in lines)}
    return found


def differs(row: dict[str, Any], truth: str) -> str:
    """``false failure`` or ``false trace`` if torch.fx contradicts a row, otherwise an empty string."""
    if row["verdict"] == "fails" and truth == "traces":
        return "false failure"
    return "false trace" if row["verdict"] == "ok" and not row["condition"] and truth != "traces" else ""


def main() -> None:
    """Judge the reports that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder of the checkouts")
    parser.add_argument("kept", type=Path, help="the folder of the reports")
    parser.add_argument("--python", default=sys.executable, help="the interpreter in which torch.fx traces")
    parser.add_argument("--only", choices=("seen", "held-out"), help="judge one half")
    arguments = parser.parse_args()
    from benchmarks.reach_repositories import repositories

    totals = collections.defaultdict[str, collections.Counter[str]](collections.Counter)
    for repository in repositories():
        kept = arguments.kept / f"{repository.name.partition('/')[2]}.json"
        if not kept.exists() or arguments.only not in (None, repository.half):
            continue
        rows = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
        rows = [row for row in rows if row["verdict"] in ("ok", "fails")]
        root = repository.folder(arguments.folder).resolve()
        told = truths(root, [row for row in rows if not is_of_build(row)], arguments.python)
        counts = totals[repository.half]
        counts["verdicts"] += len(rows)
        for row in rows:
            key = f"{row['path']}:{row['qualname']}"
            if key in told:
                difference = differs(row, told[key])
                counts["judged"] += 1
                counts[difference or "agreed"] += 1
                if difference and repository.half == "seen":
                    print(f"{difference}: {repository.name} {key} {row['recipe']} | {told[key][:200]}", flush=True)
        print(f"{repository.name}: {dict(counts)} in its half so far", flush=True)


def is_of_build(row: dict[str, Any]) -> bool:
    """Whether a row says that its class can't be built."""
    return any(failure["code"] == "build" for failure in row["failures"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["--judge"]:
        for verdict in judge(Path(sys.argv[2]), json.load(sys.stdin)):
            print("judged", json.dumps(verdict), flush=True)
    else:
        sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
        main()
