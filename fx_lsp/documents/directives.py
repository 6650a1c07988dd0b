"""Directives in a file's comments: ``# fx: trace(dim=64)`` above a class, ``# fx: ignore[len]`` at the end of a line.

A directive is a comment ``# fx: VERB``, with ``[labels]`` and ``(arguments)`` if the verb takes them:

- above a class or a function at the top level: ``trace(arguments of the constructor)``, ``concrete_args(x=1)``,
  ``inputs(arguments of forward)``, ``tracer(expression)``, ``leaf(classes of modules)``, ``skip``,
  ``expect(parameters < 30M)``. With labels,
  ``trace[small](dim=8)`` and ``trace[large](dim=64)``, a class is traced several times; a directive without a label
  applies to all of them.
- at the end of a line, or on a separate line above the line that it applies to: ``ignore``, ``ignore[code, …]``.
"""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fx_lsp.documents.expectations import EXAMPLE, expectations_of
from fx_lsp.documents.parse import parsed
from fx_lsp.documents.source_size import is_oversize
from fx_lsp.rules import all_rules

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
    "expect": "(",
    "ignore": "[",
}
"""Each verb, and the brackets that may follow it."""

_ARGUMENTS: Mapping[str, tuple[Callable[[int, int], bool], str]] = {
    "concrete_args": (
        lambda positional, named: named > 0 and not positional,
        "keyword arguments that name inputs and their values, e.g. `concrete_args(mask=None)`",
    ),
    "inputs": (
        lambda positional, named: positional + named > 0,
        "the arguments of a call, e.g. `inputs(torch.rand(1, 3, 32, 32))`",
    ),
    "leaf": (
        lambda positional, named: positional > 0 and not named,
        "one or more module classes, e.g. `leaf(Attention)`",
    ),
    "tracer": (lambda positional, named: (positional, named) == (1, 0), "one expression, e.g. `tracer(MyTracer())`"),
}
"""For verbs with required arguments: a check of the numbers of positional and named arguments, and what to pass."""

_ABOVE = _TAKES.keys() - {"ignore"}
"""Verbs that apply to a whole class or function."""


@dataclass(frozen=True)
class Directive:
    """One valid directive."""

    verb: str
    labels: tuple[str, ...]
    arguments: str
    """In parentheses, e.g. ``(dim=64)``; ``""`` if there are none."""
    line: int
    """The line of the comment, from 1."""
    subject: int
    """The line of code that the directive applies to."""
    columns: tuple[int, int]
    """The columns at which the comment begins and ends, in UTF-8 bytes."""


@dataclass(frozen=True)
class DirectiveMistake:
    """A comment that looks like a directive but is not valid, and the reason."""

    reason: str
    line: int
    columns: tuple[int, int]


@dataclass(frozen=True)
class Directives:
    """The directives of one file."""

    directives: tuple[Directive, ...] = ()
    mistakes: tuple[DirectiveMistake, ...] = ()
    above: Mapping[str, Sequence[Directive]] = field(default_factory=dict)
    """By the name of a class or function at the top level, the directives above it."""

    def ignores(self, code: str, first: int, last: int) -> bool:
        """Whether to suppress a problem with this code in the lines ``first`` to ``last`` (from 1)."""
        return any(
            directive.verb == "ignore" and first <= directive.subject <= last and code in (directive.labels or (code,))
            for directive in self.directives
        )


@functools.lru_cache(maxsize=256)
def directives_of(text: str) -> Directives:
    """The directives of a file; none while its text is not valid Python."""
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
                reason = f"`{directive.verb}` must be above a class or function at the top level of the file"
                lost.append(DirectiveMistake(reason, directive.line, directive.columns))
    return Directives(directives, (*(item for item in read if isinstance(item, DirectiveMistake)), *lost), above)


def are_arguments(text: str) -> bool:
    """Whether ``text`` can be in the parentheses of a directive such as ``inputs(…)``."""
    return _call(f"({text})") is not None


def _definitions(tree: ast.Module) -> dict[int, str]:
    """The name of each top-level class or function, by the line of its ``class`` or ``def`` and of each decorator."""
    return {
        line: node.name
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for line in (node.lineno, *(decorator.lineno for decorator in node.decorator_list))
    }


def _read(text: str) -> Iterator[Directive | DirectiveMistake]:
    """The directives in the comments of ``text``, and a mistake for each invalid one."""
    pending: list[tokenize.TokenInfo] = []
    """Comments on separate lines, which apply to the next line of code."""
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


def _understood(token: tokenize.TokenInfo, subject: int) -> Iterator[Directive | DirectiveMistake]:
    match = _DIRECTIVE.match(token.string)
    if match is None:
        return
    line, start = token.start[0], len(token.line[: token.start[1]].encode())
    columns = start, start + len(token.string.encode())
    verb, arguments = match["verb"] or "", match["arguments"] or ""
    labels = tuple(label.strip() for label in (match["labels"] or "")[1:-1].split(",") if label.strip())
    reason = _why_not(verb, match["labels"], arguments, match["rest"]) or _unknown_code(verb, labels)
    yield (
        DirectiveMistake(reason, line, columns)
        if reason
        else Directive(verb, labels, arguments, line, subject, columns)
    )


def _why_not(verb: str, labels: str | None, arguments: str, rest: str) -> str | None:
    """What is wrong with a directive; None if nothing is."""
    if verb not in _TAKES:
        named = f"`{verb}` is not a directive" if verb else "the name of the directive is missing"
        return f"{named}; the directives are {_listed(sorted(_TAKES))}"
    if rest:
        return f"`{rest}` is not valid after `{verb}`"
    if labels is not None and "[" not in _TAKES[verb]:
        return f"`{verb}` does not take square brackets"
    if arguments and "(" not in _TAKES[verb]:
        return f"`{verb}` does not take arguments"
    if verb == "expect":
        return None if expectations_of(arguments) else f"`expect` takes conditions, e.g. {EXAMPLE}"
    call = _call(arguments or "()")
    if call is None:
        return f"`{arguments}` is not a valid list of arguments"
    fits, expected = _ARGUMENTS.get(verb, (None, ""))
    if fits and not fits(len(call.args), len(call.keywords)):
        return f"`{verb}` takes {expected}"
    return None


def _unknown_code(verb: str, labels: Sequence[str]) -> str | None:
    """The reason why a label of an ``ignore`` is not the code of a rule; None if all labels are codes."""
    codes = sorted(rule.code for rule in all_rules())
    unknown = [label for label in labels if verb == "ignore" and label not in codes]
    return f"`{unknown[0]}` is not a rule; the rules are {_listed(codes)}" if unknown else None


def _call(arguments: str) -> ast.Call | None:
    """A call with ``arguments``, which include their parentheses; None if they are not valid arguments."""
    try:
        tree = ast.parse(f"f{arguments}", mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return tree if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else None


def _listed(words: Sequence[str]) -> str:
    quoted = [f"`{word}`" for word in words]
    return f"{', '.join(quoted[:-1])} and {quoted[-1]}"
