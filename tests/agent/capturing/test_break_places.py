"""Where a graph breaks, as far as torch tells."""

from pathlib import Path
from traceback import FrameSummary

import pytest

from fx_lsp.agent.capturing.break_places import steps_of
from tests.agent.client import text_at


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("    print(x)  # the sum", "print(x)"),
        ("    é = '#'; print(é)", "é = '#'; print(é)"),
        ("    print(x,  # and", "print(x,"),
        ("    if x.sum() > 0:  # a condition", "x.sum() > 0"),
    ],
)
def test_if_torch_tells_only_the_line_its_code_is_marked(tmp_path: Path, line: str, found: str) -> None:
    file = tmp_path / "net.py"
    rest = "        )\n" if line.endswith("and") else "        pass\n" if ":" in line else ""
    file.write_text(f"def f(x):\n{line}\n{rest}", encoding="utf-8")
    (step,) = steps_of([FrameSummary(str(file), 2, "f", lookup_line=False)])
    assert text_at(step) == found
