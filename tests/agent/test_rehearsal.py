"""Which third-party modules are tried, one after the other, before the agent itself imports them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from fx_lsp.agent import rehearsal
from fx_lsp.agent.children import Brood, Child
from fx_lsp.agent.messages import Trace
from fx_lsp.agent.rehearsal import Rehearsal, installed
from fx_lsp.agent.roots import Roots


class FakeBrood:
    """Children that do what the test says."""

    def __init__(self) -> None:
        self.tried: list[str] = []
        self.hear: Callable[[str], None]
        self.gone: Callable[[Child], None]

    def fork(self, job: Any, *, seconds: float, hear: Callable[[str], None], gone: Callable[[Child], None]) -> None:
        self.tried, _ = job.args
        self.tried = list(self.tried)
        self.hear, self.gone = hear, gone

    def end(self) -> None:
        """The child's end."""
        self.gone(cast(Child, None))


def test_what_comes_after_a_module_that_fails_is_tried_without_its_package() -> None:
    brood = FakeBrood()
    trials = Rehearsal(cast(Brood, brood))
    trials.want(["missing_one.a", "missing_two", "missing_one.b", "missing_three"])
    trials.proceed()
    brood.end()
    trials.proceed()
    assert brood.tried == ["missing_two", "missing_three"]
    brood.end()
    trials.proceed()
    assert brood.tried == ["missing_three"]
    brood.end()
    brood.tried.clear()
    trials.proceed()
    assert brood.tried == []


def test_the_workspaces_own_code_is_none_for_the_agent_wherever_it_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In place, as ``pip install --editable`` does, or by PYTHONPATH: whoever names it may be what was traced."""
    workspace, elsewhere = tmp_path / "workspace", tmp_path / "elsewhere"
    for folder, name in [(workspace / "src", "inplace"), (workspace, "namespace"), (elsewhere, "other")]:
        (folder / name).mkdir(parents=True)
        (folder / name / "module.py").write_text("raise SystemExit\n")
        monkeypatch.syspath_prepend(folder)
    (workspace / "src" / "inplace" / "__init__.py").write_text("raise SystemExit\n")
    named = ["inplace.module", "namespace.module", "nowhere", "other.module", "torch._dynamo"]
    inside, alone = str(workspace / "model.py"), str(workspace / "src" / "model.py")
    assert installed(named, Trace(inside, (), {}, (str(workspace),))) == ["other.module", "torch._dynamo"]
    assert installed(named[:1], Trace(alone, ())) == []


def test_what_is_loaded_ahead_leads_to_no_workspace_either(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, elsewhere = tmp_path / "workspace", tmp_path / "elsewhere"
    for folder, name, text in [(workspace, "of_workspace", ""), (elsewhere, "leads_there", "import of_workspace\n")]:
        folder.mkdir()
        (folder / f"{name}.py").write_text(text)
        monkeypatch.syspath_prepend(folder)
    with rehearsal._none_of([Roots([str(workspace)])]):
        with pytest.raises(ImportError, match="of_workspace is of a workspace"):
            importlib.import_module("leads_there")
        importlib.import_module("colorsys")
    importlib.import_module("leads_there")
    for name in ("of_workspace", "leads_there"):
        monkeypatch.delitem(sys.modules, name)
