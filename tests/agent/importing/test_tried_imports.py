"""What is said of classes that use a name for which a program has nothing, since the import failed that it tries."""

from __future__ import annotations

import pytest

from fx_lsp.agent.messages import Report
from fx_lsp.targets import find_targets
from tests.agent.client import Client

pytestmark = pytest.mark.asyncio(loop_scope="session")

HEAD = "import torch\nfrom torch import nn\n"

BUILDS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = FusedNorm(3)

    def forward(self, x):
        return self.norm(x)
"""

CALLS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)

    def forward(self, x):
        return fused(self.layer(x))
"""

INHERITS = """
class Part(Base):
    def __init__(self, width):
        super().__init__(width)

    def forward(self, x):
        return x

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part(3)

    def forward(self, x):
        return self.part(x)
"""


async def reports(client: Client, text: str, **others: str) -> dict[str, Report]:
    """What is reported on each class of a file that stands beside ``others``."""
    for name, other in others.items():
        client.write(f"{name}.py", HEAD + other)
    path = client.write("net.py", HEAD + text)
    targets = find_targets(path, HEAD + text) or ()
    answer = await client.trace(path, *targets)
    return {target.title: answer.reports[target.key] for target in targets}


NOTHING = {
    "None": "try:\n    from nowhere import FusedNorm\nexcept ImportError:\n    FusedNorm = None",
    "no name": "try:\n    from nowhere import FusedNorm\nexcept Exception as error:\n    print(error)",
}


@pytest.mark.parametrize("tries", NOTHING.values(), ids=NOTHING)
async def test_a_module_that_the_program_needs_all_the_same_is_a_leaf(client: Client, tries: str) -> None:
    report = (await reports(client, f"{tries}\n{BUILDS}"))["Net"]
    assert (report.outcome, report.reason) == ("traced", "up to `nowhere.FusedNorm` (missing, so not looked into)")


UNKNOWN = {
    "a base's constructor": f"try:\n    from nowhere import Base\nexcept ImportError:\n    Base = object\n{INHERITS}",
    "a name of another module": f"from there import fused\n{CALLS}",
}


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN)
async def test_what_is_done_without_it_is_not_known(client: Client, text: str) -> None:
    there = "try:\n    from nowhere import fused\nexcept ImportError:\n    fused = None"
    told = await reports(client, text, there=there)
    assert {report.outcome for report in told.values()} == {"unchecked"}
    assert all("`nowhere" in report.reason for report in told.values())


async def test_what_no_import_explains_is_a_failure(client: Client) -> None:
    text = f"try:\n    import nowhere\nexcept ImportError:\n    nowhere = None\nfused = None\n{CALLS}"
    assert (await reports(client, text))["Net"].outcome == "failed"


async def test_an_error_beside_a_check_for_what_is_missing_is_a_failure(client: Client) -> None:
    checked = CALLS.replace("fused(self.layer(x))", "self.layer(x) if nowhere is not None else own(x)")
    text = f"try:\n    import nowhere\nexcept ImportError:\n    nowhere = None\nown = None\n{checked}"
    assert (await reports(client, text))["Net"].outcome == "failed"


async def test_modules_that_import_a_name_from_each_other_lead_nowhere(client: Client) -> None:
    there = "fused = None\nfrom net import fused"
    text = f"fused = None\nfrom there import fused\n{CALLS}"
    assert (await reports(client, text, there=there))["Net"].outcome == "failed"


async def test_a_module_of_the_workspace_is_imported_with_stand_ins_for_what_it_lacks(client: Client) -> None:
    client.write("kernels/__init__.py", "from .scaling import fused\n")
    client.write(
        "kernels/scaling.py",
        """
        from . import compiled_kernels

        def fused(x):
            return compiled_kernels.scale(x) if x.sum() > 0 else x
        """,
    )
    given = "try:\n    from kernels import fused\nexcept ImportError:\n    fused = None\n"
    report = (await reports(client, given + CALLS))["Net"]
    assert [(failure.kind, failure.chain[-1].name) for failure in report.failures] == [("control-flow", "fused")]


async def test_a_module_that_a_package_of_the_workspace_lacks_is_missing(client: Client) -> None:
    client.write("kernels/__init__.py", "")
    given = "try:\n    from kernels import compiled\nexcept ImportError:\n    pass\n"
    called = CALLS.replace("fused(self.layer(x))", "compiled.scale(self.layer(x)) if x.sum() > 0 else x")
    report = (await reports(client, given + called))["Net"]
    assert [failure.kind for failure in report.failures] == ["control-flow"]
