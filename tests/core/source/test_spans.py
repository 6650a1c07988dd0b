"""Spans: exact where the interpreter knows columns, the line's expression where it doesn't."""

from __future__ import annotations

import linecache
import subprocess
import sys
from pathlib import Path

import pytest

import fxcore
from fxcore.failures import TraceFailure
from fxcore.source import spans
from fxcore.source.bytecode import is_assertion, unpack_count
from fxcore.source.spans import SourceSpan, _expression_at, definition_span, disown, is_user_file, return_span
from fxcore.source.syntax import span_of_syntax
from tests.core.snippets import define, text_of

REPOSITORY = Path(__file__).parents[3]


def test_columns_are_bytes() -> None:
    f = define("def f(x):\n    é = '😋'; return bool(x) and é\n")
    with pytest.raises(TraceFailure) as failure:
        fxcore.symbolic_trace(f)
    start = len("    é = '😋'; return ".encode())
    assert failure.value.span == SourceSpan(f.__code__.co_filename, 2, 2, start, start + len("bool(x)"))


def test_an_expression_of_several_lines() -> None:
    f = define("def f(x):\n    return x + (\n        bool(\n            x\n        )\n    )\n")
    with pytest.raises(TraceFailure) as failure:
        fxcore.symbolic_trace(f)
    span = failure.value.span
    assert span is not None
    assert (span.line, span.end_line) == (3, 5)
    assert text_of(span) == "bool(\n            x\n        )"


def test_syntax_whose_last_line_is_not_known() -> None:
    f = define(
        "def f(x):\n    if not x:\n        return x\n    for i in range(2):\n        x = max(\n            i, 2)\n"
    )
    file = f.__code__.co_filename
    found = [span_of_syntax(file, *start) for start in ((2, 4, 16), (4, 4, 17), (5, 12, 17), (2, 0, 1))]
    assert [span and text_of(span) for span in found] == ["not x", "range(2)", "max(\n            i, 2)", None]
    found = [span_of_syntax(file, *start, None) for start in ((2, 4), (4, 4), (5, 8), (5, 12))]
    assert [span and text_of(span) for span in found] == ["not x", "range(2)", None, None]


def test_nodes_know_their_expressions() -> None:
    f = define(
        """
        def f(x, y):
            z = (x + y) * x[0]
            a, b = x.shape
            if not (z is None): z = torch.relu(z)
            return z.view(a, -1)
        """
    )
    graph = fxcore.Tracer().trace(f)
    assert {node.name: text_of(node.span) for node in graph.nodes} == {
        "x": None,
        "y": None,
        "add": "x + y",
        "getitem": "x[0]",
        "mul": "(x + y) * x[0]",
        "getattr_1": "a, b",
        "getitem_1": "a, b",
        "getitem_2": "a, b",
        "relu": "torch.relu(z)",
        "view": "z.view(a, -1)",
        "output": None,
    }


def test_a_signature_is_shown_by_its_name() -> None:
    f = define("@ (lambda g: g)\nasync def f(x, y=3): return x")
    assert text_of(definition_span(f.__code__)) == "f"
    assert definition_span(compile("1", "/nowhere.py", "eval")) is None


def test_the_return_statement() -> None:
    one, two = define("def f(x):\n    x += 1\n    return {1, x}"), define("def f(x):\n    if x: return 1\n    return 2")
    assert text_of(return_span(one.__code__)) == "return {1, x}"
    assert return_span(two.__code__) is None


def test_files_of_torch_and_fxcore_are_not_the_users() -> None:
    import torch.nn.functional

    assert not is_user_file(str(torch.nn.functional.__file__))
    assert not is_user_file(str(fxcore.__file__))
    assert is_user_file(__file__)
    assert is_user_file("<string>")


def test_what_is_disowned_is_no_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spans, "_machinery", spans._machinery)
    disown(str(Path(__file__).parent))
    assert not is_user_file(__file__)
    assert is_user_file(str(Path(__file__).parent) + "_of_mine.py")
    is_user_file.cache_clear()


LINES = {
    "if x.sum() > 0: return 1": "x.sum() > 0",
    "y = 1 + int(x)": "1 + int(x)",
    "for i in x: pass": "x",
    "return x and 1": "x and 1",
    "while x: pass": "x",
    "assert x, 'no'": "x",
    "é = '😋' + f(\n        x, int(x)\n    )": "x",
}


def test_without_columns() -> None:
    """What Python 3.10 has, and every version can give."""
    program = (
        "from tests.core.source.test_spans import LINES, failing_text\nprint([failing_text(body) for body in LINES])"
    )
    run = subprocess.run(
        [sys.executable, "-X", "no_debug_ranges", "-X", "utf8", "-c", program],
        check=True,
        capture_output=True,
        cwd=REPOSITORY,
        encoding="utf-8",
    )
    assert eval(run.stdout) == list(LINES.values())


def failing_text(body: str) -> str | None:
    with pytest.raises(TraceFailure) as failure:
        fxcore.symbolic_trace(define(f"def f(x):\n    {body}\n"))
    return text_of(failure.value.span)


def test_half_typed_text_gives_the_line() -> None:
    file = "/snippets/half typed.py"
    linecache.cache[file] = (1, None, ["def f(x:\n", "    int(é)  \n"], file)
    assert _expression_at(file, 2) == SourceSpan(file, 2, 2, 4, 11)


def test_what_the_interpreter_is_about_to_do() -> None:
    seen: list[object] = []

    class Value:
        def __iter__(self) -> object:
            frame = sys._getframe(1)
            count = unpack_count(frame.f_code, frame.f_lasti)
            seen.append(count)
            return iter(range(count or 0))

        def __bool__(self) -> bool:
            frame = sys._getframe(1)
            seen.append(is_assertion(frame.f_code, frame.f_lasti))
            return True

    many = ", ".join(f"v{index}" for index in range(300))
    f = define(
        f"""
        def f(x):
            a, b = x
            [c, (d, e)] = x, x
            {many} = x
            [*x]
            for i in x: pass
            assert x
            assert x, f"{{a}}"
            assert x and x
            if not x: raise AssertionError("no")
            if not x: raise ValueError
            if x: pass
            assert x or x
        """
    )
    f(Value())
    assert seen == [2, 2, 300, None, None, True, True, False, True, True, False, False, False]
