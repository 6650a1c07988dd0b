"""The tools and resources of ``fx-lsp mcp``, as the Model Context Protocol describes them to a coding agent."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

from fx_lsp import __version__
from fx_lsp.errors import CannotCheck
from fx_lsp.mcp_server.workbench import Workbench
from fx_lsp.rules import all_rules
from fx_lsp.rules.rule_pages import page

INSTRUCTIONS = """\
Tells whether torch.fx can trace the PyTorch modules of Python files, where tracing breaks and why. Begin with `trace`.
`problems` lists the causes and numbered edits. An edit that is `proven` was tried: the failure is gone, and the model
does the same on example inputs. Apply it with `apply_edit`, or try a text of your own with `try_text`. The resource
rule://CODE explains a rule. Nothing outside the folder is read or written."""

File = Annotated[str, Field(description="path of a Python file, relative to the folder that is served")]
Text = Annotated[
    str | None,
    Field(description="text to trace, in this call only, in place of the file's; the file need not exist"),
]
Target = Annotated[str | None, Field(description="name of a class or function; without it, all (or the first) of them")]
First = Annotated[int, Field(ge=1, description="number of the first item to show")]
Count = Annotated[int, Field(ge=1, le=500, description="how many items to show")]
Number = Annotated[int, Field(ge=1, description="number of the edit in the answer of `problems`")]


def make_server(workbench: Workbench) -> MCPServer:
    """A server whose tools work on ``workbench``, which is closed when the server ends."""

    @contextlib.asynccontextmanager
    async def closing(server: MCPServer) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await workbench.close()

    server = MCPServer("fx-lsp", instructions=INSTRUCTIONS, version=__version__, lifespan=closing, log_level="WARNING")
    _add_tools(server, workbench)
    _add_resources(server)
    return server


def _add_tools(server: MCPServer, workbench: Workbench) -> None:
    turn = asyncio.Lock()

    @server.tool()
    async def trace(path: File, text: Text = None, target: Target = None, first: First = 1, count: Count = 50) -> str:
        """Trace the models and functions of a file: the verdict of each, and one line for each problem."""
        return await _answer(turn, workbench.trace(path, text, target, first, count))

    @server.tool()
    async def problems(path: File, text: Text = None, first: First = 1, count: Count = 5) -> str:
        """List the problems of a file's models with their causes, in whichever file, and edits that were tried."""
        return await _answer(turn, workbench.problems(path, text, first, count))

    @server.tool()
    async def apply_edit(path: File, number: Number) -> str:
        """Write a proven edit, as numbered by `problems`, to disk; show its diff and how many problems are left."""
        return await _answer(turn, workbench.apply_edit(path, number))

    @server.tool()
    async def try_text(
        path: File, text: Annotated[str, Field(description="the whole new text of the file")], target: Target = None
    ) -> str:
        """Try a new text for a file: whether it can be traced and does the same on example inputs. Writes nothing."""
        return await _answer(turn, workbench.try_text(path, text, target))

    @server.tool()
    async def forward(path: File, target: Target = None, first: First = 1, count: Count = 100) -> str:
        """Show the generated `forward` of a model that can be traced."""
        return await _answer(turn, workbench.forward(path, target, first, count))

    @server.tool()
    async def graph(path: File, target: Target = None, first: First = 1, count: Count = 50) -> str:
        """Show the nodes of a model's graph with the shapes of their values, and the number of parameters."""
        return await _answer(turn, workbench.graph(path, target, first, count))

    @server.tool()
    async def which(path: File) -> str:
        """Show which Python traces a file, and why."""
        return await _answer(turn, workbench.which(path))


def _add_resources(server: MCPServer) -> None:
    rules = {rule.code: rule for rule in all_rules()}

    @server.resource("rule://all", mime_type="text/markdown")
    def rule_list() -> str:
        """The codes and titles of all rules."""
        return "\n".join(f"- `{code}`: {rule.title}" for code, rule in rules.items())

    @server.resource("rule://{code}", mime_type="text/markdown")
    def rule(code: str) -> str:
        """What a rule means, with an example that fails and one that does not."""
        if code not in rules:
            raise ValueError(f"There is no rule '{code}'; rule://all lists the rules.")
        return page(rules[code])


async def _answer(turn: asyncio.Lock, work: Awaitable[str]) -> str:
    """The tool's answer, once no other tool is running. A reason that it can't work is reported as the tool's error."""
    try:
        async with turn:
            return await work
    except CannotCheck as reason:
        raise ToolError(str(reason)) from None


def serve(folder: Path, python: tuple[str, ...]) -> None:
    """Serve one client over standard input and output until it hangs up."""
    from fx_lsp.workspace.disk_cache import Cache, cache_folder

    os.chdir(folder)  # answers show paths as seen from there
    logging.basicConfig(level=logging.WARNING)  # to standard error
    make_server(Workbench(Path(), python=python, cache=Cache(cache_folder()))).run("stdio")
