from fractions import Fraction

import pytest

from fx_lsp.agent.messages import Costs, ModuleCosts, Tensors
from fx_lsp.analysis.costs.cost_expectations import holds_for
from fx_lsp.documents.expectations import Expectation, Quantity


def costs(input_: str, *, unknown: tuple[str, ...] = (), flops: int | None = 10) -> Costs:
    root = ModuleCosts("", "Net", parameters=Tensors(10), flops=flops)
    return Costs(1, "Net", (root,), input=input_, unknown=unknown)


NOW = costs("x: [2, 8]")


@pytest.mark.parametrize(
    ("earlier", "quantity", "expected"),
    [
        (costs("x: [2, 8]"), "flops", True),
        (costs("x: [2, 4]"), "flops", False),
        (costs("x: [2, 8]", unknown=("nonzero",)), "flops", False),
        (costs("x: [2, 8]", flops=None), "flops", False),
        (costs("x: [2, 8]", flops=30), "flops", False),
        (costs("x: [2, 4]", unknown=("nonzero",)), "parameters", True),
        (Costs(1, "Net", reason="It can't be traced"), "parameters", False),
    ],
)
def test_a_condition_held_if_all_was_counted_for_the_same_input(
    earlier: Costs, quantity: Quantity, expected: bool
) -> None:
    condition = Expectation(f"{quantity} < 20", 1, quantity, Fraction(20), or_equal=False)
    assert holds_for(condition, earlier, NOW) is expected
