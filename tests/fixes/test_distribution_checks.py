"""Creating a distribution without checks of its arguments."""

from __future__ import annotations

import ast

import pytest

from fx_lsp.fixes.distribution_checks import fixes
from fx_lsp.rules import rule_for
from tests.fixes.fixing import edited_body

HEAD = "import torch\nfrom torch.distributions import Normal\n\ndef f(mean, std, x):\n"


def fixed(body: str, failing: str) -> str | None:
    """The new body; None if nothing is offered where ``failing`` fails."""
    return edited_body(fixes, "data-dependent-guard", HEAD, body, lambda call: ast.unparse(call) == failing)


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


@pytest.mark.parametrize("kind", ["foreign-call", "control-flow", "data-dependent-guard", "graph-break"])
def test_it_is_tried_before_the_call_is_moved(kind: str) -> None:
    offered = rule_for(kind).fixes
    before = [name for name in offered if name in ("distribution_checks", "wrap_call", "move_to_helper")]
    assert before[0] == "distribution_checks"
