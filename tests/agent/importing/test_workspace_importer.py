"""How the workspace's files are imported: as Python would, but from the editor's text, and afresh every time."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.agent.client import Client, failing_text, text_at
from tests.agent.conftest import Connect

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_unsaved_text_is_traced(client: Client) -> None:
    file = client.write("net.py", "from helpers import f\n\ndef model(x):\n    return f(x)\n")
    helpers = client.write("helpers.py", "def f(x):\n    return x.cos()\n")
    assert "cos" in (await client.trace(file, "model")).only.code
    overlay = {helpers: "def f(x):\n    return x.sin()\n"}
    assert "sin" in (await client.trace(file, "model", overlays=overlay)).only.code
    overlay = {file: "def model(x):\n    é = 1; return x if x else -x\n"}
    report = (await client.trace(file, "model", overlays=overlay)).only
    assert report.failures[0].chain[-1].span.file == file
    assert (report.failures[0].chain[-1].span.line, report.failures[0].chain[-1].span.col) == (2, 24)


async def test_a_saved_edit_is_seen_at_once(client: Client) -> None:
    file = client.write("net.py", "from helpers import f\n\ndef model(x):\n    return f(x)\n")
    for name in ("cos", "sin", "tan"):
        client.write("helpers.py", f"def f(x):\n    return x.{name}()\n")
        assert name in (await client.trace(file, "model")).only.code


async def test_no_state_of_the_workspace_survives_a_request(client: Client) -> None:
    file = client.write(
        "net.py",
        """
        import torch
        from counter import count

        count.append(1)
        torch.leftover = getattr(torch, "leftover", 0) + 1

        def model(x):
            return x + len(count) + torch.leftover
        """,
    )
    client.write("counter.py", "count = []\n")
    for _ in range(2):
        assert "x + 1" in (await client.trace(file, "model")).only.code
    assert not list(client.root.rglob("__pycache__"))


@pytest.mark.parametrize("name", ["graph", "attrs", "yaml", "fxcore", "messages", "my model", "a.b"])
async def test_user_modules_shadow_those_of_the_agent(client: Client, name: str) -> None:
    client.write(f"{name}.py", "def model(x):\n    return x.tan()\n")
    report = (await client.trace(str(client.root / f"{name}.py"), "model")).only
    assert (report.outcome, report.failures) == ("traced", ())


@pytest.mark.parametrize("name", ["graph", "attrs", "yaml"])
async def test_user_modules_shadow_those_of_the_agent_for_importers(client: Client, name: str) -> None:
    client.write(f"{name}.py", "def f(x):\n    return x.tan()\n")
    file = client.write("net.py", f"from {name} import f\n\ndef model(x):\n    return f(x)\n")
    assert "tan" in (await client.trace(file, "model")).only.code


@pytest.mark.parametrize("name", ["random", "json", "types", "torch", "selectors"])
async def test_a_script_named_like_a_module_that_is_needed(client: Client, name: str) -> None:
    file = client.write(f"{name}.py", "import torch.nn\n\ndef model(x):\n    return torch.nn.functional.relu(x)\n")
    report = (await client.trace(file, "model")).only
    assert (report.outcome, report.failures) == ("traced", ())


async def test_a_folder_is_meant_by_the_name_of_an_installed_package_that_lacks_the_module(client: Client) -> None:
    client.write("pluggy/layers/double.py", "def f(x):\n    return x * 2\n")
    text = "from pluggy.layers.double import f\n\ndef model(x):\n    return f(x)\n"
    for name in ("pluggy/layers/net.py", "run.py"):
        report = (await client.trace(client.write(name, text), "model")).only
        assert (report.outcome, report.failures) == ("traced", ())
        assert "x * 2" in report.code


async def test_a_folder_of_scripts_does_not_hide_the_installed_package_of_its_name(client: Client) -> None:
    client.write("pluggy/layers.py", "")
    text = (
        "import pluggy._manager\n\ndef model(x):\n    return x * len(pluggy._manager.PluginManager('x').project_name)\n"
    )
    for name in ("pluggy/train.py", "train.py"):
        report = (await client.trace(client.write(name, text), "model")).only
        assert (report.outcome, report.failures) == ("traced", ())


@pytest.mark.parametrize(
    ("name", "text"),
    [("other.py", "from pluggy import PluginManager"), ("_hooks.py", "from pluggy._hooks import HookimplMarker")],
    ids=["the file needs the package itself", "the package has the module, too"],
)
async def test_a_folder_hides_no_package_that_a_file_in_it_may_mean(client: Client, name: str, text: str) -> None:
    client.write("pluggy/utils/names.py", "")
    client.write(f"pluggy/{name}", "import pluggy.utils.names\n" if name == "other.py" else "")
    imported = text.rpartition(" ")[2]
    text = f"{text}\n\ndef model(x):\n    return x * len({imported}.__name__)\n"
    report = (await client.trace(client.write("pluggy/run.py", text), "model")).only
    assert (report.outcome, report.failures) == ("traced", ())


async def test_a_package_of_the_workspace_comes_before_a_folder_of_its_name(client: Client) -> None:
    client.write("pluggy/double.py", "def f(x):\n    return x - 1\n")
    client.write("app/pluggy/__init__.py", "")
    client.write("app/pluggy/double.py", "def f(x):\n    return x * 2\n")
    file = client.write("app/train.py", "from pluggy.double import f\n\ndef model(x):\n    return f(x)\n")
    assert "x * 2" in (await client.trace(file, "model")).only.code


async def test_relative_imports_in_a_package(client: Client) -> None:
    client.write("zoo/__init__.py", "from .nets import model\n")
    client.write("zoo/types.py", "raise RuntimeError('not what anybody asked for')\n")
    client.write("zoo/inner/__init__.py", "")
    client.write("zoo/inner/ops.py", "def f(x):\n    return x.cos()\n")
    file = client.write(
        "zoo/nets.py",
        "import types\nfrom .inner.ops import f\n\ndef model(x):\n    return f(x) if types.new_class else x\n",
    )
    answer = await client.trace(file, "model")
    assert answer.only.outcome == "traced"
    assert answer.done is not None
    assert answer.done.dependencies == tuple(
        str(client.root / "zoo" / name) for name in ("__init__.py", "inner/__init__.py", "inner/ops.py", "nets.py")
    )
    assert (await client.trace(str(client.root / "zoo/__init__.py"), "model")).only.outcome == "traced"


async def test_a_package_that_torch_needs_too(client: Client) -> None:
    client.write("sympy/__init__.py", "")
    file = client.write("sympy/nets.py", "def model(x):\n    return x.cos()\n")
    assert (await client.trace(file, "model")).only.outcome == "traced"


async def test_a_file_that_is_gone(client: Client) -> None:
    report = (await client.trace(str(client.root / "gone.py"), "model")).only
    assert report.outcome == "not-imported"
    assert "FileNotFoundError" in report.failures[0].error


async def test_relative_imports_without_an_init_file(client: Client) -> None:
    client.write("zoo/ops.py", "def f(x):\n    return x.cos()\n")
    file = client.write("zoo/nets.py", "from .ops import f\n\ndef model(x):\n    return f(x)\n")
    assert (await client.trace(file, "model")).only.outcome == "traced"


async def test_relative_imports_that_lead_out_of_a_package(client: Client) -> None:
    client.write("ops/functions/__init__.py", "def f(x):\n    return x.cos()\n")
    client.write("ops/modules/__init__.py", "from .nets import model\n")
    text = "from ..functions import f\n\ndef model(x):\n    return f(x)\n"
    file = client.write("ops/modules/nets.py", text)
    assert (await client.trace(file, "model")).only.outcome == "traced"


async def test_imports_from_the_workspace_root_and_its_src(client: Client) -> None:
    client.write("zoo/ops.py", "def f(x):\n    return x.cos()\n")
    client.write("src/lib/__init__.py", "def g(x):\n    return x.sin()\n")
    file = client.write(
        "scripts/net.py", "from zoo.ops import f\nfrom lib import g\n\ndef model(x):\n    return f(g(x))\n"
    )
    assert (await client.trace(file, "model")).only.outcome == "traced"


async def test_once_loaded_a_file_outside_packages_is_one_module_by_any_name(client: Client) -> None:
    text = """
        class Marker: ...

        def model(x):
            from zoo.nets import Marker as Same

            return x.cos() if isinstance(Marker(), Same) else x.sin()
        """
    file = client.write("zoo/nets.py", text)
    assert "cos" in (await client.trace(file, "model")).only.code


async def test_a_package_that_a_module_beside_the_file_has_the_name_of(client: Client) -> None:
    client.write("utils/masking.py", "def double(x):\n    return 2 * x\n")
    client.write("layers/utils.py", "")
    file = client.write("layers/net.py", "from utils.masking import double\n\ndef model(x):\n    return double(x)\n")
    report = (await client.trace(file, "model")).only
    assert "2" in report.code


async def test_the_workspace_s_folder_by_its_own_name(client: Client) -> None:
    client.write("vision_net/util/ops.py", "def f(x):\n    return x.cos()\n")
    client.write("vision_net_tools/ops.py", "")
    file = client.write(
        "vision_net/nets.py",
        """
        from vision_net import registry, util
        from vision_net.util.ops import f
        from vision_net.kernels import g
        import vision_net_tools.ops

        @registry.MODELS.register_module()
        class Net: ...

        def model(x):
            return f(x) if isinstance(Net(), Net) and util.__name__ == "vision_net.util" else x
        """,
    )
    answer = await client.trace(file, "model", root="vision_net")
    assert "cos" in answer.only.code
    assert [notice.error for notice in answer.only.notices] == [
        "ModuleNotFoundError: No module named 'vision_net.kernels'",
        "ModuleNotFoundError: No module named 'vision_net_tools'",
    ]


async def test_a_package_of_the_workspace_comes_before_the_workspace_s_own_name(client: Client) -> None:
    client.write("vision_net/tools/vision_net/__init__.py", "def f(x):\n    return x.cos()\n")
    text = "from vision_net import f\n\ndef model(x):\n    return f(x)\n"
    file = client.write("vision_net/tools/scripts/train.py", text)
    assert "cos" in (await client.trace(file, "model", root="vision_net")).only.code


async def test_a_finder_of_the_workspace_is_asked_before_a_package_is_missing(client: Client) -> None:
    file = client.write(
        "net.py",
        """
        import importlib.abc
        import importlib.machinery
        import sys

        class Virtual(importlib.abc.MetaPathFinder, importlib.abc.Loader):
            def find_spec(self, name, path, target=None):
                return importlib.machinery.ModuleSpec(name, self) if name == "virtual" else None

            def create_module(self, spec):
                return None

            def exec_module(self, module):
                module.size = 42

        sys.meta_path.append(Virtual())
        import virtual

        def model(x):
            return x + virtual.size
        """,
    )
    report = (await client.trace(file, "model")).only
    assert ("x + 42" in report.code, report.notices) == (True, ())


async def test_command_line_arguments_are_the_scripts_own(client: Client) -> None:
    file = client.write(
        "script.py",
        """
        import argparse

        parser = argparse.ArgumentParser()
        parser.add_argument("--size", type=int, default=3)
        options = parser.parse_args()

        def model(x):
            return x * options.size

        if __name__ == "__main__":
            raise RuntimeError("nobody ran this")
        """,
    )
    assert "x * 3" in (await client.trace(file, "model")).only.code


@pytest.mark.parametrize(
    ("text", "error", "place"),
    [
        ("é = 1; {}['key']\n", "KeyError: 'key'", "{}['key']"),
        ("é = (1 +\n", "SyntaxError: '(' was never closed", "("),
        ("def f(x):\n    é = 1; return return\n", "SyntaxError: invalid syntax", "return"),
    ],
)
async def test_an_import_that_fails_is_reported_at_its_place(client: Client, text: str, error: str, place: str) -> None:
    file = client.write("broken.py", text)
    report = (await client.trace(file, "model")).only
    assert report.outcome == "not-imported"
    assert report.failures[0].kind == "import"
    assert report.failures[0].error == error
    if sys.version_info >= (3, 11):
        assert failing_text(report) == place


async def test_an_import_that_fails_in_a_helper_file(client: Client) -> None:
    file = client.write("net.py", "import helpers\n")
    helpers = client.write("helpers.py", "def f(x:\n")
    answer = await client.trace(file, "model", "other")
    for report in answer.reports.values():
        assert report.outcome == "not-imported"
        assert [step.span.file for step in report.failures[0].chain] == [file, helpers]
        assert text_at(report.failures[0].chain[0]) == "import helpers"
    assert answer.done is not None
    assert answer.done.dependencies == (helpers, file)


@pytest.mark.parametrize(
    "call",
    [
        "traced = torch.fx.symbolic_trace(Net())",
        "traced = symbolic_trace(Net())\nprint(traced)",
        "graph = torch.fx.Tracer().trace(Net())\ntraced = torch.fx.GraphModule(Net(), graph)",
        "traced = symbolic_trace(Net())\nprint(traced.graph)\ntraced(torch.ones(3))",
    ],
)
async def test_a_failing_trace_in_the_file_itself_is_reported_once(client: Client, call: str) -> None:
    text = (
        "import torch\nfrom torch.fx import symbolic_trace\n\n"
        "class Net(torch.nn.Module):\n    def forward(self, x):\n        return x if x.sum() > 0 else -x\n\n"
    )
    file = client.write("net.py", f"{text}{call}\n")
    reports = (await client.trace(file, "Net()", "traced")).reports
    assert reports["Net()"].outcome == "failed"
    assert failing_text(reports["Net()"]) == "x.sum() > 0"
    assert reports["traced"].outcome == "skipped"


KEEPS_ITS_PID = "import os\nPID = os.getpid()\n"

BAD_NEIGHBOURS = {
    "threaded": "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n",
    "crashing": "import sys\nif sys.argv[0] == '-c': os._exit(1)\n",
    "failing": "import sys\nif sys.argv[0] == '-c': sys.exit('not without a script')\n",
}
"""Modules that a file can import and the agent had better not. The agent's own command line gives it away."""


