"""Where torch.fx fails on a program, one place after the other: the truth that `recall.py` compares fxcore with.

A tracer of the installed torch.fx's, made concolic: beside each symbol it keeps the value that a real run computes, and
wherever torch.fx would give up, the place is noted and the real run's answer is taken. Nothing here uses fxcore.

What is answered: tensors stay symbols, everything else is the value itself, and the items of something that is iterated
are symbols. C functions that refuse a symbol can't be caught by the symbol. So the libraries' calls and subscripts are
rewritten when they are imported, each into a call of a function here, which tries, notes, and answers.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import dis
import importlib.machinery
import inspect
import sys
import traceback
from collections.abc import Callable, ItemsView, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch
import torch.fx
from torch.fx.proxy import Attribute, Proxy
from torch.utils import _pytree as pytree

Place = tuple[str, int, int]
"""File, line from 1, and column of the first byte from 0."""

_TORCH = str(Path(torch.__file__).parent / "_")[:-1]
_NOT_THE_USERS = (_TORCH, __file__, contextlib.__file__, "<frozen")
_MOST_EVENTS = 100_000


class Stuck(BaseException):
    """The run can't go on: a value is asked for that the real run didn't compute."""


class Again(BaseException):
    """The run is to begin anew, knowing more."""


# Places.


def place_of(code: CodeType, lasti: int) -> Place:
    """The expression at an instruction; at one that only tests or iterates, the expression whose value it takes."""
    while dis.opname[code.co_code[lasti]].startswith(("POP_JUMP", "JUMP_IF", "GET_ITER", "UNARY_NOT", "CACHE", "COPY")):
        before = _position(code, lasti - 2)
        if before is None or lasti < 2:
            break
        lasti -= 2
    found = _position(code, lasti)
    return (code.co_filename, *(found or (code.co_firstlineno, 0)))


def _position(code: CodeType, lasti: int) -> tuple[int, int] | None:
    positions: Any = code.co_positions  # type: ignore[attr-defined]
    line, _, column, _ = list(positions())[lasti // 2]
    return None if line is None or column is None else (line, column)


def _is_users(code: CodeType) -> bool:
    return not code.co_filename.startswith(_NOT_THE_USERS)


def running_place() -> Place | None:
    """Where the innermost of the user's running functions stands."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not _is_users(frame.f_code):
        frame = None if frame.f_code is _trace_code else frame.f_back
    return None if frame is None else place_of(frame.f_code, frame.f_lasti)


def raised_place(error: BaseException) -> Place | None:
    """Where the innermost of the user's functions stood that an exception went through."""
    found = None
    at = error.__traceback__
    while at is not None:
        if _is_users(at.tb_frame.f_code):
            found = at
        at = at.tb_next
    return None if found is None else place_of(found.tb_frame.f_code, found.tb_lasti)


def place_of_return(root: torch.nn.Module) -> Place:
    """The ``return`` of a module's forward: torch.fx names no place where it can't keep what that returns."""
    code = type(root).forward.__code__
    returns = [at.offset for at in dis.get_instructions(code) if at.opname == "RETURN_VALUE"]
    return place_of(code, returns[-1])


# Symbols.


class _Answers:
    """What a symbol is asked that torch.fx can't answer."""

    tracer: Any
    node: torch.fx.Node

    def __getattr__(self, name: str) -> Any:
        return Reading(self, name)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.tracer.answer(self, "len", len)  # type: ignore[no-any-return]

    def __contains__(self, item: object) -> bool:
        return self.tracer.answer(self, "in", lambda value: self.tracer.real(item) in value)  # type: ignore[no-any-return]

    def __index__(self) -> int:
        return self.tracer.answer(self, "index", lambda value: value.__index__())  # type: ignore[no-any-return]

    def __int__(self) -> int:
        return self.tracer.answer(self, "int", int)  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return self.tracer.answer(self, "float", float)  # type: ignore[no-any-return]

    def __round__(self, digits: int | None = None) -> Any:
        return self.tracer.answer(self, "round", lambda value: round(value, digits))

    def __format__(self, spec: str) -> str:
        return self.tracer.answer(self, "format", lambda value: format(value, spec)) if spec else str(self)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tracer.answer(self, "item assignment", lambda real: real.__setitem__(*self.tracer.real((key, value))))

    def __delitem__(self, key: Any) -> None:
        self.tracer.answer(self, "item deletion", lambda real: real.__delitem__(self.tracer.real(key)))


