"""Files that a constructor names, and that lie elsewhere in the workspace."""

from __future__ import annotations

import dataclasses

import pytest

from fx_lsp.agent.messages import Recipe, Snippet
from tests.agent.client import Client, target_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

NET = """
import json
from torch import nn

class Net(nn.Module):
    def __init__(self, config="net.json"):
        super().__init__()
        with open(config) as file:
            self.layer = nn.Linear(json.load(file)["width"], 1)

    def forward(self, x):
        return self.layer(x)
"""


async def test_a_file_is_found_by_its_name(client: Client) -> None:
    client.write("configs/deep/net.json", '{"width": 3}')
    report = (await client.trace(client.write("net.py", NET), "Net()")).only
    assert report.outcome == "traced"


async def test_the_file_whose_path_matches_best_is_taken(client: Client) -> None:
    client.write("one/net.json", '{"wrong": 3}')
    client.write("two/small/net.json", '{"width": 3}')
    report = (await client.trace(client.write("net.py", NET), "Net('small/net.json')")).only
    assert report.outcome == "traced"


@pytest.mark.parametrize("config", ["net.json", "absent.json", "/absent/net.json", "../net.json"])
async def test_a_file_that_is_not_clear_is_not_guessed(client: Client, config: str) -> None:
    client.write("one/net.json", '{"width": 3}')
    client.write("two/net.json", '{"width": 4}')
    report = (await client.trace(client.write("net.py", NET), f"Net({config!r})")).only
    assert (report.outcome, report.reason) == ("not-built", "it needs a file or weights that are not available")


async def test_a_default_that_names_no_file_gives_way_to_one_of_the_workspace(client: Client) -> None:
    client.write("config/small.json", '{"width": 3}')
    file = client.write("net.py", NET)
    target = dataclasses.replace(target_of(file, "Net"), recipe=Recipe(Snippet("Net", 5), made_up=True), symbol="Net")
    report = (await client.trace(file, target)).only
    assert report.outcome == "traced"
