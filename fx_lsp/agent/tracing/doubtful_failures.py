"""Decides which failures to believe: those that would occur however the module is built."""

from __future__ import annotations

import ast
import contextlib
import inspect
import itertools
import linecache
import re
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

import torch

import fxcore
from fx_lsp.agent.building.build import Built
from fx_lsp.agent.building.impossible_calls import reads_absent_attribute
from fx_lsp.agent.frame_code import conjuncts, is_at, names_in, tree_of, value_of
from fx_lsp.agent.importing.stand_ins import (
    StandIn,
    StandInBase,
    is_only_a_stand_in,
    missing_parts,
    star_imported,
)
from fx_lsp.agent.importing.tried_imports import tried_import
from fx_lsp.agent.inventing.error_words import in_plain_words, is_about_invented
from fx_lsp.agent.inventing.invented_values import (
    InventedHolder,
    InventedModule,
    NamedInventedModule,
    is_invented,
    may_be_no_tensor,
)
from fx_lsp.agent.messages import Failure, Intent
from fx_lsp.agent.missing.missing_modules import MissingFunction, MissingModule, RefusingFunction
from fx_lsp.agent.missing.missing_uses import (
    called_stand_ins,
    context_managers,
    decorators,
    used_stand_in,
    wrappers_in_trace,
)
from fx_lsp.agent.missing.missing_weights import NoWeights, weights_are_missing
from fx_lsp.agent.traceback_steps import Belongs, causes, chain_of_error, describe, told
from fx_lsp.agent.tracing.lacking_setup import OF_SUBCLASSES, lacking_setup
from fxcore.failures import FailureKind, TraceFailure
from fxcore.graph import Graph
from fxcore.node import Node
from fxcore.proxy import Attribute, Proxy
from fxcore.source import SourceSpan
from fxcore.source.syntax import text_at

MISSING_VALUE = "it depends on a value from a missing package"


def is_about_stand_in(message: str) -> bool:
    """Whether an error names what stands in for a missing package: ``argument 'input' must be Tensor, not StandIn``."""
    return StandIn.__name__ in message or NoWeights.__name__ in message


def missing_dependency(
    root: object = None, error: BaseException | None = None, *, building: bool = False
) -> str | None:
    """Why nothing is known about ``root``: it depends on something that is missing. None if nothing is missing.

    ``error`` is the error that ended its trace or, with ``building``, its build.
    """
    name = used_stand_in()
    if name is None and error is not None:  # a decorator may change what a function gets and returns, for example
        is_refused = isinstance(error, TraceFailure) and error.kind is not FailureKind.EXCEPTION
        name = next(iter(wrappers_in_trace() if is_refused else [*decorators(), *context_managers()]), None)
    if name is None and isinstance(root, StandInBase) and is_only_a_stand_in(root):
        name = root._name
    if name is None and star_imported and any(type(cause) is NameError for cause in causes(error)):
        name = next(iter(star_imported))  # which may define the name
    name = name or _handled(error, (*_VALUES, MissingModule, StandInBase) if building else _VALUES)
    if name is None and (tried := tried_import(error)):
        name = tried.source
    if name is None and any(is_about_stand_in(str(cause)) for cause in causes(error, stated=True)):
        return MISSING_VALUE
    return None if name is None else is_missing(name)


def is_missing(name: str) -> str:
    """The reason for giving no verdict on what depends on ``name``."""
    if ".from_pretrained(" in name:
        return f"it depends on what `{name}` loads, which is not available"
    return f"it depends on `{name}`, which is missing"


def undecided_call() -> str | None:
    """Why nothing can be said about a program that was traced to its end: it calls a missing function.

    It may also call a function of its own that has a missing decorator.
    """
    if names := decorators():
        return is_missing(names[0])
    functions, _ = called_stand_ins()
    return f"it calls `{functions[0]}`, which is missing" if functions else None


