"""The file does its work while it is imported; only what it defines was run."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, subject


def message(failure: Failure, expression: str) -> str:
    """What was left out."""
    return (
        f"{subject(expression)} was left out: it does more than to define something, so only the definitions of this "
        'file were run. What it does belongs under `if __name__ == "__main__":`.'
    )


RULE = Rule(
    code="definitions-only",
    title="A script was run without its work",
    why="""\
A file is imported before its models are traced. A script that trains, downloads, asks for input or exits at its top
level would do that each time. Only its imports, definitions and assignments are run instead; what hangs on the rest is
not known and not checked.

- Put the work under `if __name__ == "__main__":`, or into a function.""",
    bad="""\
import torch
import torch.fx

net = torch.nn.Linear(3, 1)
for scale in (0.5, 1.0):
    net(torch.rand(2, 3) * scale).sum().backward()


def scaled(x):
    return x * scale


traced = torch.fx.symbolic_trace(scaled)
""",
    good="""\
import torch
import torch.fx


def scaled(x, scale=1.0):
    return x * scale


traced = torch.fx.symbolic_trace(scaled)

if __name__ == "__main__":
    net = torch.nn.Linear(3, 1)
    for scale in (0.5, 1.0):
        net(torch.rand(2, 3) * scale).sum().backward()
""",
    message=message,
    kinds=("definitions-only",),
    severity="information",
    is_certain=True,
)
