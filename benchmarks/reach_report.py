"""Writes the page with the results of `reach.py`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.reach_reasons import table

FAILED = ("failed",)
TOLD = ("traced", *FAILED)


@dataclass(frozen=True)
class Verdict:
    """What fx-lsp reported about one class."""

    path: str
    name: str
    outcome: str
    """The outcome in the report; ``none`` if the class has no target."""
    intent: str
    reason: str
    line: str
    """The place where it fails: ``file:line``."""
    seconds: float
    recipe: str = ""
    truth: str | None = ""
    """The place where torch.fx fails for a module that was built as documented; None if torch.fx traces the module, and
    empty if the package documents no such module."""

    @property
    def qualified(self) -> str:
        """The class's dotted name."""
        return f"{self.path.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}.{self.name}"

    @property
    def is_false(self) -> bool:
        """Whether fx-lsp reports a failure although torch.fx traces the class."""
        return self.outcome in FAILED and self.truth is None


@dataclass(frozen=True)
class Package:
    """One package's verdicts."""

    name: str
    verdicts: tuple[Verdict, ...]

    def compared(self, truth: Mapping[str, str | None]) -> Package:
        """The same verdicts, with the ``truth`` of each class looked up by its dotted name."""
        verdicts = tuple(dataclasses.replace(one, truth=truth.get(one.qualified, "")) for one in self.verdicts)
        return Package(self.name, verdicts)

    def count(self, *outcomes: str) -> int:
        """The number of classes with one of these outcomes."""
        return sum(one.outcome in outcomes for one in self.verdicts)

    @property
    def classes(self) -> int:
        """The number of classes, not counting those that turned out not to be modules."""
        return len(self.verdicts) - self.count("skipped")


def page(packages: Sequence[Package]) -> str:
    """The text of docs/reach.md."""
    everything = [one for package in packages for one in package.verdicts]
    whole = Package("all", tuple(everything))
    known = [one for one in everything if one.outcome in FAILED and one.truth != ""]
    false = [one for one in known if one.is_false]
    rows = [_row(package) for package in (*packages, whole)]
    return f"""# Reach

`benchmarks/reach.py` measured for how many classes of an unknown repository fx-lsp can say, without any configuration,
whether they trace or fail. This is called a verdict. The benchmark copied packages of models into a workspace, each
with the README if the package contains one, and treated them as if they were the user's own source.

- The benchmark counted the classes that have base classes and their own `forward` that does something. From large
  packages, it took an evenly distributed sample of files.
- It left out files from which other files are generated, such as transformers' `modular_*.py`, because their classes
  can't be run directly.
- Some dependencies of the packages are not installed in this environment. fx-lsp treats them as missing packages, as in
  any other repository.
- A reported failure is false if torch.fx traces every instance of the class in the documented models.
- *Seconds per class* is the time that fx-lsp needed, divided by the number of classes.

[Reach over repositories](reach-repositories.md) has the same for public repositories of research code.

In {len(packages)} packages, {_share(whole.count(*TOLD), whole.classes)} of {whole.classes} classes get a verdict.
fx-lsp reports that {whole.count(*FAILED)} classes fail. For {len(known)} of these, the package documents how to build a
model that contains the class. If these models are built as documented,
torch.fx traces {len(false)} ({_share(len(false), len(known))}) of the {len(known)} classes.

| package | classes | traced | failed | with a verdict | seconds per class |
|---|---|---|---|---|---|
{chr(10).join(rows)}

## Why there is no verdict

{_reasons(everything)}

## False failures

{_false(false)}
"""


def _row(package: Package) -> str:
    seconds = sum(one.seconds for one in package.verdicts) / max(len(package.verdicts), 1)
    counts = (package.classes, package.count("traced"), package.count(*FAILED))
    cells = (package.name, *counts, _share(package.count(*TOLD), package.classes), f"{seconds:.2f}")
    return f"| {' | '.join(map(str, cells))} |"


def _reasons(verdicts: Iterable[Verdict]) -> str:
    unknown = [one for one in verdicts if one.outcome not in (*TOLD, "skipped")]
    return table(one.reason if one.outcome in ("unchecked", "none") else one.outcome for one in unknown)


def _false(verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return "None."
    return "\n".join(f"- `{one.name}` ({one.path}), at {one.line}: {one.reason[:120]}" for one in verdicts)


def _share(part: int, of: int) -> str:
    return f"{100 * part / of:.1f} %" if of else "none"
