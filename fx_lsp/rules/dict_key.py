"""A dict with a traced value as a key."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, hands_over, subject


def message(failure: Failure, expression: str) -> str:
    """What the graph cannot hold, and what to use instead."""
    return (
        f"{subject(expression)} {hands_over(failure, expression)} a dict whose keys contain a traced value; a graph "
        "cannot hold such a dict. Use plain numbers or strings as keys, or a list of pairs."
    )


RULE = Rule(
    code="dict-key",
    title="A dict with a traced value as a key",
    why="""\
A dict can be passed to a recorded call, or be returned, if its keys are plain values such as numbers and strings. A
traced value cannot be a key: the value that it stands for is not known, so its hash is not known either.

- Use keys that are known while tracing, such as names or level numbers.
- Use a list or a tuple of pairs instead of a dict.""",
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
    text=message,
    kinds=("dict-key",),
    fixes=("wrap_call", "move_to_helper"),
)
