"""Which calls are offered to be recorded, and what the edit makes of a file."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest
import torch.fx
from hypothesis import given, settings
from hypothesis import strategies as st

from fx_lsp.agent.messages import Failure, Span, Step
from fx_lsp.fixes import Fix, fixes_for, wrap_call
from fx_lsp.fixes.editing.insertion_points import wrapping
from fx_lsp.fixes.editing.line_changes import changes_between
from tests.fixes.fixing import applied


def span(source: str, text: str, file: str = "/w/file.py") -> Span:
    """Where the last ``text`` of ``source`` stands, in lines from 1 and UTF-8 columns."""
    before = source[: source.rindex(text)].split("\n")
    line, col = len(before), len(before[-1].encode())
    return Span(file, line, col, line, col + len(text.encode()))


def offered(source: str, *expressions: str, kind: str = "control-flow") -> tuple[Fix, ...]:
    """The fixes for a failure whose chain leads through ``expressions`` of the one file."""
    chain = tuple(Step("forward", span(source, expression)) for expression in expressions)
    return tuple(wrap_call.fixes(Failure(kind, "TraceError: no", chain), {"/w/file.py": source}.get))


HEAD = """\
import helpers
import torch.fx
from helpers import Shape, scale, scale as grow

try:
    from fast import resize
except ImportError:
    from slow import resize

def half(x):
    return x / 2

def pairs(x):
    yield x

async def later(x):
    return x

@torch.jit.script
def scripted(x):
    return x

class Local:
    pass

alias = half

