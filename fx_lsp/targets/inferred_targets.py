"""Inferred targets: the modules that a file shows how to build, though it does not trace them itself."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from fx_lsp.agent.messages import Intent, Recipe, Snippet, Target
from fx_lsp.documents.name_resolution import Names, first_callee
from fx_lsp.documents.scopes import Function
from fx_lsp.targets.class_recipes import needs_at_most, recipes_for
from fx_lsp.targets.shown_calls import ShownCalls
from fx_lsp.targets.text_spans import SourceText

_CONTAINERS = frozenset(f"torch.nn.{name}" for name in ("ModuleList", "ModuleDict", "ParameterList", "ParameterDict"))
"""Module classes without a forward."""

_NO_MODELS = sys.stdlib_module_names | {"typing_extensions"}
"""Packages whose classes are never subclasses of ``nn.Module``."""

_MODEL = re.compile("model|net|backbone", re.IGNORECASE)
"""Matches the names of functions that create models, and of variables that hold models."""


class Classes:
    """The module-level classes of one file, and what their text shows about them."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._classes = {
            name: bindings[-1].statement
            for name, bindings in names.module.bindings.items()
            if isinstance(bindings[-1].statement, ast.ClassDef) and not bindings[-1].place.in_main
        }

    def __iter__(self) -> Iterator[ast.ClassDef]:
        return (node for node in self._classes.values() if isinstance(node, ast.ClassDef))

    def get(self, name: str) -> ast.ClassDef | None:
        """The class that ``name`` stands for at the end of the file, if any."""
        node = self._classes.get(name)
        return node if isinstance(node, ast.ClassDef) else None

    def is_module(self, node: ast.ClassDef) -> bool:
        """Whether ``node`` looks like an ``nn.Module`` that can be called: it has a forward that does something."""
        forward = self._method(node, "forward")
        if forward is not None:
            bases = [name for name in self._foreign_bases(node) if name not in (None, "object")]
            is_static = "staticmethod" in _decorators(forward)
            is_function = is_static and any(name.endswith("Function") for name in bases if name)  # torch.autograd's
            return bool(bases) and not is_function and not _is_abstract(forward)
        return any(self._inherits_forward(base) for base in self._foreign_bases(node))

    def is_abstract(self, node: ast.ClassDef) -> bool:
        """Whether ``node`` itself has abstract methods."""
        return any("abstractmethod" in _decorators(member) for member in node.body if isinstance(member, Function))

    def needs_no_argument(self, node: ast.ClassDef) -> bool:
        """Whether the constructor, own or inherited from a class of this file, can be called without arguments."""
        if "dataclasses.dataclass" in {self._names.qualified(_plain(decorator)) for decorator in node.decorator_list}:
            return False
        constructor = self._method(node, "__init__")
        if constructor is None:
            return all((name or "").endswith("Module") for name in self._foreign_bases(node))
        passes_on = constructor.args.vararg or constructor.args.kwarg  # to a function that may need arguments
        return needs_at_most(1, constructor.args) and not passes_on

    def takes_no_argument(self, node: ast.ClassDef) -> bool:
        """Whether the constructor is one of this file without parameters, which no decorator can have added."""
        constructor = self._method(node, "__init__")
        if constructor is None or constructor.decorator_list or node.decorator_list:
            return False
        arguments = constructor.args
        others = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs][1:]
        return not (others or arguments.vararg or arguments.kwarg)

    def _lineage(self, node: ast.ClassDef) -> Iterator[ast.ClassDef]:
        """``node`` and its bases in this file, nearest first."""
        todo, seen = [node], {node}
        while todo:
            current = todo.pop(0)
            yield current
            bases = (self.get(base.id) for base in current.bases if isinstance(base, ast.Name))
            fresh = [base for base in bases if base is not None and base not in seen]
            seen.update(fresh)
            todo += fresh

    def _foreign_bases(self, node: ast.ClassDef) -> list[str | None]:
        """The dotted names of all bases in the lineage that other files define."""
        bases = [base for current in self._lineage(node) for base in current.bases]
        foreign = [base for base in bases if not (isinstance(base, ast.Name) and self.get(base.id))]
        return [self._names.qualified(_plain(base)) for base in foreign]

    def _method(self, node: ast.ClassDef, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        for current in self._lineage(node):
            for member in reversed(current.body):  # earlier definitions are overloads
                if isinstance(member, Function) and member.name == name:
                    return member
                match member:
                    case ast.Assign(targets=[ast.Name(id=bound)], value=ast.Name(id=other)) if bound == name != other:
                        return self._method(current, other)
        return None

    def _inherits_forward(self, base: str | None) -> bool:
        """Whether a class of another file, such as ``torch.nn.Sequential``, is likely to be a module with a forward."""
        if base is None or base in _CONTAINERS or base.endswith("Module"):
            return False
        return base.startswith(("torch.nn.", "torchvision.models."))


def instance_targets(names: Names, classes: Classes, text: SourceText) -> Iterator[Target]:
    """Targets for module-level names whose values look like an ``nn.Module``: ``net = Net(3)``."""
    for name, bindings in names.module.bindings.items():
        assigned = [binding for binding in bindings if not binding.is_change]
        if not assigned or assigned[-1].place.in_main:
            continue
        made = assigned[-1].assignment
        callee = made and first_callee(made[1])
        if made is None or callee is None or not _may_make_module(callee, name, names, classes):
            continue
        span = text.span(made[0])
        symbol = callee.id if isinstance(callee, ast.Name) and classes.get(callee.id) else None
        yield Target(f"instance:{name}", name, span, Recipe(Snippet(name, span.line)), "inferred", symbol)


def class_targets(names: Names, classes: Classes, text: SourceText, examples: ShownCalls) -> Iterator[Target]:
    """Targets for classes that look like an ``nn.Module``, built as the file shows or else with invented arguments."""
    for node in classes:
        if not classes.is_module(node) or classes.is_abstract(node):
            continue
        span = text.name_span(node)
        needs_nothing = classes.needs_no_argument(node)
        takes_nothing = classes.takes_no_argument(node)
        recipes = recipes_for(node, names, text, examples, needs_nothing=needs_nothing, takes_nothing=takes_nothing)
        intent: Intent = "assumed" if recipes[0].made_up else "inferred"
        key = f"class:{node.name}"
        yield Target(key, node.name, span, recipes[0], intent, node.name, fallbacks=recipes[1:])


def _may_make_module(callee: ast.expr, target: str, names: Names, classes: Classes) -> bool:
    """Whether the result of a call, assigned to ``target``, may be a module; the agent checks what it really is.

    It may be a module if the callee is a class of this file that looks like a module, an imported class, or a function,
    provided that the function's name or ``target`` sounds like a model: ``net = resnet50()``,
    ``teacher = build_model()``.
    """
    sounds_so = _MODEL.search(f"{target} {ast.unparse(callee)}") is not None
    if isinstance(callee, ast.Name) and callee.id in names.module.bindings and callee.id not in names.imported:
        node = classes.get(callee.id)
        return classes.is_module(node) if node is not None else sounds_so
    qualified = names.qualified(callee) or ""
    local = next((node.id for node in ast.walk(callee) if isinstance(node, ast.Name)), "")
    package = qualified.partition(".")[0]
    if local not in names.imported or package in _NO_MODELS:
        return False
    if package == "torch" and not qualified.startswith("torch.nn."):
        return False
    return sounds_so or qualified.rpartition(".")[2][:1].isupper()


def _plain(expression: ast.expr) -> ast.expr:
    """``expression`` without its arguments or subscript: ``dataclass`` for ``dataclass(frozen=True)``."""
    match expression:
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return inner
    return expression


def _decorators(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {ast.unparse(decorator).rpartition(".")[2] for decorator in function.decorator_list}


def _is_abstract(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether subclasses are meant to implement this function."""
    if "abstractmethod" in _decorators(function):
        return True
    for statement in function.body:
        match statement:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                continue
            case ast.Raise(exc=ast.expr() as error):
                return "NotImplementedError" in ast.unparse(error)
        return False
    return True
