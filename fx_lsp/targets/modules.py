"""Inferred targets: the modules that a file shows how to build, though it does not trace them itself."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator

from fx_lsp.agent.messages import Intent, Recipe, Snippet, Target
from fx_lsp.names import Names, first_callee
from fx_lsp.scopes import Binding, Function
from fx_lsp.targets.call_sites import recipes_for
from fx_lsp.targets.shown import Shown
from fx_lsp.targets.text import Text

_CONTAINERS = frozenset(f"torch.nn.{name}" for name in ("ModuleList", "ModuleDict", "ParameterList", "ParameterDict"))
"""Modules without a forward."""

_NO_MODELS = sys.stdlib_module_names | {"typing_extensions"}
"""Packages whose classes are no modules."""

_MODEL = re.compile("model|net|backbone", re.IGNORECASE)
"""What is in the name of a function that makes models, or of what holds one."""


class Classes:
    """The classes at module level of one file, and what their text tells of them."""

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
        """The class that ``name`` is at the end of the file."""
        node = self._classes.get(name)
        return node if isinstance(node, ast.ClassDef) else None

    def is_module(self, node: ast.ClassDef) -> bool:
        """Whether ``node`` looks like an ``nn.Module`` that can be called: it has a forward that does something."""
        forward = self._method(node, "forward")
        if forward is not None:
            return self._has_module_base(node) and not _is_static(forward) and not _is_abstract(forward)
        return any(self._inherits_forward(base) for base in self._foreign_bases(node))

    def is_abstract(self, node: ast.ClassDef) -> bool:
        """Whether it leaves methods for subclasses to write."""
        return any("abstractmethod" in _decorators(member) for member in node.body if isinstance(member, Function))

    def needs_no_argument(self, node: ast.ClassDef) -> bool:
        """Whether the constructor, own or inherited in this file, can be called without arguments."""
        if "dataclasses.dataclass" in {self._names.qualified(_plain(decorator)) for decorator in node.decorator_list}:
            return False
        constructor = self._method(node, "__init__")
        if constructor is None:
            return all((name or "").endswith("Module") for name in self._foreign_bases(node))
        arguments = constructor.args
        positional = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
        is_open = arguments.vararg or arguments.kwarg  # what it passes on, the text does not tell
        return positional <= 1 and None not in arguments.kw_defaults and not is_open

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
        """The dotted names of the bases that other files define, over the whole lineage."""
        bases = [base for current in self._lineage(node) for base in current.bases]
        foreign = [base for base in bases if not (isinstance(base, ast.Name) and self.get(base.id))]
        return [self._names.qualified(_plain(base)) for base in foreign]

    def _method(self, node: ast.ClassDef, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        for current in self._lineage(node):
            for member in reversed(current.body):  # those before are overloads
                if isinstance(member, Function) and member.name == name:
                    return member
        return None

    def _has_module_base(self, node: ast.ClassDef) -> bool:
        return any(name not in (None, "object") for name in self._foreign_bases(node))

    def _inherits_forward(self, base: str | None) -> bool:
        """Whether a class of another file is likely to be a module with a forward: ``torch.nn.Sequential``."""
        if base is None or base in _CONTAINERS or base.endswith("Module"):
            return False
        return base.startswith(("torch.nn.", "torchvision.models."))


def instance_targets(names: Names, classes: Classes, text: Text) -> Iterator[Target]:
    """Names at module level that hold what looks like a module: ``net = Net(3)``."""
    for name, bindings in names.module.bindings.items():
        assigned = [binding for binding in bindings if not binding.is_change]
        if not assigned or assigned[-1].place.in_main:
            continue
        made = _made(assigned[-1])
        callee = made and first_callee(made[1])
        if made is None or callee is None or not _may_make_module(callee, name, names, classes):
            continue
        span = text.span(made[0])
        symbol = callee.id if isinstance(callee, ast.Name) and classes.get(callee.id) else None
        yield Target(f"instance:{name}", name, span, Recipe(Snippet(name, span.line)), "inferred", symbol)


def class_targets(names: Names, classes: Classes, text: Text, examples: Shown) -> Iterator[Target]:
    """Classes that look like modules: with what the file shows of how to build them, else with made-up arguments."""
    for node in classes:
        if not classes.is_module(node) or classes.is_abstract(node):
            continue
        span = text.name_span(node)
        needs_nothing = classes.needs_no_argument(node)
        recipes = recipes_for(node, names, text, examples, needs_nothing=needs_nothing)
        intent: Intent = "assumed" if recipes[0].made_up else "inferred"
        key = f"class:{node.name}"
        yield Target(key, node.name, span, recipes[0], intent, node.name, fallbacks=recipes[1:])


def _made(binding: Binding) -> tuple[ast.Name, ast.expr] | None:
    """The name and the value of an assignment to one name."""
    match binding.statement:
        case ast.Assign(targets=[ast.Name() as target], value=value):
            return target, value
        case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
            return target, value
    return None


def _may_make_module(callee: ast.expr, target: str, names: Names, classes: Classes) -> bool:
    """Whether what a call makes and ``target`` is bound to may be a module; the agent looks at what it really is.

    It may be where the callee is a class of this file that looks like one, an imported class, or a function that is,
    or whose result is, named like a model: ``net = resnet50()``, ``teacher = build_model()``.
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
    """Without its arguments or its subscript: ``dataclass`` in ``dataclass(frozen=True)``."""
    match expression:
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return inner
    return expression


def _decorators(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {ast.unparse(decorator).rpartition(".")[2] for decorator in function.decorator_list}


def _is_static(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """``torch.autograd.Function`` has a static forward; a module has not."""
    return "staticmethod" in _decorators(function)


def _is_abstract(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it is left for a subclass to write."""
    if "abstractmethod" in _decorators(function):
        return True
    body = [statement for statement in function.body if not _does_nothing(statement)]
    match body:
        case []:
            return True
        case [ast.Raise(exc=ast.expr() as error), *_]:
            return "NotImplementedError" in ast.unparse(error)
    return False


def _does_nothing(statement: ast.stmt) -> bool:
    """``pass``, ``...`` or a docstring."""
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
    return False
