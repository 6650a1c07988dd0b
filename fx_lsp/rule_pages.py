"""The rules' pages, written from the rules themselves: ``python -m fx_lsp.rule_pages docs/rules``."""

from __future__ import annotations

import sys
from pathlib import Path

from fx_lsp.rules import Rule, all_rules

_SEVERITIES = {
    "error": "An error: tracing fails there.",
    "warning": "A warning: tracing could not be tried, so nothing is known of the model.",
}


def page(rule: Rule) -> str:
    """The Markdown page of one rule."""
    return f"""\
# {rule.code}: {rule.title}

{_SEVERITIES[rule.severity]}

{rule.why}

## Fails

```python
{rule.bad.rstrip()}
```

## Traces

```python
{rule.good.rstrip()}
```
"""


def pages() -> dict[str, str]:
    """File name -> text, for every rule and for the list of them."""
    rows = "\n".join(f"| [`{rule.code}`]({rule.code}.md) | {rule.title} | {rule.severity} |" for rule in all_rules())
    index = f"# Rules\n\n| Code | What is wrong | Severity |\n|---|---|---|\n{rows}\n"
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
