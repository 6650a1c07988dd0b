"""Before tracing, turns Python code that can't be traced into equivalent code that can.

Source: the interface and results are those of ``torch.fx.experimental.rewriter``.
"""

import ast
import copy
import inspect
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, cast

import torch

from fxcore._symbolic_trace import Tracer
from fxcore.graph import Graph

__all__ = ["AST_Rewriter", "RewritingTracer"]


class AST_Rewriter(ast.NodeTransformer):
    """Turns ``assert`` statements into calls to ``torch._assert`` and annotated assignments into calls to ``annotate``.

    A subclass may rewrite other syntax with more ``visit_…`` methods.
    """

    def rewrite(self, fn: FunctionType) -> FunctionType:
        """Compile the function anew from its rewritten source, in its own global namespace.

        Args:
            fn: a function or a method without free variables. OSError is raised if its source isn't available.

        Returns:
            The rewritten function, unbound if ``fn`` is a method.
        """
        tree = ast.Module([self.visit(_definition(fn))], type_ignores=[])
        code = compile(ast.fix_missing_locations(tree), fn.__code__.co_filename, "exec")
        made: dict[str, FunctionType] = {}
        exec(code, fn.__globals__, made)
        return made[fn.__name__]

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """Turn ``assert test, message`` into ``torch._assert(test, message)``."""
        function = ast.Attribute(ast.Name("torch", ast.Load()), "_assert", ast.Load())
        call = ast.Call(function, [node.test, node.msg or ast.Constant("")], [])
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Turn ``x: T = value`` into ``x = annotate(value, T)``; the function's module must define ``annotate``."""
        if node.value is None:
            return node
        call = ast.Call(ast.Name("annotate", ast.Load()), [node.value, node.annotation], [])
        return ast.copy_location(ast.Assign([node.target], call), node)


def _definition(fn: FunctionType) -> ast.stmt:
    """The function's syntax tree, with its lines and columns in the file."""
    lines, first = inspect.getsourcelines(fn)
    if not lines[0][0].isspace():
        (statement,) = ast.parse("".join(lines)).body
        return ast.increment_lineno(statement, first - 1)
    # A definition inside a class or a function is indented, so it is parsed below an `if`.
    (condition,) = ast.parse("if True:\n" + "".join(lines)).body
    assert isinstance(condition, ast.If)
    return ast.increment_lineno(condition.body[0], first - 2)


class RewritingTracer(Tracer):
    """Traces a function or a module's ``forward`` after an `AST_Rewriter` has rewritten it."""

    def trace(
        self,
        root: torch.nn.Module | Callable[..., Any],
        concrete_args: Mapping[str, Any] | tuple[Any, ...] | None = None,
    ) -> Graph:
        """Trace the rewritten ``root``, as `Tracer.trace` does; the module itself isn't changed."""
        return super().trace(_rewrite(root), concrete_args)


def _rewrite(fn: torch.nn.Module | Callable[..., Any]) -> torch.nn.Module | Callable[..., Any]:
    """The rewritten function, or a copy of the module with a rewritten ``forward``."""
    if not isinstance(fn, torch.nn.Module):
        return AST_Rewriter().rewrite(cast(FunctionType, fn))
    forward = AST_Rewriter().rewrite(cast(FunctionType, fn.forward))
    rewritten: torch.nn.Module = type("RewrittenModule", (torch.nn.Module,), {"forward": forward})()
    rewritten.__dict__.update({name: copy.copy(value) for name, value in vars(fn).items()})
    return rewritten
