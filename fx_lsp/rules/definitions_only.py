"""Importing the file would run a script, so fx-lsp ran only its definitions."""

from fx_lsp.agent.messages import Failure
from fx_lsp.rules import Rule, remark, subject


def message(failure: Failure, expression: str) -> str:
    """What was skipped, and why: it does work, or exceeds a limit."""
    return (
        f"{subject(expression)} was skipped because it does more than define names: fx-lsp ran only the definitions of "
        f'this file. Move such work under `if __name__ == "__main__":`.{remark(failure) if failure.error else ""}'
    )


RULE = Rule(
    code="definitions-only",
    title="Only the definitions of a script were run",
    why="""\
fx-lsp imports a file before it traces the models in that file. A script that trains, downloads, asks for input or exits
at its top level would do so every time. fx-lsp therefore runs only the imports, definitions and assignments of such a
file, and does not check anything that depends on the rest. It does the same with a file whose import takes too long or
needs too much memory, and leaves out the statement that was running then, even if that is an assignment.

- Move the work under `if __name__ == "__main__":`, or into a function.""",
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
    text=message,
    kinds=("definitions-only",),
    severity="information",
    is_certain=True,
)