"""


class TestWhichCalls:
    @pytest.mark.parametrize(
        "call",
        ["len(x)", "max(x, 1)", "scale(x)", "grow(x)", "half(x)", "resize(x, size=é)", "half(*x)", "half(lambda_)"],
    )
    @pytest.mark.parametrize("place", ["    return {}", "    y = '😋'; return {} + y", "    return [{} for _ in y]"])
    def test_go_through_a_global(self, call: str, place: str) -> None:
        source = HEAD + "def forward(self, x):\n" + place.format(call) + "\n"
        (fix,) = offered(source, call)
        name = call.partition("(")[0]
        assert fix.title == f'Insert torch.fx.wrap("{name}") in file.py'
        assert f'torch.fx.wrap("{name}")\n' in applied(source, fix.changes)

    @pytest.mark.parametrize(
        "call",
        [
            "x.size()",
            "helpers.scale(x)",
            "Shape(x)",
            "Local(x)",
            "int(x)",
            "range(x)",
            "pairs(x)",
            "later(x)",
            "scripted(x)",
            "alias(x)",
            "unknown(x)",
            "half()",
            "half(self, x)",
            "any(y > 0 for y in x)",
            "half(lambda: x)",
            "(lambda y: y)(x)",
            "x + 1",
        ],
    )
    def test_cannot_be_recorded(self, call: str) -> None:
        assert offered(f"{HEAD}def forward(self, x):\n    return {call}\n", call) == ()

    @pytest.mark.parametrize(
        ("argument", "is_value"),
        [
            ("self.run", False),
            ("self.parameters()", False),
            ("self.named_modules()", False),
            ("self.width", True),
            ("self.scale", True),
            ("x.parameters(1)", True),
        ],
    )
    def test_a_graph_holds_no_methods_nor_generators(self, argument: str, *, is_value: bool) -> None:
        method = f"    def forward(self, x):\n        return half({argument}, x)\n"
        others = "    def run(self, x):\n        return x\n    @property\n    def scale(self):\n        return 2\n"
        assert len(offered(f"{HEAD}class Net:\n{method}{others}", f"half({argument}, x)")) == is_value

    @pytest.mark.parametrize(
        "function",
        [
            "def forward(x, len):\n    return len(x)",
            "def forward(x):\n    len = x.size\n    return len(x)",
            "def forward(x):\n    def len(x): return x\n    return len(x)",
            "def forward(x):\n    from helpers import len\n    return len(x)",
            "def forward(x):\n    for len in x:\n        return len(x)",
            "def outer(len):\n    def forward(x):\n        return len(x)",
            "def forward(x):\n    return [len(x) for len in x]",
            "def forward(x):\n    return (lambda len: len(x))(3)",
            "len = 3\ndef forward(x):\n    return len(x)",
            "if __name__ == '__main__':\n    from helpers import len\ndef forward(x):\n    return len(x)",
        ],
    )
    def test_go_through_a_name_that_hides_the_builtin(self, function: str) -> None:
        assert offered(f"import torch.fx\n{function}\n", "len(x)") == ()

    @pytest.mark.parametrize(
        "statement",
        [
            "if len(x) > 3: return x",
            "while half(len(x)): return x",
            "assert not len(x)",
            "return 1 if len(x) else 2",
            "return len(x) or 3",
            "for i in range(len(x)): return x",
            "return [i for i in range(len(x))]",
            "return [i for i in x if len(x)]",
            "return (*range(len(x)), 3)",
        ],
    )
    def test_decide_something(self, statement: str) -> None:
        assert offered(f"{HEAD}def forward(self, x):\n    {statement}\n", "len(x)") == ()

    @pytest.mark.parametrize("kind", ["exception", "call-binding", "two-tracers"])
    def test_would_not_help(self, kind: str) -> None:
        assert offered("def forward(x):\n    return len(x)\n", "len(x)", kind=kind) == ()

    def test_every_frame_in_the_users_files_may_be_wrapped(self) -> None:
        model = "from helper import outer\n\ndef forward(x):\n    return outer(x)\n"
        helper = "from torch import fx\nfrom lib import deep\n\ndef outer(x):\n    return deep(x)\n"
        library = "def deep(x):\n    return len(x)\n"
        chain = (
            Step("forward", span(model, "outer(x)", "/w/model.py")),
            Step("outer", span(helper, "deep(x)", "/w/helper.py")),
            Step("deep", span(library, "len(x)", "/lib/lib.py")),
        )
        fixes = fixes_for(Failure("len", "RuntimeError: no", chain), {"/w/model.py": model, "/w/helper.py": helper}.get)
        assert [fix.title for fix in fixes] == [
            'Insert fx.wrap("deep") in helper.py',
            'Insert torch.fx.wrap("outer") in model.py',
        ]
        assert [{change.span.file for change in fix.changes} for fix in fixes] == [{"/w/helper.py"}, {"/w/model.py"}]

    def test_a_function_that_calls_itself_is_offered_once(self) -> None:
        source = "def forward(x):\n    return half(x)\ndef half(x):\n    return half( x )\n"
        assert len(offered(source, "half(x)", "half( x )")) == 1

    def test_nothing_for_a_file_that_changed_meanwhile(self) -> None:
        assert offered("def forward(x:\n    return len(x)\n", "len(x)") == ()

    def test_nothing_for_a_failure_without_a_place(self) -> None:
        assert fixes_for(Failure("len", "RuntimeError: no"), lambda file: None) == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "import torch.fx\n\n\ndef f(x): ...\n",
            'import torch.fx\n\ntorch.fx.wrap("len")\n\n\ndef f(x): ...\n',
            id="after the imports",
        ),
        pytest.param(
            "import torch\nfrom torch import nn\n\nx = 1\n",
            'import torch\nimport torch.fx\nfrom torch import nn\n\ntorch.fx.wrap("len")\n\nx = 1\n',
            id="with the import that it needs",
        ),
        pytest.param(
            "from torch import nn\ndef f(x): ...\n",
            'from torch import nn\nimport torch.fx\n\ntorch.fx.wrap("len")\n\n\ndef f(x): ...\n',
            id="with blank lines where there are none",
        ),
        pytest.param("def f(x): ...", 'import torch.fx\n\ntorch.fx.wrap("len")\n\n\ndef f(x): ...', id="no imports"),
        pytest.param(
            '#!/bin/python\n# licence\n\n"""Doc."""\n\nclass A: ...\n',
            '#!/bin/python\n# licence\n\n"""Doc."""\n\nimport torch.fx\n\ntorch.fx.wrap("len")\n\nclass A: ...\n',
            id="after the docstring",
        ),
        pytest.param(
            '"""Doc."""\nfrom __future__ import annotations\nimport os; from torch import fx as F  # it is F\n# end\n',
            '"""Doc."""\nfrom __future__ import annotations\nimport os; from torch import fx as F  # it is F\n\n'
            'F.wrap("len")\n# end\n',
            id="through an alias",
        ),
        pytest.param(
            "from torch.fx import (\n    symbolic_trace,  # a\n    wrap as record,\n)\n\nx = 1\n",
            'from torch.fx import (\n    symbolic_trace,  # a\n    wrap as record,\n)\n\nrecord("len")\n\nx = 1\n',
            id="through an imported wrap",
        ),
        pytest.param("import fxcore\n\nx = 1\n", 'import fxcore\n\nfxcore.wrap("len")\n\nx = 1\n', id="through fxcore"),
        pytest.param(
            "import torch.fx\n\ntorch.fx.wrap('a')  # a\ntorch.fx.wrap(b)\nx = 1\ntorch.fx.wrap('c')\n",
            "import torch.fx\n\ntorch.fx.wrap('a')  # a\ntorch.fx.wrap(b)\n"
            "torch.fx.wrap(\"len\")\nx = 1\ntorch.fx.wrap('c')\n",
            id="next to those that are there",
        ),
        pytest.param(
            "import torch.fx\n\nif TYPE_CHECKING:\n    import a\ntry:\n    import b\nexcept A:\n    b = None\n\n"
            "def f(x): ...\nimport c\n",
            "import torch.fx\n\nif TYPE_CHECKING:\n    import a\ntry:\n    import b\nexcept A:\n    b = None\n\n"
            'torch.fx.wrap("len")\n\ndef f(x): ...\nimport c\n',
            id="after conditional imports at the top",
        ),
        pytest.param(
            "if TYPE_CHECKING:\n    import torch.fx\n\nx = 1\n",
            'if TYPE_CHECKING:\n    import torch.fx\nimport torch.fx\n\ntorch.fx.wrap("len")\n\nx = 1\n',
            id="not through an import that may not run",
        ),
        pytest.param(
            "import torch.fx\r\n\r\n\r\ndef f(x): ...\r\n",
            'import torch.fx\r\n\r\ntorch.fx.wrap("len")\r\n\r\n\r\ndef f(x): ...\r\n',
            id="with the file's line ends",
        ),
        pytest.param(
            'import torch.fx\nif __name__ == "__main__":\n    import a\n',
            'import torch.fx\n\ntorch.fx.wrap("len")\n\nif __name__ == "__main__":\n    import a\n',
            id="above the main block",
        ),
    ],
)
def test_the_call_goes_below_other_calls_of_wrap_or_the_imports(before: str, after: str) -> None:
    insertion = wrapping(before, "len")
    assert insertion is not None
    assert insertion.text == after
    assert applied(before, changes_between("/w/file.py", before, after)) == after


@pytest.mark.parametrize(
    "source",
    [
        "import torch.fx\ntorch.fx.wrap('len')\n",
        "from torch import fx\nx = 1\nfx.wrap(len)\n",
        "from torch.fx import wrap\n@wrap\ndef len(x): ...\n",
        "import torch.fx\n@torch.fx.wrap\n@other\ndef len(x): ...\n",
    ],
)
def test_nothing_changes_where_the_name_is_wrapped_already(source: str) -> None:
    assert wrapping(source, "len") is None


LINES = st.sampled_from(
    [
        "import os",
        "import torch",
        "import torch.fx",
        "import torch.fx as tfx, sys",
        "from torch import fx",
        "from torch import (\n    nn,  # layers\n    fx as f,\n)",
        "from torch.fx import wrap",
        "from torch.fx import *",
        "from . import sibling",
        "try:\n    import apex\nexcept ImportError:\n    apex = None",
        "if True:\n\timport json\n",
        "with open as x:\n    import y",
        "# é comment",
        "",
        "",
        "\f",
        "x = '''\nimport no\n'''",
        "torch.fx.wrap('other')  # kept",
        "wrap('other')",
        "fx.wrap(other); x = 1",
        "class A:\n    import inside",
        "@decorated\ndef g(x):\n    return x",
        "if __name__ == '__main__':\n    import late",
    ]
)
STARTS = st.sampled_from(["", '"""Doc."""', "#!/bin/python\n# -*- coding: utf-8 -*-", "'a' 'b'"])
FUTURES = st.sampled_from(["", "from __future__ import annotations", "from __future__ import annotations  # now"])


def statements(source: str) -> list[str]:
    return [ast.unparse(statement) for statement in ast.parse(source).body]


@settings(max_examples=300, deadline=None)
@given(STARTS, FUTURES, st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans())
def test_any_file_keeps_its_text_and_gains_one_call(
    start: str, future: str, lines: list[str], newline: str, ends: bool
) -> None:
    source = "\n".join(filter(None, [start, future])) + "\n" + "\n".join([*lines, "def f(x):", "    return len(x)"])
    source = (source + "\n" * ends).replace("\n", newline)
    insertion = wrapping(source, "len")
    assert insertion is not None
    changes = changes_between("/w/file.py", source, insertion.text)
    assert applied(source, changes) == insertion.text
    extra = statements(insertion.text)
    for statement in statements(source):
        extra.remove(statement)
    assert [statement for statement in extra if statement != "import torch.fx"] == [insertion.call.replace('"', "'")]
    new = "".join(change.text for change in changes).split(newline)
    assert {line for line in new if line.strip()} <= {insertion.call, "import torch.fx"}
    assert all(change.span.line == change.span.end_line for change in changes), "nothing is taken out"
    assert wrapping(insertion.text, "len") is None


def test_the_call_is_recorded_afterwards() -> None:
    source = dedent("""\
        from math import sqrt

        def normalize(x):
            return x / sqrt(len(x))
        """)
    (fix,) = offered(source, "len(x)", kind="len")
    namespace = {"__name__": "normalizing"}
    exec(compile(applied(source, fix.changes), "normalizing", "exec"), namespace)
    traced = torch.fx.symbolic_trace(namespace["normalize"])  # type: ignore[arg-type]
    assert torch.equal(traced(torch.ones(4)), torch.full((4,), 0.5))
