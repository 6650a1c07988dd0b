"""Every private name of torch that the captures use. They were tried with torch 2.8, 2.10, 2.13 and 2.14."""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import io
import itertools
import logging
import re
import sys
import traceback
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from traceback import FrameSummary
from types import FrameType
from typing import Any

import torch
import torch.fx.experimental.proxy_tensor
from torch import overrides
from torch._dynamo import bytecode_transformation, config, symbolic_convert
from torch._dynamo import utils as _dynamo_utils
from torch._dynamo.exc import RecompileError, Unsupported, UserError
from torch._dynamo.symbolic_convert import InstructionTranslatorBase
from torch._dynamo.variables import BuiltinVariable, ConstantVariable, TensorVariable, misc
from torch._guards import TracingContext
from torch._library.utils import is_builtin
from torch._subclasses import fake_tensor, fake_utils, meta_utils
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    FakeTensor,
    FakeTensorMode,
    UnsupportedOperatorException,
    unset_fake_temporarily,
)
from torch.fx.experimental import symbolic_shapes
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from fxcore.source import is_user_file

DATA_DEPENDENT = (GuardOnDataDependentSymNode, DataDependentOutputException, DynamicOutputShapeException)
"""What a program on fake tensors raises where it needs a value that only a run can determine."""

Recompiled = RecompileError
"""Raised where `refusing_to_recompile` is in effect."""

_sympy: Any = vars(symbolic_shapes)["sympy"]
_overrides: Any = overrides

_NO_KERNEL = ("no fake impl registered", "no fake kernel", "fake kernel")
_LOG = "log_graph_break"
_NO_PYTREE = "in output, which is not a known type"


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Within the block, torch neither prints nor logs the errors that it also raises, with their graphs."""
    logging.disable(logging.CRITICAL)
    try:
        with contextlib.redirect_stderr(_Nowhere()):
            yield
    finally:
        logging.disable(logging.NOTSET)


class _Nowhere(io.TextIOBase):
    """Accepts text and drops it."""

    def write(self, text: str) -> int:
        """Drop ``text``."""
        return len(text)


def fake_mode() -> FakeTensorMode:
    """A mode in which tensors have shapes, dtypes and devices, but no values; sizes that depend on data get symbols."""
    return FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv())


def as_fake(mode: FakeTensorMode, tensor: torch.Tensor) -> torch.Tensor:
    """A fake tensor like ``tensor``, on the CPU even if ``tensor`` is on the meta device."""
    if not tensor.is_meta:
        return mode.from_tensor(tensor, static_shapes=True)
    return mode.fake_tensor_converter.from_meta_and_device(mode, tensor, torch.device("cpu"))


def is_data_dependent_number(error: BaseException) -> bool:
    """Whether the program needed a plain number, e.g. for ``int(x)``, rather than the answer to a question."""
    return isinstance(error, GuardOnDataDependentSymNode) and isinstance(error.cond, _sympy.Expr)


def asks_for_number(error: BaseException) -> bool:
    """Whether torch.compile failed because it does not know a number that was read from a tensor."""
    return isinstance(error, GuardOnDataDependentSymNode | UserError) and "data-dependent expression" in str(error)


def hides_number(tensor: torch.Tensor) -> bool:
    """Whether torch.compile would know the number in a tensor of the program's if it were not fake.

    It reads that of a single integer, and checks in each call that its answers about the number still hold.
    """
    is_exact = not tensor.dtype.is_complex and (not tensor.is_floating_point() or tensor.dtype == torch.float64)
    return isinstance(tensor, FakeTensor) and tensor.dim() == 0 and is_exact


def lacks_fake_kernel(error: BaseException) -> bool:
    """Whether a custom operator does not say what it does to fake tensors."""
    return isinstance(error, UnsupportedOperatorException) or any(text in str(error).lower() for text in _NO_KERNEL)


@contextlib.contextmanager
def checking_fake_kernels() -> Iterator[list[str]]:
    """Within the block, yield the names of custom operators that return another size or layout than their fake ones."""
    check = _FakeKernelCheck()
    with check:
        yield check.wrong


class _FakeKernelCheck(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Calls each custom operator once more, on fake tensors."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.wrong: list[str] = []
        """The names of the operators for which the sizes, dtypes or strides differ."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call an operator."""
        kwargs = kwargs or {}
        if not isinstance(func, torch._ops.OpOverload) or is_builtin(func):
            return func(*args, **kwargs)
        expected = _fake_result(func, args, kwargs)  # first, since the operator may change what it is given
        result = func(*args, **kwargs)
        pairs = zip(tree_leaves(result), expected, strict=False)
        if not all(_has_size_of(real, fake) for real, fake in pairs):
            self.wrong.append(str(func))
        return result


