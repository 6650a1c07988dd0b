"""The page that says what `recall.py` found, with a reason for every miss."""

from __future__ import annotations

import importlib.metadata
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.recall_models import Case

MODES = ("with", "without")
SITE_PACKAGES = str(Path(torch.__file__).parents[1]) + "/"


INTRODUCTION = """\
# How much of what fails is found

What `.venv/bin/python benchmarks/recall.py --jobs 2 --write` found. The truth is where the installed torch.fx fails,
one place after the other, when each is answered by a real run on the CPU (`benchmarks/oracle/`). *With*: fxcore
explored with the same example inputs; *without*: with none. A place is an expression: a file, its first line and
column, and its last. *Held out*: picked by the rules that stand in `benchmarks/recall_models.py`, and exploring wasn't
tuned on them. CONTRIBUTING.md says how the libraries are installed.

torch {torch}; {models} models.
"""


@dataclass
class Compared:
    """One model: what is true, and what was found with example inputs and without (see `recall_parts`)."""

    case: Case
    truth: dict[str, Any]
    found: dict[str, Any]

    @property
    def true_places(self) -> list[Any]:
        """Where torch.fx fails."""
        return [tuple(place) for place, _, _ in self.truth["sites"]]

    @property
    def ratio(self) -> float:
        """CPU time to explore without inputs, as a multiple of a plain trace."""
        return float(self.found["explore"] / self.found["plain"])

    def places(self, mode: str) -> list[Any]:
        """Where fxcore says that it does."""
        return [place and tuple(place) for place, _ in self.found[mode]]

    def hits(self, mode: str) -> int:
        """How many of fxcore's places are true."""
        return len(set(self.true_places) & set(self.places(mode)))

    def first_is_right(self) -> bool:
        """Whether the first of the places is the one that torch.fx itself ends at, in all three runs."""
        first = tuple(self.found["first"])
        return all(places[:1] == [first] for places in (self.true_places, *map(self.places, MODES)))

    def misses(self, mode: str) -> list[str]:
        """A line for each place that was missed: why torch.fx fails there, and why exploring didn't come by."""
        found = set(self.places(mode))
        return [
            f"{short(place)}: {why}. {self.led_away(mode, self.true_places[:index])}"
            for index, (place, why, _) in enumerate(self.truth["sites"])
            if tuple(place) not in found
        ]

    def errors(self, mode: str) -> list[str]:
        """A line for each place that was found and isn't true, with what led there; none where that can't be judged."""
        places = self.places(mode)
        return [
            f"{short(place)}. {self.led_away(mode, places[:index])}"
            for index, place in enumerate(places)
            if place not in self.true_places and not self.truth["gaps"]
        ]

    def gaps(self) -> list[str]:
        """A line for each place that the truth couldn't be followed from."""
        found, known = ({place for mode in MODES for place in self.places(mode)}, set(self.true_places))
        return [f"{gap}; {len(found - known)} more places that were found aren't judged" for gap in self.truth["gaps"]]

    def led_away(self, mode: str, before: Iterable[Any]) -> str:
        """The last place before it at which exploring went on otherwise than the real run."""
        assumed = {
            place: assumption for place, (_, assumption) in zip(self.places(mode), self.found[mode], strict=True)
        }
        answers = {tuple(place): answered for place, _, answered in self.truth["sites"]}
        for place in reversed(list(before)):
            true, assumption = answers.get(place), assumed.get(place)
            if assumption is None:
                continue
            if true is None or assumption.endswith("as one call"):
                return f"Exploring went on with: {assumption}, at {short(place)}"
            if true and true[0] != assumption:
                return f"Exploring assumed of {short(place)} that {assumption}; really, {true[0]}"
        return REVIEWED.get((self.case.name, mode), "No assumption before it is wrong")


REVIEWED = {
    ("FalconH1Model", "without"): "In the second layer exploring had no example of what "
    "`transformers/integrations/sdpa_attention.py:52:38` compares, and assumed that it is false; in the first, and in "
    "both really, it is true",
}
"""For a model and a mode the reason for what was missed, where no place before it tells."""


