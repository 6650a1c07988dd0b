"""Which failures to believe: those that would be there however the module is built."""

from __future__ import annotations

import traceback
from typing import Any

from fxcore.failures import FailureKind, TraceFailure
from fxcore.node import Node
from fxcore.proxy import Proxy

from .build import Built
from .made_up import MadeUp
from .messages import Intent
from .places import Belongs, causes
from .stubs import Stub, shaped, touched


def missing_part(root: object = None, error: BaseException | None = None) -> str | None:
    """Why nothing is known of ``root``: what is missing had a part in it. None where nothing had.

    ``error`` is what its build or its trace ended in.
    """
    name = touched() or shaped(root) or _handled(error)
    return None if name is None else f"`{name}` had a part in it, which is missing"


def _handled(error: BaseException | None) -> str | None:
    """The name of a stub that one of the functions had at hand by which ``error`` came."""
    for cause in causes(error, stated=True):
        for frame, _ in traceback.walk_tb(cause.__traceback__):
            for value in frame.f_locals.values():
                if isinstance(value, Stub) and frame.f_locals is not frame.f_globals:
                    return repr(value)
    return None


def doubt(error: BaseException, built: Built, intent: Intent, belongs: Belongs) -> str | None:
    """Why a trace that ended in ``error`` says nothing of the program; None where it does.

    What a traced value refused, it refuses however the module was built, and what a library refused that it was handed
    to. What the program itself raised may owe itself to arguments that were made up for it, unless a name is not
    defined. ``belongs`` says which files are the program's.
    """
    cause = error.__cause__ or error
    raised_by_program = not isinstance(error, TraceFailure) or error.kind is FailureKind.EXCEPTION
    if raised_by_program and intent != "explicit" and _is_left_to_subclasses(cause, built.root):
        return "it leaves something to its subclasses"
    if not built.recipe.made_up:
        return None
    if raised_by_program and not isinstance(cause, NameError) and not _refused_by_library(cause, belongs):
        return f"it raises {type(cause).__name__}, to which the arguments that were made up for it may be to blame"
    if isinstance(error, TraceFailure) and _comes_from_made_up(error.node, built.root):
        return "it depends on what a module returns that was made up for it"
    return None


def _is_left_to_subclasses(error: BaseException, root: Any) -> bool:
    return isinstance(error, NotImplementedError | AttributeError) and bool(type(root).__subclasses__())


def _refused_by_library(error: BaseException, belongs: Belongs) -> bool:
    """Whether it was raised by a library that the program had handed a traced value to."""
    handed = False
    for frame, _ in traceback.walk_tb(error.__traceback__):
        name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if belongs(frame.f_code.co_filename):
            handed = False
        elif name not in ("torch", "fxcore", "fx_lsp"):
            handed = handed or any(isinstance(value, Proxy) for value in frame.f_locals.values())
    return handed


def _comes_from_made_up(node: Node | None, root: Any) -> bool:
    """Whether the value is what a made-up module returned, or an item of that."""
    while node is not None and node.op == "call_function" and node.all_input_nodes:
        node = node.all_input_nodes[0]
    return node is not None and node.op == "call_module" and isinstance(root.get_submodule(str(node.target)), MadeUp)