def _fake_result(func: Any, args: Any, kwargs: Any) -> list[Any]:
    """What an operator returns for fake tensors; empty if it has no fake implementation, or if that fails."""
    mode = fake_mode()
    fake_args, fake_kwargs = tree_map_only(torch.Tensor, lambda tensor: as_fake(mode, tensor), (args, kwargs))
    try:
        with mode:
            return tree_leaves(func(*fake_args, **fake_kwargs))
    except Exception:
        return []


def _has_size_of(real: Any, fake: Any) -> bool:
    if not isinstance(real, torch.Tensor) or not isinstance(fake, torch.Tensor):
        return True
    sizes = zip(real.shape, fake.shape, strict=False)
    is_same = all(not isinstance(expected, int) or size == expected for size, expected in sizes)
    return is_same and real.dim() == fake.dim() and real.dtype == fake.dtype and _has_layout_of(real, fake)


def _has_layout_of(real: torch.Tensor, fake: torch.Tensor) -> bool:
    """Whether two tensors of the same size have the same strides, which code that is compiled relies on."""
    if real.layout != torch.strided or fake.layout != torch.strided or real.numel() == 0:
        return real.layout == fake.layout
    strides = zip(real.shape, real.stride(), fake.stride(), strict=True)
    return all(not isinstance(expected, int) or size <= 1 or step == expected for size, step, expected in strides)


def needs_data(function: Any) -> bool:
    """Whether a function of torch's hands the data of a tensor to code that isn't torch's, which a fake one lacks."""
    return function in (torch.Tensor.numpy, torch.Tensor.__array__, torch.Tensor.__format__, torch.Tensor.data_ptr)


@contextlib.contextmanager
def real_tensors() -> Iterator[None]:
    """Within the block, an export does not record what is called, and new tensors have data."""
    with unset_fake_temporarily(), torch.fx.experimental.proxy_tensor.disable_proxy_modes_tracing():
        yield


def has_fake_constants(constants: Mapping[str, Any]) -> bool:
    """Whether an export took a tensor without values for a constant: torch refuses it unless the weights are fake."""
    return any(isinstance(value, FakeTensor) and name.startswith("lifted_tensor") for name, value in constants.items())


def has_unknown_output(error: BaseException) -> bool:
    """Whether the program returns an object that is not registered as a pytree."""
    return isinstance(error, RuntimeError) and _NO_PYTREE in str(error)


def is_graph_break(error: BaseException) -> bool:
    """Whether torch.compile can't put something into its graph, rather than that the program is wrong."""
    return isinstance(error, Unsupported | UserError | GuardOnDataDependentSymNode) or lacks_fake_kernel(error)


def may_be_due_to_an_answer(error: BaseException) -> bool:
    """Whether torch.compile may have broken the graph only because it was given an answer that depends on data.

    An operator may refuse the tensors that follow from the answer; and the program may format a number, which is plain
    if the graph breaks where it is read.
    """
    return isinstance(error, Unsupported) and bool(_DUE_TO_ANSWERS.match(str(error))) and not lacks_fake_kernel(error)


