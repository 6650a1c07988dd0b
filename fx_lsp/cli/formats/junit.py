"""JUnit XML, which build servers show as tests: a suite for each file, a case for each target (a model or function).

There is no specification; this follows the schema of Jenkins's xUnit plugin.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from fx_lsp.agent.messages import Capture
from fx_lsp.analysis.findings import Identity
from fx_lsp.analysis.results import Traced
from fx_lsp.check.check_files import Checked
from fx_lsp.check.shown_places import shown_path
from fx_lsp.cli.formats.concise import line_of


def render(checked: Checked) -> str:
    """One document. A case is a failure if its target cannot be traced, and an error if fx-lsp could not try."""
    shown = {problem.finding.identity for problem in checked.problems if problem.finding.is_serious}
    suites = ElementTree.Element("testsuites", name="fx-lsp")
    for path, result in checked.results.items():
        cases = [_case(path, traced, capture, shown, checked) for capture, traced in checked.verdicts(result)]
        failed, broken = (sum(case.find(tag) is not None for case in cases) for tag in ("failure", "error"))
        counts = {"tests": str(len(cases)), "failures": str(failed), "errors": str(broken)}
        suite = ElementTree.SubElement(suites, "testsuite", {"name": shown_path(path), **counts})
        suite.extend(cases)
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode")


def _case(path: str, traced: Traced, capture: Capture, shown: set[Identity], checked: Checked) -> ElementTree.Element:
    name = traced.target.title if capture == "fx" else f"{traced.target.title} [{capture}]"
    seconds = f"{traced.report.seconds if traced.report else 0:.3f}"
    case = ElementTree.Element("testcase", name=name, classname=shown_path(path), time=seconds)
    findings = [finding for finding in traced.findings if finding.identity in shown]
    if findings:
        rule = findings[0].rule
        kind = "failure" if traced.was_traced else "error"
        element = ElementTree.SubElement(case, kind, type=rule.code, message=f"{rule.title}.")
        element.text = _legal("\n".join(line_of(finding, checked.documents) for finding in findings))
    return case


def _legal(text: str) -> str:
    """``text`` with U+FFFD for each character that XML 1.0 cannot represent."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
