"""The laws of the architecture (docs/architecture.md), each held by a test."""

import json
import re
import runpy
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

import fxcore
from fx_lsp.rules import rule_pages
from fx_lsp.settings.settings import vscode_properties
from tests.source_tree import ROOT, circles, defines, folder_graph, imported_modules, imported_names, modules


def within(name: str, *packages: str) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def is_standard(name: str) -> bool:
    return name.partition(".")[0] in {*sys.stdlib_module_names, "__future__"}


def offences(found: Iterable[Path], is_offence: Callable[[str], bool]) -> dict[str, list[str]]:
    """Module -> those of its imports that are not allowed; without the modules that keep the law."""
    by_module = {str(module): [name for name in imported_names(module) if is_offence(name)] for module in found}
    return {module: names for module, names in by_module.items() if names}


SERVER = [module for module in modules("fx_lsp") if not module.is_relative_to("fx_lsp/agent")]


def test_the_server_imports_neither_torch_nor_what_runs_in_the_users_python() -> None:
    shared = "fx_lsp.agent.messages", "fx_lsp.agent.wire", "fx_lsp.agent.processes.patience"

    def foreign(name: str) -> bool:
        return within(name, "torch", "fxcore", "fx_lsp.agent") and not within(name, *shared)

    assert offences(SERVER, foreign) == {}


def test_only_the_fixes_import_libcst() -> None:
    others = [module for module in SERVER if not module.is_relative_to("fx_lsp/fixes")]
    assert offences(others, lambda name: within(name, "libcst")) == {}


def test_what_the_command_line_shares_with_the_server_knows_of_no_client() -> None:
    shared = [module for module in SERVER if not module.is_relative_to("fx_lsp/server")]
    assert offences(shared, lambda name: within(name, "pygls", "lsprotocol", "fx_lsp.server.features")) == {}


def test_what_runs_in_the_users_python_needs_nothing_but_torch() -> None:
    # Printing a graph as a table takes tabulate where the user has it, as in torch.fx.
    cores = ("torch", "fxcore", "tabulate")
    assert offences(modules("fxcore"), lambda name: not is_standard(name) and not within(name, *cores)) == {}
    # A missing package that reads YAML files is imitated only where the user has what reads them.
    agents = ("torch", "fxcore", "fx_lsp.agent", "yaml")
    assert offences(modules("fx_lsp/agent"), lambda name: not is_standard(name) and not within(name, *agents)) == {}


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
    assert "fx_lsp.server.handlers" in loaded
    late = ("libcst", "torch", "fxcore", "fx_lsp.fixes.wrap_call")
    assert not [name for name in loaded if within(name, *late, "doctest", "markdown_it", "platformdirs", "wcwidth")]


FXCORES_TOP = "fxcore"
"""Graph, Node, Proxy and Tracer have to stand here, where torch.fx has them, and are made of what lies below."""

FORCED_FOLDERS = [["fxcore/passes", "fxcore/passes/utils"]]
"""Circles between folders of fxcore that torch.fx's names force."""

FORCED_FILES: list[list[str]] = []
"""Circles between files of fxcore that torch.fx's names force."""


def test_no_circle_between_folders_of_fxcore_but_for_those_that_torchs_names_force() -> None:
    graph = {folder: others - {FXCORES_TOP} for folder, others in folder_graph("fxcore").items()}
    assert circles({folder: others for folder, others in graph.items() if folder != FXCORES_TOP}) == FORCED_FOLDERS


def test_no_circle_between_files_that_import_each_other_at_run_time() -> None:
    for package, forced in (("fx_lsp", []), ("fxcore", FORCED_FILES)):
        graph = {
            str(module): [str(other) for other in imported_modules(module, package, only_at_run_time=True)]
            for module in modules(package)
        }
        assert circles(graph) == forced


MOST_MODULES = 20
ONE_FILE_PER_THING = ("rules", "fixes", "features", "formats", "passes", "experimental")


