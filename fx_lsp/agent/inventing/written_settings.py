"""Values that the workspace gives to settings such as ``args.depth`` or ``cfg.MODEL.DEPTH``.

A class that takes an object of settings seldom shows where the object comes from: the program parses a command line,
assigns defaults (``_C.MODEL.DEPTH = 16``), fills a dict, or reads a YAML or JSON file. Each of these names the
settings, and the values that it gives them suit one another, which invented values often do not.
"""

from __future__ import annotations

import ast
import itertools
import json
import operator
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from fx_lsp.agent.missing.named_files import common_start, workspace_files

MOST_SEARCHED = 3000
"""The maximum number of files of the workspace that are searched for names of settings."""

LARGEST = 300_000
"""Files with more bytes than this are not read."""

MOST_READ = 8
"""How many programs, and how many other files, are evaluated: those that may give values to most of the names."""

LONGEST = 1000
"""How many items a list may have that is computed, as by ``[0] * 12``."""

_SUFFIXES = frozenset({".py", ".yaml", ".yml", ".json"})
_WORD = re.compile(r"[A-Za-z_]\w*")
_OPTION = re.compile(r"(?:--|dest=[\"'])(\w[\w-]*)")
_NAME_BEFORE_LITERAL = re.compile(r"\b([A-Za-z_]\w*)\b(?:[\"']|: *\w+)? *[=:] *[\"'\d\[(+.TFN-]")
_OF_SETTINGS = re.compile(r"(Config|Cfg|Args|Arguments|Params|Options|Settings|H[Pp]arams|Namespace|[Dd]ict|Node)$")
"""The names of classes and functions that make settings of their keyword arguments or have them as attributes."""

_INDICES = re.compile(r"(\[\d+\])*$")
_YAML_LINE = re.compile(r"^(?P<indent> *)(?:- )?(?P<key>[A-Za-z_][\w-]*):(?:\s+(?P<value>[^#\n]*))?")
_YAML_WORDS = {"true": True, "false": False, "null": None, "~": None}
_INSTANCES = frozenset({"self", "cls"})

Key = tuple[str, ...]
"""The names that lead to a setting: ``("MODEL", "DEPTH")``."""


class WrittenSettings:
    """The values that some files give to settings."""

    def __init__(self, values: Iterable[tuple[Key, Any]] = ()) -> None:
        """Of several ``values`` for a setting, the first counts."""
        self._values: dict[Key, Any] = {}
        for key, value in values:
            self._values.setdefault(key, value)
            self._values.setdefault(key[-1:], value)

    def find(self, path: str) -> list[Any]:
        """The value of the setting at ``path``, such as ``cfg.MODEL.DEPTHS[0]``; as the only item, empty if none.

        The more names at the end of the path agree, the better.
        """
        indices = _INDICES.search(path)
        assert indices is not None
        parts = tuple(path[: indices.start()].split("."))
        keys = [parts[start:] for start in range(min(1, len(parts) - 1), len(parts))]
        found = [self._values[key] for key in keys if key in self._values][:1]
        for index in map(int, re.findall(r"\d+", indices[0])):
            found = [value[index] for value in found if isinstance(value, list | tuple) and index < len(value)]
        return found


def written_settings(
    names: Collection[str], owner: str, folders: Sequence[str], near: str
) -> Iterator[WrittenSettings]:
    """What the files below ``folders`` give to settings of the class ``owner``, of which ``names`` are known.

    Files that name the class count before others, as in ``MODEL_NAME: ResNet``; then those that give values to more of
    the known settings, those that are nearer to the file ``near``, and shorter ones, which are likely to describe
    smaller models. At first, the best YAML or JSON file overrides what the programs say; then the programs alone count,
    since that file may be for another model.
    """
    wanted = frozenset(names)
    files = (path for path in workspace_files(folders) if path.suffix in _SUFFIXES)
    mentioning = []
    for path in itertools.islice(files, MOST_SEARCHED):
        text = _text(path)
        if not _mentions_any(text, wanted):  # most files do not, and searching them for values would take long
            continue
        if count := len(wanted & _names_with_values(text, path.suffix)):
            mentioning.append((owner not in text, -count, -common_start(path, Path(near)), path))
    mentioning.sort()
    programs = _ranked([one for one in mentioning if one[-1].suffix == ".py"], wanted)
    configurations = _ranked([one for one in mentioning if one[-1].suffix != ".py"], wanted)
    for values in [*configurations[:1], *programs, *configurations[1:]], programs:
        if values:
            yield WrittenSettings(itertools.chain.from_iterable(values))
        if not configurations:
            break


def _ranked(files: Sequence[tuple[bool, int, int, Path]], wanted: Collection[str]) -> list[list[tuple[Key, Any]]]:
    """The values of all settings in each file that gives some to ``wanted``, in the order in which they count.

    Each file comes with whether it does not name the class, to how many of the settings it may give values (negative),
    and how far it is from the class.
    """
    found = []
    for is_foreign, _, distance, path in files[:MOST_READ]:
        text = _text(path)
        values = list(_values_in(path, text))
        if count := len({key[-1] for key, _ in values if key[-1] in wanted}):
            found.append((is_foreign, -count, distance, len(text), path, values))
    return [values for *_, values in sorted(found, key=lambda one: one[:5])]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path.stat().st_size <= LARGEST else ""
    except OSError:
        return ""


def _mentions_any(text: str, names: Collection[str]) -> bool:
    """Whether a text has one of ``names`` anywhere; the names of options may have hyphens instead of underscores."""
    plain = text.replace("-", "_")
    return any(name in plain for name in names)


