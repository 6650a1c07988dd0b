"""A branch that depends on the values in a tensor."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="data-dependent-guard",
    title="torch.export cannot decide a branch",
    why="""\
`torch.export` runs `forward` on tensors that have a shape but no values. A branch on a size is decided by the example
inputs, but a branch on the values in a tensor cannot be decided at all.

- To choose between two values that can both be computed: `torch.where(condition, a, b)`.
- To keep both branches: `torch.cond(condition, f, g, (x,))`, where `f` and `g` are functions without side effects. Both
  must return tensors of the same shapes, and none that they were given: return `x.clone()` instead of `x`.
- If the branch only prints, logs or warns: leave it out with `if not torch.compiler.is_compiling() and condition:`.
- If the condition only saves work: remove the whole `if`, as in `if len(rows) == 0: continue`, or, if it guards other
  work, only the condition or, in `if mask is not None and not mask.all()`, the part that depends on values.
- If the condition is about `x.max().item()`: keep the tensor, `x.max().detach()`, and choose by that.
- If `torch.distributions` checks its arguments: create the distribution with `validate_args=False`.
- For `max(n, 1)` of a number from `.item()`: `torch.sym_max(n, 1)`, and `torch.sym_min` likewise.
- For `int(condition)`, `float(x)` or `bool(x)`: compute with the tensor itself, or with `x.item()`.
- For a loop that a tensor ends early, in its `while` or before a `break`: make all of a fixed number of turns, and let
  only those that count change a value, with `torch.where(running, new, old)`.
- For one of several modules, as in `self.experts[index](x)`: call all of them, stack the results and index the stack.
- For all else, such as a loop without a largest number of turns, one that fills a list, or a branch whose sides return
  tensors of different shapes: put the code into an operator of its own with `torch.library.custom_op`. The graph then
  contains only its call. Its fake implementation says which shapes its results have, and
  `torch.library.get_ctx().new_dynamic_size()` is a size that depends on data.
- If the condition always holds for a number that was read with `.item()`: say so with `torch._check(n > 0)` before the
  branch.""",
    bad="""\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return torch.relu(x)
        return torch.neg(x)


model = Net()
model(torch.ones(3, 4))
""",
    good="""\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return torch.where(x.sum() > 0, torch.relu(x), torch.neg(x))


model = Net()
model(torch.ones(3, 4))
""",
    text=(
        "{subject} depends on the values in a tensor, so torch.export cannot decide this branch. Choose between values "
        "with `torch.where`, keep both branches with `torch.cond`, or state what always holds with `torch._check`."
    ),
    kinds=("data-dependent-guard",),
    capture="export",
    fixes=(
        "skip_while_compiling",
        "torch_check",
        "torch_where",
        "tensor_item",
        "torch_cond",
        "whole_loop",
        "all_modules",
        "symbolic_numbers",
        "without_condition",
        "distribution_checks",
        "custom_operator",
    ),
)
