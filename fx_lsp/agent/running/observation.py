"""What one call to a program does, as plain values that two processes can compare.

Besides the result, an `Observation` holds what the call writes to its inputs and to the module's buffers, the gradients
that flow back through it, and what it leaves to later calls: random numbers and what modules and globals keep.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import warnings
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from fx_lsp.agent.missing.random_weights import add_noise
from fx_lsp.agent.random_seeds import SEED, random_state, seed_all
from fx_lsp.agent.running.kept_state import KeptState
from fx_lsp.agent.running.plain_values import Digest, compact, tensors_of, to_plain
from fx_lsp.agent.running.records import Record
from fx_lsp.agent.running.weight_changes import WeightChange, with_weights

NUDGE = 0.01
"""The standard deviation of the noise that perturbs weights."""

SKETCHED = 1024
"""How many numbers a `sketch` has. In full, the gradients for one input would be as large as the model's weights."""


@dataclass(frozen=True)
class Input:
    """The arguments of one call."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    weights: WeightChange | None = None
    """With which weights the program is called, if not with its own."""
    other_mode: bool = False
    """Whether a program that was built for training is called as for inference, or the other way round."""

    def by_parameter(self, program: Callable[..., Any]) -> dict[str, Any]:
        """The arguments by name. Raises TypeError if ``program`` doesn't accept them."""
        return inspect.signature(forward_of(program)).bind(*self.args, **self.kwargs).arguments

    def __str__(self) -> str:
        values = [*self.args, *self.kwargs.values()]
        described = ", ".join(_described(value) for value in values)
        described = f"{described} and other weights" if self.weights else described
        return f"{described} in the other mode (training or inference)" if self.other_mode else described


@dataclass(frozen=True)
class Observation:
    """What one call did. Values are tensors, `Digest`s, numbers, strings and `Tree`s of them."""

    output: Any
    inputs: Any
    """The arguments after the call."""
    buffers: Mapping[str, torch.Tensor | Digest]
    """The module's buffers after the call."""
    gradients: Mapping[str, torch.Tensor | None] | None
    """Gradients of the sum of all outputs, by input and weight, large ones as a `sketch`; None if not requested."""
    random_state: int = 0
    """A checksum of the state of the random numbers after the call."""
    left: Mapping[str, Any] = field(default_factory=dict)
    """What the call has changed besides, by name; see `KeptState`."""
    views: tuple[bool, ...] = ()
    """For each tensor in the output, whether it shares memory with an input."""


def forward_of(program: Callable[..., Any]) -> Callable[..., Any]:
    """The callable that has the signature of ``program``: a module's ``forward``, or the function itself."""
    forward: Callable[..., Any] = program.forward if isinstance(program, torch.nn.Module) else program
    return forward


def modules_of(program: Callable[..., Any]) -> list[torch.nn.Module]:
    """The modules that ``program`` consists of; if it is a method of a module, those of that module."""
    owner = getattr(program, "__self__", program)
    return [*owner.modules()] if isinstance(owner, torch.nn.Module) else []


def weights_of(program: Callable[..., Any]) -> list[torch.Tensor]:
    """The parameters and buffers of these modules."""
    return [weight for module in modules_of(program)[:1] for weight in (*module.parameters(), *module.buffers())]


def call(
    program: Callable[..., Any], given: Input, leaves: dict[str, torch.Tensor] | None = None
) -> tuple[Any, list[Any]]:
    """What ``program`` returns for a copy of ``given``, from a fixed random state, and that copy after the call.

    ``leaves``, if given, receives the inputs that gradients can be computed for. Raises what the program raises.
    """
    args, kwargs = _copied(given, leaves)
    seed_all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return program(*args, **kwargs), [*args, *kwargs.values()]


@contextlib.contextmanager
def set_up(root: torch.nn.Module | None, given: Input) -> Iterator[None]:
    """Within the block, ``root`` has the weights and the mode with which ``given`` is to be called."""
    modules = [*root.modules()] if root is not None and given.other_mode else []
    modes = [module.training for module in modules]
    with with_weights(root, given.weights):
        try:
            for module in modules[:1]:
                module.train(not module.training)
            yield
        finally:
            for module, mode in zip(modules, modes, strict=True):
                module.training = mode


def observe(
    program: Callable[..., Any],
    given: Input,
    root: torch.nn.Module,
    names: Collection[str],
    *,
    gradients: bool,
) -> Observation:
    """What one call to ``program`` does; see `call`.

    ``root`` holds the program's state; only its weights and buffers in ``names`` are observed. Raises what the
    program raises, and `NotComparable`.
    """
    leaves: dict[str, torch.Tensor] = {}
    with set_up(root, given):
        kept = KeptState(root, program)
        output, inputs = call(program, given, leaves if gradients else None)
        drawn = random_state()
        sources = leaves | {name: weight for name, weight in root.named_parameters() if name in names}
        return Observation(
            to_plain(output),
            to_plain(inputs),
            {name: compact(buffer.detach()) for name, buffer in root.named_buffers() if name in names},
            _gradients(output, sources) if gradients else None,
            drawn,
            kept.changes(),
            _views(output, inputs),
        )


