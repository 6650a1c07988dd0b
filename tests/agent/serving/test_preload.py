"""Which third-party modules are tried, one after the other, before the agent itself imports them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, cast

import pytest

from fx_lsp.agent.importing.workspace_roots import Roots
from fx_lsp.agent.messages import Preload, Trace
from fx_lsp.agent.processes.children import ForkedChildren
from fx_lsp.agent.processes.watchdog import ChildProcess, Gone, Hear
from fx_lsp.agent.serving import preload
from fx_lsp.agent.serving.preload import ImportPassed, Preloader, third_party_modules


class FakeChildren:
    """Children that do what the test says."""

    def __init__(self) -> None:
        self.tried: list[str] = []
        self.hear: Hear
        self.gone: Gone

    def fork(self, job: Any, *, seconds: float, hear: Hear, gone: Gone) -> None:
        self.tried, _ = job.args
        self.tried = list(self.tried)
        self.hear, self.gone = hear, gone

    def end(self) -> None:
        """The child's end."""
        self.gone(cast(ChildProcess, None))


def test_preloading_goes_on_after_a_failing_module_without_its_package() -> None:
    children = FakeChildren()
    trials = Preloader(cast(ForkedChildren, children))
    trials.want(["missing_one.a", "missing_two", "missing_one.b", "missing_three"])
    trials.proceed()
    children.end()
    trials.proceed()
    assert children.tried == ["missing_two", "missing_three"]
    children.end()
    trials.proceed()
    assert children.tried == ["missing_three"]
    children.end()
    children.tried.clear()
    trials.proceed()
    assert children.tried == []


def test_what_a_file_imports_is_tried_first_and_in_its_order() -> None:
    children = FakeChildren()
    preloader = Preloader(cast(ForkedChildren, children))
    preloader.want(["missing_one", "missing_two"])
    preloader.expect(["missing_three", "missing_two", "missing_four", "sys"])
    assert (preloader.is_due, preloader.is_pressing) == (True, False)
    preloader.proceed()
    assert children.tried == ["missing_three", "missing_four", "missing_one", "missing_two"]
    assert not preloader.is_due


def test_modules_that_several_requests_import_are_tried_while_others_run_and_imported_later() -> None:
    children = FakeChildren()
    preloader = Preloader(cast(ForkedChildren, children))
    preloader.want(["missing_one"])
    pressing = [preloader.is_pressing]
    preloader.want(["missing_one"])
    pressing.append(preloader.is_pressing)
    assert pressing == [False, True]
    preloader.proceed()
    children.hear(ImportPassed("missing_one"))
    children.end()
    assert (preloader.is_ready, preloader.is_pressing) == (True, False), (
        "the import takes time, during which no trace is answered"
    )


def test_the_agent_answers_between_modules_and_loads_first_what_the_traced_file_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"fx_lsp_test_package_{number}" for number in range(4)]
    for name in names:
        (tmp_path / f"{name}.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(preload, "SECONDS_AT_ONCE", -1.0)
    children = FakeChildren()
    preloader = Preloader(cast(ForkedChildren, children))
    preloader.heed(Preload("/work/open.py", (names[0], names[2]), ("/work",)))
    preloader.expect(names)
    preloader.proceed()
    for name in names:
        children.hear(ImportPassed(name))
    children.end()
    steps = []
    for file in (None, "/work/open.py", None):
        preloader.proceed(file)
        steps.append([name for name in names if name in sys.modules])
    assert steps == [names[:1], names[:3], names]
    assert not preloader.is_ready
    for name in names:
        del sys.modules[name]


def test_workspace_code_is_never_preloaded_wherever_it_is_installed(
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
    assert third_party_modules(named, Trace(inside, (), {}, (str(workspace),))) == ["other.module", "torch._dynamo"]
    assert third_party_modules(named[:1], Trace(alone, ())) == []


def test_a_preloaded_module_cannot_import_workspace_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, elsewhere = tmp_path / "workspace", tmp_path / "elsewhere"
    for folder, name, text in [(workspace, "of_workspace", ""), (elsewhere, "leads_there", "import of_workspace\n")]:
        folder.mkdir()
        (folder / f"{name}.py").write_text(text)
        monkeypatch.syspath_prepend(folder)
    with preload._without_workspaces([Roots([str(workspace)])]):
        with pytest.raises(ImportError, match="of_workspace belongs to a workspace"):
            importlib.import_module("leads_there")
        importlib.import_module("colorsys")
    importlib.import_module("leads_there")
    for name in ("of_workspace", "leads_there"):
        monkeypatch.delitem(sys.modules, name)