_DUE_TO_ANSWERS = re.compile(r"(Runtime|Type)Error when making fake tensor call|BUILD_STRING type error")


def text_and_frames(error: BaseException) -> tuple[str, list[FrameSummary]]:
    """What stopped torch.compile and the frames that lead there, the outermost first; none if torch reports none."""
    # `real_stack` has the innermost frame last since 2.13, and before as well where there was more than one frame.
    frames = list(getattr(error, "real_stack", None) or ())
    for frame in frames:
        frame.name = _of_whole_function(frame.name)
    text = _of_whole_function(str(error).partition("\n\nfrom user code")[0])
    return re.sub(r"\n+\s*Developer debug context:.*(?=\n|$)", "", text), frames


def _of_whole_function(text: str) -> str:
    """``text`` with the functions' own names in it: torch renames what is left of a function after a graph break."""
    return re.sub(r"\btorch_dynamo_resume_in_(\w+?)_at_\d+", r"\1", text)


@contextlib.contextmanager
def with_fewer_breaks(seen: Callable[[BaseException], None]) -> Iterator[None]:
    """Within the block, ``torch.compile`` leaves out calls that print or log, and puts LSTMs and the like into a graph.

    Each of them would break the graph, and torch might then leave the rest of the function uncompiled. ``seen`` is
    called with the error of each graph break at a ``print``.
    """
    methods = (getattr(logging.Logger, name) for name in ("debug", "info", "warning", "error", "log"))
    setting = "ignore_logging_functions" if hasattr(config, "ignore_logging_functions") else "ignore_logger_methods"
    left_out: Any = getattr(misc, "IgnoredFunctionVariable", None)  # an older torch has none
    original = left_out and left_out.call_function

    def call(self: Any, tx: Any, args: Any, kwargs: Any) -> Any:
        if self.value is print:
            try:
                BuiltinVariable(print).call_function(tx, args, kwargs)
            except Unsupported as error:
                seen(error)
        return original(self, tx, args, kwargs)

    if left_out:
        left_out.call_function = call
    try:
        with config.patch({setting: {print, warnings.warn, *methods}, "allow_rnn": True}):
            yield
    finally:
        if left_out:
            left_out.call_function = original


def as_in_one_graph() -> contextlib.AbstractContextManager[None]:
    """Within the block, ``torch.compile`` puts into a graph what it would put there with ``fullgraph=True``.

    These are numbers such as those of ``.item()``, and tensors whose size depends on data.
    """
    settings = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}
    patched: contextlib.AbstractContextManager[None] = config.patch(settings)
    return patched


@contextlib.contextmanager
def breaking_at_operators() -> Iterator[None]:
    """Within the block, an operator that fails on fake tensors breaks the graph, rather than to end the run."""
    name = "_wrap_graph_break_with_torch_runtime_err"
    if not hasattr(_dynamo_utils, name):  # an older torch, in which the run ends there
        yield
        return
    original = getattr(_dynamo_utils, name)
    setattr(_dynamo_utils, name, lambda break_graph: break_graph())
    try:
        yield
    finally:
        setattr(_dynamo_utils, name, original)


def is_in_operator() -> bool:
    """Whether an operator is running on fake tensors, or torch is writing a message."""
    return _is_running("__torch_dispatch__") or _is_running("__repr__")


def _is_running(function: str) -> bool:
    frame: FrameType | None = sys._getframe()
    while frame is not None and frame.f_code.co_name != function:
        frame = frame.f_back
    return frame is not None


def running_frames() -> list[FrameSummary]:
    """The user's frames that torch.compile is looking into, the outermost first."""
    return list(TracingContext.extract_stack())


