"""Recognizes code that fails however a class is built: ``super().__init__(size=4)`` if no base takes ``size``."""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile, islice, takewhile
from traceback import walk_tb
from types import CodeType, FrameType, FunctionType, ModuleType, TracebackType

from fx_lsp.agent.building.absent_attributes import is_absent, lacking
from fx_lsp.agent.frame_code import is_at, names_used, tree_of

_REFUSED_CALL = re.compile(
    r"^\S+\(\) (got an unexpected keyword argument|takes .*positional arguments? but \d+|missing \d+ required "
    r"(positional|keyword-only) argument)"
)
"""Python's messages about a call whose arguments do not match the parameters of what is called."""


_READ_ONLY = re.compile(r"^(?:property '(\w+)' of '\w+' object has no setter|can't set attribute '(\w+)')$")
"""Python's messages about an assignment to a property that can only be read; the second one until Python 3.10."""


@dataclass(frozen=True)
class _Step:
    """A function in a traceback, and what it was doing."""

    frame: FrameType
    line: int
    columns: tuple[int, int] | None
    """Where the expression that it was evaluating begins and ends, in bytes; None before Python 3.11."""

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.frame.f_code.co_name


def fails_for_all_arguments(
    cls: object, error: BaseException, belongs: Callable[[str], bool], folders: Sequence[str] = ()
) -> bool:
    """Whether the constructor of ``cls`` raised ``error`` because of its own code, whatever arguments it was given.

    That is so if a call does not fit its callee, if an installed module has no attribute of a name (``np.float``), if
    the program assigns to an attribute that an installed base class only lets it read (``self.hparams = …``), if it
    calls a method of an installed base class before another one that sets what the method needs, or if it reads an
    attribute that it never sets; and if this code, like each call that leads to it, is always run, and each call is
    always made to the same callee: a class or function that the file names, or the base class. A loop counts as run
    only if the program itself says how often. ``belongs`` says which files are the program's.
    """
    constructor = getattr(getattr(cls, "__init__", None), "__code__", None)
    steps = list(dropwhile(lambda step: step.frame.f_code is not constructor, _steps(error.__traceback__)))
    if isinstance(error, AttributeError) and (refused := _READ_ONLY.match(str(error))):
        return _is_always_assigned(steps, refused[1] or refused[2], belongs)
    if isinstance(error, AttributeError) and steps and _always_lacks_attribute(steps, error, belongs, folders):
        return True
    is_call = isinstance(error, TypeError) and _REFUSED_CALL.match(str(error)) is not None
    module, name = _missing_attribute(error) if isinstance(error, AttributeError) else (None, None)
    if not (is_call or _is_installed(module, belongs)):
        return False
    if name is not None and steps and _is_getter(steps[-1].frame):
        steps.pop()
    if not steps:
        return False
    last = [steps.pop()] if name is not None else []
    is_reached = all(_is_always_called(step, belongs) for step in steps)
    return is_reached and all(_is_always_read(step, name, belongs) for step in last)


def _steps(traceback: TracebackType | None) -> list[_Step]:
    """The functions in a traceback. A comprehension that has its own frame is a part of the function around it."""
    steps: list[_Step] = []
    while traceback is not None:
        frame = traceback.tb_frame
        columns = _columns(traceback)
        if frame.f_code.co_name in _COMPREHENSIONS:  # torch may run one: `nn.ModuleList(Block() for …)`
            while steps and frame.f_code not in steps[-1].frame.f_code.co_consts:
                steps.pop()
            around = steps.pop().frame if steps else frame
        else:
            around = frame
        steps.append(_Step(around, traceback.tb_lineno, columns))
        traceback = traceback.tb_next
    return steps


_COMPREHENSIONS = frozenset({"<listcomp>", "<genexpr>"})
"""The names of their code objects."""


