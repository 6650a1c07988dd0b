"""How a file is imported that can't be imported as it stands: with stand-ins, or its definitions alone."""

from __future__ import annotations

import pytest

from fx_lsp.agent.messages import Report

from .client import Client, text_at

pytestmark = pytest.mark.asyncio(loop_scope="session")

NET = """
from torch import nn

class Net(nn.Module):
    def __init__(self, width=3):
        super().__init__()
        self.layer = nn.Linear(width, 1)

    def forward(self, x):
        return self.layer(x)
"""


def noticed(report: Report) -> list[tuple[str, str]]:
    """What the import was short of: each notice's kind and the source that it points to."""
    return [(notice.kind, text_at(notice.chain[-1])) for notice in report.notices]


async def traced(client: Client, text: str, expression: str = "Net()") -> Report:
    return (await client.trace(client.write("net.py", text), expression)).only


@pytest.mark.parametrize(
    "use",
    [
        "import nowhere",
        "import nowhere.below as there\nfrom nowhere import other, more",
        "from nowhere import *",
        "import nowhere\n@nowhere.register(name='net')\nclass Other: pass\nnowhere.cfg['a'].b = 3",
        "import nowhere\nclass Other(nowhere.Base, nowhere.Mixin, config=3): pass",
        "import nowhere\nwith nowhere.scope() as s:\n    for item in s: pass\nx = -s[0] + 2 > s.y ** 2 if s else 3",
        "import nowhere\nfrom typing import Optional\ndef f(x: Optional[nowhere.T] = None) -> nowhere.A | None: ...",
        "import nowhere\nassert not isinstance(3, nowhere.A) and not issubclass(int, nowhere.A)",
        "import nowhere\nn = [1, 2][nowhere.at :], int(nowhere.n), float(nowhere.n), 3 in nowhere.l, len(nowhere.l)",
    ],
)
async def test_a_missing_package_is_stood_in_for(client: Client, use: str) -> None:
    report = await traced(client, f"{use}\n{NET}")
    assert (report.outcome, report.failures) == ("traced", ())
    assert noticed(report) == [("missing-package", use.split("\n")[0])]


@pytest.mark.parametrize(
    ("definition", "expression"),
    [
        ("def model(x):\n    return nowhere.f(x)", "model"),
        ("class A(nowhere.Module):\n    def forward(self, x):\n        return x", "A()"),
        ("@nowhere.register\nclass A(Net): pass", "A()"),
        ("class A(Net):\n    @nowhere.checked\n    def forward(self, x):\n        return x", "A()"),
        ("class A(Net):\n    def __init__(self):\n        super().__init__(nowhere.width)", "A()"),
        (
            "class A(Net):\n    def __init__(self):\n        super().__init__()\n        nn.Sequential(nowhere.B())",
            "A()",
        ),
        ("width = nowhere.width\nclass A(Net):\n    def forward(self, x):\n        return x.view(width)", "A()"),
    ],
)
async def test_what_a_stand_in_had_a_part_in_is_not_judged(client: Client, definition: str, expression: str) -> None:
    report = await traced(client, f"import nowhere\n{NET}\n{definition}\n", expression)
    assert (report.outcome, report.failures) == ("unchecked", ())
    assert "`nowhere" in report.reason


async def test_a_guarded_import_goes_the_way_that_it_goes_without_the_package(client: Client) -> None:
    text = "try:\n    import nowhere\nexcept ImportError:\n    nowhere = None\n"
    report = await traced(client, f"{text}\ndef model(x):\n    return x if nowhere is None else nowhere(x)\n", "model")
    assert (report.outcome, report.notices) == ("traced", ())


async def test_an_installed_package_that_lacks_a_name_or_a_module(client: Client) -> None:
    text = "from torch.nn import Convolution\nimport torch.nn.blocks\n"
    report = await traced(client, text + NET)
    assert report.outcome == "traced"
    lines = text.splitlines()
    assert noticed(report) == [("import", lines[0]), ("import", lines[1])]
    assert (await traced(client, f"{text}{NET}\ndef f(x):\n    return Convolution(x)\n", "f")).outcome == "unchecked"


async def test_what_the_workspace_itself_lacks_is_an_error(client: Client) -> None:
    client.write("blocks.py", "class Block: pass\n")
    report = await traced(client, f"from blocks import Blok\n{NET}")
    assert report.outcome == "traced"
    assert noticed(report) == [("import", "from blocks import Blok")]
    assert (
        await traced(client, f"from blocks import Blok\n{NET}\ndef f(x):\n    return Blok(x)", "f")
    ).outcome == "unchecked"


@pytest.mark.parametrize(
    ("work", "kind"),
    [
        ("while True:\n    pass", "definitions-only"),
        ("import sys\nsys.exit(3)", "definitions-only"),
        ("name = input('who? ')", "definitions-only"),
        ("for i in range(3):\n    loss = Net()(data).sum()\n    loss.backward()", "definitions-only"),
        ("data = load(root='data', download=True)", "definitions-only"),
        ("raise SystemExit", "definitions-only"),
        ("data = open('no such file').read()", "import"),
    ],
)
async def test_a_script_is_traced_without_its_work(client: Client, work: str, kind: str) -> None:
    after = "\nclass After(Net):\n    pass\n"
    report = await traced(client, f"{NET}\n{work}\n{after}", "After()")
    assert (report.outcome, report.failures) == ("traced", ())
    assert [found for found, _ in noticed(report)] == [kind]


async def test_what_is_left_out_is_not_known(client: Client) -> None:
    script = f"{NET}\nfor width in (3, 4):\n    Net(width)(data).backward()\n\ndef f(x):\n    return x.view(width)\n"
    report = await traced(client, script, "f")
    assert (report.outcome, report.reason) == ("unchecked", "`width` had a part in it, which is missing")


async def test_a_command_line_is_empty(client: Client) -> None:
    script = """
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("--width", type=int, default=5)
args = parser.parse_args()
"""
    report = await traced(client, script + NET, "Net(args.width)")
    assert (report.outcome, report.notices) == ("traced", ())
    assert (await traced(client, script + NET, "Net(args.data)")).outcome == "unchecked"


async def test_a_module_of_the_folders_around_is_found(client: Client) -> None:
    client.write("project/models/blocks.py", "def f(x):\n    return x.tan()\n")
    file = client.write("project/tools/train.py", "from models.blocks import f\n\ndef model(x):\n    return f(x)\n")
    report = (await client.trace(file, "model")).only
    assert (report.outcome, report.notices) == ("traced", ())


async def test_a_package_that_fails_does_not_take_its_modules_with_it(client: Client) -> None:
    client.write("zoo/__init__.py", "import os\nos.environ['NO_SUCH_VARIABLE']\n")
    client.write("zoo/inner.py", "def f(x):\n    return x.tan()\n")
    file = client.write("zoo/nets.py", "from .inner import f\n\ndef model(x):\n    return f(x)\n")
    report = (await client.trace(file, "model")).only
    assert report.outcome == "traced"
    assert noticed(report) == [("import", "os.environ['NO_SUCH_VARIABLE']")]
