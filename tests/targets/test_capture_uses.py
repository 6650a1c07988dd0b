"""Which captures a workspace uses on its classes: each folder in ``tests/workspaces/captures`` has its own habits."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from fx_lsp.documents.documents import on_disk
from fx_lsp.targets import find_targets
from fx_lsp.targets.capture_uses import CaptureUses

WORKSPACES = Path(__file__).parents[1] / "workspaces" / "captures"


class Folder:
    """The uses in one folder, and what is found in the texts of its files."""

    def __init__(self, folder: Path, texts: Mapping[str, str] | None = None, *, onnx_exports: bool = True) -> None:
        self.folder = folder
        self.texts = {str(folder / name): text for name, text in (texts or {}).items()}
        self.uses = CaptureUses(lambda: [str(folder)], self.text, lambda path: onnx_exports)

    def update(self) -> bool:
        """Whether an update finds other uses than before."""
        before = self.uses.generation
        self.uses.update()
        return self.uses.generation != before

    def text(self, path: str) -> str | None:
        lines = on_disk(path)
        return self.texts.get(path, lines.text if lines else None)

    def shown(self) -> dict[str, str]:
        """Each used target's title, and what is used on it."""
        shown = {}
        for file in sorted(self.folder.rglob("*.py")):
            for target in find_targets(str(file), self.text(str(file)) or "") or ():
                use = self.uses.of(target)
                if use.captures:
                    shown[target.title] = ", ".join(sorted(use.captures)) + (" whole" if use.is_whole else "")
        return shown


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("export_one_of_several", {"Classifier": "export", "Head": "export"}),
        ("export_all", {"Gate": "export", "Long": "export"}),
        ("only_compile", {"Net": "compile"}),
        ("compile_fullgraph", {"Norm": "compile whole"}),
        ("only_trace", {"Net": "fx"}),
        ("onnx", {"Segmenter": "export"}),
        ("pt2e", {"Mobile": "export"}),
        ("nothing", {}),
    ],
)
def test_what_a_workspace_uses_on_which_classes(name: str, used: dict[str, str]) -> None:
    folder = Folder(WORKSPACES / name)
    assert folder.shown() == {}, "nothing is looked at before the first update"
    assert folder.update() == bool(used)
    assert folder.shown() == used
    assert not folder.update(), "nothing has changed"


def test_an_old_torch_exports_to_onnx_without_torch_export() -> None:
    folder = Folder(WORKSPACES / "onnx", onnx_exports=False)
    folder.update()
    assert folder.shown() == {}


def test_an_edit_counts_once_it_is_told() -> None:
    folder = Folder(WORKSPACES / "export_one_of_several")
    folder.update()
    script = str(folder.folder / "export.py")
    folder.texts[script] = (folder.text(script) or "").replace("Classifier", "Gate")
    assert not folder.update()
    folder.uses.changed(script)
    assert folder.update()
    assert folder.shown() == {"Gate": "export"}
    del folder.texts[script]
    folder.uses.forget()
    assert folder.update()
    assert folder.shown() == {"Classifier": "export", "Head": "export"}


def test_a_function_of_another_file_captures_what_it_is_passed(tmp_path: Path) -> None:
    (tmp_path / "tools.py").write_text("import torch\n\ndef save(net, x):\n    torch.export.export(net, (x,))\n")
    net = "from torch import nn\n\nclass Net(nn.Module):\n    def forward(self, x):\n        return x\n"
    (tmp_path / "nets.py").write_text(net)
    (tmp_path / "main.py").write_text("import tools\nfrom nets import Net\n\ntools.save(net=Net(), x=1)\n")
    folder = Folder(tmp_path)
    folder.update()
    assert folder.shown() == {"Net": "export"}
    (tmp_path / "main.py").write_text("from nets import Net\n\ndef save(net): ...\n\nsave(Net())\n")
    folder.uses.forget()
    assert folder.update()
    assert folder.shown() == {}


def test_an_interrupted_update_is_completed_by_the_next() -> None:
    folder = Folder(WORKSPACES / "export_all")
    read = folder.text

    def interrupting(path: str) -> str | None:
        folder.uses.interrupt()
        return read(path)

    folder.uses._texts = interrupting
    assert not folder.update()
    folder.uses._texts = read
    assert folder.update()
    assert folder.shown() == {"Gate": "export", "Long": "export"}