def _views(output: Any, inputs: Any) -> tuple[bool, ...]:
    known = {memory_of(tensor) for tensor in tensors_of(inputs)} - {0}
    return tuple(memory_of(tensor) in known for tensor in tensors_of([output]))


def memory_of(tensor: torch.Tensor) -> int:
    """Where the memory of a tensor begins; 0 if it has none."""
    return tensor.untyped_storage().data_ptr() if tensor.layout is torch.strided else 0


def weight_names(root: torch.nn.Module) -> frozenset[str]:
    """The names of the module's weights and buffers."""
    return frozenset(name for values in (root.named_parameters(), root.named_buffers()) for name, _ in values)


@contextlib.contextmanager
def filled_memory() -> Iterator[None]:
    """Within the block, tensors that are made without values, as by ``torch.empty``, are filled with NaNs by torch.

    Otherwise they would have whatever the memory held, which differs from process to process.
    """
    # torch.use_deterministic_algorithms does the same, but also loads torch.compile's machinery, which takes seconds.
    before = torch.get_deterministic_debug_mode()
    torch.set_deterministic_debug_mode("warn")
    try:
        yield
    finally:
        torch.set_deterministic_debug_mode(before)


def zero_unset_weights(root: torch.nn.Module) -> None:
    """Replace NaNs in weights and buffers by zeros: in a module built in `filled_memory`, nothing initialized them.

    Tensors of a kind that torch can't search or change, such as sparse and 8-bit ones, stay as they are.
    """
    for weight in itertools.chain(root.parameters(), root.buffers()):
        with torch.no_grad(), contextlib.suppress(RuntimeError):
            # The sum says in less time that there are none, unless it adds an infinity to its opposite.
            if not is_lazy(weight) and weight.sum().isnan():
                weight.masked_fill_(weight.isnan(), 0)


def perturb_weights(root: torch.nn.Module, names: Collection[str]) -> None:
    """Add noise to the weights with these names; the noise depends only on a weight's name and shape.

    Without the noise, a scale that is initialized to zero would hide every difference in what it multiplies. In a large
    weight, it repeats itself.
    """
    with torch.no_grad():
        for name, weight in root.named_parameters():
            if name in names and weight.is_floating_point():
                generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
                add_noise(weight, NUDGE, generator)


def _copied(given: Input, leaves: dict[str, torch.Tensor] | None) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments with the same values. ``leaves``, if given, receives the tensors that gradients are computed for."""

    def copied(name: str, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return type(value)(copied(f"{name}[{index}]", item) for index, item in enumerate(value))
        if isinstance(value, dict):
            items = {key: copied(f"{name}[{key!r}]", item) for key, item in value.items()}
            return Record(items) if isinstance(value, Record) else items
        if not isinstance(value, torch.Tensor):
            return value
        if leaves is None or not value.is_floating_point():
            return value.clone()
        leaves[name] = value.clone().requires_grad_()
        return leaves[name].clone()  # not a leaf itself, so that the program may write to it

    args = tuple(copied(f"input {index}", value) for index, value in enumerate(given.args))
    return args, {name: copied(f"input {name}", value) for name, value in given.kwargs.items()}


def _gradients(output: Any, sources: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor | None]:
    results = [tensor.sum() for tensor in tensors_of([output]) if tensor.requires_grad and not tensor.is_complex()]
    wanted = {name: source for name, source in sources.items() if source.requires_grad}
    if not results or not wanted:
        return {}
    total = torch.stack([result.to(torch.float64) for result in results]).sum()
    # The graph is retained, since a module may keep values computed from its weights for the next call.
    found = torch.autograd.grad(total, list(wanted.values()), allow_unused=True, retain_graph=True)
    return {name: None if value is None else sketch(value) for name, value in zip(wanted, found, strict=True)}


def sketch(values: torch.Tensor) -> torch.Tensor:
    """`SKETCHED` randomly weighted sums of the elements of a larger tensor; a smaller tensor is returned unchanged.

    Different tensors almost surely have different sketches, as in the projections of Johnson and Lindenstrauss (1984).
    """
    if values.numel() <= SKETCHED:
        return values
    rows = torch.nn.functional.pad(values.flatten(), (0, -values.numel() % SKETCHED)).view(-1, SKETCHED)
    weights = torch.randn(len(rows), generator=torch.Generator().manual_seed(SEED))
    return weights.to(values.dtype) @ rows


def _described(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return f"a {type(value).__name__}" if isinstance(value, list | tuple | dict) else repr(value)