def test_no_folder_is_too_full_to_find_a_file() -> None:
    """A folder that holds one file per thing may be longer, and so is fxcore's top, whose names are torch.fx's."""
    counts = Counter(module.parent for module in modules("fx_lsp", "fxcore") if module.name != "__init__.py")
    full = {str(folder): n for folder, n in counts.items() if n > (24 if str(folder) == FXCORES_TOP else MOST_MODULES)}
    assert [folder for folder in full if Path(folder).name not in ONE_FILE_PER_THING] == []


TORCHS_NAMES = {"pass_manager.py"}
"""torch.fx has two modules of this name."""


def test_no_two_modules_have_one_name() -> None:
    """But for a feature, format or rule beside the thing that it shows."""
    beside = ("fx_lsp/rules", "fx_lsp/server/features", "fx_lsp/cli/formats")
    for package in ("fx_lsp", "fxcore"):
        names = Counter(
            module.name
            for module in modules(package)
            if not str(module.parent).startswith(beside) and module.name != "__init__.py"
        )
        assert {name for name, n in names.items() if n > 1} <= TORCHS_NAMES


MAP = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ROOMS = dict(re.findall(r"^#{3,4} `((?:fx_lsp|fxcore)[\w/]*)`\n(.*?)(?=^#|\Z)", MAP, re.MULTILINE | re.DOTALL))
"""Folder -> what the map says of it."""


def test_every_folder_is_on_the_map_with_an_entry_point_and_an_invariant() -> None:
    folders = {str(module.parent) for module in modules("fx_lsp", "fxcore")}
    assert set(ROOMS) == folders
    lacking = [room for room, text in ROOMS.items() if not all(word in text for word in ("**Entry", "**Invariant"))]
    assert lacking == []


def test_every_name_on_the_map_is_there() -> None:
    named = re.findall(r"`((?:fx_lsp|fxcore)/[\w/]+\.py)(?::([\w.]+))?`", MAP)
    assert len(named) > len(ROOMS)
    gone = [
        f"{file}:{name}" for file, name in named if not (ROOT / file).exists() or (name and not defines(file, name))
    ]
    assert gone == []


def test_every_file_of_a_room_is_on_the_map() -> None:
    """But for rooms that hold one file per thing, and for the top of fxcore, whose names are torch.fx's."""
    named = {room: text for room, text in ROOMS.items() if "**Files" in text}
    others = {room for room in ROOMS if room not in named}
    assert not [room for room in others - {"fx_lsp", FXCORES_TOP} if not {*Path(room).parts} & {*ONE_FILE_PER_THING}]
    for room, text in named.items():
        files = {path.name for path in (ROOT / room).glob("*.py")} - {"__init__.py"}
        line = next(line for line in text.splitlines() if "**Files" in line)
        assert set(re.findall(r"`(\w+\.py)`", line)) == files, room


def test_folders_import_those_that_the_map_says() -> None:
    for package in ("fx_lsp", "fxcore"):
        for folder, others in folder_graph(package).items():
            line = next((line for line in ROOMS[folder].splitlines() if "**Imports" in line), "")
            said = {
                match if match.startswith(package) else f"{package}/{match}"
                for match in re.findall(r"`([\w/]+)`", line)
            }
            assert said == others, folder


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
    """``python -m fx_lsp.rules.rule_pages docs/rules`` writes them."""
    written = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "rules").glob("*.md")}
    assert written == rule_pages.pages()


def test_the_clients_settings_are_up_to_date() -> None:
    """``python vscode-client/scripts/manifest.py`` writes them."""
    manifest = (ROOT / "vscode-client" / "package.json").read_text(encoding="utf-8")
    script = runpy.run_path(str(ROOT / "vscode-client" / "scripts" / "manifest.py"))
    assert script["up_to_date"](manifest) == manifest
    assert vscode_properties().items() <= json.loads(manifest)["contributes"]["configuration"][0]["properties"].items()
