"""Call the function of ``torch.nn.functional`` that a module without state stands for: ``F.pad`` for ``nn.ZeroPad2d``.

A module that is built of traced values can't be built in ``__init__`` instead.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fx_lsp.fixes.editing import Fix
from fx_lsp.fixes.editing.edited_source import Source, for_failing_expression
from fx_lsp.fixes.editing.import_edits import imported

_PADDING = {"ConstantPad": "", "ReflectionPad": "reflect", "ReplicationPad": "replicate", "ZeroPad": ""}
"""The beginning of a module's name, and the mode of ``torch.nn.functional.pad``; empty if it is the usual one."""

_FUNCTIONS = {
    **{
        f"{kind}Pool{rank}d": f"{function}_pool{rank}d"
        for rank in (1, 2, 3)
        for kind, function in (("Avg", "avg"), ("AdaptiveAvg", "adaptive_avg"), ("AdaptiveMax", "adaptive_max"))
    },
    "Upsample": "interpolate",
}
"""Modules, and the functions that take the same arguments after the input."""


@for_failing_expression
def fixes(source: Source, node: ast.expr) -> Iterator[Fix]:
    """One fix if the failing expression builds such a module and calls it with one argument."""
    match node:
        case ast.Call(func=ast.Call(func=built) as module, args=[given], keywords=[]) if not _is_starred(module):
            owner, _, name = (source.names.qualified(built) or "").rpartition(".")
            call = _call(source, name, module) if owner in ("torch.nn", "torch.nn.modules") else None
            if call is not None:
                functional = imported(source, "torch.nn.functional")
                function, arguments = call
                text = f"{functional.name}.{function}({', '.join([source.slice(given), *arguments])})"
                yield Fix(f"Call {functional.name}.{function}", (*functional.changes, source.replaced(node, text)))


def _call(source: Source, name: str, module: ast.Call) -> tuple[str, list[str]] | None:
    """The function that a module stands for, and what it takes after the input; None if there is none."""
    named = [f"{keyword.arg}={source.slice(keyword.value)}" for keyword in module.keywords]
    arguments = [*map(source.slice, module.args), *named]
    if name in _FUNCTIONS:
        return _FUNCTIONS[name], arguments
    kind = name[:-2] if name[-2:] in ("1d", "2d", "3d") else ""
    is_listed = bool(module.args) and isinstance(module.args[0], ast.Tuple | ast.List)
    if kind not in _PADDING or not is_listed or module.keywords:
        return None
    padding, *value = arguments
    mode = [f'mode="{_PADDING[kind]}"'] if _PADDING[kind] else []
    return "pad", [padding, *(f"value={text}" for text in value), *mode]


def _is_starred(call: ast.Call) -> bool:
    return any(isinstance(argument, ast.Starred) for argument in call.args) or any(
        keyword.arg is None for keyword in call.keywords
    )
