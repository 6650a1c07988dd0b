"""A tensor that is computed while tracing."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="frozen-constant",
    title="A tensor becomes a constant of the graph",
    why="""\
A tensor that `forward` creates without any traced value, such as `torch.arange(10)`, is computed once, while tracing,
and is stored with the graph as `_tensor_constant0` and so on. Its device, dtype and values never change:
`graph_module.to` does not move it.

- Keep the tensor as a buffer: `self.register_buffer("positions", torch.arange(10))` in `__init__`.
- Take the device from an input, so that the call is recorded: `torch.arange(10, device=x.device)`.""",
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
    text=(
        "{subject} uses a tensor whose computation is not recorded: the tensor becomes a constant of the graph and "
        "stays on its device. Register it as a buffer, or create it on the device of an input."
    ),
    kinds=("frozen-constant",),
    severity="hint",
    is_notice=True,
    default_on=False,
)
