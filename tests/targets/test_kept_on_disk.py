"""What ``fx-lsp check`` found once is not looked for again while the files that it was found in are the same."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from fx_lsp.agent.messages import Failure, Span, Step, Target
from fx_lsp.documents.documents import Documents
from fx_lsp.fixes import fix_cache, fixes_for
from fx_lsp.targets import target_finder
from fx_lsp.targets.target_finder import CachedTargetFinder
from fx_lsp.targets.workspace_recipes import WorkspaceRecipes
from fx_lsp.workspace.disk_cache import Cache
from fx_lsp.workspace.file_digests import server_digest

NET = """\
from torch import nn

class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, x):
        return x + len(x)
"""
USE = "from net import Net\nnet = Net(7)\n"


@pytest.fixture
def net(tmp_path: Path) -> Path:
    path = tmp_path / "work" / "net.py"
    path.parent.mkdir()
    path.write_text(NET)
    (path.parent / "use.py").write_text(USE)
    return path


def targets_of(net: Path) -> tuple[Target, ...]:
    """What a run finds in the file."""
    new = CachedTargetFinder([str(net.parent)], Documents().text, Cache(net.parent.parent / "cache"))
    return new.completed(str(net), new.find(str(net), net.read_text()) or ())


def refuse(*arguments: Any) -> Any:
    raise AssertionError("it was looked for again")


class TestTargets:
    def test_they_are_found_again_without_reading_the_files(self, net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        found = targets_of(net)
        assert [target.recipe.root.source for target in found] == ["Net(7)"]
        monkeypatch.setattr(target_finder, "find_targets", refuse)
        monkeypatch.setattr(WorkspaceRecipes, "completed", refuse)
        assert targets_of(net) == found

    def test_an_edit_of_the_file_is_seen(self, net: Path) -> None:
        targets_of(net)
        net.write_text("\n\n" + NET)
        assert [target.span.line for target in targets_of(net)] == [5]

    @pytest.mark.parametrize("name", ["use.py", "more/another.py"])
    def test_what_another_file_shows_later_is_seen(self, net: Path, name: str) -> None:
        targets_of(net)
        other = net.parent / name
        other.parent.mkdir(exist_ok=True)
        other.write_text(USE.replace("7", "64"))
        recipes = [recipe for target in targets_of(net) for recipe in (target.recipe, *target.fallbacks)]
        assert "Net(64)" in [recipe.root.source for recipe in recipes]

    def test_what_is_edited_meanwhile_is_not_kept(self, net: Path) -> None:
        use = net.parent / "use.py"

        def edited(path: str) -> str | None:
            use.write_text(USE.replace("7", "64"))
            return Documents().text(path)

        now = CachedTargetFinder([str(net.parent)], edited, Cache(net.parent.parent / "cache"))
        (target,) = now.completed(str(net), now.find(str(net), net.read_text()) or ())
        assert target.recipe.root.source == "Net(64)"
        use.write_text(USE)
        assert [target.recipe.root.source for target in targets_of(net)] == ["Net(7)"]

    def test_a_package_above_the_folder_is_seen(self, net: Path) -> None:
        def setups() -> list[list[str]]:
            return [[snippet.source for snippet in target.recipe.setup] for target in targets_of(net)]

        (net.parent / "__init__.py").touch()
        (net.parent / "use.py").write_text("from .net import Net\nnet = Net(7)\n")
        assert setups() == [["from work.net import Net"]]
        (net.parent.parent / "__init__.py").touch()
        assert setups() == [[f"from {net.parent.parent.name}.work.net import Net"]]

    def test_another_python_version_does_not_use_the_cache(self, net: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        targets_of(net)
        server_digest.cache_clear()
        monkeypatch.setattr(sys, "version", "another")
        monkeypatch.setattr(target_finder, "find_targets", refuse)
        try:
            with pytest.raises(AssertionError, match="looked for again"):
                targets_of(net)
        finally:
            server_digest.cache_clear()

    def test_a_file_that_is_not_python_is_reported_each_time(self, net: Path) -> None:
        net.write_text("class Net(:\n")
        new = CachedTargetFinder([str(net.parent)], Documents().text, Cache(net.parent.parent / "cache"))
        assert [new.find(str(net), net.read_text()) for _ in range(2)] == [None, None]


class TestFixes:
    @pytest.fixture
    def failure(self, net: Path) -> Failure:
        return Failure("len", "", (Step("Net.forward", Span(str(net), 9, 19, 9, 25)),))

    def test_they_are_found_again_without_parsing(
        self, net: Path, failure: Failure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cache, texts = Cache(tmp_path / "cache"), {str(net): NET}
        found = fix_cache.kept_fixes_for(cache, failure, texts.get)
        assert 'Insert torch.fx.wrap("len") in net.py' in [fix.title for fix in found]
        monkeypatch.setattr(fix_cache, "fixes_for", refuse)
        assert fix_cache.kept_fixes_for(cache, failure, texts.get) == found

    def test_another_text_is_read(self, net: Path, failure: Failure, tmp_path: Path) -> None:
        cache = Cache(tmp_path / "cache")
        fix_cache.kept_fixes_for(cache, failure, {str(net): NET}.get)
        wrapped = NET.replace("from torch import nn\n", 'from torch.fx import wrap; wrap("len")\n')
        texts = {str(net): wrapped}
        assert fix_cache.kept_fixes_for(cache, failure, texts.get) == fixes_for(failure, texts.get)
        assert fix_cache.kept_fixes_for(cache, failure, lambda path: None) == ()

    def test_another_package_is_seen(self, net: Path, tmp_path: Path) -> None:
        program = NET.replace("class Net", "class Inner") + (
            "\nimport torch.fx\n\nclass Net(nn.Module):\n    def forward(self, x):\n        return x\n"
        )
        call = "graph = torch.fx.symbolic_trace(Net())\n"
        (net.parent / "use.py").write_text(use := f"import torch.fx\nfrom net import Net\n{call}")
        inner = Step("Inner.forward", Span(str(net), 9, 19, 9, 25))
        failure = Failure("len", "", (Step("Net.forward", Span(str(net), 15, 15, 15, 16)), inner))
        calls = (Span(str(net.parent / "use.py"), 3, 8, 3, 38),)
        cache, texts = Cache(tmp_path / "cache"), {str(net): program, str(net.parent / "use.py"): use}

        def leaf() -> str:
            fixes = {fix.title: fix for fix in fix_cache.kept_fixes_for(cache, failure, texts.get, calls)}
            return "".join(change.text for change in fixes["Trace with Inner as a leaf"].changes)

        assert "import net" in leaf()
        (net.parent / "__init__.py").touch()
        assert f"import {net.parent.name}.net" in leaf()
