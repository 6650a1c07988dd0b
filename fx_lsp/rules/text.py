"""A traced value in a text is its name."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """What the text is."""
    return (
        f"{subject(expression)} is made with the text `{failure.error}` while tracing, the name of a traced value "
        "instead of what it stands for. Use something that is known while tracing, or move this into a function "
        "recorded with `torch.fx.wrap`."
    )


RULE = Rule(
    code="text",
    title="A traced value made into text",
    why="""\
The text of a traced value is its name in the graph, such as `Proxy(getattr_1)`, and not the number, dtype or device
that it stands for. Where the text is used for more than a message it is wrong: a key of a cache, a name to look up, a
value that is returned.

- Key caches by what is known while tracing.
- Move what needs the text into a function at module level and record its call with `torch.fx.wrap("its_name")`.

Texts of errors, assertions, warnings and logs are for people and are not noticed.""",
    bad="""\
import torch.fx


def place(x):
    device = str(x.device)
    return x + 1, device


traced = torch.fx.symbolic_trace(place)
""",
    good="""\
import torch.fx


@torch.fx.wrap
def device_name(x):
    return str(x.device)


def place(x):
    return x + 1, device_name(x)


traced = torch.fx.symbolic_trace(place)
""",
    message=message,
    kinds=("text",),
    severity="warning",
    is_notice=True,
)