def looks_up_in_invented(graph: Graph, tensors: Mapping[Any, str], root: object) -> bool:
    """Whether a program looks up traced keys in a value that need be no tensor, although fx-lsp has invented one.

    An object of the program's own, or a list, may refuse the keys. ``tensors`` are the tensors of the graph that are
    no parameters, with their names. What is a buffer, or has a method of tensors called, is a tensor.
    """
    buffers = {name for name, _ in root.named_buffers()} if isinstance(root, torch.nn.Module) else set()
    guesses = {name for tensor, name in tensors.items() if may_be_no_tensor(tensor)} - buffers
    users: dict[Any, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        if node.op == "get_attr" and node.target in guesses:
            users[node.target] += node.users
    return any(used and all(map(_is_lookup, used)) for used in users.values())


def _is_lookup(node: Node) -> bool:
    return bool(node.op == "call_method" and node.target == "__getitem__")


def condition_of(root: object) -> str:
    """The condition under which ``root`` can be traced: "if …" or "up to …"; empty if there is no condition."""
    missing, above = missing_parts(root)
    _, objects = called_stand_ins()
    modules, bases = (
        ", ".join(f"`{name}`" for name in names) for names in (dict.fromkeys([*missing, *objects]), above)
    )
    looked = f"up to {modules} (missing, so not looked into)" if modules else ""
    parts = list(root.modules()) if isinstance(root, torch.nn.Module) else []
    is_configured = any(isinstance(part, NamedInventedModule) for part in parts)
    named = "up to modules that its configuration names, which fx-lsp does not know" if is_configured else ""
    holders = ", ".join(f"`{part._path}`" for part in parts if isinstance(part, InventedHolder))
    held = f"if what it calls of {holders} is a function or a registered module" if holders else ""
    based = f"if {bases} (missing) does no more than nn.Module" if bases else ""
    names = ", ".join(f"`{name}`" for name in context_managers())
    wrapped = f"if {names} (missing) does not change what the code that it wraps does" if names else ""
    return " and ".join(filter(None, (looked, named, held, based, wrapped)))


_VALUES: tuple[type, ...] = (StandIn, NoWeights)


def _handled(error: BaseException | None, kinds: tuple[type, ...]) -> str | None:
    """The name of a stand-in among the local variables of the frames that raised ``error``; None if there is none.

    Also None if a function has refused a traced value that does so whatever the variables are.
    """
    if any(_is_certain_refusal(cause) for cause in causes(error, stated=True)):
        return None
    for cause in causes(error, stated=True):
        for frame, _ in traceback.walk_tb(cause.__traceback__):
            for value in frame.f_locals.values():
                if isinstance(value, kinds) and frame.f_locals is not frame.f_globals:
                    return value._name if isinstance(value, StandInBase) else repr(value)
    return None


def _is_certain_refusal(error: BaseException) -> bool:
    """Whether a missing function raised ``error`` that accepts no traced values."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and isinstance(frames[-1].f_locals.get("self"), RefusingFunction)


def reason_for_doubt(
    error: BaseException, built: Built, intent: Intent, belongs: Belongs, folders: Sequence[str] = ()
) -> str | None:
    """Why a trace that ended in ``error`` says nothing about the program; None if the failure is certain.

    An operation that a traced value refuses, or that a library refuses for a traced value, fails however the module was
    built. An error that the program itself raises may be due to arguments that fx-lsp invented, or to weights that
    could not be loaded, unless the error is an undefined name, or an attribute that nothing sets. ``belongs`` says
    which files are the program's; ``folders`` are the workspace's.
    """
    cause = error.__cause__ or error
    raised_by_program = (
        not isinstance(error, TraceFailure) or error.kind is FailureKind.EXCEPTION or _refuses_plain_value(error)
    )
    is_unimplemented = isinstance(cause, NotImplementedError | AttributeError) and type(built.root).__subclasses__()
    if raised_by_program and intent != "explicit" and is_unimplemented:
        return OF_SUBCLASSES
    if raised_by_program and intent != "explicit" and (reason := lacking_setup(cause, belongs)):
        return reason
    if isinstance(error, TraceFailure) and (missing := _missing_part(error, built.root)):
        return f"it depends on the result of `{missing}`, which is missing"
    refused = _refused_by_class(cause, belongs)
    if missing := next(filter(None, (missing_behind(value.node, built.root) for value in refused)), None):
        return f"it depends on the result of `{missing}`, which is missing"
    may_be_missing = raised_by_program and not refused and not _is_undefined_name(cause)
    if may_be_missing and (called := next(itertools.chain(*called_stand_ins()), None)):
        return f"it raises {_told(cause, belongs)}, possibly because `{called}` is missing"
    modules, bases = missing_parts(built.root)
    made = [name for name in modules if name.endswith(("]", ")"))]  # by a function: what kind of modules is not known
    if may_be_missing and (absent := [*made, *bases]):
        return f"it raises {_told(cause, belongs)}, possibly because `{absent[0]}` is missing"
    if not built.recipe.made_up and not weights_are_missing():
        return None
    refuses = _refused_by_library(cause, belongs) or _refuses_symbols(cause, belongs) or _REFUSED_BY_TORCH in str(cause)
    is_certain = isinstance(cause, NameError) or bool(refused) or refuses
    if raised_by_program and not is_certain and not _lacks_attribute(cause, built.root, belongs, folders):
        blamed = "the arguments that fx-lsp invented" if built.recipe.made_up else "weights that could not be loaded"
        return f"it raises {_told(cause, belongs)}, possibly because of {blamed}"
    if built.recipe.made_up and is_about_invented(error):
        return "it passes a value that fx-lsp invented to an operation; a graph may be able to hold the real value"
    if built.recipe.made_up and _calls_method_of_plain_value(cause, belongs):
        return "it calls a method of a value that fx-lsp invented"
    return _doubt_about_modules(error, refused, built.root)


def reason_for_doubt_behind(failure: TraceFailure, built: Built, intent: Intent, belongs: Belongs) -> str | None:
    """Why nothing is known about a ``failure`` behind the first one; None if it is certain. See `reason_for_doubt`.

    Arguments are invented for the way to the first failure. What the program looks up behind it with a traced value
    may be a list only because fx-lsp has invented one; the items of a tensor would be traced.
    """
    if built.recipe.made_up and failure.kind is FailureKind.CONVERSION and _is_lookup_at(failure.span):
        return "it looks up an input in a value that fx-lsp may have invented"
    return reason_for_doubt(failure, built, intent, belongs)


def _is_lookup_at(span: SourceSpan | None) -> bool:
    """Whether the expression at ``span`` is of the form ``values[index]``."""
    try:
        tree = ast.parse(f"({text_at(span)})", mode="eval") if span is not None else None
    except SyntaxError:
        return False
    return tree is not None and isinstance(tree.body, ast.Subscript)


def _doubt_about_modules(error: BaseException, refused: Sequence[Proxy], root: Any) -> str | None:
    """Why a trace says nothing that ended with ``error`` at a module that fx-lsp invented, or at what it returned.

    ``refused`` are the traced values that an ``assert`` refuses.
    """
    failure = error if isinstance(error, TraceFailure) else None
    if failure is not None and is_invented(_unregistered(failure)):
        return "it calls a module that fx-lsp invented; if the real module is registered, that call would be traced"
    nodes: list[Node | None] = [value.node for value in refused] or [failure.node if failure is not None else None]
    sources: Iterable[object] = itertools.chain.from_iterable(_sources(node, root) for node in nodes)
    if str(error.__cause__ or error).startswith(_NO_CONTEXT) and isinstance(root, torch.nn.Module):
        sources = root.modules()  # the error does not have the value, which any of them may have returned
    if any(isinstance(source, InventedModule) for source in sources):
        return "it depends on the output of a module that fx-lsp invented"
    return None


def _unregistered(failure: TraceFailure) -> object:
    """The module that was called although it is no submodule of the traced one; None for any other failure."""
    search = fxcore.Tracer.path_of_module.__code__
    frames = (frame for frame, _ in traceback.walk_tb(failure.__traceback__) if frame.f_code is search)
    return next((frame.f_locals["mod"] for frame in frames), None)


def _told(error: BaseException, belongs: Belongs) -> str:
    """An error with its place, in words that name nothing of fx-lsp's own."""
    return told(Failure("", describe(in_plain_words(error, ())), chain_of_error(error, belongs)))


def _lacks_attribute(error: BaseException, root: object, belongs: Belongs, folders: Sequence[str]) -> bool:
    """Whether the program always reads an attribute that no instance ever gets."""
    forward = getattr(getattr(root, "forward", None), "__code__", None)
    if forward is None or not isinstance(error, AttributeError):
        return False
    return reads_absent_attribute(forward, error, belongs, folders)


def _is_undefined_name(error: BaseException) -> bool:
    """Whether ``error`` says that a module defines no such name, which no value that is missing can change."""
    return type(error) is NameError and str(error).startswith("name ")


def _refuses_plain_value(error: TraceFailure) -> bool:
    """Whether a value was refused that is not traced, such as the float in ``range(0.5)``, wherever symbols are."""
    is_plain = _REFUSED.search(str(error.__cause__ or error)) is not None
    return error.kind is FailureKind.FOREIGN_CALL and error.node is None and is_plain


_PLAIN = "(?:bool|int|float|str|list|tuple|dict|set|NoneType)"
_REFUSED = re.compile(
    rf"^'{_PLAIN}' object |non-empty (?:list|TensorList)|must be (?:tuple of )?Tensors?, not {_PLAIN}$|"
    rf"expected Tensor as element \d+ in argument \d+, but got {_PLAIN}$"
)
"""Python's messages about a value of a built-in type, and torch's about a list without items, and about a value of a
built-in type that should be a tensor."""


_REFUSED_BY_TORCH = "using FX to symbolically trace"
"""In torch's message about a compiled function, which it never lets a tracer follow."""


def _refused_by_library(error: BaseException, belongs: Belongs) -> bool:
    """Whether ``error`` was raised by a library to which the program had passed a traced value."""
    handed = False
    for frame, _ in traceback.walk_tb(error.__traceback__):
        name = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if belongs(frame.f_code.co_filename):
            handed = False
        elif name not in ("torch", "fxcore", "fx_lsp"):
            handed = handed or any(map(_has_proxy, frame.f_locals.values()))
    return handed


def _has_proxy(value: object) -> bool:
    """Whether ``value`` is a traced value, or a container of values with a traced value, such as ``*args``."""
    if type(value) in (list, tuple, dict):
        items = value.values() if isinstance(value, dict) else value
        return any(isinstance(item, Proxy) for item in items)  # type: ignore[attr-defined]
    return isinstance(value, Proxy)


_NO_CONTEXT = f"'{Proxy.__name__}' object does not support the context manager protocol"
"""The beginning of Python's message about a traced value in a ``with`` statement."""


def _refuses_symbols(error: BaseException, belongs: Belongs) -> bool:
    """Whether the program itself raised ``error`` because of traced values.

    That is assumed if a TypeError, or what ``assert isinstance(…)`` raised, names their type in its message; if a
    TypeError shows one whose type the function that raised it asks for; if a ``with`` statement, as in
    ``with graph.local_scope():``, raised it since they are no context managers; or if all parameters of the function
    that raised it, or all variables in the test of the ``if`` or ``elif`` that decides about the ``raise``, are traced
    values.
    """
    frame, line = _raised_at(error)
    if frame is None or not belongs(frame.f_code.co_filename):
        return False
    statement = linecache.getline(frame.f_code.co_filename, line)
    is_about_type = isinstance(error, TypeError) or (isinstance(error, AssertionError) and "isinstance(" in statement)
    named = f"{Proxy.__module__}.{Proxy.__qualname__}'" in str(error)
    if is_about_type and (named or str(error).startswith(_NO_CONTEXT)):
        return True
    if isinstance(error, TypeError) and _shows_what_it_asked(error, frame, line):
        return True
    code, names = frame.f_code, frame.f_locals
    given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    is_open = bool(code.co_freevars or code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS))
    asked = [] if is_open else [set(given)]
    asked += [{name for name in _names_in(test) if name in names} for test in _tests_around(code, line)]
    return any(group and all(isinstance(names.get(name), Proxy) for name in group) for group in asked)


