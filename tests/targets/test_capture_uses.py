"""Which captures a workspace uses on its classes: each folder in ``tests/workspaces/captures`` has its own habits."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

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
                    remark = " whole" if use.is_whole else " to ONNX" if use.to_onnx else ""
                    shown[target.title] = ", ".join(sorted(use.captures)) + remark
        return shown


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("export_one_of_several", {"Classifier": "export", "Head": "export"}),
        ("export_all", {"Gate": "export", "Long": "export"}),
        ("only_compile", {"Net": "compile"}),
        ("compile_fullgraph", {"Norm": "compile whole"}),
        ("only_trace", {"Net": "fx"}),
        ("onnx", {"Segmenter": "export to ONNX"}),
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


NETS = """\
from torch import nn

class Block(nn.Module):
    @classmethod
    def small(cls):
        return cls()

class Net(nn.Module):
    @classmethod
    def pretrained(cls, name):
        return cls(Block.small())

class Other(nn.Module): ...
"""


@pytest.mark.parametrize(
    "text",
    [
        "from pkg.nets import Net\ntorch.export.export(Net.pretrained('a'), (x,))",
        "from pkg import nets\ntorch.export.export(nets.Net.pretrained('a'), (x,))",
        "import pkg.nets\ntorch.export.export(pkg.nets.Net.pretrained('a'), (x,))",
        "from pkg.nets import *\ntorch.export.export(Net.pretrained('a'), (x,))",
        "from pkg.nets import Net\nclass Maker:\n    net = Net.pretrained('a')\ntorch.export.export(Maker.net, (x,))",
    ],
)
def test_what_a_method_of_a_class_makes_is_made_of_the_class(tmp_path: Path, text: str) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "nets.py").write_text(NETS)
    (tmp_path / "main.py").write_text(f"import torch\n{text}\n")
    folder = Folder(tmp_path)
    folder.update()
    paths = {(Path(path).name, name) for path, name in folder.uses._uses}
    assert {("nets.py", "Net"), ("nets.py", "Block")} <= paths
    assert ("nets.py", "Other") not in paths


@pytest.mark.parametrize("text", ["from . import nets", "from ..pkg import nets", "from .nets import Net"])
def test_a_relative_import_is_followed(tmp_path: Path, text: str) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("")
    (tmp_path / "pkg" / "nets.py").write_text(NETS)
    net = "Net" if text.endswith("Net") else "nets.Net"
    (tmp_path / "pkg" / "main.py").write_text(f"import torch\n{text}\ntorch.export.export({net}(), (x,))\n")
    folder = Folder(tmp_path)
    folder.update()
    assert ("nets.py", "Net") in {(Path(path).name, name) for path, name in folder.uses._uses}


def test_files_that_import_everything_from_each_other_are_searched_once(tmp_path: Path) -> None:
    count = 12
    stars = "".join(f"from n{number} import *\n" for number in range(count))
    for number in range(count):
        (tmp_path / f"n{number}.py").write_text(stars)
    (tmp_path / "n3.py").write_text(f"{stars}{NETS}")
    (tmp_path / "main.py").write_text(f"{stars}import torch\ntorch.export.export(Net(len(missing)), (x,))\n")
    folder = Folder(tmp_path)
    asked: list[str] = []
    file = folder.uses._file

    def counting(path: str) -> Any:
        asked.append(path)
        return file(path)

    folder.uses._file = counting  # type: ignore[method-assign]
    folder.update()
    assert ("n3.py", "Net") in {(Path(path).name, name) for path, name in folder.uses._uses}
    assert len(asked) < 100 * count**2


def test_deeply_nested_code_ends_no_update(tmp_path: Path) -> None:
    deep = " + ".join(["x"] * 1500)
    net = "from torch import nn\n\nclass Net(nn.Module):\n    def forward(self, x{}):\n        return {}\n"
    (tmp_path / "annotated.py").write_text(net.format(f": {deep}", "x"))
    (tmp_path / "added.py").write_text(net.format("", deep))
    (tmp_path / "main.py").write_text(
        "import torch, annotated, added\nfor net in annotated.Net(), added.Net():\n    torch.export.export(net, (x,))\n"
    )
    folder = Folder(tmp_path)
    assert folder.update()
    assert (str(tmp_path / "annotated.py"), "Net") in folder.uses._uses


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
