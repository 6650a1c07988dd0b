"""Expressions in the text that fixes edit."""

import ast

import pytest

from fx_lsp.agent.messages import Span
from fx_lsp.fixes.editing.edited_source import Source


@pytest.mark.parametrize("text", ["f'{x.shape[1]:03d} {x!r}'", "f'{x:{x.dim()}d}'", "'a' f'{x:>{f(x)}}' 'b'"])
def test_a_part_of_an_f_string_without_a_value_stands_for_the_f_string(text: str) -> None:
    source = Source("model.py", text)
    whole = source.tree.body[0]
    assert isinstance(whole, ast.Expr)
    for node in ast.walk(whole.value):
        if isinstance(node, (ast.FormattedValue, ast.JoinedStr)):
            span = Span("model.py", node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
            assert source.expression(span) is whole.value
