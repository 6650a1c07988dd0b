"""What `reach.py` found, as a page."""

from __future__ import annotations

import collections
import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

FAILED = ("failed",)
TOLD = ("traced", *FAILED)

MOST_REASONS = 12
"""Rows of the table of reasons."""


@dataclass(frozen=True)
class Verdict:
    """What was said of one class."""

    path: str
    name: str
    outcome: str
    """The report's; ``none`` where there is no target for it."""
    intent: str
    reason: str
    line: str
    """Where it fails: ``file:line``."""
    seconds: float
    recipe: str = ""
    truth: str | None = ""
    """What torch.fx says of a module that was built as documented: where it fails, or None where it traces; empty where
    the package documents no such module."""

    @property
    def qualified(self) -> str:
        """The class's dotted name."""
        return f"{self.path.removesuffix('.py').removesuffix('/__init__').replace('/', '.')}.{self.name}"

    @property
    def is_false(self) -> bool:
        """Whether it is said to fail and traces."""
        return self.outcome in FAILED and self.truth is None


@dataclass(frozen=True)
class Package:
    """One package's verdicts."""

    name: str
    verdicts: tuple[Verdict, ...]

    def compared(self, truth: Mapping[str, str | None]) -> Package:
        """With the truth, by the dotted name of each class."""
        verdicts = tuple(dataclasses.replace(one, truth=truth.get(one.qualified, "")) for one in self.verdicts)
        return Package(self.name, verdicts)

    def count(self, *outcomes: str) -> int:
        """How many classes ended so."""
        return sum(one.outcome in outcomes for one in self.verdicts)

    @property
    def classes(self) -> int:
        """How many there are, but for those that turned out to be no modules."""
        return len(self.verdicts) - self.count("skipped")


def page(packages: Sequence[Package]) -> str:
    """docs/reach.md."""
    everything = [one for package in packages for one in package.verdicts]
    whole = Package("all", tuple(everything))
    known = [one for one in everything if one.outcome in FAILED and one.truth != ""]
    false = [one for one in known if one.is_false]
    rows = [_row(package) for package in (*packages, whole)]
    return f"""# Reach

How many classes of a stranger's repository get a verdict with no configuration, as `benchmarks/reach.py` measures it:
packages of models are copied into a workspace, with their README where the package carries it, and read as if they were
the user's own source. A class counts if it has bases and a `forward` of its own that does something; of large packages,
files are taken that are spread evenly. Files that a generator makes others from, as transformers' `modular_*.py`, are
left out: their classes can't be run as they stand. What a package needs and this environment lacks is missing, as it is
in a stranger's repository. A failure is false if every instance that was traced of the documented models has no
failure.

{_share(whole.count(*TOLD), whole.classes)} of {whole.classes} classes of {len(packages)} packages get a verdict.
{whole.count(*FAILED)} are said to fail. {len(known)} of these are in models that the packages document how to build;
{len(false)} of them, {_share(len(false), len(known))}, are traced by torch.fx when they are built so.

| package | classes | traced | fail | verdict | seconds a class |
|---|---|---|---|---|---|
{chr(10).join(rows)}

## Why there is no verdict

| reason | classes |
|---|---|
{_reasons(everything)}

## Failures that are none

{_false(false)}
"""


def _row(package: Package) -> str:
    seconds = sum(one.seconds for one in package.verdicts) / max(len(package.verdicts), 1)
    counts = (package.classes, package.count("traced"), package.count(*FAILED))
    cells = (package.name, *counts, _share(package.count(*TOLD), package.classes), f"{seconds:.2f}")
    return f"| {' | '.join(map(str, cells))} |"


def _reasons(verdicts: Iterable[Verdict]) -> str:
    counted = collections.Counter(_kind(one) for one in verdicts if one.outcome not in (*TOLD, "skipped"))
    return "\n".join(f"| {reason} | {count} |" for reason, count in counted.most_common(MOST_REASONS))


def _kind(one: Verdict) -> str:
    """The reason without what is peculiar to the class."""
    if one.outcome not in ("unchecked", "none"):
        return one.outcome
    return re.sub(r"`[^`]*`", "`…`", one.reason).partition(": ")[0].replace("|", "\\|")


def _false(verdicts: Sequence[Verdict]) -> str:
    if not verdicts:
        return "None."
    return "\n".join(f"- `{one.name}` ({one.path}), at {one.line}: {one.reason[:120]}" for one in verdicts)


def _share(part: int, of: int) -> str:
    return f"{100 * part / of:.1f} %" if of else "none"
