"""Which third-party modules are tried, one after the other, before the agent itself imports them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from fx_lsp.agent.children import Brood, Child
from fx_lsp.agent.messages import Trace
from fx_lsp.agent.rehearsal import Rehearsal, installed


class FakeBrood:
    """Children that do what the test says."""

    def __init__(self) -> None:
        self.tried: list[str] = []
        self.hear: Callable[[str], None]
        self.gone: Callable[[Child], None]

    def fork(self, job: Any, *, seconds: float, hear: Callable[[str], None], gone: Callable[[Child], None]) -> None:
        (self.tried,) = job.args
        self.tried = list(self.tried)
        self.hear, self.gone = hear, gone

    def end(self) -> None:
        """The child's end."""
        self.gone(cast(Child, None))


def test_what_comes_after_a_module_that_fails_is_tried_without_its_package() -> None:
    brood = FakeBrood()
    rehearsal = Rehearsal(cast(Brood, brood))
    rehearsal.want(["missing_one.a", "missing_two", "missing_one.b", "missing_three"])
    rehearsal.proceed()
    brood.end()
    rehearsal.proceed()
    assert brood.tried == ["missing_two", "missing_three"]
    brood.end()
    rehearsal.proceed()
    assert brood.tried == ["missing_three"]
    brood.end()
    brood.tried.clear()
    rehearsal.proceed()
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