def _columns(traceback: TracebackType) -> tuple[int, int] | None:
    """The columns of the expression that was being evaluated."""
    positions = getattr(traceback.tb_frame.f_code, "co_positions", None)
    places: Iterator[tuple[int | None, ...]] = iter(()) if positions is None else positions()
    _, _, start, end = next(islice(places, traceback.tb_lasti // 2, None), (None, None, None, None))
    return None if start is None or end is None else (start, end)


def _missing_attribute(error: AttributeError) -> tuple[object, str | None]:
    """The module that lacks an attribute, and the attribute's name.

    The error shows neither if the module's own ``__getattr__`` raised it, as NumPy's does for ``np.int``.
    """
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    if error.name is None and frames and _is_getter(frames[-1]):
        getter = frames[-1]
        return sys.modules.get(getter.f_globals.get("__name__", "")), str(getter.f_locals[getter.f_code.co_varnames[0]])
    return error.obj, error.name


def _is_getter(frame: FrameType) -> bool:
    """Whether ``frame`` runs the ``__getattr__`` of a module."""
    return frame.f_code.co_name == "__getattr__" and frame.f_code.co_argcount == 1


def _is_installed(module: object, belongs: Callable[[str], bool]) -> bool:
    """Whether ``module`` is a Python module that is not the program's own, which may have been imported in part."""
    return type(module) is ModuleType and not belongs(getattr(module, "__file__", None) or "")


def _is_always_called(step: _Step, belongs: Callable[[str], bool]) -> bool:
    """Whether a function makes the call that it was making whenever it is called, always to the same callee."""
    statement = _statement_always_run(step, belongs)
    call = _call_made(statement, step) if statement is not None else None
    if statement is None or call is None or not _is_evaluated(call, statement, step):
        return False
    is_written_out = not any(isinstance(one, ast.Starred) for one in call.args) and all(
        keyword.arg for keyword in call.keywords
    )
    return is_written_out and _has_fixed_callee(call.func, step.frame)


def _is_always_read(step: _Step, name: str | None, belongs: Callable[[str], bool]) -> bool:
    """Whether a function reads the attribute ``name`` where it was, whenever it is called."""
    statement = _statement_always_run(step, belongs)
    return statement is not None and any(
        isinstance(node, ast.Attribute)
        and node.attr == name
        and _is_evaluated(node, statement, step)
        and _has_fixed_callee(node.value, step.frame)
        for node in ast.walk(statement)
    )


def _is_always_assigned(steps: Sequence[_Step], name: str, belongs: Callable[[str], bool]) -> bool:
    """Whether the ``steps`` always lead to an assignment to the attribute ``name`` of an installed class."""
    own = [*takewhile(lambda step: step.name != "__setattr__", steps)]  # torch's own method passes the assignment on
    if not own:
        return False
    *around, last = own
    statement = _statement_always_run(last, belongs)
    is_assigned = isinstance(statement, ast.Assign) and any(
        isinstance(target, ast.Attribute) and target.attr == name and _is_own_self(target.value)
        for target in statement.targets
    )
    owners = (cls for cls in type(last.frame.f_locals.get("self")).__mro__ if name in vars(cls))
    home = sys.modules.get(getattr(next(owners, None), "__module__", ""))
    return is_assigned and _is_installed(home, belongs) and all(_is_always_called(step, belongs) for step in around)


def reads_absent_attribute(
    function: CodeType, error: AttributeError, belongs: Callable[[str], bool], folders: Sequence[str]
) -> bool:
    """Whether ``function`` raised ``error`` since it always reads an attribute that no instance ever gets.

    ``belongs`` and ``folders`` are as for `fails_for_all_arguments`.
    """
    steps = list(dropwhile(lambda step: step.frame.f_code is not function, _steps(error.__traceback__)))
    return bool(steps) and _is_always_lacking(steps, error, belongs, folders)


def _always_lacks_attribute(
    steps: Sequence[_Step], error: AttributeError, belongs: Callable[[str], bool], folders: Sequence[str]
) -> bool:
    """Whether the ``steps`` always lead to code that reads an attribute that the instance does not have."""
    return _is_never_set(steps, error, belongs) or _is_always_lacking(steps, error, belongs, folders)


def _is_never_set(steps: Sequence[_Step], error: AttributeError, belongs: Callable[[str], bool]) -> bool:
    """Whether the ``steps`` always lead to a method of an installed base class that reads an attribute of the instance.

    Only other methods of such classes set the attribute, and the constructor does not call these.
    """
    owner = steps[0].frame.f_locals.get("self")
    own = [*takewhile(lambda step: belongs(step.frame.f_code.co_filename), steps)]
    lacks, name = lacking(error)
    if lacks is not owner or not own or len(own) == len(steps):
        return False
    methods = [value for cls in type(owner).__mro__ for value in vars(cls).values() if isinstance(value, FunctionType)]
    setters = [method for method in methods if name in method.__code__.co_names and _sets(method.__code__, name)]
    used = {one for step in steps for one in names_used(step.frame.f_code)}
    are_others = all(not belongs(setter.__code__.co_filename) and setter.__name__ not in used for setter in setters)
    return bool(setters) and are_others and all(_is_always_called(step, belongs) for step in own)


def _is_always_lacking(
    steps: Sequence[_Step], error: AttributeError, belongs: Callable[[str], bool], folders: Sequence[str]
) -> bool:
    """Whether the ``steps`` always lead to code that reads an attribute of its instance that nothing ever sets."""
    owner, name = lacking(error)
    own = [*takewhile(lambda step: belongs(step.frame.f_code.co_filename), steps)]
    if not own or owner is None or own[-1].frame.f_locals.get("self") is not owner:
        return False
    *around, last = own
    statement = _statement_always_run(last, belongs)
    is_read = statement is not None and any(
        isinstance(node, ast.Attribute)
        and node.attr == name
        and _is_own_self(node.value)
        and _is_evaluated(node, statement, last)
        for node in ast.walk(statement)
    )
    is_reached = is_read and all(_is_always_called(step, belongs) for step in around)
    return is_reached and is_absent(owner, name, belongs, folders)


def _sets(code: CodeType, name: str) -> bool:
    """Whether a function assigns to an attribute ``name``."""
    return any(one.opname == "STORE_ATTR" and one.argval == name for one in dis.get_instructions(code))


def _is_own_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _statement_always_run(step: _Step, belongs: Callable[[str], bool]) -> ast.AST | None:
    """The statement or test that a function of the program was running, if it runs that whenever it is called."""
    code = step.frame.f_code
    tree = tree_of(code) if belongs(code.co_filename) else None
    function = tree.body[0] if tree is not None and tree.body else None
    is_own = isinstance(function, ast.FunctionDef) and function.name == step.name
    body = function.body if is_own and isinstance(function, ast.FunctionDef) else []
    while body:
        before = [statement for statement in body if (statement.end_lineno or step.line) < step.line]
        at = next((statement for statement in body if is_at(statement, step.line)), None)
        if any(isinstance(node, _LEAVES) for statement in before for node in ast.walk(statement)):
            return None
        if isinstance(at, ast.Expr | ast.Assign | ast.AnnAssign | ast.Return):
            return at
        if isinstance(at, ast.If | ast.Assert) and is_at(at.test, step.line):
            return at.test
        body = at.body if isinstance(at, ast.For) and _has_turns(at.iter, step) else []
    return None


_LEAVES = (ast.Return, ast.Break, ast.Continue)
"""Statements after which what follows is not run."""


def _has_turns(items: ast.expr, step: _Step) -> bool:
    """Whether ``items`` is a ``range`` that is not empty: of a constant, or of a parameter that has its default.

    Any other number may be 0, even if it is the number of layers: callers may leave them out.
    """
    match items:
        case ast.Call(func=ast.Name(id="range"), args=[ast.Constant(value=int(number))]):
            return number > 0
        case ast.Call(func=ast.Name(id="range"), args=[ast.Name(id=name)]):
            value = step.frame.f_locals.get(name)
            return type(value) is int and value > 0 and value == _defaults(step).get(name)
    return False


def _defaults(step: _Step) -> dict[str, object]:
    """The defaults of a function's parameters that are constants."""
    tree = tree_of(step.frame.f_code)
    if tree is None or not tree.body or not isinstance(tree.body[0], ast.FunctionDef):
        return {}
    arguments = tree.body[0].args
    positional = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(reversed(positional), reversed(arguments.defaults), strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    return {one.arg: default.value for one, default in pairs if isinstance(default, ast.Constant)}


def _call_made(statement: ast.AST, step: _Step) -> ast.Call | None:
    """The call in ``statement`` that was being made; None if that is not known."""
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call) and not _is_super(node)]
    at_line = [call for call in calls if call.lineno <= step.line <= (call.end_lineno or step.line)]
    if len(at_line) > 1 and step.columns is not None:
        code = step.frame.f_code
        first = linecache.getline(code.co_filename, code.co_firstlineno)
        indented = len(first.encode()) - len(first.lstrip().encode())
        here = tuple(column - indented for column in step.columns)
        at_line = [one for one in at_line if one.lineno == step.line and (one.col_offset, one.end_col_offset) == here]
    return at_line[0] if len(at_line) == 1 else None


def _is_evaluated(part: ast.expr, statement: ast.AST, step: _Step) -> bool:
    """Whether ``part`` of ``statement`` is evaluated whenever that is run."""
    around = [node for node in ast.walk(statement) if isinstance(node, _CONDITIONAL) and part in ast.walk(node)]
    return all(_is_counted(node, step) for node in around)


def _is_counted(node: ast.AST, step: _Step) -> bool:
    """Whether ``node`` is a comprehension over a ``range`` that is not empty, and leaves out nothing."""
    match node:
        case ast.ListComp(generators=[loop]) | ast.GeneratorExp(generators=[loop]):
            return _has_turns(loop.iter, step) and not loop.ifs
    return False


_CONDITIONAL = (
    *(ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    *(ast.Await, ast.Yield, ast.YieldFrom),
)


def _has_fixed_callee(callee: ast.expr, frame: FrameType) -> bool:
    """Whether ``callee`` is ``super().__init__``, a method of the class, or a name of the file (``nn.Linear``)."""
    match callee:
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if (owner := frame.f_locals.get("self")) is not None:
            is_own = name not in getattr(owner, "__dict__", ())
            return is_own and isinstance(inspect.getattr_static(type(owner), name, None), FunctionType)
        case ast.Attribute(value=ast.Call() as call, attr="__init__"):
            return _is_super(call)
        case ast.Attribute(value=value):
            return _has_fixed_callee(value, frame)
        case ast.Name(id=name):
            return name in frame.f_globals and name not in frame.f_locals
    return False


def _is_super(node: ast.expr) -> bool:
    """Whether ``node`` is ``super()`` or ``super(Class, self)``."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
