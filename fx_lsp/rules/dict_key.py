"""A dict whose key is a traced value."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """That ``expression`` stores such a dict, and what to do instead."""
    return (
        f"{subject(expression)} stores a dict that has a traced value among its keys, which a graph cannot hold. Use "
        "plain numbers or text as keys, or a list of pairs."
    )


RULE = Rule(
    code="dict-key",
    title="A dict with a traced value as a key",
    why="""\
A dict can be an argument of a recorded call, or be returned, if its keys are plain numbers, text and the like. A traced
value has no hash of its own to find it by again.

- Keys that are known, such as the names or numbers of the levels.
- A list or a tuple of pairs.""",
    bad="""\
import torch.fx


def by_size(x):
    return {x.shape[-1]: x}


traced = torch.fx.symbolic_trace(by_size)
""",
    good="""\
import torch.fx


def by_size(x):
    return [(x.shape[-1], x)]


traced = torch.fx.symbolic_trace(by_size)
""",
    message=message,
    kinds=("dict-key",),
    fixes=("wrap", "helper"),
)
