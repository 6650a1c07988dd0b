"""A NumPy number, whose text the generated code cannot evaluate."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """What the generated code lacks, and what to do; ``failure.error`` is the number as the code has it."""
    return (
        f"{subject(expression)} is recorded with a NumPy number: torch.fx writes `{failure.error}` into the generated "
        "code, which does not import NumPy, so the graph raises a `NameError` when it runs. Convert the number to one "
        "of Python's own with `.item()`, or compute it with `math` instead of NumPy."
    )


RULE = Rule(
    code="numpy-number",
    title="A NumPy number in the generated code",
    why="""\
NumPy's functions return numbers of its own types, such as `np.float64`. If an operation with a traced value gets such a
number, torch.fx writes the text of the number into the generated code. Since NumPy 2, this text is `np.float64(8.0)`,
but the generated code has no name `np`: the trace succeeds, and the graph raises a `NameError` when it runs.

- Compute the number with Python's `math` module: `math.sqrt(64)` instead of `np.sqrt(64)`.
- Convert the number where it is used: `np.sqrt(64).item()`. If a module keeps it as an attribute, convert it in
  `__init__`.

A graph that fxcore has traced runs: its code knows NumPy.""",
    bad="""\
import numpy as np
import torch.fx


def scaled(x):
    return x / np.sqrt(64)


traced = torch.fx.symbolic_trace(scaled)
""",
    good="""\
import math

import torch.fx


def scaled(x):
    return x / math.sqrt(64)


traced = torch.fx.symbolic_trace(scaled)
""",
    text=message,
    kinds=("numpy-number",),
    severity="warning",
    is_notice=True,
)
