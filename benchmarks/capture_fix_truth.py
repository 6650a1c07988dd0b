"""Whether an edited program can be captured and does what it did before, by the installed torch alone.

    python benchmarks/capture_fix_truth.py FILE EDITED export|compile

Each file has a ``model`` that takes one tensor of shape [3, 4]. It prints ``the same on N inputs``, ``differs: …``,
or ``not captured: …``.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
import warnings
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


def result(model: Any, x: torch.Tensor) -> list[Any]:
    """What a call returns, as plain values; for an error, that there was one."""
    try:
        with torch.no_grad():
            return plain(model(x.clone()))
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
    return len(one) == len(other) and all(
        torch.equal(torch.nan_to_num(a), torch.nan_to_num(b)) if isinstance(a, torch.Tensor) else a == b
        for a, b in zip(one, other, strict=True)
    )


def verdict(path: str, edited: str, capture: str) -> str:
    """What is printed."""
    inputs = [values(number) for number in range(INPUTS)]
    old = loaded(path)
    expected = [result(old, x) for x in inputs]  # before an operator is defined once more
    new = loaded(edited)
    example = torch.linspace(-1, 2, 12).view(3, 4)
    try:
        if capture == "export":
            captured: Any = torch.export.export(new, (example,), strict=False).module()
        else:
            captured = torch.compile(new, backend="eager", fullgraph=True)
            captured(example)
    except Exception as error:
        return f"not captured: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
    for number, x in enumerate(inputs):
        for what, model in {"edited": new, "captured": captured}.items():
            if not is_same(expected[number], result(model, x)):
                return f"differs: the {what} program, on input {number}"
    return f"the same on {INPUTS} inputs, of which {sum(isinstance(one[0], str) for one in expected)} raise"


def values(number: int) -> torch.Tensor:
    """An input; its magnitude and its mean differ from one to the next."""
    generator = torch.Generator().manual_seed(number)
    return torch.randn(3, 4, generator=generator) * 10.0 ** (number % 5 - 2) + (number % 3 - 1)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        said = verdict(*sys.argv[1:])
    print(said)
