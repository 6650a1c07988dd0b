"""Whether an edited program can be captured and does what it did before, by the installed torch alone.

    python benchmarks/capture_fix_truth.py FILE EDITED export|compile

Each file has a ``model``, which takes what the file exports it with or, if it does not say so, one tensor of shape
[3, 4]. It prints ``the same on N inputs`` or ``differs: …``, perhaps behind ``not captured: …``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import random
import re
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

INPUTS = 40


def loaded(path: str) -> Any:
    """The model of a file, with weights that do not depend on the file."""
    torch.manual_seed(0)
    spec = importlib.util.spec_from_file_location("program", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["program"] = module
    spec.loader.exec_module(module)
    return module.model


def example(path: str) -> tuple[Any, ...]:
    """The inputs with which a file exports its model."""
    exported = re.search(r"export\(model, (\(.*\))\)\n", Path(path).read_text(encoding="utf-8"))
    return eval(exported[1], {"torch": torch}) if exported else (torch.linspace(-1, 2, 12).view(3, 4),)


class Program:
    """A model that each call finds in the state in which it was loaded."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self._state = {name: value.clone() for name, value in model.state_dict().items()}

    def result(self, given: Sequence[Any], captured: Any = None) -> list[Any]:
        """What a call of the model, or of what was ``captured``, returns as plain values; for an error, that."""
        self.model.load_state_dict(self._state)  # what was captured has the same weights
        torch.manual_seed(1)
        random.seed(1)
        try:
            with torch.no_grad():
                return plain((self.model if captured is None else captured)(*given))
        except Exception:
            return ["an error"]


def plain(value: Any) -> list[Any]:
    """The tensors and plain values in a result, whatever holds them."""
    found = []
    for leaf in tree_leaves(value):
        if isinstance(leaf, torch.Tensor | int | float | str | bool | None):
            found.append(leaf)
        else:
            found += plain(vars(leaf) if hasattr(leaf, "__dict__") else list(leaf))
    return found


def is_same(one: list[Any], other: list[Any]) -> bool:
    """Whether two results are equal bit by bit."""
    return len(one) == len(other) and all(map(_are_equal, one, other))


def _are_equal(a: Any, b: Any) -> bool:
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))
    return type(a) is type(b) and bool(a == b or (a != a and b != b))


def verdict(path: str, edited: str, capture: str) -> str:
    """What is printed."""
    base = example(path)
    old = Program(loaded(path))
    expected = [old.result(values(base, number)) for number in range(INPUTS)]  # before an operator is defined once more
    new, missed = Program(loaded(edited)), ""
    programs: dict[str, Any] = {"edited": None}
    try:
        if capture == "export":
            programs["captured"] = torch.export.export(new.model, base, strict=False).module()
        else:
            programs["captured"] = torch.compile(new.model, backend="eager", fullgraph=True)
            programs["captured"](*base)
    except Exception as error:
        programs.pop("captured", None)
        missed = f"not captured: {type(error).__name__}: {str(error).partition(chr(10))[0]}; "
    for number, wanted in enumerate(expected):
        for what, program in programs.items():
            if not is_same(wanted, new.result(values(base, number), program)):
                return f"differs: the {what} program, on input {number}"
    return f"{missed}the same on {INPUTS} inputs, of which {expected.count(['an error'])} raise"


def values(base: Sequence[Any], number: int) -> list[Any]:
    """Inputs like ``base``; their magnitude and their mean differ from one to the next."""
    generator = torch.Generator().manual_seed(number)
    return [_like(each, number, generator) if isinstance(each, torch.Tensor) else each for each in base]


def _like(tensor: torch.Tensor, number: int, generator: torch.Generator) -> torch.Tensor:
    if tensor.is_floating_point():
        return torch.randn(tensor.shape, generator=generator) * 10.0 ** (number % 5 - 2) + (number % 3 - 1)
    if tensor.dtype is torch.bool:
        return torch.rand(tensor.shape, generator=generator) < (0.5, 0.0, 1.0, 0.9)[number % 4]
    return torch.randint(int(tensor.min()), int(tensor.max()) + 1, tensor.shape, generator=generator)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        said = verdict(*sys.argv[1:])
    print(said)
