"""The laws of the architecture (docs/architecture.md), each held by a test."""

import ast
import json
import runpy
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

import fxcore
from fx_lsp import rule_pages
from fx_lsp.config import vscode_properties

ROOT = Path(__file__).parents[1]


def modules(*folders: str) -> list[Path]:
    """Every module of some folders, relative to the root."""
    found = [path.relative_to(ROOT) for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    assert found
    return found


def imports(module: Path) -> Iterator[str]:
    """The dotted names that a module imports, wherever in it, as absolute names."""
    package = [*module.parent.parts]
    for node in ast.walk(ast.parse((ROOT / module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{name}.{alias.name}" for alias in node.names)


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def is_standard(name: str) -> bool:
    return name.partition(".")[0] in {*sys.stdlib_module_names, "__future__"}


def offences(found: Iterable[Path], is_offence: Callable[[str], bool]) -> dict[str, list[str]]:
    """Module -> those of its imports that are not allowed; without the modules that keep the law."""
    by_module = {str(module): [name for name in imports(module) if is_offence(name)] for module in found}
    return {module: names for module, names in by_module.items() if names}


SERVER = [module for module in modules("fx_lsp") if not module.is_relative_to("fx_lsp/agent")]


def test_the_server_imports_neither_torch_nor_what_runs_in_the_users_python() -> None:
    shared = "fx_lsp.agent.messages", "fx_lsp.agent.wire"

    def foreign(name: str) -> bool:
        return within(name, "torch", "fxcore", "fx_lsp.agent") and not within(name, *shared)

    assert offences(SERVER, foreign) == {}


def test_only_the_fixes_import_libcst() -> None:
    others = [module for module in SERVER if not module.is_relative_to("fx_lsp/fixes")]
    assert offences(others, lambda name: within(name, "libcst")) == {}


def test_what_the_command_line_shares_with_the_server_knows_of_no_client() -> None:
    client = {"language_server.py", "server.py", "serving.py", "session.py"}
    shared = [module for module in SERVER if module.name not in client and module.parent.name != "features"]
    assert offences(shared, lambda name: within(name, "pygls", "lsprotocol", "fx_lsp.features")) == {}


def test_what_runs_in_the_users_python_needs_nothing_but_torch() -> None:
    # Printing a graph as a table takes tabulate where the user has it, as in torch.fx.
    allowed = ("torch", "fxcore", "tabulate")
    assert offences(modules("fxcore"), lambda name: not is_standard(name) and not within(name, *allowed)) == {}
    allowed = ("torch", "fxcore", "fx_lsp.agent")
    assert offences(modules("fx_lsp/agent"), lambda name: not is_standard(name) and not within(name, *allowed)) == {}


def test_the_tracer_is_not_torchs() -> None:
    own = [module for module in modules("fxcore") if not module.name.startswith("interop")]
    assert offences(own, lambda name: within(name, "torch.fx")) == {}


def test_torchs_private_names_are_imported_in_one_module() -> None:
    def private(name: str) -> bool:
        return within(name, "torch") and any(part.startswith("_") for part in name.split("."))

    assert offences([module for module in modules("fxcore") if module.name != "torch_compat.py"], private) == {}


def test_initialize_is_answered_without_loading_what_is_not_needed_for_it() -> None:
    requests: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"capabilities": {}}},
        {"id": 2, "method": "shutdown"},
        {"method": "exit"},
    ]
    bodies = [json.dumps({"jsonrpc": "2.0", **request}).encode() for request in requests]
    command = [sys.executable, "-X", "importtime", "-m", "fx_lsp"]
    run = subprocess.run(
        command,
        input=b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies),
        capture_output=True,
        cwd=ROOT,
        check=True,
    )
    assert b'"capabilities"' in run.stdout
    loaded = {line.rpartition("|")[2].strip() for line in run.stderr.decode().splitlines()}
    assert "fx_lsp.server" in loaded
    assert not [name for name in loaded if within(name, "libcst", "torch", "fxcore", "fx_lsp.fixes.wrap")]


class Own(torch.nn.Module):
    """A module that reads a tensor which is neither parameter nor buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(2))
        self.shift = [torch.ones(2)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scale + self.shift[0] + torch.tensor([1.0, 2.0])


def test_tracing_writes_nothing_to_the_users_module() -> None:
    module = Own()
    before = {name: dict(vars(part)) for name, part in module.named_modules()}
    traced = fxcore.symbolic_trace(module)
    assert {name: dict(vars(part)) for name, part in module.named_modules()} == before
    assert "_tensor_constant0" in traced.code


def test_the_rules_pages_are_up_to_date() -> None:
    """``python -m fx_lsp.rule_pages docs/rules`` writes them."""
    written = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "rules").glob("*.md")}
    assert written == rule_pages.pages()


def test_the_clients_settings_are_up_to_date() -> None:
    """``python vscode-client/scripts/manifest.py`` writes them."""
    manifest = (ROOT / "vscode-client" / "package.json").read_text(encoding="utf-8")
    script = runpy.run_path(str(ROOT / "vscode-client" / "scripts" / "manifest.py"))
    assert script["up_to_date"](manifest) == manifest
    assert vscode_properties().items() <= json.loads(manifest)["contributes"]["configuration"][0]["properties"].items()
