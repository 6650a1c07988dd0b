"""Writes the page with the results of `recall.py` and a reason for every miss."""

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
# Which failures are found

`.venv/bin/python benchmarks/recall.py --jobs 2 --write` measured how many of a model's failures fxcore finds in one
run. To find all failures of a model, an oracle (`benchmarks/oracle/`) traces the model with the installed torch.fx. At
each failure, torch.fx needs a value that it can't know; the oracle takes this value from a real run on the CPU and
continues to the next failure. CONTRIBUTING.md explains how to install the libraries that contain the models.
In the tables:

- *With* means that fxcore explored the model with the oracle's example inputs; *without* means that it had no inputs.
- A *place* is an expression, given by its file and its first and last line and column.
- *Recall* is the share of the oracle's places that fxcore found; *precision* is the share of fxcore's places that the
  oracle confirmed.
- *Held out* models were chosen by the rules in `benchmarks/recall_models.py`, and exploring wasn't tuned on them.
- *Plain ms* is the CPU time of a trace that ends at the first failure, and *explore ms* that of exploring without
  inputs, in milliseconds. *Ratio* is the second divided by the first.

torch {torch}; {models} models.
"""


@dataclass
class Compared:
    """One model, with its true failures and those that fxcore found with and without inputs (`recall_parts`)."""

    case: Case
    truth: dict[str, Any]
    found: dict[str, Any]

    @property
    def true_places(self) -> list[Any]:
        """The places at which torch.fx fails."""
        return [tuple(place) for place, _, _ in self.truth["sites"]]

    @property
    def ratio(self) -> float:
        """The CPU time to explore without inputs, as a multiple of that of a plain trace."""
        return float(self.found["explore"] / self.found["plain"])

    def places(self, mode: str) -> list[Any]:
        """The places at which fxcore reports failures."""
        return [place and tuple(place) for place, _ in self.found[mode]]

    def hits(self, mode: str) -> int:
        """The number of places that fxcore reports and torch.fx confirms."""
        return len(set(self.true_places) & set(self.places(mode)))

    def hits_on_both_sides(self) -> int:
        """The number of true places that fxcore reports without inputs, on the other side of its assumptions, too."""
        return len(set(self.true_places) & {*self.places("without"), *self.places("others")})

    def first_is_right(self) -> bool:
        """Whether all three runs agree with torch.fx on the first failure."""
        first = tuple(self.found["first"])
        return all(places[:1] == [first] for places in (self.true_places, *map(self.places, MODES)))

    def misses(self, mode: str) -> list[str]:
        """A line for each missed place: why torch.fx fails there, and why exploring did not reach it."""
        found = set(self.places(mode))
        return [
            f"{short(place)}: {why}. {self.led_away(mode, self.true_places[:index])}"
            for index, (place, why, _) in enumerate(self.truth["sites"])
            if tuple(place) not in found
        ]

    def errors(self, mode: str) -> list[str]:
        """A line for each wrong place, with the assumption that led there; no lines if the truth is incomplete."""
        places = self.places(mode)
        return [
            f"{short(place)}. {self.led_away(mode, places[:index])}"
            for index, place in enumerate(places)
            if place not in self.true_places and not self.truth["gaps"]
        ]

    def gaps(self) -> list[str]:
        """A line for each place after which the truth is unknown."""
        found, known = ({place for mode in MODES for place in self.places(mode)}, set(self.true_places))
        return [
            f"{gap}. {len(found - known)} other places that exploring found could not be judged"
            for gap in self.truth["gaps"]
        ]

    def led_away(self, mode: str, before: Iterable[Any]) -> str:
        """The last of the places ``before`` at which exploring took a different path from the real run."""
        assumed = {
            place: assumption for place, (_, assumption) in zip(self.places(mode), self.found[mode], strict=True)
        }
        answers = {tuple(place): answered for place, _, answered in self.truth["sites"]}
        for place in reversed(list(before)):
            true, assumption = answers.get(place), assumed.get(place)
            if assumption is None:
                continue
            if true is None or assumption.endswith("as one call"):
                return f"At {short(place)}, exploring assumed that {assumption}"
            if true and true[0] != assumption:
                return f"At {short(place)}, exploring assumed that {assumption}; in the real run, {true[0]}"
        return REVIEWED.get((self.case.name, mode), "No earlier assumption was wrong")


REVIEWED = {
    ("FalconH1Model", "without"): "In the second layer, exploring had no example value for the comparison at "
    "`transformers/integrations/sdpa_attention.py:52:38` and assumed that it is false; in the first layer, and in the "
    "real run of both layers, it is true",
}
"""Reasons for misses that no earlier place explains, by model and mode."""


def short(place: Any) -> str:
    """A place as text, without the folders above the package and without the end of its range."""
    if place is None:
        return "no place"
    file, line, _, column, _ = place
    return f"`{file.partition('site-packages/')[2] or Path(file).name}:{line}:{column}`"


def share(part: int, whole: int) -> str:
    """``part`` of ``whole`` as a percentage."""
    return f"{100 * part / max(whole, 1):.1f} % ({part} of {whole})"


def page(compared: list[Compared], unknown: list[tuple[str, str]]) -> str:
    """The text of docs/recall.md."""
    lines = [
        INTRODUCTION.format(torch=importlib.metadata.version("torch"), models=len(compared)),
        *_summary(compared),
        *_checks(compared),
        *_models(compared),
    ]
    for mode in MODES:
        lines += [
            "",
            f"## Missed {mode} inputs",
            "",
            "Each entry says what torch.fx fails to do at this place, and why exploring missed the place.",
            "",
        ]
        lines += _list((c.case.name, miss) for c in compared for miss in c.misses(mode))
        lines += ["", f"## Found {mode} inputs, but wrong", ""]
        lines += _list((c.case.name, error) for c in compared for error in c.errors(mode))
    lines += ["", "## Where the truth is incomplete", ""]
    lines += _list((c.case.name, gap) for c in compared for gap in c.gaps())
    lines += ["", "## Not compared", "", *_list(unknown)]
    return "\n".join(lines) + "\n"


def _list(entries: Iterable[tuple[str, str]]) -> list[str]:
    """A line for each distinct text, with the names of its models."""
    names: dict[str, list[str]] = {}
    for name, text in entries:
        names.setdefault(text.replace(SITE_PACKAGES, ""), []).append(name)
    return [f"- {text} ({', '.join(models)})" for text, models in names.items()] or ["None."]


def _summary(compared: list[Compared]) -> list[str]:
    """The table of recall and precision: by library, for models held out and not held out, and for all models."""
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
    """Sentences with the results of the other comparisons."""
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
        "Models share code, so different models can contain the same place. The share of distinct places that were "
        f"found in every model that contains them is {found[0]} with inputs and {found[1]} without.",
        "",
        f"For {share(right, len(compared))} of the models, the first failure that fxcore finds is the one at which "
        "torch.fx stops.",
        "",
        "To check the oracle, the benchmark compared the outputs of its graphs with those of the models. Where they "
        f"could be compared, they are equal, bit for bit, for {share(same, len(checked))} of the models. "
        f"The other {len(compared) - len(checked)} models return values that a torch.fx graph can't return.",
        "",
        f"Exploring without inputs takes {statistics.median(ratios):.1f} times (median) and at most {max(ratios):.1f} "
        "times the CPU time of a plain trace, which ends at the first failure.",
        "",
        *_other_sides(compared),
    ]


def _other_sides(compared: list[Compared]) -> list[str]:
    """A paragraph on what `explore_other_sides` adds."""
    found = sum(c.hits_on_both_sides() for c in compared)
    further = sum(len(set(c.places("others")) - set(c.true_places)) for c in compared)
    times = [1 + c.found["explore_others"] / c.found["explore"] for c in compared]
    return [
        "After that, fxcore looks at the other side of the conditions that it had to assume an answer for. With the "
        "places found there, the recall without inputs is "
        f"{share(found, sum(len(c.true_places) for c in compared))}. Another {further} places are on paths that the "
        "oracle's run did not take, so the oracle can't judge them; fx-lsp reports them as information. Both together "
        f"take {statistics.median(times):.1f} times (median) and at most {max(times):.1f} times the CPU time of "
        "exploring one side.",
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
