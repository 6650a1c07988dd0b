"""The rules' pages, written from the rules themselves: ``python -m fx_lsp.rule_pages docs/rules``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from fx_lsp.rules import Rule, all_rules

_FOLDERS = (Path(__file__).with_name("pages"), Path(__file__).parents[1] / "docs" / "rules")
"""Where the pages are: in a package that was built, in a checkout."""

_SEVERITIES = {
    "error": "An error: tracing fails there.",
    "warning": "A warning: tracing could not be tried, so nothing is known of the model.",
    "information": "An information: something was not done, so less is known of the model.",
}

_NOTICES = {
    "warning": "A warning: tracing goes on, and the graph does something else than the program.",
    "information": "An information: tracing goes on, and the graph may do something else than the program.",
    "hint": "A hint: tracing goes on, and the graph lacks something that the program has. That is often meant.",
}


_SHARE = """\
Of the notices that are on by default, 19 of 19 (100 %) were right where torchvision's and timm's models trace: see
[notices](../notices.md#how-often-they-are-right).
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
    """How serious it is, and how to get to see it."""
    if not rule.is_notice:
        return _SEVERITIES[rule.severity]
    if rule.default_on:
        return _NOTICES[rule.severity]
    return f"{_NOTICES[rule.severity]} Shown where the setting `fxLsp.notices` names it."


def page_file(rule: Rule) -> Path | None:
    """The file of a rule's page, which an editor can open without a network; None where it was not installed."""
    files = (folder / f"{rule.code}.md" for folder in _FOLDERS)
    return next((file for file in files if file.exists()), None)


def as_json(rules: Iterable[Rule]) -> str:
    """One array of rules, for other programs."""
    fields = ("code", "title", "severity", "is_notice", "default_on", "why", "bad", "good")
    return json.dumps([{name: getattr(rule, name) for name in fields} for rule in rules], indent=2)


def pages() -> dict[str, str]:
    """File name -> text, for every rule and for the list of them."""
    rows = "\n".join(f"| [`{rule.code}`]({rule.code}.md) | {rule.title} | {rule.severity} |" for rule in all_rules())
    index = f"# Rules\n\n| Code | What is wrong | Severity |\n|---|---|---|\n{rows}\n\n{_SHARE}"
    return {"README.md": index, **{f"{rule.code}.md": page(rule) for rule in all_rules()}}


def write(folder: Path) -> None:
    """Write every page into ``folder``, and delete the pages of rules that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.md"):
        old.unlink()
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
