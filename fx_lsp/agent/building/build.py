"""Builds a target: runs its recipe in the namespace of the imported file, and avoids allocating weights if possible."""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import CodeType, FunctionType
from typing import Any, Literal

import torch

import fxcore
from fx_lsp.agent.building.custom_tracer import tracer_for
from fx_lsp.agent.building.program_setup import set_up
from fx_lsp.agent.importing.tried_imports import tried_import
from fx_lsp.agent.inventing.argument_synthesis import invent_arguments
from fx_lsp.agent.inventing.error_words import is_about_invented
from fx_lsp.agent.inventing.invented_values import InventedModule
from fx_lsp.agent.inventing.written_settings import written_settings
from fx_lsp.agent.messages import Recipe, Snippet, Span, Target
from fx_lsp.agent.missing.device_redirection import Devices
from fx_lsp.agent.missing.missing_modules import MissingModule, RefusingModule
from fx_lsp.agent.missing.missing_weights import lacks_file, without_weights
from fx_lsp.agent.missing.named_files import configuration_files, with_named_files
from fx_lsp.agent.missing.process_group import lacks_process_group, lacks_variable, make_process_group, set_variables
from fx_lsp.agent.random_seeds import seed
from fxcore.failures import FailureKind, TraceFailure

MOST_SET_UP = 3
"""How often something is provided for one build."""


@dataclass(frozen=True)
class Built:
    """What was built from a recipe, and how to trace it."""

    root: Any
    concrete_args: Any
    tracer: Any
    recipe: Recipe
    shown: str
    """The Python expression that built the root."""
    has_invented_tensors: bool = False
    """Whether the root was built with tensors that fx-lsp invented."""


def build_target(
    target: Target, file: str, namespace: dict[str, Any], folders: Sequence[str], *, on_meta: bool
) -> Built:
    """Build the first of the target's recipes that works.

    If no recipe works, this raises the error of the first one. With ``on_meta``, an error is raised at once if the
    recipe may work on the CPU.
    """
    first: Exception | None = None
    before = dict(namespace)
    for recipe in (target.recipe, *target.fallbacks):
        try:
            make = partial(build, recipe, file, namespace, folders, on_meta=on_meta)
            built = _with_set_up(partial(with_named_files, partial(without_weights, make), folders))
            cls = namespace.get(target.symbol or "")
            if recipe.is_host:
                built = replace(part_of(built, cls), concrete_args=built.concrete_args)
            if recipe.file and isinstance(cls, type) and not isinstance(built.root, cls):
                raise TypeError(f"{recipe.root.source} does not create an instance of {target.symbol}")
            return built
        except Exception as error:
            if on_meta and not lacks_file(error.__cause__ or error):
                raise
            first = first or error
            # What the recipe has set up may hide a class of the file from the next recipe.
            for name in namespace.keys() - before.keys():
                del namespace[name]
            namespace.update(before)
    assert first is not None
    raise first


def directed(built: Built, recipe: Recipe, file: str, namespace: dict[str, Any]) -> Built:
    """What was ``built``, to be traced as the directives say that ``recipe`` has, evaluated in the file's namespace."""
    concrete_args, tracer, leaves = (
        _value(said, file, namespace) for said in (recipe.concrete_args, recipe.tracer, recipe.leaves)
    )
    for part in built.root.modules() if isinstance(built.root, torch.nn.Module) else ():
        if isinstance(part, RefusingModule):
            part.refuses = not (tracer or leaves)  # otherwise it may be among the leaves
    tracer = tracer_for(tracer, (*(leaves or ()), InventedModule, MissingModule))
    return replace(built, concrete_args=concrete_args, tracer=tracer)


def part_of(host: Built, cls: Any, *, of_heirs: bool = False) -> Built:
    """The first submodule of ``host`` whose class is ``cls``, or else ``host`` if it has that class.

    ``of_heirs``: a module whose class inherits its ``forward`` from ``cls`` is wanted instead. Raises `LookupError` if
    there is none.
    """
    first, *below = host.root.named_modules() if isinstance(host.root, torch.nn.Module) else [("", host.root)]
    for path, part in (*below, first):
        if inherits_forward(type(part), cls) if of_heirs else type(part) is cls:
            indexed = re.sub(r"\.(\d+)", r"[\1]", f".{path}") if path else ""  # `.layers[0].attn` for `layers.0.attn`
            recipe = replace(host.recipe, inputs=None)  # these are the host's
            return replace(host, root=part, concrete_args=None, recipe=recipe, shown=f"{host.shown}{indexed}")
    raise LookupError(f"{host.shown} has no submodule of the class {getattr(cls, '__name__', cls)}")


def inherits_forward(heir: Any, cls: Any) -> bool:
    """Whether ``heir`` is a subclass of the module class ``cls`` with the same ``forward``."""
    if not isinstance(cls, type) or heir is cls or not issubclass(heir, cls) or not issubclass(cls, torch.nn.Module):
        return False
    return heir.forward is cls.forward and cls.forward is not torch.nn.Module.forward


