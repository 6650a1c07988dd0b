"""The calls that a YAML file describes, as Python code: models are often configured there.

Two conventions name a class and its arguments: ``target: package.Net`` with ``params: {width: 8}`` (OmegaConf with
`instantiate_from_config`), and ``_target_: package.Net`` with the arguments beside it (Hydra's `instantiate`).
"""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ruamel.yaml import YAML, MappingNode, Node

LONGEST = 200_000
"""The maximum number of characters of a file that is read."""

LONGEST_ARGUMENT = 20_000
"""The maximum number of characters of an argument: aliases can make a small file describe an endless one."""

_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_HYDRAS_OWN = frozenset({"_target_", "_recursive_", "_convert_", "_partial_", "_args_"})


def code_in_yaml(text: str) -> str:
    """Each described call, with the import that it needs, on the line where its mapping starts.

    The code has as many lines as ``text``. It is empty if the text describes no call or is not valid YAML.
    """
    if "target" not in text or len(text) > LONGEST:
        return ""
    from ruamel.yaml import YAML  # not needed to start the server
    from ruamel.yaml.error import YAMLError

    yaml = YAML(typ="safe", pure=True)
    lines: list[list[str]] = [[] for _ in range(text.count("\n") + 1)]
    try:
        for document in yaml.compose_all(text):
            for node in _mappings(document, set()):
                if call := _described(yaml, node):
                    lines[node.start_mark.line].append(call)
    except (YAMLError, ValueError, RecursionError):
        return ""
    return "\n".join("; ".join(calls) for calls in lines)


def _mappings(node: Node, seen: set[int]) -> Iterator[MappingNode]:
    """All mappings in ``node``, each once, although aliases may refer to it several times or even from within."""
    from ruamel.yaml import MappingNode, SequenceNode

    if id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, MappingNode):
        yield node
        for _, value in node.value:
            yield from _mappings(value, seen)
    elif isinstance(node, SequenceNode):
        for value in node.value:
            yield from _mappings(value, seen)


def _described(yaml: YAML, node: MappingNode) -> str:
    """The import and the call that a mapping describes; empty if it describes none."""
    keys = [key.value for key, _ in node.value]  # the value of a key that is not a scalar is a list
    if "target" not in keys and "_target_" not in keys:
        return ""
    try:
        described = yaml.constructor.construct_object(node, deep=True)
        imports: dict[str, None] = {}
        call = _call(described, imports) if "_target_" in keys else _configured(described, imports)
    except (_NotCode, TypeError):
        return ""
    return "; ".join((*imports, call))


class _NotCode(ValueError):
    """A value has no Python literal, or a name is not a dotted name."""


def _configured(described: Mapping[str, Any], imports: dict[str, None]) -> str:
    """The call that ``target`` and ``params`` describe. Arguments that themselves describe calls stay as they are."""
    parameters = described.get("params", {})
    if not isinstance(parameters, Mapping):
        raise _NotCode
    name = _imported(described["target"], imports)
    return f"{name}({_arguments({key: _literal(value) for key, value in parameters.items()})})"


def _call(described: Mapping[str, Any], imports: dict[str, None]) -> str:
    """The call that ``_target_`` describes, including those that its arguments describe."""
    name = _imported(described["_target_"], imports)
    given = {key: _value(value, imports) for key, value in described.items() if key not in _HYDRAS_OWN}
    return f"{name}({_arguments(given)})"


def _value(value: Any, imports: dict[str, None]) -> str:
    if isinstance(value, Mapping) and "_target_" in value:
        return _bounded(_call(value, imports))
    if isinstance(value, list):
        return _bounded(f"[{', '.join(_value(item, imports) for item in value)}]")
    return _literal(value)


def _imported(target: object, imports: dict[str, None]) -> str:
    """The last name of a dotted name, whose import is added to ``imports``."""
    if not isinstance(target, str) or not _DOTTED.fullmatch(target) or any(map(keyword.iskeyword, target.split("."))):
        raise _NotCode
    module, _, name = target.rpartition(".")
    imports[f"from {module} import {name}"] = None
    return name


def _arguments(arguments: Mapping[str, str]) -> str:
    if not all(isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name) for name in arguments):
        raise _NotCode
    return ", ".join(f"{name}={value}" for name, value in arguments.items())


def _literal(value: object) -> str:
    """Python's literal for a value."""
    match value:
        case None | bool() | int() | str():
            literal = repr(value)
        case float() if math.isfinite(value):
            literal = repr(value)
        case list():
            literal = f"[{', '.join(map(_literal, value))}]"
        case dict():
            literal = f"{{{', '.join(f'{_literal(key)}: {_literal(item)}' for key, item in value.items())}}}"
        case _:
            raise _NotCode
    return _bounded(literal)


def _bounded(argument: str) -> str:
    if len(argument) > LONGEST_ARGUMENT:
        raise _NotCode
    return argument
