"""Finds flags among the arguments that have to be invented: the program tests them, and does nothing else with them.

A flag such as ``self.check``, of which ``forward`` asks ``if self.check:``, may have any name.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from fx_lsp.agent.frame_code import names_used, tree_of

_FOR_READERS = frozenset({"extra_repr", "__repr__", "__str__"})
"""Methods that only describe an object."""


@dataclass(frozen=True)
class _Read:
    """A place where a value is read."""

    chain: str
    """The names that lead to the value, with dots between them: ``check``, ``cfg.check``, ``self.check``."""
    is_test: bool
    """Whether only the truth of the value counts."""
    stored: tuple[str, ...] = ()
    """The attributes of ``self``, such as ``self.check``, that the value is stored in and nothing else is done."""


class Flags:
    """The flags among the arguments of a class or a function."""

    def __init__(self, maker: type | FunctionType) -> None:
        made_by: Any = maker
        constructor = inspect.unwrap(made_by.__init__ if isinstance(maker, type) else maker)
        self._constructor = constructor.__code__ if isinstance(constructor, FunctionType) else None
        self._cls = maker if isinstance(maker, type) else None
        self._reads: dict[CodeType, list[_Read]] = {}

    def __contains__(self, path: str) -> bool:
        """Whether the program only tests the argument at ``path``, which is a parameter or a setting (``cfg.check``).

        What the constructor stores in an attribute is followed into the other methods of the class.
        """
        tests = 0
        waiting = [path]
        for source in waiting:
            for read in self._reads_of(source):
                if _is_passed_on(read, source):
                    return False
                rest = source.removeprefix(read.chain)
                waiting += [one for attribute in read.stored if (one := f"{attribute}{rest}") not in waiting]
                tests += read.is_test and read.chain == source
        return tests > 0

    def _reads_of(self, source: str) -> Iterator[_Read]:
        """Where the value, or what it belongs to or consists of, is read by the methods that can know of it."""
        first, *more = source.split(".")
        is_own = first == "self" and self._cls is not None and bool(more)
        for code in self._methods_naming(more[0]) if is_own else filter(None, [self._constructor]):
            reads = self._reads.get(code)
            if reads is None:
                reads = self._reads[code] = list(_reads_in(tree_of(code) or ast.Pass()))
            for read in reads:
                is_above = source.startswith(f"{read.chain}.") and read.chain != "self"
                if is_above or f"{read.chain}.".startswith(f"{source}."):
                    yield read

    def _methods_naming(self, attribute: str) -> Iterator[CodeType]:
        """The code of the methods that name an attribute, except those of torch's own classes."""
        for base in self._cls.__mro__ if self._cls else ():
            for value in vars(base).values() if not base.__module__.startswith("torch.") else ():
                function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
                if isinstance(function, FunctionType) and function.__name__ not in _FOR_READERS:
                    code = inspect.unwrap(function).__code__
                    if attribute in names_used(code):  # most methods need not be parsed
                        yield code


def _is_passed_on(read: _Read, source: str) -> bool:
    """Whether more is done with the value at ``source`` than to test or store it, or may be done by others."""
    return not read.stored and (not read.is_test or read.chain.startswith(f"{source}."))


def _reads_in(node: ast.AST, *, is_test: bool = False) -> Iterator[_Read]:
    """Where ``node``, which is itself a test or not, reads something."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
            for target, value in zip(targets, values, strict=True):
                yield from _reads_in(ast.Assign([target], value))
            return
        case ast.Assign(value=value) if (chain := _chain(value)) and (stored := _attributes_set_by(node)):
            yield _Read(chain, is_test=False, stored=stored)
            return
    if chain := _chain(node):
        yield _Read(chain, is_test)
        return
    tests = list(_tests_of(node, is_test=is_test))
    for child in ast.iter_child_nodes(node):
        yield from _reads_in(child, is_test=any(child is test for test in tests))


def _chain(node: ast.AST) -> str:
    """What a chain of names, attributes and keys reads: ``cfg.train.check`` for ``cfg["train"].check``."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            return name
        case (
            ast.Attribute(value=owner, attr=name, ctx=ast.Load())
            | ast.Subscript(value=owner, slice=ast.Constant(value=str(name)), ctx=ast.Load())
            | ast.Call(func=ast.Attribute(value=owner, attr="get"), args=[ast.Constant(value=str(name)), *_])
        ):
            start = _chain(owner)
            return start and f"{start}.{name}"
    return ""


def _attributes_set_by(node: ast.Assign) -> tuple[str, ...]:
    """The attributes of ``self`` that a statement assigns to; empty if it assigns to anything else."""
    targets = [target for target in node.targets if isinstance(target, ast.Attribute)]
    own = [f"self.{one.attr}" for one in targets if isinstance(one.value, ast.Name) and one.value.id == "self"]
    return tuple(own) if len(own) == len(node.targets) else ()


def _tests_of(node: ast.AST, *, is_test: bool) -> Iterator[ast.expr]:
    """The parts of ``node`` of which only the truth counts."""
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test) | ast.Assert(test=test):
            yield test
        case ast.UnaryOp(op=ast.Not(), operand=test) | ast.Call(func=ast.Name(id="bool"), args=[test]):
            yield test
        case ast.BoolOp(values=values):  # what is not tested itself yields its last value
            yield from values if is_test else values[:-1]
        case ast.comprehension(ifs=tests):
            yield from tests