async def test_installed_modules_are_kept_loaded(connect: Connect, tmp_path: Path) -> None:
    (tmp_path / "installed.py").write_text(KEEPS_ITS_PID)
    client = connect(env={"PYTHONPATH": str(tmp_path)})
    file = client.write("net.py", "import installed\n\ndef model(x):\n    return x + installed.PID\n")
    await traced_the_same_twice(client, file)
    client.write("installed.py", "PID = -1\n")  # now the workspace has one of its own
    assert "x + -1" in (await client.trace(file, "model")).only.code


SYMBOLIC = """
import sys
import torch

class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        x = self.linear(x)
        scores = x @ x.transpose(-2, -1)
        return x if scores.sum() > 0 else scores

def model(x):
    return x + int("torch.fx.experimental.symbolic_shapes" in sys.modules)
"""


async def test_modules_that_torch_imports_to_explore_stay_loaded(client: Client) -> None:
    file = client.write("net.py", SYMBOLIC)
    for _ in range(200):
        reports = (await client.trace(file, "Attention()", "model")).reports
        assert failing_text(reports["Attention()"]) == "scores.sum() > 0"
        if "x + 1" in reports["model"].code:
            return
    pytest.fail("it is never loaded")


@pytest.mark.parametrize("bad", BAD_NEIGHBOURS)
async def test_modules_that_would_harm_the_agent_are_not_kept_loaded(
    connect: Connect, tmp_path: Path, bad: str
) -> None:
    (tmp_path / "installed.py").write_text(KEEPS_ITS_PID)
    (tmp_path / f"{bad}.py").write_text(KEEPS_ITS_PID + BAD_NEIGHBOURS[bad])
    client = connect(env={"PYTHONPATH": str(tmp_path)})
    file = client.write(
        "net.py",
        f"""
        import {bad}
        import installed

        def model(x):
            return x + installed.PID

        def bad(x):
            return x + {bad}.PID
        """,
    )
    await traced_the_same_twice(client, file)
    first, second = [(await client.trace(file, "bad")).only.code for _ in range(2)]
    assert first != second


