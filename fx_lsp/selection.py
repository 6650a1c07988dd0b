"""Which rules a person wants to hear of, and how seriously."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fx_lsp.agent.messages import Intent
from fx_lsp.rules import Rule, Severity

ALL_NOTICES = "all"
"""Stands for the codes of all notices."""


SEVERITIES: tuple[Severity, ...] = ("error", "warning", "information", "hint")
"""The gravest first."""

_GRAVEST: Mapping[Intent, Severity] = {"explicit": "error", "inferred": "warning", "assumed": "hint"}
"""As what a problem is told at most: nobody may want to trace what the workspace itself does not, and arguments that we
made up may be none that anybody gives."""


@dataclass(frozen=True)
class Selection:
    """Every rule, but the notices that are off by default, if nothing else is said."""

    notices: tuple[str, ...] = ()
    """Codes of notices that are wanted beside the ones that are on by default, or ``all``."""
    select: tuple[str, ...] = ()
    """Codes of the only rules that are wanted; all where it is empty."""
    ignore: tuple[str, ...] = ()
    """Codes that are not wanted, whatever else is said."""
    severities: Mapping[str, Severity] = field(default_factory=dict)
    """By code, how serious a rule's problems are to be taken, where that is not as the rule has it."""

    def __contains__(self, rule: Rule) -> bool:
        if rule.code in self.ignore:
            return False
        if self.select:
            return rule.code in self.select
        return rule.default_on or rule.code in self.notices or ALL_NOTICES in self.notices

    def severity(self, rule: Rule, intent: Intent = "explicit") -> Severity:
        """How serious the problems of ``rule`` are, in what is traced with this ``intent``."""
        wanted = self.severities.get(rule.code, rule.severity)
        return wanted if rule.is_certain else max(wanted, _GRAVEST[intent], key=SEVERITIES.index)
