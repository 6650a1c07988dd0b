"""Format strings for the source of Python's operators, by the name of the operator's function in `operator`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

_REFLECTABLE = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "floordiv": "//",
    "truediv": "/",
    "div": "/",
    "mod": "%",
    "pow": "**",
    "lshift": "<<",
    "rshift": ">>",
    "and_": "&",
    "or_": "|",
    "xor": "^",
    "matmul": "@",
}
_COMPARING = {"eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">="}
_UNARY = {"pos": "+", "neg": "-", "invert": "~"}

reflectable_magic_methods = {name: f"{{}} {sign} {{}}" for name, sign in _REFLECTABLE.items()} | {"getitem": "{}[{}]"}
"""The templates of the operators that have a reflected variant (``__radd__``), and of indexing."""

magic_methods = (
    {name: f"{{}} {sign} {{}}" for name, sign in _COMPARING.items()}
    | {name: f"{sign}{{}}" for name, sign in _UNARY.items()}
    | reflectable_magic_methods
)
"""The templates of all operators that are expressions, by the name of their function."""

inplace_methods = {
    f"i{name.rstrip('_')}": f"{{}} {sign}= {{}}" for name, sign in _REFLECTABLE.items() if name != "div"
} | {"setitem": "{}[{}] = {}"}
"""The templates of all operators that are statements, by the name of their function."""


def _by_function(templates: dict[str, str]) -> dict[Callable[..., Any], str]:
    return {getattr(operator, name): template for name, template in templates.items() if hasattr(operator, name)}


EXPRESSIONS = _by_function(magic_methods)
"""`magic_methods`, but by the function instead of its name."""

STATEMENTS = _by_function(inplace_methods)
"""`inplace_methods`, but by the function instead of its name."""