def _shows_what_it_asked(error: TypeError, frame: FrameType, line: int) -> bool:
    """Whether the message of ``error`` shows a traced value of which the function that raised it asks the type.

    No ``if`` around the ``raise`` may be about anything else.
    """
    names = []
    for node in _nodes(frame.f_code):
        match node:
            case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name(id=name), *_]):
                names.append(name)
    values = {name: value for name, value in frame.f_locals.items() if isinstance(value, Proxy)}
    shown = any(name in values and repr(values[name]) in str(error) for name in names)
    around = {name for test in _tests_around(frame.f_code, line) for name in _names_in(test) if name in frame.f_locals}
    return shown and around <= values.keys()


def _raised_at(error: BaseException) -> tuple[FrameType | None, int]:
    """The frame that raised ``error``, if any, and the line."""
    *_, last = [(None, 0), *traceback.walk_tb(error.__traceback__)]
    return last


def _calls_method_of_plain_value(error: BaseException, belongs: Belongs) -> bool:
    """Whether the line that failed passes a traced value to a method of a text or number that has a name.

    The real value may be an object: ``self.model.encode(x)``.
    """
    steps = [step for step in traceback.walk_tb(error.__traceback__) if belongs(step[0].f_code.co_filename)]
    for frame, line in steps[-1:]:
        names = names_in(frame, line)
        calls = (node for node in _nodes(frame.f_code) if isinstance(node, ast.Call) and _is_around(node, line))
        for call in calls:
            match call.func:
                case ast.Attribute(ast.Name() | ast.Attribute() as owner):
                    with contextlib.suppress(Exception):
                        passed = any(isinstance(names.get(name), Proxy) for name in _names_in(call))
                        if passed and isinstance(value_of(owner, names), str | int | float):
                            return True
    return False


