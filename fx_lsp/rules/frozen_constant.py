"""A tensor that is computed while tracing."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """What becomes of the tensor."""
    return (
        f"{subject(expression)} uses a tensor that was computed while tracing: it is a constant of the graph, and "
        "stays on its device. Register it as a buffer, or make it with the device of an input."
    )


RULE = Rule(
    code="frozen-constant",
    title="A tensor is a constant of the graph",
    why="""\
A tensor that `forward` makes without any traced value, such as `torch.arange(10)`, is computed while tracing and kept
with the graph as `_tensor_constant0` and so on. Its device, dtype and values are those of the time of tracing:
`graph_module.to` does not move it.

- Keep it as a buffer: `self.register_buffer("positions", torch.arange(10))` in `__init__`.
- Take the device from an input, which has the call recorded: `torch.arange(10, device=x.device)`.""",
    bad="""\
import torch
import torch.fx


def enumerated(x):
    return x + torch.arange(10)


traced = torch.fx.symbolic_trace(enumerated)
""",
    good="""\
import torch
import torch.fx


def enumerated(x):
    return x + torch.arange(10, device=x.device)


traced = torch.fx.symbolic_trace(enumerated)
""",
    message=message,
    kinds=("frozen-constant",),
    severity="hint",
    is_notice=True,
    default_on=False,
)