def _with_set_up(make: Callable[[], Built]) -> Built:
    """Return what ``make`` builds, providing a process group or globals that the program sets up before it needs them.

    Globals that it tried to import in vain get stand-ins.

    Nothing is provided before ``make`` fails for lack of it, so that a program that checks whether it is there gets the
    true answer.
    """
    for _ in range(MOST_SET_UP):
        try:
            return make()
        except Exception as error:
            if not _provided(error):
                raise
    return make()


def _provided(error: Exception) -> bool:
    """Whether what the program lacked could be provided."""
    try:
        if lacks_variable(error):
            set_variables()
            return True
        if not lacks_process_group(error):
            tried = tried_import(error)
            return tried.provide() if tried else set_up(error)
        make_process_group()
    except Exception:
        return False
    return True


def build(recipe: Recipe, file: str, namespace: dict[str, Any], folders: Sequence[str] = (), *, on_meta: bool) -> Built:
    """Run the recipe: in the file's own ``namespace``, or in a new one if the recipe comes from another file.

    It begins with the same random numbers each time, however often building was tried before.

    Raises what the user's code raises; the frames of a snippet have the file's name and lines. Raises `CannotInvent` if
    arguments have to be invented and no arguments work. ``folders`` are the workspace's.
    """
    seed()
    at, names = (recipe.file, {"__name__": "<recipe>"}) if recipe.file else (file, namespace)
    with Devices(on_meta=on_meta):
        for snippet in recipe.setup:
            exec(_compile(snippet, at, "exec"), names)
        root = _value(recipe.root, at, names)
        built = directed(Built(root, None, None, recipe, recipe.root.source), recipe, file, namespace)
    if recipe.made_up and isinstance(root, type | FunctionType):
        known = vars(sys.modules[root.__module__]) if recipe.file else namespace
        written = partial(written_settings, owner=root.__name__, folders=folders, near=at)
        files = partial(configuration_files, folders=folders, near=at)
        traced = partial(own_error, built.tracer, built.concrete_args)
        made = invent_arguments(root, known, traced, written, files, on_meta=on_meta)
        return replace(built, root=made.root, shown=made.shown, has_invented_tensors=made.has_tensors)
    return built


def own_error(tracer: fxcore.Tracer, concrete_args: Any, root: Any) -> Exception | None:
    """The program's own error that ends the trace of ``root``; None if the trace ends in any other way."""
    seed()
    try:
        tracer.trace(root, concrete_args)
    except TraceFailure as failure:
        # Calling something that is not callable is the program's own error, even if an argument is a traced value; so
        # is counting to something that is no integer, if it is not a traced value.
        text = str(failure.__cause__)
        refuses_plain = "object cannot be interpreted as an integer" in text and failure.node is None
        own = failure.kind is FailureKind.EXCEPTION or "object is not callable" in text or refuses_plain
        if is_about_invented(failure):  # what it passes to an operation may be a value that a graph can hold
            return failure
        return failure.__cause__ if own else None  # type: ignore[return-value]
    except Exception as error:
        return error
    return None


def span_of(recipe: Recipe, file: str) -> Span:
    """The span of the first line of the recipe's root, in ``file`` unless the recipe names another file."""
    snippet, file = recipe.root, recipe.file or file
    first = snippet.source.split("\n")[0]
    column = _column(first, linecache.getline(file, snippet.line))
    return Span(file, snippet.line, column, snippet.line, column + len(first.encode()))


def _value(snippet: Snippet | None, file: str, namespace: dict[str, Any]) -> Any:
    return None if snippet is None else eval(_compile(snippet, file, "eval"), namespace)


def _compile(snippet: Snippet, file: str, mode: Literal["exec", "eval"]) -> CodeType:
    """Compile the snippet to code with the lines and columns that the snippet has in the file."""
    tree: ast.Module | ast.Expression = ast.parse(snippet.source, file, mode)  # type: ignore[assignment]
    column = _column(snippet.source.split("\n")[0], linecache.getline(file, snippet.line))
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt | ast.keyword | ast.arg | ast.alias):
            if node.lineno == 1:
                node.col_offset = max(node.col_offset + column, 0)
            if node.end_lineno == 1 and node.end_col_offset is not None:
                node.end_col_offset = max(node.end_col_offset + column, 0)
    ast.increment_lineno(tree, snippet.line - 1)
    return compile(tree, file, mode)


def _column(source: str, line: str) -> int:
    """The column of ``source`` in ``line``; 0 if it is not there.

    If ``line`` has the parentheses of ``source`` but not the name before them, the result is the column that aligns the
    parentheses.
    """
    name = "" if source in line else source.partition("(")[0]
    at = line.find(source.removeprefix(name))
    return len(line[:at].encode()) - len(name.encode()) if at >= 0 else 0