def _is_around(node: ast.expr, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or line)


def _refused_by_class(error: BaseException, belongs: Belongs) -> list[Proxy]:
    """The traced values that the program's ``assert`` refuses because of their class, if it does that."""
    frame, line = _raised_at(error)
    if not isinstance(error, AssertionError) or frame is None or not belongs(frame.f_code.co_filename):
        return []
    names = names_in(frame, line)
    for test in [node.test for node in _nodes(frame.f_code) if isinstance(node, ast.Assert) and is_at(node, line)]:
        for part in conjuncts(test):
            if refused := _no_tensor(part, names) or _no_instance(part, names):
                return refused
    return []


def _no_instance(test: ast.expr, names: dict[str, Any]) -> list[Proxy]:
    """The traced values that ``test`` refuses since they are of another class, or not None.

    In an ``or``, each operand must refuse one.

    Of an attribute, that is the value that has it: its own node may not have been made.
    """
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        refused = [_no_instance(part, names) for part in test.values]
        return list(itertools.chain.from_iterable(refused)) if all(refused) else []
    match test:
        case ast.Call(func=ast.Name(id="isinstance"), args=[ast.Name() | ast.Attribute() as asked, classes]):
            with contextlib.suppress(BaseException):  # an invented value may raise `Misused`, which is not an Exception
                value = value_of(asked, names)
                if isinstance(value, Proxy) and not isinstance(value, value_of(classes, names)):
                    return [value.root if isinstance(value, Attribute) else value]
        case ast.Compare(left=ast.Name(id=name), ops=[ast.Is()], comparators=[ast.Constant(value=None)]):
            value = names.get(name)
            return [value] if isinstance(value, Proxy) else []
    return []


