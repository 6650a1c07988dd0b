"""Measures how many classes of an unknown repository get a verdict, and how many reported failures are true.

    .venv/bin/python benchmarks/reach.py [--site FOLDER] [--package NAME …] [--most 60] [--write]

The script copies each package into a folder and treats it as the user's own source, without any settings. The
packages come from this environment and from the folder given by ``--site``, to which
`pip install --no-deps --target FOLDER` adds packages. fx-lsp treats dependencies that are not installed as missing
packages, as in any other repository. The script compares the failures with those of torch.fx for modules that were
built as documented (`reach_truth.py`). With ``--write``, it writes docs/reach.md.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import collections
import contextlib
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.reach_report import FAILED, Package, Verdict, page
from fx_lsp.agent.messages import Limits, Report, Target, Trace
from fx_lsp.documents.documents import Documents
from fx_lsp.supervisor.supervised_agent import SupervisedAgent
from fx_lsp.targets import find_targets
from fx_lsp.targets.workspace_recipes import WorkspaceRecipes

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reach.md"

PACKAGES = (
    *("timm", "torchvision", "transformers", "vit_pytorch", "x_transformers", "segmentation_models_pytorch"),
    *("denoising_diffusion_pytorch", "diffusers", "monai", "kornia", "pytorch_metric_learning", "pretrainedmodels"),
    *("performer_pytorch", "reformer_pytorch", "perceiver_pytorch", "local_attention", "axial_attention"),
    *("efficientnet_pytorch", "vector_quantize_pytorch", "imagen_pytorch", "byol_pytorch", "g_mlp_pytorch"),
)

OPERATORS = """
import importlib.util, sys
sys.path.insert(0, {root!r})
from tests.torchvision_operators import declare_unless_loaded
declare_unless_loaded(importlib.util.find_spec("torchvision").origin)
sys.path.remove({root!r})
"""
"""Code that the agent's Python runs at its start, so that torchvision can be imported."""


_MADE_FROM = re.compile(r"automatically generated from (\S+\.py)")
"""Matches the line in which a generated file names its source file."""


@dataclass(frozen=True)
class File:
    """A file to read, and those of its classes for which a user would want a verdict."""

    path: Path
    text: str
    classes: tuple[str, ...]


def files_of(folder: Path, most: int) -> list[File]:
    """Files evenly distributed over the package, with about ``most`` classes; without sources of generated files.

    What a generator reads to write the true module can't be run as it stands.
    """
    files = [file for path in sorted(folder.rglob("*.py")) if (file := _read(path)).classes]
    total = sum(len(file.classes) for file in files)
    step = max(total / most, 1.0)
    chosen = {int(at * step) for at in range(int(len(files) / step) + 1)}
    made_from = {match[1] for path in folder.rglob("*.py") if (match := _MADE_FROM.search(_head(path)))}
    sources = tuple(f"/{Path(source).parent.name}/{Path(source).name}" for source in made_from)
    return [file for at, file in enumerate(files) if at in chosen and not file.path.as_posix().endswith(sources)]


def _head(path: Path) -> str:
    """The first lines of a file."""
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(1000)


def _read(path: Path) -> File:
    text = path.read_text(encoding="utf-8-sig", errors="replace")
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return File(path, text, ())
    return File(
        path, text, tuple(node.name for node in tree.body if isinstance(node, ast.ClassDef) and _is_model(node))
    )


def classes_of(path: Path) -> tuple[str, ...]:
    """The names of the classes in a file for which a user would want a verdict."""
    return _read(path).classes


def _is_model(node: ast.ClassDef) -> bool:
    """Whether a class has bases and its own forward that does something; only running it could tell more."""
    has_bases = any(ast.unparse(base) != "object" for base in node.bases)
    for member in reversed(node.body):
        if isinstance(member, ast.FunctionDef) and member.name == "forward" and has_bases:
            decorators = {ast.unparse(decorator) for decorator in member.decorator_list}
            last = member.body[-1]
            is_empty = isinstance(last, ast.Pass) or (
                isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant)
            )
            raises = "NotImplementedError" in ast.unparse(last)
            return (
                not raises
                and not is_empty
                and not any("staticmethod" in name or "abstract" in name for name in decorators)
            )
    return False


async def verdicts(file: File, root: Path, agent: SupervisedAgent, elsewhere: WorkspaceRecipes) -> Iterator[Verdict]:
    """The verdicts of fx-lsp on the classes of one file."""
    targets = elsewhere.completed(str(file.path), find_targets(str(file.path), file.text) or ())
    request = Trace(file=str(file.path), targets=targets, roots=(str(root),), limits=Limits(seconds=60))
    reports: dict[str, Report] = {}
    start = time.perf_counter()
    stream = agent.trace(request)
    async with contextlib.aclosing(stream):
        async for answer in stream:
            if isinstance(answer, Report):
                reports.setdefault(answer.target, answer)
    seconds = (time.perf_counter() - start) / max(len(file.classes), 1)
    by_class: dict[str, list[tuple[Target, Report]]] = collections.defaultdict(list)
    for target in targets:
        if target.key in reports:
            by_class[target.symbol or ""].append((target, reports[target.key]))
    return (_verdict(file, root, name, by_class[name], seconds) for name in file.classes)


