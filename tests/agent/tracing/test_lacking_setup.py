"""Who defines a name that does not exist; the workspace script `set_up_later.py` has what else may not be set up."""

from __future__ import annotations

from pathlib import Path

import pytest

from fx_lsp.agent.tracing.lacking_setup import lacking_setup


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        (
            "README.md",
            "Use it\n(as follows:\nnet = Net(3)\n",
            "README.md, which shows how to build it, does not define",
        ),
        ("net.py", "net = Net(3)\n", None),
        ("net.py", "def f():\n    global Net\n    Net = int\nnet = Net(3)\n", "`f` sets `Net`"),
        ("net.py", "if f is None:\n    Net = int\nnet = Net(3)\n", "it reads `Net`, which its file defines only"),
    ],
)
def test_who_defines_a_name_that_is_not_defined(tmp_path: Path, name: str, text: str, reason: str | None) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    lines = text.split("\n")
    code = "\n" * lines.index("net = Net(3)") + "net = Net(3)"
    namespace: dict[str, object] = {"f": 1}
    if name.endswith(".py") and text.startswith("def"):
        exec(compile(text.partition("net =")[0], path, "exec"), namespace)
    with pytest.raises(NameError) as caught:
        exec(compile(code, path, "exec"), namespace)
    said = lacking_setup(caught.value, lambda file: file == str(path))
    assert said is reason if said is None or reason is None else said.startswith(reason)
