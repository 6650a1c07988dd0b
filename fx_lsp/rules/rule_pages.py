"""Writes each rule's page from the rule itself: ``python -m fx_lsp.rules.rule_pages docs/rules``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from fx_lsp.locations import RULE_PAGES
from fx_lsp.rules import Rule, all_rules

_SEVERITIES = {
    "error": "Error: tracing fails at the marked place.",
    "warning": "Warning: fx-lsp could not trace the model, so it knows nothing about it.",
    "information": "Information: fx-lsp could not run all of the code, so it knows less about the model.",
}

_NOTICES = {
    "warning": "Warning: tracing continues, but the graph does not do what the program does.",
    "information": "Information: tracing continues, but the graph may not do what the program does.",
    "hint": "Hint: tracing continues, but the graph lacks something that the program has. This is often intended.",
}

_CAPTURES = {
    ("error", False): "Error: `{capture}` fails at the marked place. Shown by `fx-lsp check --capture {capture}`.",
    ("information", False): "Information, or an error if the file says `fullgraph=True`: `{capture}` does not get one "
    "graph. Shown by `fx-lsp check --capture {capture}`.",
    ("information", True): "Information: `{capture}` succeeds, but with a limit. Shown by `fx-lsp check --capture "
    "{capture}`.",
}
"""By the rule's severity, and whether it is a notice."""

_OFF = "This hint is shown only if the setting `fxLsp.notices` includes the code of this rule."

_SHARE = """\
In the torchvision and timm models that can be traced, all 19 notices that are shown by default were
correct: see [notices](../notices.md#how-often-they-are-right).
"""


def page(rule: Rule) -> str:
    """The Markdown page of one rule."""
    bad, good = ("Noticed", "Not noticed") if rule.is_notice else ("Fails", "Traces")
    return f"""\
# {rule.code}: {rule.title}

{_standing(rule)}

{rule.why}

## {bad}

```python
{rule.bad.rstrip()}
```

## {good}

```python
{rule.good.rstrip()}
```
"""


def _standing(rule: Rule) -> str:
    """What the rule's severity means and, for a rule that is off by default, how to turn it on."""
    if rule.capture != "fx":
        return _CAPTURES[rule.severity, rule.is_notice].format(capture=rule.capture)
    if not rule.is_notice:
        return _SEVERITIES[rule.severity]
    if rule.default_on:
        return _NOTICES[rule.severity]
    return f"{_NOTICES[rule.severity]}\n\n{_OFF}"


def page_file(rule: Rule) -> Path | None:
    """The file of a rule's page, which an editor can open offline; None if the pages are not installed."""
    files = (folder / f"{rule.code}.md" for folder in RULE_PAGES)
    return next((file for file in files if file.exists()), None)


def as_json(rules: Iterable[Rule]) -> str:
    """The rules as one JSON array, for other programs."""
    fields = ("code", "title", "severity", "is_notice", "default_on", "why", "bad", "good")
    return json.dumps([{name: getattr(rule, name) for name in fields} for rule in rules], indent=2)


def pages() -> dict[str, str]:
    """File name -> text, for the page of every rule and for the list of rules."""
    rows = "\n".join(f"| [`{rule.code}`]({rule.code}.md) | {rule.title} | {rule.severity} |" for rule in all_rules())
    index = f"# Rules\n\n| Code | What is wrong | Severity |\n|---|---|---|\n{rows}\n\n{_SHARE}"
    return {"README.md": index, **{f"{rule.code}.md": page(rule) for rule in all_rules()}}


def write(folder: Path) -> None:
    """Write every page into ``folder``, and delete all other pages in it."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.md"):
        old.unlink()
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
