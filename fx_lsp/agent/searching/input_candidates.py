"""Inputs that a program may accept, the likeliest first.

They come from the recipe, then from calls with literal tensors in the file, from the module's layers, and last from a
list of common shapes.
"""

from __future__ import annotations

import ast
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import torch

from fx_lsp.agent.random_seeds import seed
from fx_lsp.agent.running.observation import Input, forward_of, modules_of
from fx_lsp.agent.running.plain_values import map_tensors, tensors_of
from fx_lsp.agent.searching.input_variations import random_values
from fx_lsp.agent.searching.written_lists import written_lists
from fx_lsp.agent.searching.written_options import written_options
from fxcore.explore.guess_inputs import guesses

MOST_GUESSED = 1 << 23
"""How many elements the tensors of one guess may have. A volume with the sides of an image has far more."""

MOST_GUESSES = 24
"""How many of the inputs that the layers suggest are tried."""

SIDES = (64, 224, 32, 299, 84, 28)
"""Image sizes in pixels to try if nothing in a module determines the size; 84 is that of Atari games, 28 of MNIST."""

SHAPES = ((3, 8), (2, 5, 8), (2, 3, 32, 32), (2, 3, 64, 64), (2, 3, 224, 224), (4, 4), (6,), (1, 1, 16, 16))
"""Shapes to try if the layers suggest nothing that works."""

_FACTORIES = frozenset({"rand", "randn", "zeros", "ones", "full", "randint", "arange", "tensor", "empty"})

_BY_ANNOTATION: Mapping[Any, Any] = {int: 2, bool: False, float: 0.5}


def candidates(
    root: Callable[..., Any], fixed: Mapping[str, Any], known: Input | None, source: str, namespace: dict[str, Any]
) -> Iterator[Input]:
    """Inputs that ``root`` may accept, the likeliest first.

    ``fixed`` has the values of parameters that are not inputs, ``known`` is an input that the recipe names. ``source``
    and ``namespace`` are the file's: the arguments of any call in this file may also fit.
    """
    for given in itertools.chain([known] if known else [], literal_calls(source, namespace)):
        yield Input(given.args, {**given.kwargs, **fixed})
    if any(found.is_certain for found in written_lists(forward_of(root)).values()):
        return  # a tensor in place of a list may run, but an edit for lists need not suit it
    generator = torch.Generator().manual_seed(0)
    flags, names = required_arguments(root, fixed)
    guessed = guessed_inputs(root, {**flags, **fixed})
    counts = _token_counts(root)
    for guess in itertools.chain(guessed, _habits(names)):
        if sum(tensor.numel() for tensor in tensors_of(guess.values())) > MOST_GUESSED:
            continue
        whole = any(not tensor.is_floating_point() for tensor in tensors_of(guess.values()))
        for count in counts if whole else counts[:1]:
            yield Input((), {**map_tensors(partial(_real, count=count, generator=generator), guess), **flags, **fixed})


def guessed_inputs(
    root: Callable[..., Any], given: Mapping[str, Any], sides: Sequence[int] = SIDES
) -> list[dict[str, Any]]:
    """Inputs that the layers suggest; ``given`` are values that are known, ``sides`` are sizes of images."""
    return list(itertools.islice(_distinct(guesses(root, given, sides=sides)), MOST_GUESSES))


def required_arguments(root: Callable[..., Any], fixed: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Values for the required parameters of ``root`` that are no tensors, and the names of the others.

    The former are annotated as ``int``, ``bool`` or ``float``, or ``root`` compares them with strings.
    """
    parameters, options = inspect.signature(forward_of(root)).parameters, written_options(forward_of(root))
    flags: dict[str, Any] = {}
    names = []
    for name, parameter in parameters.items():
        if (
            name in fixed
            or parameter.default is not parameter.empty
            or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ):
            continue
        known = [cls for cls in _BY_ANNOTATION if parameter.annotation in (cls, cls.__name__)]
        if known:
            flags[name] = _BY_ANNOTATION[known[0]]
        elif name in options:
            flags[name] = options[name][0]
        else:
            names.append(name)
    return flags, names


def _distinct(guessed: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    seen: set[str] = set()
    for guess in guessed:
        if (shown := repr(guess)) not in seen:
            seen.add(shown)
            yield guess


def _habits(names: Sequence[str]) -> Iterator[dict[str, Any]]:
    for shape in SHAPES:
        yield {name: torch.empty(shape, device="meta") for name in names}
    yield {name: torch.ones(2, 7, dtype=torch.long, device="meta") for name in names}


def _token_counts(root: Callable[..., Any]) -> list[int]:
    """The vocabulary size of each embedding; 4 if there is no embedding."""
    counts = [module.num_embeddings for module in modules_of(root) if isinstance(module, torch.nn.Embedding)]
    return list(dict.fromkeys(counts)) or [4]


def _real(tensor: torch.Tensor, count: int, generator: torch.Generator) -> torch.Tensor:
    """A tensor of random values with the shape and dtype of ``tensor``; integers are less than ``count``."""
    if tensor.is_floating_point():
        return random_values(tensor.shape, tensor.dtype, generator)
    return torch.randint(count, tensor.shape, generator=generator).to(tensor.dtype)


def literal_calls(source: str, namespace: dict[str, Any]) -> Iterator[Input]:
    """The arguments of the calls in ``source`` that pass tensors made from literals: ``net(torch.randn(2, 3))``."""
    tree = ast.parse(source)
    made = {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and _is_factory(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for call in [node for node in ast.walk(tree) if isinstance(node, ast.Call)]:
        args = [_made(argument, made) for argument in call.args]
        kwargs = {str(keyword.arg): _made(keyword.value, made) for keyword in call.keywords}
        values = [*args, *kwargs.values()]
        if any(map(_is_factory, values)) and all(value is not None for value in values):
            try:
                seed()
                yield Input(
                    tuple(_run(arg, namespace) for arg in args), {k: _run(v, namespace) for k, v in kwargs.items()}
                )
            except Exception:  # what the call reads may be missing, or not be what the text suggests
                continue


def _made(node: ast.expr, made: Mapping[str, ast.expr]) -> ast.expr | None:
    """The expression (a call to a tensor factory, or a literal) that creates ``node``'s value; None if unknown."""
    if isinstance(node, ast.Name):
        return made.get(node.id)
    return node if isinstance(node, ast.Constant) or _is_factory(node) else None


def _is_factory(node: ast.expr | None) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=name), args=args):
            return name in _FACTORIES and all(_is_literal(argument) for argument in args)
    return False


def _is_literal(node: ast.expr) -> bool:
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


def _run(node: ast.expr | None, namespace: dict[str, Any]) -> Any:
    assert node is not None
    return eval(compile(ast.Expression(node), "<input>", "eval"), {"torch": torch, **namespace})
