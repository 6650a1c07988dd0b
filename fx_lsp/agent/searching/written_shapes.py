"""Reads the shapes of a function's inputs from its text, where people write them down in many ways.

Examples: ``b, n, _ = x.shape``, ``rearrange(x, "b n (h d) -> b h n d")``, ``x: Float[Tensor, "b n d"]``, and in a
docstring or a comment, ``x (Tensor): (b, n, d)`` or ``x is N x C x H x W``. None of this has to be true.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any

from fx_lsp.agent.frame_code import tree_of

Names = tuple[str, ...]
"""The names of an input's sizes, one for each dimension; a digit stands for itself. The same name is the same size."""

BATCH = 2
"""The batch size."""

SIDE = 32
"""The height and width of images."""

LENGTHS = (16, 24, 40, 56, 72, 88, 104)
"""Other sizes, in the order of their names, so that different names have different sizes."""

LONGEST_TEXT = 300
"""How many characters behind a parameter's name are searched for a shape."""

LONGEST = 5
"""More names than this are no shape."""

_TAKE_SIZES = frozenset({"view", "reshape", "expand", "unflatten", "repeat", "zeros", "ones", "empty", "full", "range"})
_EINOPS = frozenset({"rearrange", "reduce", "repeat"})
_NO_SIZES = re.compile(
    r"tensor|optional|default|none|list|tuple|dict|float|int\b|bool|str\b|e\.g\.|i\.e\.|\bor\b", re.I
)
_BRACKETS = re.compile(r"[\[(]([^\[\](),]*(?:,| x )[^\[\]()]*)[\])]")
_KEY = re.compile(r"""["'`](\w+)["'`]+\s*[:=-](.*)""")
_VECTOR = re.compile(r"\b(?:1-?D|one-dimensional)\b|[\[(][A-Z],?[\])]")
_ONE_SIZE = re.compile(r"\[(\w+)\]")
_CROSSED = re.compile(r"(?<![\w.])([A-Z]\w{0,2}(?:\s?[x×*]\s?(?:[A-Z]\w{0,2}|\d+)){1,4})(?![\w.])")
_NAME = re.compile(r"[A-Za-z_][\w *+/-]{0,30}|\d{1,5}")
_SPATIAL = re.compile(r"[hw]\d?|(\w+_)?(height|width|side|h|w)")
_CHANNELS = re.compile(r"(c|d|e|f)(_?in|\d)?|.*(chan|dim|feat|hid|emb|model).*")


def written_shapes(function: Callable[..., Any]) -> list[dict[str, Names]]:
    """The shapes by parameter, first as the code has them, then as comments do, without duplicates."""
    definition = definition_of(function)
    if definition is None:
        return []
    arguments = definition.args
    names = {one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)} - {"self"}
    in_code = {**_annotated(definition), **_unpacked(definition, names)}
    in_words = _described(definition, _lines(function), names)
    found = [{**in_words, **in_code}, {**in_code, **in_words}]
    return [shapes for at, shapes in enumerate(found) if shapes and shapes not in found[:at]]


def described_keys(function: Callable[..., Any]) -> dict[str, Names]:
    """The shapes of tensors in dicts by key, from the docstring: ``"boxes": Tensor of shape [n, 4]``."""
    definition = definition_of(function)
    text = (ast.get_docstring(definition) or "") if definition is not None else ""
    found: dict[str, Names] = {}
    for line in text.splitlines():
        for key, words in _KEY.findall(line):
            if names := _shape_in(words) or _names(_ONE_SIZE.findall(words[:LONGEST_TEXT])[:1]):
                found.setdefault(key, names)
    return found


def written_numbers(function: Callable[..., Any]) -> frozenset[str]:
    """The parameters that the code passes on as sizes, such as ``h`` in ``x.view(b, c, h, w)``."""
    definition = definition_of(function)
    calls = [node for node in ast.walk(definition) if isinstance(node, ast.Call)] if definition is not None else []
    return frozenset(
        argument.id
        for call in calls
        for argument in call.args
        if isinstance(argument, ast.Name) and _last_name(call.func) in _TAKE_SIZES
    )