def short(place: Any) -> str:
    """A place without the folders above the package, or its ends."""
    if place is None:
        return "no place"
    file, line, _, column, _ = place
    return f"`{file.partition('site-packages/')[2] or Path(file).name}:{line}:{column}`"


def share(part: int, whole: int) -> str:
    """As a percentage."""
    return f"{100 * part / max(whole, 1):.1f} % ({part} of {whole})"


def page(compared: list[Compared], unknown: list[tuple[str, str]]) -> str:
    """docs/recall.md."""
    lines = [
        INTRODUCTION.format(torch=importlib.metadata.version("torch"), models=len(compared)),
        *_summary(compared),
        *_checks(compared),
        *_models(compared),
    ]
    for mode in MODES:
        lines += ["", f"## Missed {mode} inputs", "", "Why torch.fx fails there, and why exploring missed it.", ""]
        lines += _list((c.case.name, miss) for c in compared for miss in c.misses(mode))
        lines += ["", f"## Found {mode} inputs, but not true", ""]
        lines += _list((c.case.name, error) for c in compared for error in c.errors(mode))
    lines += ["", "## Where the truth isn't complete", ""]
    lines += _list((c.case.name, gap) for c in compared for gap in c.gaps())
    lines += ["", "## Not compared", "", *_list(unknown)]
    return "\n".join(lines) + "\n"


def _list(entries: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each thing that is said of models, with their names."""
    names: dict[str, list[str]] = {}
    for name, text in entries:
        names.setdefault(text.replace(SITE_PACKAGES, ""), []).append(name)
    return [f"- {text} ({', '.join(models)})" for text, models in names.items()] or ["None."]


def _summary(compared: list[Compared]) -> list[str]:
    """Recall and precision: by library, of what was held out, and of all."""
    groups = {
        library: [c for c in compared if c.case.library == library] for c in compared for library in [c.case.library]
    }
    groups["held out"] = [c for c in compared if c.case.held_out]
    groups["not held out"] = [c for c in compared if not c.case.held_out]
    groups["all"] = compared
    lines = [
        "| library | models | places | recall with | precision with | recall without | precision without |",
        "|---|---|---|---|---|---|---|",
    ]
    for title, group in groups.items():
        if not group:
            continue
        true = sum(len(c.true_places) for c in group)
        cells = []
        for mode in MODES:
            hits = sum(c.hits(mode) for c in group)
            errors = sum(len(c.errors(mode)) for c in group)
            cells += [share(hits, true), share(hits, hits + errors)]
        lines.append(f"| {title} | {len(group)} | {true} | {' | '.join(cells)} |")
    return lines


def _checks(compared: list[Compared]) -> list[str]:
    """What else was compared."""
    ratios = [c.ratio for c in compared]
    distinct = {place for c in compared for place in c.true_places}
    everywhere = {
        mode: distinct - {p for c in compared for p in set(c.true_places) - set(c.places(mode))} for mode in MODES
    }
    found = [share(len(everywhere[mode]), len(distinct)) for mode in MODES]
    right = sum(c.first_is_right() for c in compared)
    checked = [c for c in compared if c.truth["same_outputs"] is not None]
    same = sum(c.truth["same_outputs"] for c in checked)
    return [
        "",
        "Models share code. Of the distinct places these were found in every model that has them: "
        f"with inputs {found[0]}, without {found[1]}.",
        "",
        f"The first failure is torch.fx's: {share(right, len(compared))}.",
        "",
        f"The path that the oracle took computes what the model does, bit for bit: {share(same, len(checked))}. "
        f"The other {len(compared) - len(checked)} return what torch.fx can't keep.",
        "",
        f"CPU time to explore without inputs, as a multiple of a plain trace that ends at the first failure: median "
        f"{statistics.median(ratios):.1f}, worst {max(ratios):.1f}.",
    ]


def _models(compared: list[Compared]) -> list[str]:
    """A row for each model."""
    lines = [
        "",
        "| model | held out | places | found with | found without | plain ms | explore ms | ratio |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for c in compared:
        cells = [
            c.case.name,
            "yes" if c.case.held_out else "",
            *map(str, (len(c.true_places), *map(c.hits, MODES))),
            *(f"{c.found[key] * 1e3:.0f}" for key in ("plain", "explore")),
            f"{c.ratio:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines
