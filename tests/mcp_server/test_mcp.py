"""A coding agent's way: the official client talks to ``fx-lsp mcp`` over standard input and output."""

import contextlib
import os
import re
import sys
import venv
from collections.abc import AsyncIterator
from pathlib import Path

from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult, TextContent, TextResourceContents

ROOT = Path(__file__).parents[2]
HOSTILE = ROOT / "tests" / "workspaces" / "hostile"

BAD = """\
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x):
        x = self.layer(x)
        return x / len(x)
"""
GOOD = BAD.replace("len(x)", "x.size(0)")


def model(forward: str) -> str:
    body = "".join(f"        {line}\n" for line in forward.splitlines())
    return f"import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n{body}"


MODELS = {
    "length": BAD,
    "where": model("if x.sum() > 0:\n    return x + 1\nreturn x - 1"),
    "expression": model("y = x if x.mean() > 0 else -x\nreturn y * 2"),
    "check": model("assert x.dim() == 2\nreturn x.relu()"),
    "raise": model("if x.dim() != 2:\n    raise ValueError('two')\nreturn x.relu()"),
    "loop": model("for _ in range(len(x)):\n    x = x + 1\nreturn x"),
    "star": model("return x.view(*x.shape)"),
    "two": model("assert x.dim() == 2\nn = len(x)\nreturn x * n"),
    "masked": model("y = x.clone()\ny[y > 0] = 0\nreturn y"),
    "twice": model("a = len(x)\nb = len(x)\nreturn x * a + b"),
    "norm": model("assert x.shape[0] > 0\nreturn x / len(x)"),
    "nested": model("if x.sum() > 0:\n    x = x * 2\nelse:\n    x = x * 3\nreturn x + 1"),
    "min": model("if x.min() < 0:\n    x = x - x.min()\nreturn x"),
}


@contextlib.asynccontextmanager
async def serving(folder: Path, python: str = sys.executable) -> AsyncIterator[Client]:
    command = ["-m", "fx_lsp", "mcp", str(folder), "--python", python]
    server = StdioServerParameters(command=sys.executable, args=command, cwd=str(ROOT), env=dict(os.environ))
    async with Client(server) as client:
        yield client


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def call(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return text_of(result)


async def error(client: Client, tool: str, **arguments: object) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    return text_of(result)


async def test_every_tool(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(BAD)
    async with serving(tmp_path) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        assert tools == {"trace", "problems", "apply_edit", "try_text", "forward", "graph", "which"}

        traced = (await call(client, "trace", path="net.py")).splitlines()
        assert traced[0] == "Net: failed, 1 failure"
        assert re.match(r"net\.py:11:20: \w+\[len\] ", traced[1])
        assert "Net: traced" in await call(client, "trace", path="snippet.py", text=GOOD)

        problems = await call(client, "problems", path="net.py")
        number = re.search(r"^edit (\d+) \(proven\)", problems, re.MULTILINE)
        assert number, problems
        assert "edit 1" in problems
        too_far = "The last problem is number 1; ask with a smaller first."
        assert await call(client, "problems", path="net.py", first=10) == too_far
        assert "-        return x / len(x)" in problems

        tried = await call(client, "try_text", path="net.py", text=GOOD)
        assert tried.startswith("Net: proven. "), tried
        wrong = await call(client, "try_text", path="net.py", text=BAD.replace("/ len(x)", "* x.size(0)"))
        assert wrong.startswith("Net: refuted. "), wrong
        assert (tmp_path / "net.py").read_text() == BAD

        applied = await call(client, "apply_edit", path="net.py", number=int(number[1]))
        assert "net.py has no problems left." in applied
        assert "len(x)\n" not in (tmp_path / "net.py").read_text() or "torch.fx.wrap" in applied

        assert "def forward(self, x" in await call(client, "forward", path="net.py")
        graph = await call(client, "graph", path="net.py", count=2)
        assert re.match(r"Net: \d+ nodes, 20 parameters\nfor the input ", graph), graph
        assert " -> [" in graph
        assert "more lines; ask with first=3." in graph
        assert (
            await call(client, "trace", path="net.py", first=9)
            == "The last line is number 1; ask with a smaller first."
        )
        assert await call(client, "which", path="net.py") == f"taken: {sys.executable} (--python) has torch"


async def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(BAD)
    (tmp_path / "good.py").write_text(GOOD)
    async with serving(tmp_path) as client:
        assert "is not in" in await error(client, "trace", path="../elsewhere.py")
        assert "is not in" in await error(client, "trace", path="/etc/passwd")
        assert "is not a Python file" in await error(client, "trace", path="notes.txt")
        assert "can't be traced: it cannot be read" in await error(client, "trace", path="gone.py")
        assert "is not valid Python" in await error(client, "trace", path="net.py", text="def f(:")
        assert "has no edit 1" in await error(client, "apply_edit", path="net.py", number=1)
        assert "has no target 'No'" in await error(client, "forward", path="good.py", target="No")
        assert "has no generated code" in await error(client, "forward", path="net.py")
        assert "the same" in await error(client, "try_text", path="good.py", text=GOOD)
        await call(client, "problems", path="net.py")
        (tmp_path / "net.py").write_text(f"{BAD}# changed\n")
        assert "changed on disk" in await error(client, "apply_edit", path="net.py", number=1)
        assert (tmp_path / "net.py").read_text() == f"{BAD}# changed\n"


async def test_a_file_that_a_person_has_edited_is_not_overwritten_with_an_agents_text(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(GOOD)
    async with serving(tmp_path) as client:
        problems = await call(client, "problems", path="net.py", text=BAD)
        number = re.search(r"^edit (\d+) \(proven\)", problems, re.MULTILINE)
        assert number, problems
        await call(client, "trace", path="net.py")
        (tmp_path / "net.py").write_text(f"{GOOD}# a person's\n")
        assert "changed on disk" in await error(client, "apply_edit", path="net.py", number=int(number[1]))
        assert (tmp_path / "net.py").read_text() == f"{GOOD}# a person's\n"
        (tmp_path / "net.py").write_text(GOOD)
        applied = await call(client, "apply_edit", path="net.py", number=int(number[1]))
        assert "net.py has no problems left." in applied
        assert "has no edit 1" in await error(client, "apply_edit", path="net.py", number=1)


HELPER = "def scaled(x):\n    return x / len(x)\n"
WITH_HELPER = model("return scaled(x)").replace("import torch\n", "import torch\nfrom helper import scaled\n", 1)


async def test_a_model_that_fails_in_an_imported_file(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "net.py").write_text(WITH_HELPER)
    async with serving(tmp_path) as client:
        traced = (await call(client, "trace", path="net.py")).splitlines()
        assert traced[0] == "Net: failed, 1 failure"
        assert traced[1].startswith("helper.py:2:16: ")
        problems = await call(client, "problems", path="net.py")
        assert "helper.py:2:16: " in problems
        number = re.search(r"^edit (\d+) \(proven\)", problems, re.MULTILINE)
        assert number, problems
        applied = await call(client, "apply_edit", path="net.py", number=int(number[1]))
        assert "net.py has no problems left." in applied


async def test_an_imported_file_counts_as_it_is_on_disk(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "net.py").write_text(WITH_HELPER)
    mended = HELPER.replace("len(x)", "x.size(0)")
    async with serving(tmp_path) as client:
        await call(client, "trace", path="helper.py", text=mended)
        assert "Net: failed" in await call(client, "trace", path="net.py")
        (tmp_path / "helper.py").write_text(mended)
        assert "Net: traced" in await call(client, "trace", path="net.py")
        await call(client, "trace", path="helper.py")
        (tmp_path / "helper.py").write_text(HELPER)
        assert "Net: failed" in await call(client, "trace", path="net.py")


async def test_a_python_without_torch_is_named_each_time(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", symlinks=True)
    python = str(tmp_path / "env" / "bin" / "python")
    async with serving(tmp_path, python) as client:
        for _ in range(2):
            said = await error(client, "trace", path="net.py", text=BAD)
            assert f"{python} (from --python) has no usable PyTorch." in said
            assert "Install torch there, or start fx-lsp mcp with --python" in said


async def test_rules_are_resources(tmp_path: Path) -> None:
    async with serving(tmp_path) as client:
        (listed,) = (await client.read_resource("rule://all")).contents
        (page,) = (await client.read_resource("rule://len")).contents
    assert isinstance(listed, TextResourceContents)
    assert isinstance(page, TextResourceContents)
    assert "- `len`: " in listed.text
    assert "torch.fx.wrap" in page.text


async def test_a_client_that_takes_proven_edits_mends_models(tmp_path: Path) -> None:
    mended = {}
    for name, text in MODELS.items():
        (tmp_path / f"{name}.py").write_text(text)
    async with serving(tmp_path) as client:
        for name in MODELS:
            for _ in range(5):
                problems = await call(client, "problems", path=f"{name}.py")
                number = re.search(r"^edit (\d+) \(proven\)", problems, re.MULTILINE)
                if number is None:
                    break
                await call(client, "apply_edit", path=f"{name}.py", number=int(number[1]))
            mended[name] = "Net: traced" in await call(client, "trace", path=f"{name}.py")
    assert sum(mended.values()) >= 10, mended


ATTACKS = {
    "ends_its_parent": "information[denied]",
    "exits_at_once_in_forward": "warning[crash]",
    "forges_answers": "no problems",
    "fork_bomb": "was skipped",
    "huge_exception": "warning[import]",
    "loop_in_forward": "warning[time-limit]",
    "memory_in_forward": "warning[memory-limit]",
    "overwrites_relatively": "warning[import]",
    "prints_a_million": "no problems",
    "replaces_torch": "warning[crash]",
    "shell": "was skipped",
    "writes_to_stdout": "no problems",
}
"""Hostile module -> what is said of it."""


async def test_hostile_modules_end_nothing_and_leave_nothing(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.fx-lsp]\ntime-limit = 1\nmemory-limit = 512\n")
    (tmp_path / "good.py").write_text(GOOD)
    for name in ATTACKS:
        (tmp_path / f"{name}.py").write_text((HOSTILE / f"{name}.py").read_text())
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    async with serving(tmp_path) as client:
        for name, said in ATTACKS.items():
            problems = await call(client, "problems", path=f"{name}.py")
            assert said in problems
            assert len(problems) < 10_000
            assert "Net: traced" in await call(client, "trace", path="good.py"), name
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