class Symbol(_Answers, Proxy):
    """A proxy of torch.fx's whose tracer knows the real value."""


class Reading(_Answers, Attribute):
    """The same for a proxy's attribute."""


class Oracle(torch.fx.Tracer):
    """Traces a module and knows, for its ``inputs`` (a value for each parameter by name), what a real run computes."""

    def __init__(self, inputs: dict[str, Any]) -> None:
        super().__init__()
        self.inputs = inputs
        self.sites: dict[Place | None, str] = {}
        """For each place that torch.fx fails at, why; in the order in which they are met."""
        self.gaps: list[str] = []
        """Where what follows couldn't be looked into."""
        self.values: dict[torch.fx.Node, Any] = {}
        self.events = 0
        self.is_real = False
        self.is_probed = False
        """Whether a C function of torch runs: if it gets no answers it refuses the call, and is answered itself."""
        self.checked: set[CodeType] = set()
        """Functions that raised an error of their own, told that symbols are no tensors (then told otherwise)."""

    def run(self, root: torch.nn.Module, concrete_args: dict[str, Any]) -> None:
        """Fill ``sites`` and ``gaps``."""
        self.gaps = []
        _oracles.append(self)
        try:
            self.trace(root, concrete_args)
        except Again:
            self.run(root, concrete_args)
        except Stuck as stuck:
            self.gaps.append(f"ended at {stuck}")
        except Exception as error:
            place = raised_place(error)
            self.note(place or place_of_return(root), f"{type(error).__name__}: {error}")
            if place is not None:
                self.gaps.append(f"ended by {type(error).__name__}: {error}"[:200])
        finally:
            _oracles.pop()

    def note(self, place: Place | None, why: str) -> None:
        """One more failure."""
        self.sites.setdefault(place, why.splitlines()[0][:150])
        self.events += 1
        if self.events > _MOST_EVENTS:
            raise Stuck("too many failures")

    # Values beside the symbols.

    @contextlib.contextmanager
    def really(self) -> Iterator[None]:
        """What runs in the block isn't traced."""
        before, self.is_real = self.is_real, True
        try:
            with torch.no_grad():
                yield
        finally:
            self.is_real = before

    @contextlib.contextmanager
    def probed(self) -> Iterator[None]:
        """In the block symbols answer nothing."""
        before, self.is_probed = self.is_probed, True
        try:
            yield
        finally:
            self.is_probed = before

    def real(self, value: Any) -> Any:
        """``value`` with each symbol in it replaced by what it is. Raises `Stuck` for one that isn't known."""

        def real(leaf: Any) -> Any:
            if isinstance(leaf, slice):
                return slice(*map(real, (leaf.start, leaf.stop, leaf.step)))
            return self.of(leaf.node) if isinstance(leaf, Proxy) else leaf

        return pytree.tree_map(real, value)

    def of(self, node: torch.fx.Node) -> Any:
        """What a node computes. Raises `Stuck` where that isn't known."""
        if node not in self.values:
            raise Stuck(f"{running_place()}: `{node}` ({node.target}) has no value")
        return self.values[node]

    def create_node(self, kind: str, target: Any, args: Any, kwargs: Any, *rest: Any, **more: Any) -> torch.fx.Node:
        """Record, and compute."""
        node = super().create_node(kind, target, args, kwargs, *rest, **more)
        if kind != "output" and target is not answered:
            with contextlib.suppress(Exception, Stuck), self.really():
                reals, real_kwargs = torch.fx.node.map_arg((args, kwargs), self.of)
                self.values[node] = self.compute(kind, target, reals, real_kwargs)
        return node

    def compute(self, kind: str, target: Any, args: Any, kwargs: Any) -> Any:
        """What a node of torch.fx's computes."""
        if kind == "placeholder":
            return self.inputs[target] if target in self.inputs else args[0]
        if kind == "call_method":
            return getattr(args[0], target)(*args[1:], **kwargs)
        if kind == "call_function":
            return target(*args, **kwargs)
        found: Any = self.root
        for name in target.split("."):
            found = getattr(found, name)
        return found if kind == "get_attr" else found(*args, **kwargs)

    def symbol(self, value: Any) -> Any:
        """A symbol that stands for a value which no node computes."""
        proxy = self.create_proxy("call_function", answered, (), {})
        self.values[proxy.node] = value
        return proxy

    def answer(self, symbol: Any, why: str, ask: Callable[[Any], Any]) -> Any:
        """Note that torch.fx fails here, and tell what the real value says."""
        if self.is_probed:
            raise TypeError(f"{why} of `{symbol.node}`")
        self.note(running_place(), why)
        value = self.of(symbol.node)
        with self.really():
            return ask(value)

    def answer_call(self, error: Exception, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The same for a call that symbols made fail: what it returns in the real run."""
        self.note(raised_place(error) or running_place(), f"{type(error).__name__}: {error}")
        args, kwargs = self.real((list(args), kwargs))
        try:
            with self.really():
                value = function(*args, **kwargs)
        except Exception as real_error:
            raise Stuck(f"{running_place()}: {type(real_error).__name__}: {real_error}") from error
        return pytree.tree_map(lambda leaf: self.symbol(leaf) if isinstance(leaf, torch.Tensor) else leaf, value)

    def check(self, error: Exception) -> None:
        """Begin anew after an error that the program itself raised, if a check of types may be what it owes it to."""
        codes = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__) if _is_users(frame.f_code)]
        if codes and codes[-1] not in self.checked:
            self.checked.add(codes[-1])
            raise Again

    # torch.fx's hooks.

    def proxy(self, node: torch.fx.Node) -> Proxy:
        """A symbol whose questions are answered."""
        return Symbol(node, self)

    def to_bool(self, obj: Proxy) -> bool:
        """The real truth."""
        return self.answer(obj, "bool", bool)  # type: ignore[no-any-return]

    def iter(self, obj: Proxy) -> Iterator[Any]:
        """As many symbols as there are items; a mapping's keys are themselves."""

        def items(value: Any) -> list[Any]:
            found = list(value)
            return list(range(len(found))) if isinstance(value, torch.Tensor | tuple | list) else found

        answer = self.answer(obj, "iter", items)
        if isinstance(self.of(obj.node), ItemsView):
            mapping: Any = self.proxy(obj.node.args[0])  # type: ignore[arg-type]
            return iter([(key, mapping[key]) for key, _ in answer])
        indexed = isinstance(self.of(obj.node), torch.Tensor | tuple | list)
        value: Any = obj
        return iter([value[index] for index in answer] if indexed else answer)

    def path_of_module(self, mod: torch.nn.Module) -> str:
        """Any path for a module that has none."""
        try:
            return super().path_of_module(mod)
        except NameError as error:
            self.note(running_place(), str(error))
            return type(mod).__name__

    def call_module(self, m: torch.nn.Module, forward: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Trace the call; where an error leaves it, what it returns in the real run."""
        if self.is_real:
            return forward(*args, **kwargs)
        if self.is_leaf_module(m, "") and m not in set(self.root.modules()):
            self.path_of_module(m)
            with self.really():
                reals, real_kwargs = self.real((list(args), kwargs))
                value = forward(*reals, **real_kwargs)
            return self.symbol(value)
        stack = self.module_stack.copy()
        try:
            return super().call_module(m, forward, args, kwargs)
        except Exception as error:
            self.module_stack = stack  # torch.fx leaves what the error went through
            self.note(raised_place(error), f"{type(error).__name__}: {error}")
            self.check(error)
            self.gaps.append(f"the rest of a {type(m).__name__} after {raised_place(error)}: {error}"[:200])
            return self.answer_call(error, m, args, kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """A symbol for a parameter, unless the real program asks."""
        return attr_val if self.is_real else super().getattr(attr, attr_val, parameter_proxy_cache)


_trace_code = torch.fx.Tracer.trace.__code__
_oracles: list[Oracle] = []


def answered() -> None:
    """What a node calls that stands for a value of the real run alone."""


# The libraries' calls and subscripts.


def _symbols_in(value: Any) -> bool:
    if isinstance(value, slice):
        return _symbols_in((value.start, value.stop, value.step))
    leaves = pytree.tree_leaves(value)
    return any(_symbols_in(leaf) if isinstance(leaf, slice) else isinstance(leaf, Proxy) for leaf in leaves)


def _is_open(function: Any, caller: FrameType) -> bool:
    """Whether a call is looked into: the callee is Python code of the caller's own package."""
    if isinstance(function, torch.nn.Module):
        function = type(function).forward
    if isinstance(function, type):
        function = function.__init__  # type: ignore[misc]
    code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
    ours = caller.f_globals.get("__name__", "").partition(".")[0]
    theirs = getattr(function, "__globals__", {}).get("__name__", "").partition(".")[0]
    return code is not None and _is_users(code) and ours == theirs


def _is_torchs(function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Whether a call goes right into torch's C code."""
    if hasattr(function, "__code__"):
        return function is _read and isinstance(args[0], torch.Tensor)
    name = getattr(function, "__name__", None)
    return isinstance(getattr(function, "__self__", None), torch.Tensor) or (
        isinstance(name, str) and getattr(torch, name, None) is function
    )


def _read(value: Any, key: Any) -> Any:
    return value[key]


def _tried(function: Callable[..., Any], caller: FrameType, args: Any, kwargs: Any) -> Any:
    oracle = _oracles[-1] if _oracles else None
    if function is isinstance and oracle is not None and caller.f_code in oracle.checked:
        return isinstance(oracle.real(args[0]), args[1])
    try:
        if oracle is None or not _is_torchs(function, args):
            return function(*args, **kwargs)
        with oracle.probed():
            return function(*args, **kwargs)
    except Exception as error:
        if oracle is None or oracle.is_real or _is_open(function, caller):
            raise
        owner = getattr(function, "__self__", None)
        if not _symbols_in((list(args), kwargs, owner)):
            raise
        return oracle.answer_call(error, function, args, kwargs)


def _called(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    return _tried(function, sys._getframe(1), args, kwargs)


def _item(value: Any, key: Any) -> Any:
    return _tried(_read, sys._getframe(1), (value, key), {})


_NEED_THEIR_FRAME = ("super", "locals", "vars", "dir", "globals", "eval", "exec", "type")


_NOT_MODELS = (
    "configuration",
    "generation",
    "processing",
    "quantiz",
    "tokenization",
    "data.",
    "datasets",
    "fp8",
    "hub",
)
"""Parts of the names of modules whose code no forward runs, and that take long to rewrite."""


class _Rewrite(ast.NodeTransformer):
    """Has each call and subscript in a function made by `_called` and `_item`; places stay as they are."""

    depth = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.depth += 1
        node.body = [self.visit(statement) for statement in node.body]
        self.depth -= 1
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.depth += 1
        node.body = self.visit(node.body)
        self.depth -= 1
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = self.visit(node.value) if node.value else None
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if not self.depth or (isinstance(node.func, ast.Name) and node.func.id in _NEED_THEIR_FRAME):
            return node
        function = ast.copy_location(ast.Name("__oracle_called__", ast.Load()), node)
        return ast.copy_location(ast.Call(function, [node.func, *node.args], node.keywords), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not self.depth or not isinstance(node.ctx, ast.Load):
            return node
        function = ast.copy_location(ast.Name("__oracle_item__", ast.Load()), node)
        return ast.copy_location(ast.Call(function, [node.value, _slices(node.slice)], []), node)


def _slices(key: ast.expr) -> ast.expr:
    """A subscript's key as an expression that may stand anywhere."""
    if isinstance(key, ast.Tuple):
        key.elts = [_slices(part) for part in key.elts]
    if not isinstance(key, ast.Slice):
        return key
    bounds = [bound or ast.copy_location(ast.Constant(None), key) for bound in (key.lower, key.upper, key.step)]
    function = ast.copy_location(ast.Name("__oracle_slice__", ast.Load()), key)
    return ast.copy_location(ast.Call(function, bounds, []), key)


def rewrite_imports(packages: tuple[str, ...]) -> None:
    """From here on have the calls and subscripts of these packages, once they are imported, go by this module."""
    builtins.__oracle_called__ = _called  # type: ignore[attr-defined]
    builtins.__oracle_item__ = _item  # type: ignore[attr-defined]
    builtins.__oracle_slice__ = slice  # type: ignore[attr-defined]
    loader: Any = importlib.machinery.SourceFileLoader
    get_code = loader.get_code

    def rewritten(self: Any, name: str) -> CodeType | None:
        if name.partition(".")[0] not in packages or any(part in name for part in _NOT_MODELS):
            return get_code(self, name)  # type: ignore[no-any-return]
        path = self.get_filename(name)
        tree = _Rewrite().visit(ast.parse(self.get_data(path), path))
        return compile(tree, path, "exec", dont_inherit=True)

    loader.get_code = rewritten