def _verdict(file: File, root: Path, name: str, told: list[tuple[Target, Report]], seconds: float) -> Verdict:
    path = str(file.path.relative_to(root))
    if not told:
        return Verdict(path, name, "none", "", "it is no target", "", seconds)
    target, report = told[0]
    failure = report.failures[0] if report.failures else None
    reason = report.reason or (failure.error if failure else report.outcome)
    step = failure.chain[-1] if failure and failure.chain else None
    line = f"{Path(step.span.file).name}:{step.span.line}" if step else ""
    return Verdict(path, name, report.outcome, report.intent or target.intent, reason, line, seconds, report.recipe)


def readme_of(package: str, site: str) -> str | None:
    """The README of the package's repository, which is the description of its distribution."""
    path = [site, *sys.path] if site else sys.path
    for distribution in importlib.metadata.distributions(path=path):
        if distribution.metadata["Name"].lower().replace("-", "_") == package:
            text = str(distribution.metadata.json.get("description", ""))
            return text if "```" in text else None
    return None


async def reach(name: str, source: Path, most: int, folder: Path, log: Path, site: str) -> Package:
    """Measure one package in its own workspace."""
    root = folder / name
    shutil.copytree(source, root / name, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    if readme := readme_of(name, site):
        (root / "README.md").write_text(readme, encoding="utf-8")
    (folder / "sitecustomize.py").write_text(OPERATORS.format(root=str(ROOT)))
    with log.open("w") as written:
        agent = SupervisedAgent(
            (sys.executable,),
            cwd=root,
            env={"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), site)))},
            log=lambda line: print(line, file=written),
            on_state=lambda state: None,
        )
        found: list[Verdict] = []
        files = files_of(root / name, most)
        elsewhere = WorkspaceRecipes(lambda: [str(root)], Documents().text)
        for at, file in enumerate(files):
            found += await verdicts(file, root, agent, elsewhere)
            print(f"\r{name}: {at + 1} of {len(files)} files", end="", file=sys.stderr)
        print(file=sys.stderr)
        await agent.close()
    return Package(name, tuple(found))


def truth_of(package: Package, site: str, folder: Path) -> dict[str, str | None]:
    """The results of torch.fx for the classes that fx-lsp reports as failing (see `reach_truth.py`)."""
    output = folder / f"{package.name}-truth.json"
    command = [sys.executable, str(ROOT / "benchmarks" / "reach_truth.py"), package.name, str(output), "--site", site]
    wanted = "\n".join(one.qualified for one in package.verdicts if one.outcome in FAILED)
    subprocess.run(command, input=wanted, text=True, check=False)
    found: dict[str, str | None] = json.loads(output.read_text()) if output.exists() else {}
    return found


def _source(name: str, site: str) -> Path | None:
    """The folder in which the package is installed."""
    places = [Path(entry) for entry in (site, *sys.path) if entry]
    return next((place / name for place in places if (place / name / "__init__.py").exists()), None)


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", default="", help="a folder with additional packages")
    parser.add_argument("--package", nargs="+", default=PACKAGES, help="measure only these packages")
    parser.add_argument("--most", type=int, default=60, help="the approximate number of classes to take from a package")
    parser.add_argument("--keep", type=Path, help="store verdicts and logs here, and skip packages that have them")
    parser.add_argument("--write", action="store_true", help="write docs/reach.md")
    arguments = parser.parse_args()
    packages = []
    with tempfile.TemporaryDirectory() as scratch:
        kept = arguments.keep or Path(scratch)
        kept.mkdir(parents=True, exist_ok=True)
        for name in arguments.package:
            verdicts = kept / f"{name}.jsonl"
            if verdicts.exists():
                packages.append(Package(name, tuple(Verdict(**json.loads(line)) for line in verdicts.open())))
                continue
            source = _source(name, arguments.site)
            if source is None:
                print(f"{name} is not installed", file=sys.stderr)
                continue
            package = asyncio.run(
                reach(name, source, arguments.most, Path(scratch) / "w", kept / f"{name}.log", arguments.site)
            )
            package = package.compared(truth_of(package, arguments.site, Path(scratch)))
            packages.append(package)
            verdicts.write_text("".join(json.dumps(vars(one)) + "\n" for one in package.verdicts))
    text = page(packages)
    print(text)
    if arguments.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