def _names_with_values(text: str, suffix: str) -> set[str]:
    """The names that may be given values in a text: in a program, options, and names before what begins a literal."""
    if suffix != ".py":
        return set(_WORD.findall(text))
    options = (option.replace("-", "_") for option in _OPTION.findall(text))
    return {*options, *_NAME_BEFORE_LITERAL.findall(text)}


def _values_in(path: Path, text: str) -> Iterator[tuple[Key, Any]]:
    try:
        if path.suffix == ".json":
            yield from _of_object(json.loads(text), ())
        elif path.suffix == ".py":
            yield from _of_code(ast.parse(text))
        else:
            yield from _of_yaml(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return


def _of_object(value: Any, prefix: Key) -> Iterator[tuple[Key, Any]]:
    """The settings of an object of a JSON file."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _of_object(inner, (*prefix, str(name)))
    elif prefix:
        yield prefix, value


def _of_yaml(text: str) -> Iterator[tuple[Key, Any]]:
    """The settings in the lines ``name: value`` of a YAML file, where the value is on the same line."""
    above: list[tuple[int, str]] = []
    for line in text.splitlines():
        if (match := _YAML_LINE.match(line)) is None:
            continue
        indent = len(match["indent"])
        while above and above[-1][0] >= indent:
            above.pop()
        above.append((indent, match["key"].replace("-", "_")))
        if value := (match["value"] or "").strip():
            yield tuple(name for _, name in above), _yaml_value(value)


def _yaml_value(text: str) -> Any:
    try:
        return _YAML_WORDS[text.lower()] if text.lower() in _YAML_WORDS else ast.literal_eval(text)
    except (SyntaxError, ValueError):
        return text


def _of_code(tree: ast.Module) -> Iterator[tuple[Key, Any]]:
    """The settings that a program writes; those of `ArgumentParser.set_defaults` override the options' own defaults."""
    nodes = list(ast.walk(tree))
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr="set_defaults")):
                yield from _keywords(node)
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(), args=[*_, ast.Constant(value=str(name))]) if name.startswith("-"):
                yield from _option(node)
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if _OF_SETTINGS.search(name):
                yield from _keywords(node)
            case ast.Assign(targets=[ast.Attribute() as target], value=value):
                yield from _literal(_chain(target), value)
            case ast.Dict():
                for key, value in zip(node.keys, node.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield from _literal((key.value,), value)
            case ast.ClassDef(name=name) if _OF_SETTINGS.search(name):
                yield from _of_class(node)


def _keywords(call: ast.Call) -> Iterator[tuple[Key, Any]]:
    """The keyword arguments of a call."""
    for keyword in call.keywords:
        yield from _literal((keyword.arg,) if keyword.arg else (), keyword.value)


def _option(call: ast.Call) -> Iterator[tuple[Key, Any]]:
    """The default of an option of a command line."""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    texts = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    name = max(texts, key=len, default="").lstrip("-").replace("-", "_")
    match keywords.get("dest"):
        case ast.Constant(value=str(dest)):
            name = dest
    match keywords.get("action"):
        case ast.Constant(value="store_true"):
            yield (name,), False
        case ast.Constant(value="store_false"):
            yield (name,), True
    if name and (default := keywords.get("default")):
        yield from _literal((name,), default)


def _of_class(node: ast.ClassDef) -> Iterator[tuple[Key, Any]]:
    """The attributes of a class of settings, and the defaults of its constructor."""
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                yield from _literal((name,), value)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield from _literal((name,), value)
            case ast.FunctionDef(name="__init__", args=arguments):
                positional = [*arguments.posonlyargs, *arguments.args]
                defaults = zip(reversed(positional), reversed(arguments.defaults), strict=False)
                only = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
                for parameter, default in [*defaults, *only]:
                    if default is not None:
                        yield from _literal((parameter.arg,), default)


def _chain(node: ast.Attribute) -> Key:
    """The names after the first in ``_C.MODEL.DEPTH``; empty if it is no chain of names, or begins with ``self``."""
    names: list[str] = []
    value: ast.expr = node
    while isinstance(value, ast.Attribute):
        names.append(value.attr)
        value = value.value
    is_settings = isinstance(value, ast.Name) and value.id not in _INSTANCES
    return tuple(reversed(names)) if is_settings else ()


def _literal(key: Key, node: ast.expr) -> Iterator[tuple[Key, Any]]:
    """The value of ``node`` for ``key``, unless it is computed from something else than numbers, or a dict."""
    try:
        value = _constant(node)
    except (ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
        return
    if key and not isinstance(value, dict | set | bytes):
        yield key, value


def _constant(node: ast.expr) -> Any:
    """The value of a literal, which may have parts such as ``4 * 64`` and ``[1, 2] * 2``. Raises ValueError."""
    match node:
        case ast.BinOp(left=left, op=operation, right=right) if type(operation) in _ARITHMETIC:
            one, other = _constant(left), _constant(right)
            if all(type(part) in (int, float) or _is_short(part) for part in (one, other)):
                return _ARITHMETIC[type(operation)](one, other)
            raise ValueError
        case ast.List(elts=items):
            return [_constant(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_constant(item) for item in items)
    return ast.literal_eval(node)


def _is_short(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) <= LONGEST


def _product(one: Any, other: Any) -> Any:
    """The product of numbers, or a list that is repeated. Raises ValueError if it would be very long."""
    sizes = [len(part) if isinstance(part, list | tuple) else abs(part) for part in (one, other)]
    if any(isinstance(part, list | tuple) for part in (one, other)) and sizes[0] * sizes[1] > LONGEST:
        raise ValueError
    return one * other


_ARITHMETIC: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _product,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}
