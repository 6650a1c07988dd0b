"""A dict with a traced value as a key."""

from fx_lsp.rules import Rule

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
    text=(
        "{subject} passes or returns a dict with a traced value as a key, which a graph cannot hold. Use plain numbers "
        "or strings as keys, or a list of pairs."
    ),
    kinds=("dict-key",),
    fixes=("wrap_call", "move_to_helper"),
)