async def traced_the_same_twice(client: Client, file: str) -> None:
    """Trace ``model`` until it is what it was the time before."""
    last = ""
    for _ in range(200):
        code = (await client.trace(file, "model")).only.code
        if code == last:
            return
        last = code
    pytest.fail("never the same")


async def test_a_virtual_environment_in_the_workspace_is_not_of_it(client: Client) -> None:
    client.write(".venv/lib/python3/site-packages/venvmodule.py", "def f(x):\n    return x.cos()\n")
    file = client.write(
        "net.py",
        """
        import sys
        sys.path.append(__file__.replace("net.py", ".venv/lib/python3/site-packages"))
        from venvmodule import f

        def model(x):
            return f(x)
        """,
    )
    answer = await client.trace(file, "model")
    assert answer.only.outcome == "traced"
    assert answer.done is not None
    assert answer.done.dependencies == (file,)


async def test_modules_that_appear_in_folders_that_the_agent_searched_before(connect: Connect, tmp_path: Path) -> None:
    empty, missing = tmp_path / "empty", tmp_path / "missing"
    empty.mkdir()
    client = connect(env={"PYTHONPATH": os.pathsep.join(map(str, (empty, missing)))})
    file = client.write("net.py", "from first import f\nfrom second import g\n\ndef model(x):\n    return f(g(x))\n")
    report = (await client.trace(file, "model")).only
    assert [notice.kind for notice in report.notices] == ["missing-package"] * 2
    missing.mkdir()
    (empty / "first.py").write_text("def f(x):\n    return x.cos()\n")
    (missing / "second.py").write_text("def g(x):\n    return x.sin()\n")
    report = (await client.trace(file, "model")).only
    assert report.notices == ()
    assert "x.sin()" in report.code