def definition_of(function: Callable[..., Any]) -> ast.FunctionDef | None:
    """The syntax tree of a function; None if its source can't be read."""
    code = _code(function)
    tree = tree_of(code) if code is not None else None
    definition = next(iter(tree.body), None) if tree is not None else None
    return definition if isinstance(definition, ast.FunctionDef) else None


def _code(function: Callable[..., Any]) -> CodeType | None:
    """The code of a function without its decorators; None if it is no function."""
    try:
        return getattr(inspect.unwrap(getattr(function, "__func__", function)), "__code__", None)
    except Exception:  # attributes of the user's objects may raise anything
        return None


def _lines(function: Callable[..., Any]) -> list[tuple[int, str]]:
    """The lines of a function that has a definition, with their numbers."""
    code = _code(function)
    return list(enumerate(inspect.getsourcelines(code)[0], code.co_firstlineno)) if code is not None else []


def _last_name(function: ast.expr) -> str:
    """``view`` for both ``view`` and ``x.view``."""
    match function:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""


def sizes_of(shapes: Mapping[str, Names], width: int | None, known: tuple[int, ...] = ()) -> dict[str, tuple[int, ...]]:
    """Numbers for the names: by parameter, its shape.

    ``width`` is the number of channels, if that is known; ``known`` is the shape of the first input with as many
    dimensions.
    """
    named = {parameter: _with_borrowed_names(names, shapes.values()) for parameter, names in shapes.items()}
    numbers = next((dict(zip(names, known, strict=True)) for names in named.values() if len(names) == len(known)), {})
    first = Counter(names[0] for names in named.values() if not names[0].isdigit())
    numbers = {name: BATCH for name, _ in first.most_common(1)} | numbers
    lengths = iter(LENGTHS)
    for names in named.values():
        is_image = sum(1 for name in names if _SPATIAL.fullmatch(name.lower())) > 1
        for name in names:
            if name in numbers:
                continue
            if name.isdigit():
                numbers[name] = int(name)
            elif is_image and _SPATIAL.fullmatch(name.lower()):
                numbers[name] = SIDE
            elif width is not None and _CHANNELS.fullmatch(name.lower()):
                numbers[name] = width
            else:
                numbers[name] = next(lengths, LENGTHS[-1])
    return {parameter: tuple(numbers[name] for name in names) for parameter, names in named.items()}


def _with_borrowed_names(names: Names, shapes: Iterable[Names]) -> Names:
    """``names`` with those of another input of as many dimensions where the text gives none: ``_, m, _ = y.shape``."""
    alike = [other for other in shapes if len(other) == len(names)]

    def borrowed(at: int) -> str:
        return next((other[at] for other in alike if not other[at].startswith("_")), f"_{at}")

    return tuple(borrowed(at) if name.startswith("_") else name for at, name in enumerate(names))


def _annotated(definition: ast.FunctionDef) -> dict[str, Names]:
    """Shapes in annotations such as ``Float[Tensor, "b n d"]``."""
    found = {}
    for one in (*definition.args.posonlyargs, *definition.args.args, *definition.args.kwonlyargs):
        for node in ast.walk(one.annotation) if isinstance(one.annotation, ast.Subscript) else ():
            match node:
                case ast.Constant(value=str(text)) if names := _names(text.split()):
                    found[one.arg] = names
    return found


def _unpacked(definition: ast.FunctionDef, parameters: set[str]) -> dict[str, Names]:
    """Shapes that the code takes apart, as long as a parameter has its first value."""
    found: dict[str, Names] = {}
    original = set(parameters)
    statements = [node for node in ast.walk(definition) if isinstance(node, ast.stmt) and node is not definition]
    for statement in sorted(statements, key=lambda node: (node.lineno, node.col_offset)):
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            continue
        for name, names in _taken_apart(statement):
            if name in original and names:
                found.setdefault(name, names)
        stored = (node for node in ast.walk(statement) if isinstance(node, ast.Name))
        original -= {node.id for node in stored if isinstance(node.ctx, ast.Store)}
    return found


