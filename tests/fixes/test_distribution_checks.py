"""Creating a distribution without checks of its arguments."""

from __future__ import annotations

import ast

import pytest

from fx_lsp.agent.messages import Failure, Span, Step
from fx_lsp.documents.positions import LineIndex
from fx_lsp.fixes.distribution_checks import fixes
from fx_lsp.fixes.editing.text_edits import applied

HEAD = "import torch\nfrom torch.distributions import Normal\n\ndef f(mean, std, x):\n"


def fixed(body: str, failing: str) -> str | None:
    """The new body; None if nothing is offered where ``failing`` fails."""
    text = HEAD + "".join(f"    {line}\n" for line in body.splitlines())
    found = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call) and ast.unparse(node) == failing)
    call = next(found)
    span = Span("f.py", call.lineno, call.col_offset, call.end_lineno or 0, call.end_col_offset or 0)
    step = Step("__init__", Span("distribution.py", 1, 0, 1, 5))
    offered = list(fixes(Failure("data-dependent-guard", "", (Step("f", span), step)), {"f.py": text}.get))
    if not offered:
        return None
    (new,) = applied(offered[0].changes, lambda path: LineIndex(text)).values()
    return "".join(line.removeprefix("    ") for line in new.removeprefix(HEAD).splitlines(keepends=True))


@pytest.mark.parametrize(
    ("body", "failing", "new"),
    [
        ("return Normal(mean, std)", "Normal(mean, std)", "return Normal(mean, std, validate_args=False)\n"),
        ("return Normal(mean, (std),)", "Normal(mean, std)", "return Normal(mean, (std), validate_args=False)\n"),
        (
            "return torch.distributions.Categorical(logits=(x))",
            "torch.distributions.Categorical(logits=x)",
            "return torch.distributions.Categorical(logits=(x), validate_args=False)\n",
        ),
        (
            "p = Normal(mean, std)\nreturn p.log_prob(x)",
            "p.log_prob(x)",
            "p = Normal(mean, std, validate_args=False)\nreturn p.log_prob(x)\n",
        ),
        (
            "return Normal(mean, std).log_prob(x)",
            "Normal(mean, std).log_prob(x)",
            "return Normal(mean, std, validate_args=False).log_prob(x)\n",
        ),
        (
            "return Normal(\n    mean,\n    std,\n)",
            "Normal(mean, std)",
            "return Normal(\n    mean,\n    std, validate_args=False)\n",
        ),
        ("return Normal(mean, std).sample().item()", "Normal(mean, std).sample().item()", None),
        ("return Normal(mean, std, True)", "Normal(mean, std, True)", None),
        ("return Normal(mean, (std)  # of x\n)", "Normal(mean, std)", None),
        ("return Normal(mean, std, x)", "Normal(mean, std, x)", None),
        ("return torch.distributions.Independent(mean, 1)", "torch.distributions.Independent(mean, 1)", None),
        ("return torch.distributions.constraints.Constraint(x)", "torch.distributions.constraints.Constraint(x)", None),
        (
            "return torch.distributions.AffineTransform(mean, std)",
            "torch.distributions.AffineTransform(mean, std)",
            None,
        ),
        (
            "return torch.distributions.constraints.simplex.check(x)",
            "torch.distributions.constraints.simplex.check(x)",
            None,
        ),
        ("return Normal(mean, std, validate_args=True)", "Normal(mean, std, validate_args=True)", None),
        ("return Normal(mean, **std)", "Normal(mean, **std)", None),
        ("return Normal(mean, std  # of x\n)", "Normal(mean, std)", None),
        ("return torch.normal(mean, std)", "torch.normal(mean, std)", None),
        ("return x.log_prob(mean)", "x.log_prob(mean)", None),
        (
            "return torch.distributions.kl_divergence(mean, std)",
            "torch.distributions.kl_divergence(mean, std)",
            None,
        ),
    ],
)
def test_the_call_that_creates_it_says_so(body: str, failing: str, new: str | None) -> None:
    assert fixed(body, failing) == new
