"""Which rules to report, and with which severity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from fx_lsp.agent.messages import Intent
from fx_lsp.rules import Rule, Severity

ALL_NOTICES = "all"
"""The item of the setting ``notices`` that stands for the codes of all notices."""


SEVERITIES: tuple[Severity, ...] = ("error", "warning", "information", "hint")
"""All severities, the most severe first."""

_GRAVEST: Mapping[Intent, Severity] = {"explicit": "error", "inferred": "warning", "assumed": "hint"}
"""The highest severity that a problem can have, by the intent of its target.

Users may not want to trace what the workspace does not trace itself, and may never pass arguments that fx-lsp invented.
"""


@dataclass(frozen=True)
class Selection:
    """The rules to report; by default all except the notices that are off by default."""

    notices: tuple[str, ...] = ()
    """Codes of notices to report in addition to those that are on by default, or ``all``."""
    select: tuple[str, ...] = ()
    """If not empty, the codes of the only rules to report."""
    ignore: tuple[str, ...] = ()
    """Codes of rules that are never reported; overrides ``notices`` and ``select``."""
    severities: Mapping[str, Severity] = field(default_factory=dict)
    """Severities that replace those of the rules, by code."""

    def __contains__(self, rule: Rule) -> bool:
        if rule.code in self.ignore:
            return False
        if self.select:
            return rule.code in self.select
        return rule.default_on or rule.code in self.notices or ALL_NOTICES in self.notices

    def severity(self, rule: Rule, intent: Intent = "explicit") -> Severity:
        """The severity of the problems of ``rule`` in a target that is traced with this ``intent``."""
        wanted = self.severities.get(rule.code, rule.severity)
        return wanted if rule.is_certain else max(wanted, _GRAVEST[intent], key=SEVERITIES.index)
