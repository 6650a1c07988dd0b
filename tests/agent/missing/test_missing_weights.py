"""Weights that a constructor loads can't be had; what is built without them is what it would be with them."""

from __future__ import annotations

import dataclasses
import re

import pytest

from fx_lsp.agent.messages import Recipe, Snippet
from tests.agent.client import Client, target_of

pytestmark = pytest.mark.asyncio(loop_scope="session")

LOADING = {
    "torch's own": "self.load_state_dict(load_state_dict_from_url('https://example.org/net.pth'))",
    "a name of its own": "self.load_state_dict(hub.load_state_dict_from_url('https://example.org/n'), strict=False)",
    "below a key": "self.load_state_dict(load_state_dict_from_url('https://example.org/net.pth')['model'])",
    "filtered": "self.load_state_dict({k: v for k, v in fetch_weights('net').items() if k != 'head'})",
    "by a function that puts them in": "load_pretrained_weights(self, 'net')",
    "by a class method": "self.layer = Wide.from_pretrained('net', width=4).layer",
    "without some": "w = hub.load_state_dict_from_url('https://example.org/n'); del w['a']; self.load_state_dict(w)",
    "filtered, then changed": "load_pretrained(self, 'https://example.org/n')",
    "downloaded to a file": "self.load_state_dict(torch.load(download_cached_file('https://example.org/n')))",
    "by a store of models": "self.load_state_dict(torch.load(model_file('net'), 'cpu'), strict=False)",
    "from a file": "self.load_state_dict(torch.load('net.pth', map_location='cpu'))",
}


@pytest.mark.parametrize("loading", LOADING.values(), ids=LOADING)
async def test_a_module_is_built_without_its_weights(client: Client, loading: str) -> None:
    file = client.write(
        "net.py",
        f"""
        import os
        import urllib.request
        import torch
        from torch import hub, nn
        from torch.hub import load_state_dict_from_url

        def fetch_weights(name):
            return hub.load_state_dict_from_url(f"https://example.org/{{name}}.pth", progress=False)

        def download_cached_file(url):
            path = url.rpartition("/")[2]
            with open(path, "wb") as file:
                file.write(urllib.request.urlopen(url).read())
            return path

        def model_file(name, root="~/.models"):
            root = os.path.expanduser(root)
            if not os.path.exists(root):
                os.makedirs(root)
            return download_cached_file(os.path.join("https://example.org", name))

        def load_pretrained_weights(model, name):
            with open(f"{{name}}.pth", "rb") as weights:
                model.load_state_dict(torch.load(weights), strict=True)

        def load_pretrained(model, url):
            weights = {{name: weight for name, weight in hub.load_state_dict_from_url(url).items()}}
            del weights["head"]
            model.load_state_dict(weights)

        class Wide(nn.Module):
            def __init__(self, width=3):
                super().__init__()
                self.layer = nn.Linear(width, width)

            @classmethod
            def from_pretrained(cls, name, **kwargs):
                model = cls(**kwargs)
                with open(name, "rb") as weights:
                    model.load_state_dict(torch.load(weights))
                return model

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 3)
                {loading}

            def forward(self, x):
                return self.layer(x)
        """,
    )
    report = (await client.trace(file, "Net()")).only
    assert (report.outcome, report.failures) == ("traced", ())


UNKNOWN = {
    "a class that chooses": ("AutoModel.from_pretrained('net')", "self.part(x).last_hidden_state"),
    "a class that needs more than defaults": ("Cut.from_pretrained('net')", "self.part(x)"),
}


@pytest.mark.parametrize(("loading", "use"), UNKNOWN.values(), ids=UNKNOWN)
async def test_what_only_its_weights_describe_is_as_unknown_as_what_is_missing(
    client: Client, loading: str, use: str
) -> None:
    pytest.importorskip("transformers")
    file = client.write(
        "net.py",
        f"""
        from torch import nn
        from transformers import AutoModel

        class Cut(nn.Module):
            def __init__(self, sizes):
                super().__init__()
                self.layer = nn.Linear(*sizes)

            @classmethod
            def from_pretrained(cls, name):
                with open(name) as file:
                    return cls(file.read().split())

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.part = {loading}
                self.layer = nn.Linear(3, 3)

            def forward(self, x):
                y = self.layer(x)
                if y.sum() > 0:
                    return {use}
                return y
        """,
    )
    report = (await client.trace(file, "Net()")).only
    assert (report.outcome, [failure.kind for failure in report.failures]) == ("failed", ["control-flow"])


