"""A tensor that is computed while tracing."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="frozen-constant",
    title="A tensor becomes a constant of the graph",
    why="""\
A tensor that `forward` computes without any traced value, such as `torch.arange(10)`, is computed once, while tracing.
It becomes a buffer of the graph module, named `_tensor_constant0` and so on, and so does a tensor that is a global
variable. In three ways, the graph module may then differ from the program:

- Each run uses that tensor. The graph does not compute it again from settings or buffers that have changed, and an
  in-place write to it remains for the next run.
- The `state_dict` of the graph module contains the tensor; that of the program does not.
- `graph_module.to` and `graph_module.half` also apply to the tensor, but the same methods of the model have no effect
  on a call such as `torch.arange(10)`.

Either of these avoids the differences:

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
        "{subject} uses a tensor whose computation is not recorded: the tensor becomes a buffer of the graph module, "
        "and every run uses it, even if the program would compute a different one. Register it as a buffer of the "
        "module, or create it with `device=x.device`, where `x` is an input, so that the call is recorded."
    ),
    kinds=("frozen-constant",),
    severity="hint",
    is_notice=True,
    default_on=False,
)
