"""What IPython alone understands gives way to blanks, and nothing else does."""

import ast

import pytest

from fx_lsp.documents.ipython_magics import blanked


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("%matplotlib inline\nimport torch\n", "                  \nimport torch\n"),
        ("!pip install x \\\n  y\nz = 1", "                \n   \nz = 1"),
        ("x = !ls\ny = %timeit -o f()", "x = [] \ny = []            "),
        ("if a:\n    !ls\n    %cd x\n", "if a:\n    0  \n    0    \n"),
        ("torch.nn?\n?torch\ntorch.Tensor??", "         \n      \n              "),
        ("%%bash\nls\necho 'x'", "      \n  \n        "),
        ("\n%%time\nx = 1", "\n      \nx = 1"),
        ("%%capture out\r\nclass A: pass", "             \r\nclass A: pass"),
        ("a, b = !ls -l | wc", "a, b = []         "),
        ("files = [1,\n  2 % 3]\n%pwd # é😋", "files = [1,\n  2 % 3]\n         "),
    ],
)
def test_magics_are_blanked(cell: str, expected: str) -> None:
    assert blanked(cell) == expected
    assert len(expected) == len(cell)
    ast.parse(expected)


@pytest.mark.parametrize(
    "cell",
    [
        "x = (a\n  % b)",
        "x = a \\\n % b",
        "s = '''\n%time\n!ls\nwhat?\n'''\ny",
        's = """\\"""\n%time\n"""',
        "print('?')  # really?",
        "x %= 3\nassert a != b\nx = a % b",
        "f'{x!r}'\nf(a=1 % 3)\nd['('] = 4 % 2",
        "# %matplotlib\n# what?\n",
        "x = {\n  # (\n  1: 5\n  % 3}",
        "a['x?']\n",
    ],
)
def test_python_stays_as_it_is(cell: str) -> None:
    assert blanked(cell) == cell