async def test_a_file_is_imported_without_weights_that_it_loads(client: Client) -> None:
    file = client.write(
        "net.py",
        """
        from torch import hub, nn

        WEIGHTS = hub.load_state_dict_from_url("https://example.org/net.pth")

        class Net(nn.Module):
            def forward(self, x):
                return x + 1

        net = Net()
        net.load_state_dict(WEIGHTS)
        """,
    )
    report = (await client.trace(file, "net")).only
    assert (report.outcome, [notice.kind for notice in report.notices]) == ("traced", ["denied"])


async def test_a_network_error_not_about_weights_is_still_reported(client: Client) -> None:
    file = client.write(
        "net.py",
        """
        from urllib.request import urlopen
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.classes = urlopen("https://example.org/classes.txt").read()

            def forward(self, x):
                return x
        """,
    )
    report = (await client.trace(file, "Net()")).only
    assert report.outcome == "not-built"


@pytest.mark.parametrize(
    ("built", "error"),
    [
        ('if "head.bias" in weights: self.head = nn.Linear(3, 3)', "AttributeError"),
        ("self.layers = [nn.Linear(3, 3) for name in weights]; self.head = lambda x: self.layers[-1](x)", "IndexError"),
    ],
)
async def test_code_that_depends_on_missing_weights_is_not_judged(client: Client, built: str, error: str) -> None:
    file = client.write(
        "net.py",
        f"""
        from torch import hub, nn

        class Base(nn.Module):
            def __init__(self):
                super().__init__()
                weights = hub.load_state_dict_from_url("https://example.org/net.pth")
                {built}

        class Net(Base):
            def forward(self, x):
                return self.head(x)

        class Branching(Base):
            def forward(self, x):
                return x if x.sum() > 0 else -x
        """,
    )
    reports = (await client.trace(file, "Net()", "Branching()")).reports
    assert reports["Net()"].outcome == "unchecked"
    where = r"\(\w+\.py:\d+\), possibly because of weights that could not be loaded"
    assert re.fullmatch(rf"it raises {error}: .+ {where}", reports["Net()"].reason)
    assert reports["Branching()"].outcome == "failed"


async def test_using_missing_weights_for_anything_but_loading_is_not_judged(client: Client) -> None:
    file = client.write(
        "net.py",
        """
        from torch import hub, nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                weights = hub.load_state_dict_from_url("https://example.org/net.pth")
                self.layer = nn.Linear(*weights["layer"].shape)

            def forward(self, x):
                return self.layer(x)
        """,
    )
    report = (await client.trace(file, "Net()")).only
    assert (report.outcome, report.reason) == ("unchecked", "it depends on `weights`, which is missing")


async def test_what_lacks_a_file_is_not_built_on_the_cpu_as_well(client: Client) -> None:
    file = client.write(
        "net.py",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                raise FileNotFoundError(f"no table for {torch.empty(1).device}")
        """,
    )
    report = (await client.trace(file, "Net()")).only
    assert [failure.error for failure in report.failures] == ["FileNotFoundError: no table for meta"]


async def test_the_next_recipe_is_tried_on_meta_if_the_first_lacks_a_file(client: Client) -> None:
    file = client.write(
        "net.py",
        """
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, table=None):
                super().__init__()
                self.place = torch.empty(1).device.type
                self.table = open(table).read() if table else ""

            def forward(self, x):
                return x.cos() if self.place == "meta" else x.sin()
        """,
    )
    target = target_of(file, "Net('gone.csv')")
    report = (await client.trace(file, dataclasses.replace(target, fallbacks=(Recipe(Snippet("Net()", 1)),)))).only
    assert "cos" in report.code
