"""Help in ``# fx:`` comments: completions, explanations, and links to the rules' pages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types

from fx_lsp.documents.documents import Documents
from fx_lsp.documents.positions import LineIndex, Position
from fx_lsp.rules import Rule, all_rules
from fx_lsp.rules.rule_pages import page_file
from fx_lsp.server.features.client_places import ClientPlaces

VERBS = {
    "trace": "Build the class below with these arguments and trace it: `# fx: trace(dim=64)`. To trace it more "
    "than once, use labels: `# fx: trace[small](dim=8)`.",
    "concrete_args": "Give fixed values to inputs of `forward`: `# fx: concrete_args(mask=None)`.",
    "inputs": "Use these example inputs to compute shapes and to try fixes: `# fx: inputs(torch.rand(1, 3, 32, 32))`.",
    "leaf": "Record each call to these modules as one node: `# fx: leaf(Attention)`.",
    "tracer": "Trace with this tracer: `# fx: tracer(MyTracer())`.",
    "skip": "Don't trace the class or function below.",
    "expect": "Warn if the model below costs more: `# fx: expect(parameters < 30M, flops < 5G, peak < 100MiB)`. "
    "FLOPs, `activations` and `peak` are for the example input that the shapes are for.",
    "ignore": "Suppress problems on this line or, if the comment is on its own line, on the next one: `# fx: ignore`, "
    "`# fx: ignore[len]`.",
}
"""What each directive does."""

_STARTED = re.compile(r"#\s*fx:\s*(?P<verb>\w*)$")
_IGNORING = re.compile(r"#\s*fx:\s*ignore\[(?:[^\]]*,)?\s*(?P<code>[\w-]*)$")
_VERB = re.compile(r"#\s*fx:\s*(?P<verb>\w+)")
_CODES = re.compile(r"#\s*fx:\s*ignore\[(?P<codes>[^\]]*)\]")
_CODE = re.compile(r"[\w-]+")


def completions(documents: Documents, path: str, offset: int, position: types.Position) -> list[types.CompletionItem]:
    """The completions at ``offset``, which is the client's ``position``: directives or, in the brackets of
    ``ignore``, the codes of rules."""
    lines = documents.lines(path)
    line = _up_to(lines, offset) if lines else ""
    if found := _STARTED.search(line):
        start = types.Position(position.line, position.character - len(found["verb"]))
        return [_item(verb, meaning, start, position) for verb, meaning in VERBS.items()]
    if found := _IGNORING.search(line):
        start = types.Position(position.line, position.character - len(found["code"]))
        return [_item(rule.code, rule.title, start, position) for rule in all_rules()]
    return []


def directive_hover(documents: Documents, path: str, offset: int) -> str:
    """An explanation, in Markdown, of the directive or rule at an offset; empty if there is none."""
    lines = documents.lines(path)
    if lines is None:
        return ""
    line = lines.line(lines.position(offset, "utf-8").line)
    at = len(_up_to(lines, offset))
    for found in _VERB.finditer(line):
        if found.start("verb") <= at <= found.end("verb"):
            return VERBS.get(found["verb"], "")
    for start, end, rule in _rules_in(line):
        if start <= at <= end:
            return f"**{rule.code}**: {rule.title}.\n\n{rule.why}"
    return ""


def links(documents: Documents, places: ClientPlaces, uri: str, *, tooltips: bool) -> list[types.DocumentLink]:
    """A link from each rule's code in an ``ignore`` to the rule's page. ``tooltips``: whether to add tooltips."""
    path = places.path(uri)
    lines = documents.lines(path) if path else None
    if path is None or lines is None or "fx:" not in lines.text:
        return []
    found = []
    for number in range(lines.text.count("\n") + 1):
        for start, end, rule in _rules_in(lines.line(number)):
            first = lines.offset_of_client(Position(number, 0), documents.encoding)
            here, file = places.here(path, first + start, first + end), page_file(rule)
            if file and here and here.uri == uri:
                tooltip = f"{rule.code}: {rule.title}" if tooltips else None
                found.append(types.DocumentLink(here.range, target=file.as_uri(), tooltip=tooltip))
    return found


def _rules_in(line: str) -> Iterator[tuple[int, int, Rule]]:
    """The rules whose codes are in a line's ``ignore``, each with the start and end of its code."""
    codes = _CODES.search(line)
    if codes is None:
        return
    rules = {rule.code: rule for rule in all_rules()}
    for found in _CODE.finditer(line, *codes.span("codes")):
        if rule := rules.get(found[0]):
            yield *found.span(), rule


def _up_to(lines: LineIndex, offset: int) -> str:
    """The text of a line up to an offset."""
    start = lines.offset_of_client(Position(lines.position(offset, "utf-8").line, 0), "utf-8")
    return lines.text[start:offset]


def _item(word: str, meaning: str, start: types.Position, end: types.Position) -> types.CompletionItem:
    edit = types.TextEdit(types.Range(start, end), word)
    return types.CompletionItem(word, kind=types.CompletionItemKind.Keyword, documentation=meaning, text_edit=edit)
