"""A model whose constructor takes long is built once for all runs, unless a run changes it."""

import asyncio

import pytest

from tests.agent.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="session")

SLOW = """
import time
import torch

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass
        print("built", self.training)
        self.kept = []

    def forward(self, x):
        {first}
        if x.sum() > 0:
            x = x / len(x)
        elif x.sum() < 1:
            x = x + int(x)
        return x
"""


async def builds(client: Client) -> int:
    """How often the model was built since the last call, for a model that prints that."""
    file = client.write("end.py", "def end(x):\n    print('the end')\n    return x\n")
    await client.trace(file, "end")
    while "the end" not in client.log:  # all that was printed earlier comes earlier
        await asyncio.sleep(0.01)
    count = client.log.count("built True")
    client.log.clear()
    return count


async def test_a_model_is_built_once_for_all_runs(client: Client) -> None:
    await builds(client)
    file = client.write("shared_build.py", SLOW.format(first="pass"))
    shared = (await client.trace(file, "Net()")).only
    assert await builds(client) == 1
    file = client.write("shared_build.py", SLOW.format(first="self.kept.append(x)"))
    repeated = (await client.trace(file, "Net()")).only
    assert await builds(client) > 1, "a run would find what an earlier one has left"
    kinds = [failure.kind for failure in shared.failures]
    assert kinds[:1] == ["control-flow"]
    assert len(kinds) > 2, "the other sides are explored"
    assert [failure.kind for failure in repeated.failures] == kinds
