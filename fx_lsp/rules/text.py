"""The text of a traced value is its name in the graph."""

from fx_lsp.rules import Rule

RULE = Rule(
    code="text",
    title="A traced value is converted to text",
    why="""\
The text of a traced value is its name in the graph, such as `Proxy(getattr_1)`, not the number, dtype or device that it
stands for. This text is wrong if the program does more with it than show it in a message: for example, if it is the key
of a cache, a name to look up, or a return value.

- For the key of a cache: use something that is known while tracing.
- Otherwise: move the code that needs the text into a module-level function and record its call with
  `torch.fx.wrap("its_name")`.

fx-lsp does not report texts in errors, assertions, warnings and logs, because only people read them.""",
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
    text=(
        "{subject} produces the text `{detail}` while tracing: this is the name of a traced value, not the value. "
        "Use something that is known while tracing, or move this code into a function wrapped with `torch.fx.wrap`."
    ),
    kinds=("text",),
    severity="warning",
    is_notice=True,
)
