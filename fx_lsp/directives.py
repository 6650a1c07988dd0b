"""What a file's comments say to fx-lsp: ``# fx: trace(dim=64)`` above a class, ``# fx: ignore[len]`` behind a line.

A directive is a comment ``# fx: VERB``, with ``[labels]`` and ``(arguments)`` where the verb takes them:

- above a class or a function at the top level: ``trace(arguments of the constructor)``, ``concrete_args(x=1)``,
  ``inputs(arguments of forward)``, ``tracer(expression)``, ``leaf(classes of modules)``, ``skip``. With labels,
  ``trace[small](dim=8)`` and ``trace[large](dim=64)``, a class is traced several times; what has no label is for all of
  them.
- behind a line, or on a line of its own above one: ``ignore``, ``ignore[code, …]``.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fx_lsp.rules import all_rules
from fx_lsp.source_size import is_oversize
from fx_lsp.syntax import parsed

_DIRECTIVE = re.compile(
    r"#\s*fx:\s*(?P<verb>[^\W\d]\w*)?\s*(?P<labels>\[[^\]]*\])?\s*(?P<arguments>\(.*\))?\s*(?P<rest>.*)"
)

_TAKES = {
    "trace": "[(",
    "concrete_args": "[(",
    "inputs": "[(",
    "leaf": "[(",
    "tracer": "[(",
    "skip": "",
    "ignore": "[",
}
"""Each verb, and the brackets that may follow it."""

_ABOVE = _TAKES.keys() - {"ignore"}
"""Verbs that are about a whole class or function."""


@dataclass(frozen=True)
class Directive:
    """One comment that says something which can be done."""

    verb: str
    labels: tuple[str, ...]
    arguments: str
    """With their brackets, e.g. ``(dim=64)``; ``""`` where there are none."""
    line: int
    """Its line, from 1."""
    subject: int
    """The line of code that it is about."""
    columns: tuple[int, int]
    """Where it stands in its line, in UTF-8 bytes."""


@dataclass(frozen=True)
class Mistake:
    """A comment that looks like a directive and is none, and why, in one sentence."""

    reason: str
    line: int
    columns: tuple[int, int]


@dataclass(frozen=True)
class Directives:
    """All that one file says."""

    directives: tuple[Directive, ...] = ()
    mistakes: tuple[Mistake, ...] = ()
    above: Mapping[str, Sequence[Directive]] = field(default_factory=dict)
    """By the name of a class or function at the top level, what is said of it."""

    def ignores(self, code: str, first: int, last: int) -> bool:
        """Whether a problem with this code, in the lines ``first`` to ``last`` (from 1), is not to be told."""
        return any(
            directive.verb == "ignore" and first <= directive.subject <= last and code in (directive.labels or (code,))
            for directive in self.directives
        )


@functools.lru_cache(maxsize=256)
def directives_of(text: str) -> Directives:
    """The directives of a file; none while it can't be read as Python."""
    if "fx:" not in text or is_oversize(text):
        return Directives()
    tree = parsed(text)
    if tree is None:
        return Directives()
    try:
        definitions, read = _definitions(tree), list(_read(text))
    except (SyntaxError, tokenize.TokenError):
        return Directives()
    directives = tuple(item for item in read if isinstance(item, Directive))
    above: dict[str, list[Directive]] = {name: [] for name in definitions.values()}
    lost = []
    for directive in directives:
        if directive.verb in _ABOVE:
            name = definitions.get(directive.subject)
            if name is not None:
                above[name].append(directive)
            else:
                reason = f"`{directive.verb}` belongs above a class or a function at the top level of the file"
                lost.append(Mistake(reason, directive.line, directive.columns))
    return Directives(directives, (*(item for item in read if isinstance(item, Mistake)), *lost), above)


def _definitions(tree: ast.Module) -> dict[int, str]:
    """By line, the name of the class or function at the top level that begins there, decorators and all."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            for line in (node.lineno, *(decorator.lineno for decorator in node.decorator_list)):
                found[line] = node.name
    return found


def _read(text: str) -> Iterator[Directive | Mistake]:
    """Each comment that begins like a directive, as what it is."""
    pending: list[tokenize.TokenInfo] = []
    """Comments on lines of their own, which the next line of code is the subject of."""
    behind_code = False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            if behind_code:
                yield from _understood(token, token.start[0])
            else:
                pending.append(token)
        elif token.type in (tokenize.NEWLINE, tokenize.NL):
            behind_code = False
        elif token.type not in (tokenize.INDENT, tokenize.DEDENT):
            for comment in pending:
                yield from _understood(comment, token.start[0])
            pending.clear()
            behind_code = True


def _understood(token: tokenize.TokenInfo, subject: int) -> Iterator[Directive | Mistake]:
    match = _DIRECTIVE.match(token.string)
    if match is None:
        return
    line, start = token.start[0], len(token.line[: token.start[1]].encode())
    columns = start, start + len(token.string.encode())
    verb, arguments = match["verb"] or "", match["arguments"] or ""
    labels = tuple(label.strip() for label in (match["labels"] or "")[1:-1].split(",") if label.strip())
    reason = _why_not(verb, match["labels"], arguments, match["rest"]) or _unknown_code(verb, labels)
    yield Mistake(reason, line, columns) if reason else Directive(verb, labels, arguments, line, subject, columns)


def _why_not(verb: str, labels: str | None, arguments: str, rest: str) -> str | None:
    """What is wrong with a directive's form; None where nothing is."""
    if verb not in _TAKES:
        named = f"`{verb}` is no directive" if verb else "no directive is named"
        return f"{named}; there are {_listed(sorted(_TAKES))}"
    if rest:
        return f"`{rest}` can't be understood after `{verb}`"
    if labels is not None and "[" not in _TAKES[verb]:
        return f"`{verb}` takes no square brackets"
    if arguments and "(" not in _TAKES[verb]:
        return f"`{verb}` takes no arguments"
    return _why_not_called(verb, arguments)


def _why_not_called(verb: str, arguments: str) -> str | None:
    """What is wrong with a directive's arguments; None where nothing is."""
    call = _call(arguments or "()")
    if call is None:
        return f"`{arguments}` can't be read as the arguments of a call"
    if verb == "concrete_args" and (call.args or not call.keywords):
        return "`concrete_args` takes a value for each input by its name, e.g. `concrete_args(mask=None)`"
    if verb == "inputs" and not (call.args or call.keywords):
        return "`inputs` takes the arguments of a call, e.g. `inputs(torch.rand(1, 3, 32, 32))`"
    if verb == "leaf" and (not call.args or call.keywords):
        return "`leaf` takes the classes of modules, e.g. `leaf(Attention)`"
    if verb == "tracer" and (len(call.args) != 1 or call.keywords):
        return "`tracer` takes one expression, e.g. `tracer(MyTracer())`"
    return None


def _unknown_code(verb: str, labels: Sequence[str]) -> str | None:
    """Why a rule can't be ignored: there is none with that code."""
    codes = sorted(rule.code for rule in all_rules())
    unknown = [label for label in labels if verb == "ignore" and label not in codes]
    return f"`{unknown[0]}` is no rule; there are {_listed(codes)}" if unknown else None


def _call(arguments: str) -> ast.Call | None:
    """The call that ``arguments`` (with their brackets) would be behind a name; None where they are none."""
    try:
        tree = ast.parse(f"f{arguments}", mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return tree if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else None


def _listed(words: Sequence[str]) -> str:
    quoted = [f"`{word}`" for word in words]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"
