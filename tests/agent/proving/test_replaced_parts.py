"""What is proven of programs with submodules whose classes are missing, and what is not."""

from __future__ import annotations

import pytest

from tests.agent.client import Client
from tests.agent.proving.edits import Edit, program, prove

BEFORE = "from missing_package import Block, Gate"
INIT = "self.block, self.gate, self.lin = Block(8), Gate(8), torch.nn.Linear(8, 8)"
NET = program("y = self.gate(self.block(self.lin(x), 2))\nreturn y / len(x)", init=INIT, before=BEFORE)
CALLS = "self.gate(self.block(self.lin(x), 2))"
SKIPPED = program("y = x / len(x)\nreturn self.block(y) if y.sum() > 0 else y", init=INIT, before=BEFORE)
MASKED = program("return self.block(self.lin(x), x > 0) / len(x)", init=INIT, before=BEFORE)
NAMED = program("return self.block(self.lin(x), kind='sum') / len(x)", init=INIT, before=BEFORE)
TWICE = program("y = self.block(x)\nz = self.block(self.lin(x))\nreturn (y + z) / len(x)", init=INIT, before=BEFORE)
WHICH = "where modules that keep shapes replace `missing_package.Block` and `missing_package.Gate`"


@pytest.mark.asyncio(loop_scope="session")
async def test_the_code_around_missing_parts_is_compared(client: Client) -> None:
    proof = await prove(client, Edit(NET, "len(x)", "x.size(0)"))
    assert (proof.verdict, WHICH in proof.reason) == ("proven", True), proof.reason


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(
    "edit",
    [
        Edit(NET, f"{CALLS}\n        return y / len(x)", "self.block(self.lin(x), 2)\n        return y / x.size(0)"),
        Edit(NET, f"{CALLS}\n        return y / len(x)", f"{CALLS.replace('2', '3')}\n        return y / x.size(0)"),
        Edit(
            NET,
            f"{CALLS}\n        return y / len(x)",
            "self.block(self.gate(self.lin(x)), 2)\n        return y / x.size(0)",
        ),
        Edit(MASKED, "x > 0) / len(x)", "x < 0) / x.size(0)"),
        Edit(NAMED, "'sum') / len(x)", "'mean') / x.size(0)"),
        Edit(
            TWICE,
            "y = self.block(x)\n        z = self.block(self.lin(x))\n        return (y + z) / len(x)",
            "z = self.block(self.lin(x))\n        y = self.block(x)\n        return (y + z) / x.size(0)",
        ),
        Edit(
            SKIPPED,
            "y = x / len(x)\n        return self.block(y) if y.sum() > 0 else y",
            "y = x / x.size(0)\n        return torch.where(y.sum() > 0, self.block(y), y)",
        ),
    ],
    ids=[
        "a part less",
        "another argument",
        "another order",
        "another mask",
        "another word",
        "another order of calls of one part",
        "a part that is always called",
    ],
)
async def test_a_program_that_uses_its_parts_in_another_way_is_refuted(client: Client, edit: Edit) -> None:
    proof = await prove(client, edit, first_only=False)
    assert (proof.verdict, "differs" in proof.reason) == ("refuted", True), proof.reason
