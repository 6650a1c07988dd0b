"""A real model, mended fix by fix until torch.fx traces it: torchvision's RAFT, which fails in a dozen places."""

from __future__ import annotations

import importlib
import linecache
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.fx

from fx_lsp.agent.messages import Failure
from fx_lsp.agent.traceback_steps import chain_of_frames, describe
from fx_lsp.fixes import fixes_for
from fxcore import Tracer
from fxcore.failures import TraceFailure
from tests import zoo
from tests.fixes.fixing import applied, same

assert zoo  # declares the operators that torchvision may miss

UPDATES = 2
MOST_FIXES = 20


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    """RAFT's two files as a project of their own."""
    folder = Path(importlib.import_module("torchvision.models.optical_flow").__path__[0])
    model = (folder / "raft.py").read_text(encoding="utf-8").replace("@register_model()\n", "")
    for relative, absolute in {"._utils": "raft_utils", "...": "torchvision.", "..": "torchvision.models."}.items():
        model = model.replace(f"from {relative}", f"from {absolute}")
    texts = {"raft_model": model, "raft_utils": (folder / "_utils.py").read_text(encoding="utf-8")}
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return {str(tmp_path / f"{name}.py"): tmp_path / f"{name}.py" for name in texts}


def built(files: dict[str, Path]) -> Any:
    """The model of the files as they are now."""
    for path in files.values():
        sys.modules.pop(path.stem, None)
    linecache.checkcache()
    importlib.invalidate_caches()
    torch.manual_seed(0)
    return importlib.import_module("raft_model").raft_small(weights=None).eval()


def mended(files: dict[str, Path]) -> bool:
    """Whether the model traces; where it does not, the first fix that is offered is taken."""
    try:
        Tracer().trace(built(files), {"num_flow_updates": UPDATES})
    except TraceFailure as error:
        texts = {file: path.read_text(encoding="utf-8") for file, path in files.items()}
        failure = Failure(error.kind.value, describe(error), chain_of_frames(error.frames))
        fix = fixes_for(failure, texts.get)[0]
        for file in {change.span.file for change in fix.changes}:
            files[file].write_text(applied(texts[file], fix.changes), encoding="utf-8")
        return False
    return True


def test_applying_the_first_fixes_makes_the_model_trace_with_the_same_results(files: dict[str, Path]) -> None:
    images = [image.clone() for image in torch.rand(2, 1, 3, 128, 128)]
    with torch.no_grad():
        expected = built(files)(*images, UPDATES)
        turns = 0
        while not mended(files):
            turns += 1
            assert turns < MOST_FIXES
        assert turns > 5
        model = built(files)
        traced = torch.fx.symbolic_trace(model, {"num_flow_updates": UPDATES})
        assert same(model(*images, UPDATES), expected)
        assert same(traced(*images, UPDATES), expected)
