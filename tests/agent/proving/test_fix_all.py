"""All proven fixes of real models: what is left is traced by torch.fx, and computes what it did before.

The models' source files are copied out of their libraries into a project, where nothing but them is to be mended.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import torch
import torch.fx

from fx_lsp.analysis.apply_fixes import mend, write
from fx_lsp.analysis.engine import Engine
from fx_lsp.settings.settings import Settings
from tests import zoo
from tests.agent.client import PATIENT
from tests.fixes.fixing import same

pytestmark = pytest.mark.asyncio(loop_scope="session")

assert zoo  # declares the operators that torchvision may miss

ROOT = Path(__file__).parents[3]

MAIN = """\
import torch
import torch.fx

import tests.zoo  # declares the operators that torchvision may miss
from {module} import {factory}


def main():
    torch.manual_seed(0)
    model = {call}.eval()
    model({inputs})
    traced = torch.fx.symbolic_trace(model, concrete_args={concrete_args})
    return model, traced
"""


@dataclass(frozen=True)
class Model:
    """A model that fails in files of its library."""

    package: str
    files: tuple[str, ...]
    """The first has the factory."""
    call: str
    """Of the factory."""
    inputs: str = "torch.rand(1, 3, 224, 224)"
    concrete_args: str = "None"

    @property
    def factory(self) -> str:
        """Its name."""
        return self.call.partition("(")[0]


def of_timm(file: str, call: str, side: int = 224) -> Model:
    """A model of timm, on an image of so many pixels."""
    return Model("timm.models", (file,), call, f"torch.rand(1, 3, {side}, {side})")


MODELS = (
    of_timm("cpubone", "cpubone_nano()", 64),
    of_timm("crossvit", "crossvit_tiny_240(img_size=120, depth=((1, 1, 0), (1, 1, 0), (1, 1, 0)))", 120),
    of_timm("hiera", "hiera_tiny_224(img_size=(64, 64))", 64),
    of_timm("mobilevit", "mobilevit_xxs()", 64),
    of_timm("nest", "nest_tiny(img_size=64)", 64),
    Model(
        "torchvision.models.optical_flow",
        ("raft", "_utils"),
        "raft_small()",
        "torch.rand(1, 3, 128, 128), torch.rand(1, 3, 128, 128)",
        "{'num_flow_updates': 2}",
    ),
)


@dataclass(frozen=True)
class Project:
    """A folder with one model's files, and one that traces it."""

    model: Model
    folder: Path

    def write(self) -> None:
        """Copy the files, with imports from where they were."""
        self.folder.mkdir()
        location = importlib.util.find_spec(self.model.package)
        assert location is not None
        assert location.submodule_search_locations is not None
        for file in self.model.files:
            text = Path(location.submodule_search_locations[0], f"{file}.py").read_text(encoding="utf-8")
            self.path(file).write_text(self._own(text), encoding="utf-8")
        module, concrete_args = self.path(self.model.files[0]).stem, self.model.concrete_args
        text = MAIN.format(
            module=module,
            factory=self.model.factory,
            call=self.model.call,
            inputs=self.model.inputs,
            concrete_args=concrete_args,
        )
        self.main.write_text(text, encoding="utf-8")

    @property
    def main(self) -> Path:
        """The file that traces the model."""
        return self.folder / f"{self.folder.name}_main.py"

    def path(self, file: str) -> Path:
        """Where the copy of a file is."""
        return self.folder / f"{self.folder.name}_{file}.py"

    def traced(self) -> tuple[Any, Any]:
        """The model of the files as they are now, and what torch.fx makes of it there."""
        for path in (self.main, *map(self.path, self.model.files)):
            sys.modules.pop(path.stem, None)
        importlib.invalidate_caches()
        model, traced = importlib.import_module(self.main.stem).main()
        return model, traced

    def built(self) -> Any:
        """The model of the files as they are now."""
        module = importlib.import_module(self.path(self.model.files[0]).stem)
        torch.manual_seed(0)
        return eval(self.model.call, vars(module)).eval()

    def _own(self, text: str) -> str:
        def absolute(match: re.Match[str]) -> str:
            name = importlib.util.resolve_name(match[2], self.model.package)
            package, _, file = name.rpartition(".")
            is_own = package == self.model.package and file in self.model.files
            return f"{match[1]}from {self.path(file).stem if is_own else name} "

        text = text.replace("@register_model()\n", "")  # torchvision knows one of each name
        return re.sub(r"^( *)from (\.\S*) ", absolute, text, flags=re.MULTILINE)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def engine(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Engine]:
    folder = tmp_path_factory.mktemp("workspace")
    settings = Settings(time_limit=PATIENT.seconds, env={**os.environ, "PYTHONPATH": str(ROOT)})
    engine = Engine(lambda path: settings, folders=[str(folder)], python=[sys.executable])
    yield engine
    await engine.close()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.factory)
async def test_what_all_proven_fixes_leave_is_traced_and_does_the_same(
    engine: Engine, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(model.package)
    project = Project(model, Path(engine.workspace.folders[0], model.factory))
    project.write()
    monkeypatch.syspath_prepend(project.folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    torch.manual_seed(1)
    inputs = (*eval(f"({model.inputs},)"), *(eval(model.concrete_args) or {}).values())
    with torch.no_grad():
        expected = project.built()(*inputs)
        with pytest.raises((TypeError, RuntimeError, torch.fx.proxy.TraceError)):
            project.traced()
        await engine.scheduler.trace(str(project.main))
        edits = await mend(
            engine.scheduler,
            engine.proofs.combinations,
            [str(project.main)],
            trace=engine.scheduler.trace,
            unproven=False,
        )
        for path, text in edits.items():
            write(path, text)
        mended, traced = project.traced()
        assert same(mended(*inputs), expected)
        assert same(traced(*inputs), expected)