@contextlib.contextmanager
def resuming_in_loops() -> Iterator[None]:
    """Within the block, ``torch.compile`` goes on after a graph break in a loop, as it does after any other.

    Otherwise it leaves the rest of the function uncompiled, so that it finds no more breaks there. If this version of
    torch can, it also goes on within a function that it has inlined, rather than to call the function as it is.
    """
    name = "maybe_has_backedge" if hasattr(InstructionTranslatorBase, "maybe_has_backedge") else "has_backedge"
    original = getattr(InstructionTranslatorBase, name)
    setattr(InstructionTranslatorBase, name, lambda self: False)
    try:
        with config.patch({"nested_graph_breaks": True} if hasattr(config, "nested_graph_breaks") else {}):
            yield
    finally:
        setattr(InstructionTranslatorBase, name, original)


def has_function_mode(kind: type) -> bool:
    """Whether calls of torch's functions go through a mode of this class."""
    modes = map(torch._C._get_function_stack_at, range(torch._C._len_torch_function_stack()))
    return any(isinstance(mode, kind) for mode in modes)


@contextlib.contextmanager
def without_function_modes(kind: type) -> Iterator[None]:
    """Within the block, calls of torch's functions go through no mode of this class.

    ``torch.compile`` follows the code of modes as if it were the program's.
    """
    modes = [_overrides._pop_mode() for _ in range(torch._C._len_torch_function_stack())][::-1]
    others = [mode for mode in modes if not isinstance(mode, kind)]
    for mode in others:
        _overrides._push_mode(mode)
    try:
        yield
    finally:
        for _ in others:
            _overrides._pop_mode()
        for mode in modes:
            _overrides._push_mode(mode)


_MOST_UNITS = 8
"""How much of the code one entry of a table of lines describes, in units of two bytes."""


@contextlib.contextmanager
def keeping_lines() -> Iterator[None]:
    """Within the block, what ``torch.compile`` leaves of a function after a graph break keeps its line numbers.

    torch adds the distance to an instruction's line once for each entry of the instruction. So one with several
    entries, such as a method call on Python 3.11, shifts all lines after it.
    """
    name = "linetable_311_writer"
    original = getattr(bytecode_transformation, name, None)
    if original is None:  # before Python 3.11, there are no such entries
        yield
        return

    def writer(first_line: int) -> tuple[list[int], Callable[[Any, int], None]]:
        table, update = original(first_line)

        def update_in_parts(positions: Any, size: int) -> None:
            for begin in range(0, size, _MOST_UNITS):
                update(positions, min(_MOST_UNITS, size - begin))

        return table, update_in_parts

    setattr(bytecode_transformation, name, writer)
    try:
        yield
    finally:
        setattr(bytecode_transformation, name, original)


@contextlib.contextmanager
def placing_conditions() -> Iterator[None]:
    """Within the block, ``torch.compile`` takes what decides a jump for the place of the jump.

    The compiler gives the jump the position of the whole statement or, in ``a is None or b``, that of ``a is None``.
    """
    original = InstructionTranslatorBase.__init__

    @functools.wraps(original)
    def init(self: InstructionTranslatorBase, *args: Any, **kwargs: Any) -> None:
        instructions = inspect.signature(original).bind(self, *args, **kwargs).arguments["instructions"]
        for decides, jump in itertools.pairwise(instructions):
            if _TESTS.match(jump.opname) and not _JUMPS.search(decides.opname) and decides.positions is not None:
                jump.positions = decides.positions
        original(self, *args, **kwargs)

    InstructionTranslatorBase.__init__ = init  # type: ignore[method-assign]
    try:
        yield
    finally:
        InstructionTranslatorBase.__init__ = original  # type: ignore[method-assign]