def _taken_apart(statement: ast.stmt) -> Iterator[tuple[str, Names]]:
    match statement:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
            match value:
                case ast.Tuple(elts=[ast.Starred(value=holder), *others]) if len(others) < len(targets):
                    targets, value = targets[: len(targets) - len(others)], holder
            if (name := _whose_shape(value)) is not None:
                yield name, _targets(targets)
    for node in _expressions(statement):
        match node:
            case ast.Call(
                func=ast.Name(id=function) | ast.Attribute(attr=function),
                args=[ast.Name(id=name), ast.Constant(value=str(pattern)), *_],
            ) if function in _EINOPS:
                yield name, _names(_grouped(pattern.partition("->")[0]))
            case ast.Call(func=ast.Attribute(attr="einsum"), args=[ast.Constant(value=str(pattern)), *operands]):
                for operand, letters in zip(operands, pattern.partition("->")[0].split(","), strict=False):
                    if isinstance(operand, ast.Name):
                        yield operand.id, _names([*letters.replace(" ", "")])


def _expressions(statement: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement without those of the statements in it."""
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.expr):
            yield from ast.walk(child)


def _whose_shape(value: ast.expr) -> str | None:
    """The name in ``x.shape`` or ``x.size()``."""
    match value:
        case ast.Attribute(value=ast.Name(id=name), attr="shape"):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[]):
            return name
        case ast.Call(func=ast.Name(id="tuple" | "list"), args=[inner]):
            return _whose_shape(inner)
    return None


def _targets(targets: Sequence[ast.expr]) -> Names:
    """The names to which sizes are assigned, ``_`` if there is none; ``*rest`` are two sizes."""
    names: list[str] = []
    for target in targets:
        match target:
            case ast.Name(id=name):
                names.append(name)
            case ast.Starred():
                names += ["height", "width"]
            case _:
                names.append("_")
    return _names(names)


def _grouped(pattern: str) -> list[str]:
    """The names in an einops pattern; ``(h d)`` is one name."""
    return [group.strip("() ") for group in re.findall(r"\([^()]*\)|[^\s()]+", pattern)]


def _described(definition: ast.FunctionDef, lines: Sequence[tuple[int, str]], parameters: set[str]) -> dict[str, Names]:
    """Shapes that the docstring and the comments of a function mention behind a parameter's name."""
    texts = (ast.get_docstring(definition) or "").splitlines()
    for number, line in lines:
        before, _, comment = line.partition("#")
        is_signature = number < definition.body[0].lineno
        texts.append(f"{before.split(':')[0]} {comment}" if is_signature else comment)
    found: dict[str, Names] = {}
    for text in texts:
        mentioned = next((word for word in re.finditer(r"\w+", text) if word[0] in parameters), None)
        if mentioned and (names := _shape_in(text[mentioned.end() :])):
            found.setdefault(mentioned[0], names)
    return found


def _shape_in(text: str) -> Names:
    """The first shape in some words; empty if there is none."""
    text = text[:LONGEST_TEXT]
    for found in _BRACKETS.findall(text):
        if not _NO_SIZES.search(found) and (names := _names(re.split(r",| x ", found.rstrip(", ")))):
            return names
    if crossed := _CROSSED.search(text):
        return _names(re.split(r"\s?[x×*]\s?", crossed[1]))
    return ("N",) if _VECTOR.search(text) else ()  # one size for each example of a batch


def _names(parts: Sequence[str]) -> Names:
    """The parts as names of sizes; empty if they can't be that."""
    names = tuple(part.strip() for part in parts)
    is_shape = 0 < len(names) <= LONGEST and all(names)
    return names if is_shape and all(map(_NAME.fullmatch, names)) else ()