def _no_tensor(test: ast.expr, names: dict[str, Any]) -> list[Proxy]:
    """The traced value, if any, that ``test`` asks `torch.is_tensor` about, which would hold for a tensor.

    Of an ``or``, one operand that asks so is enough.
    """
    is_or = isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or)
    for part in test.values if isinstance(test, ast.BoolOp) and is_or else [test]:
        match part:
            case ast.Call(func=ast.Attribute() | ast.Name() as called, args=[ast.Name(id=name)], keywords=[]):
                with contextlib.suppress(Exception):
                    if value_of(called, names) is torch.is_tensor and isinstance(value := names[name], Proxy):
                        return [value]
    return []


def _nodes(code: CodeType) -> list[ast.AST]:
    """The syntax of a function; empty if its source is not known."""
    return list(ast.walk(tree_of(code) or ast.Module([], [])))


def _tests_around(code: CodeType, line: int) -> list[ast.expr]:
    """The test of each ``if`` that has the ``raise`` at ``line`` as a statement of its body or of its ``else``."""
    branches = [node for node in _nodes(code) if isinstance(node, ast.If)]
    return [
        node.test
        for node in branches
        for statement in (*node.body, *node.orelse)
        if isinstance(statement, ast.Raise) and is_at(statement, line)
    ]


def _names_in(node: ast.AST) -> set[str]:
    """The names in an expression."""
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}


def _missing_part(error: TraceFailure, root: Any) -> str | None:
    """The missing class or function behind ``error``: its result was refused, or its instance is not a submodule."""
    if missing := missing_behind(error.node, root):
        return missing
    return _handled(error, (MissingModule,)) if error.kind is FailureKind.NOT_A_SUBMODULE else None


def missing_behind(node: Node | None, root: Any) -> str | None:
    """The missing class or function that returned a node's value, or a value that it was computed from; or None."""
    return next(
        (repr(part) for part in _sources(node, root) if isinstance(part, (MissingModule, MissingFunction))), None
    )


def _sources(node: Node | None, root: Any) -> Iterator[object]:
    """The modules and functions that returned a node's value, or the values from which functions computed it.

    Calls of a tensor's methods are not followed: a program that calls one knows what kind of object it has.
    """
    waiting, seen = [node] if node is not None else [], set()
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if node.op == "call_function":
            yield node.target
            waiting += node.all_input_nodes
        elif node.op == "call_method" and not _is_of_tensors(str(node.target)):
            waiting += node.all_input_nodes[:1]
        elif node.op == "call_module" and isinstance(root, torch.nn.Module):
            with contextlib.suppress(AttributeError):  # exploring records modules that are not registered, too
                yield root.get_submodule(str(node.target))


def _is_of_tensors(method: str) -> bool:
    """Whether a program that calls a method of this name has a tensor; ``values`` is rather that of a dictionary."""
    return hasattr(torch.Tensor, method) and method != "values"