@contextlib.contextmanager
def knowing_values() -> Iterator[None]:
    """Within the block, ``torch.compile`` computes the values in tensors, too, where `answering` asks for an answer.

    The error that `answering` passes on then has an answer: see `known_answer`.
    """
    name = "_log_real_tensor_propagation"
    original, evaluate = getattr(ShapeEnv, name, None), ShapeEnv.evaluate_expr
    check, copy = getattr(fake_utils, _CHECK, None), getattr(meta_utils, _COPY, None)
    infer = getattr(fake_tensor, _INFER, None)
    if original is None or check is None or copy is None or infer is None:  # another torch: no values are computed
        yield
        return

    def refuse(self: ShapeEnv, expression: Any, result: Any) -> None:
        if _is_running("maybe_propagate_real_tensors"):  # torch compares a result with its values
            return
        error = self._make_data_dependent_error(expression, expression)
        vars(error)[_ANSWER] = result
        raise error

    def evaluated(self: ShapeEnv, orig_expr: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs.get("fallback_value") is not None and (values := getattr(self, _VALUES, None)):
            known = orig_expr.xreplace(values).xreplace(self.backed_var_to_val)
            if not known.free_symbols:  # what an operator would assume, such as that no size is 1, may be wrong
                is_equality = isinstance(orig_expr, _sympy.Eq) and not {0, 1} & set(orig_expr.args)
                if known and is_equality:  # torch relies on it, and then knows the size as well
                    self.guard_or_defer_runtime_assert(orig_expr, "")
                return known
        return evaluate(self, orig_expr, *args, **kwargs)

    def copied(to: torch.Tensor, data: Any) -> None:
        copy(to, data.detach())  # it leaves out what is a parameter

    def inferred(mode: FakeTensorMode, func: Any, real: torch.Tensor) -> Any:
        if real.layout is not torch.strided:
            return infer(mode, func, real)
        with mode:  # torch would take no size for known, though hardly any operator needs values for its sizes
            return torch.empty_strided(real.shape, real.stride(), dtype=real.dtype, device=real.device)

    setattr(ShapeEnv, name, refuse)
    ShapeEnv.evaluate_expr = evaluated  # type: ignore[method-assign]
    setattr(fake_tensor, _INFER, inferred)
    setattr(fake_utils, _CHECK, lambda *args, **kwargs: None)  # it asks for offsets that aren't known yet
    setattr(meta_utils, _COPY, copied)
    try:
        with torch._functorch.config.patch(dict.fromkeys(_KNOWING, True)):
            yield
    finally:
        setattr(ShapeEnv, name, original)
        ShapeEnv.evaluate_expr = evaluate  # type: ignore[method-assign]
        setattr(fake_tensor, _INFER, infer)
        setattr(fake_utils, _CHECK, check)
        setattr(meta_utils, _COPY, copy)


_KNOWING = ("fake_tensor_propagate_real_tensors", "generate_fake_kernels_from_real_mismatches")
"""The settings by which fake tensors know their values, and have the sizes of these."""

_CHECK, _COPY, _INFER = "_check_fake_real_tensors", "_safe_copy", "_infer_fake_from_real_tensor"
"""Names of functions of torch's: they compare values in tensors, copy these, and make a fake tensor like a real one."""

_VALUES = "real_tensor_prop_unbacked_vals"
"""The attribute of a `ShapeEnv` that has the values of numbers that depend on data; older versions have another one."""


def known_answer(error: BaseException) -> Any:
    """What a program gets where torch raises this error; None if that isn't known: see `knowing_values`."""
    return vars(error).get(_ANSWER)


_ANSWER = "_known_answer"


@contextlib.contextmanager
def deciding_branches(seen: Callable[[BaseException], None]) -> Iterator[None]:
    """Within the block, ``torch.compile`` takes the branch that a tensor chooses, rather than to break the graph.

    ``seen`` is called with the error that a graph break would report. It may raise it; then the graph does break. The
    values in the tensor must be known: see `knowing_values`.
    """
    original = InstructionTranslatorBase.__init__

    @functools.wraps(original)
    def init(self: InstructionTranslatorBase, *args: Any, **kwargs: Any) -> None:
        original(self, *args, **kwargs)
        self.dispatch_table = [
            handler and _Decision(handler, seen) if _ASKS_TRUTH.search(dis.opname[code]) else handler
            for code, handler in enumerate(self.dispatch_table)
        ]

    InstructionTranslatorBase.__init__ = init  # type: ignore[method-assign]
    try:
        yield
    finally:
        InstructionTranslatorBase.__init__ = original  # type: ignore[method-assign]


_ASKS_TRUTH = re.compile(r"JUMP_(?!.*_NONE).*IF_|TO_BOOL")
"""Instructions that ask a value whether it is true."""


class _Decision:
    """Handles an instruction that asks a value whether it is true."""

    def __init__(self, handler: Callable[..., None], seen: Callable[[BaseException], None]) -> None:
        self._handler = handler
        self._seen = seen

    def __call__(self, translator: InstructionTranslatorBase, instruction: Any) -> None:
        """Handle it, for a tensor whose value is known as for that value."""
        value = translator.stack[-1].realize()
        node = value.as_proxy().node if isinstance(value, TensorVariable) else None
        known = None if node is None else value_of(node.meta.get("example_value"))
        following = translator.instructions[translator.instruction_pointer or 0].opname
        if known is not None and not following.startswith("LOAD_ASSERTION"):  # torch keeps an `assert`
            try:
                with _in_one_graph(translator):
                    self._handler(translator, instruction)
                return
            except Unsupported as error:
                self._seen(error)
                translator.push(ConstantVariable.create(bool(known)))
        self._handler(translator, instruction)


@contextlib.contextmanager
def _in_one_graph(translator: InstructionTranslatorBase) -> Iterator[None]:
    """Within the block, torch raises an error where it would break the graph."""
    vars(translator)["should_compile_partial_graph"] = lambda: False
    try:
        yield
    finally:
        del vars(translator)["should_compile_partial_graph"]


_TESTS, _JUMPS = re.compile(r"POP_JUMP|JUMP_IF|TO_BOOL"), re.compile(r"JUMP|RETURN|NOP|COPY")
"""Instructions that test the value before them, and those that don't yield one."""


def refusing_to_recompile() -> contextlib.AbstractContextManager[None]:
    """Within the block, `Recompiled` is raised where ``torch.compile`` would compile a function again."""
    patched: contextlib.AbstractContextManager[None] = config.patch(error_on_recompile=True)
    return patched


@contextlib.contextmanager
def watching_specializations(seen: Callable[[], None]) -> Iterator[None]:
    """Within the block, ``seen`` is called whenever the program turns a dynamic size into a number."""
    original = ShapeEnv._set_replacement

    def replaced(self: ShapeEnv, a: Any, tgt: Any, *args: Any, **kwargs: Any) -> None:
        if tgt.is_number and str(a).startswith("s"):  # the names of sizes that depend on data begin with "u" or "z"
            seen()
        original(self, a, tgt, *args, **kwargs)

    ShapeEnv._set_replacement = replaced  # type: ignore[method-assign]
    try:
        yield
    finally:
        ShapeEnv._set_replacement = original  # type: ignore[method-assign]


@contextlib.contextmanager
def answering(
    answer: Callable[[GuardOnDataDependentSymNode, type], bool | int | float], place: Callable[[], Any]
) -> Iterator[None]:
    """Within the block, ``answer`` decides what depends on data, where torch would raise an error.

    Its arguments are that error, which it may raise, and the type of the answer: bool, int or float. ``place`` is
    called where a number is read from data; `origins_of` the error are what it has returned.
    """
    original = ShapeEnv.evaluate_expr

    def evaluate(self: ShapeEnv, orig_expr: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return original(self, orig_expr, *args, **kwargs)
        except GuardOnDataDependentSymNode as error:
            _keep_origins(error, self, orig_expr.free_symbols)
            is_bool = not isinstance(orig_expr, _sympy.Expr)  # a symbol is a `Boolean`, too
            return _sympy.sympify(answer(error, bool if is_bool else int if orig_expr.is_integer else float))

    def noting(create: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(create)
        def created(self: ShapeEnv, *args: Any, **kwargs: Any) -> Any:
            number = create(self, *args, **kwargs)
            _origins.setdefault(self, {}).update(dict.fromkeys(number.node.expr.free_symbols, place()))
            return number

        return created

    creating = {name: getattr(ShapeEnv, name) for name in _CREATING_NUMBERS}
    ShapeEnv.evaluate_expr = evaluate  # type: ignore[method-assign]
    for name, create in creating.items():
        setattr(ShapeEnv, name, noting(create))
    try:
        yield
    finally:
        ShapeEnv.evaluate_expr = original  # type: ignore[method-assign]
        for name, create in creating.items():
            setattr(ShapeEnv, name, create)


_CREATING_NUMBERS = ("create_unbacked_symint", "create_unbacked_symfloat", "create_unbacked_symbool")
"""What torch calls for each number that depends on data."""

_ORIGINS = "_origins"

_origins: weakref.WeakKeyDictionary[ShapeEnv, dict[Any, Any]] = weakref.WeakKeyDictionary()
"""By the environment of an export: where each of its numbers was read from data."""


def _keep_origins(error: BaseException, env: ShapeEnv, numbers: Iterable[Any]) -> None:
    known = _origins.get(env, {})
    vars(error)[_ORIGINS] = [known.get(number) for number in numbers]


def numbers_asked_about(error: BaseException) -> frozenset[Any]:
    """The numbers that depend on data which a question of torch's is about; none for another error."""
    condition = getattr(error, "cond", None)
    return frozenset(getattr(condition, "free_symbols", ()))


def answer_if_all_are_one(error: BaseException) -> Any:
    """The answer to a question of torch's if each number that it is about is one; None if that decides nothing."""
    condition = getattr(error, "cond", None)
    answer = condition.subs(dict.fromkeys(condition.free_symbols, 1)) if condition is not None else None
    return None if answer is None or answer.free_symbols or not answer.is_Atom else answer


def numbers_in(value: Any) -> frozenset[Any]:
    """The symbols of torch's from which ``value``, or any number in it if it is a list or tuple, is computed."""
    if isinstance(value, list | tuple):
        return frozenset(number for item in value for number in numbers_in(item))
    expression = (
        getattr(value.node, "expr", None) if isinstance(value, _SYMBOLIC) else None
    )  # a nested tensor's has none
    return frozenset(getattr(expression, "free_symbols", ()))


def with_plain_numbers(value: Any) -> Any:
    """``value`` with an int, float or bool for each number in it that depends on data; torch asks for each of them."""
    return tree_map_only(_SYMBOLIC, lambda number: number.node.pytype(number), value)


_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


@contextlib.contextmanager
def without_lost_numbers(seen: Callable[[Exception], None] = lambda error: None) -> Iterator[None]:
    """Within the block, torch goes on where an operator reads a number from data that its result does not show.

    ``seen`` is called with the error that torch would raise.
    """
    original = symbolic_shapes.compute_unbacked_bindings

    @functools.wraps(original)
    def bindings(*args: Any, **kwargs: Any) -> Any:
        try:
            return original(*args, **kwargs)
        except symbolic_shapes.PendingUnbackedSymbolNotFound as error:
            seen(error)
            return None

    symbolic_shapes.compute_unbacked_bindings = bindings
    try:
        yield
    finally:
        symbolic_shapes.compute_unbacked_bindings = original


@contextlib.contextmanager
def hashing_numbers(hash_of: Callable[[torch.SymInt, TypeError], int]) -> Iterator[None]:
    """Within the block, ``hash_of`` decides what hash the program gets of a number that depends on data.

    Its arguments are the number and the error that torch would raise, which it may raise, and which has `origins_of`
    the number. Where torch itself asks for a hash, it may have a way to do without.
    """
    original = torch.SymInt.__hash__

    def hashed(self: torch.SymInt) -> int:
        try:
            return original(self)
        except TypeError as error:
            if self.node.has_hint() or not is_user_file(sys._getframe(1).f_code.co_filename):
                raise
            _keep_origins(error, self.node.shape_env, numbers_in(self))
            return hash_of(self, error)

    torch.SymInt.__hash__ = hashed  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.SymInt.__hash__ = original  # type: ignore[method-assign]


def value_of(tensor: torch.Tensor | None) -> torch.Tensor | None:
    """What a fake tensor would contain if it were real; None if that isn't known: see `knowing_values`."""
    known: torch.Tensor | None = getattr(tensor, "real_tensor", None)
    return known


def origins_of(error: BaseException) -> list[Any]:
    """For each number that an error of torch's is about, where it was read from data: see `answering`.

    None for a number whose origin isn't known.
    """
    origins: list[Any] = vars(error).get(_ORIGINS, [])
    return origins


def _is_due_to_a_break(error: BaseException) -> bool:
    """Whether torch.compile failed at something that it does only where it breaks a graph.

    There it hands on the values that the rest of the function needs, which it can't do for some iterators.
    """
    frames = (frame for frame, _ in traceback.walk_tb(error.__traceback__))
    ends = (frame.f_locals.get("reason") for frame in frames if frame.f_code.co_name == "compile_subgraph")
    return any(getattr(reason, "graph_break", False) for reason in ends)


def _is_misplaced(error: BaseException) -> bool:
    """Whether torch reports a wrong line: what is left of a function after a break begins at the line of that break.

    The code before that line, which the next turn of a loop runs, is then given this line, too, but no columns.
    """
    frames = list(getattr(error, "real_stack", None) or ())
    resumed = re.fullmatch(r"torch_dynamo_resume_in_\w+?_at_(\d+)", frames[-1].name) if frames else None
    return resumed is not None and int(resumed[1]) == frames[-1].lineno and getattr(frames[-1], "colno", None) is None


def _lacks_items(translator: InstructionTranslatorBase, error: BaseException) -> bool:
    """Whether torch does not know what kind of iterator a comprehension or a loop goes through.

    This is so for a comprehension that it compiles by itself, and for an iterator that is handed on at a graph break.
    """
    root: Any = translator
    while getattr(root, "parent", None) is not None:
        root = root.parent
    is_alone = root is translator and translator.f_code.co_varnames[:1] == (".0",)
    is_resumed = root.f_code.co_name.startswith("torch_dynamo_resume_in_")
    is_asked = translator.current_instruction.opname == "FOR_ITER"
    return (is_alone and is_asked) or (is_resumed and "tp_iternext" in str(error))


@contextlib.contextmanager
def watching_graph_breaks(seen: Callable[[BaseException], None]) -> Iterator[None]:
    """Within the block, ``seen`` is called for each graph break, with what `failure_of` can read.

    Left out is a break that there is only because the graph broke before, so that ``fullgraph=True`` would not meet it,
    and one whose place torch doesn't know. Only behind a break does torch begin with what a comprehension goes through.
    """
    # In torch 2.8, it is a function that the methods of a translator call.
    owner: Any = InstructionTranslatorBase if hasattr(InstructionTranslatorBase, _LOG) else symbolic_convert
    original = getattr(owner, _LOG)

    def log(*args: Any, **kwargs: Any) -> None:
        is_method = isinstance(args[0], InstructionTranslatorBase)
        translator = args[0] if is_method else sys._getframe(1).f_locals["self"]
        given = inspect.signature(original).bind(*args, **kwargs).arguments
        error = given.get("exc") or sys.exc_info()[1]  # before torch 2.11, the error is only being handled
        if error is None:
            error = Unsupported(given.get("reason", ""))
            error.real_stack = TracingContext.extract_stack()
        if not (_is_due_to_a_break(error) or _is_misplaced(error) or _lacks_items(translator, error)):
            seen(error)
        original(*args, **kwargs)

    setattr(owner, _LOG, log)
    try:
        yield
    finally:
        setattr(owner, _LOG, original)
