"""What users read of errors that name the classes of invented values."""

from __future__ import annotations

import pytest

from fx_lsp.agent.inventing.error_words import in_plain_words


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            TypeError("empty(): argument 'size' (position 1) must be tuple of ints, but found element of type dims[0]"),
            "empty(): argument 'size' (position 1) must be tuple of ints, but found element that is an invented value",
        ),
        (TypeError("'dims[0]' object is not iterable"), "an invented value is not iterable"),
        (
            TypeError("unsupported operand type(s) for +: 'size' and 'dims[0]'"),
            "unsupported operand type(s) for +: an invented value and an invented value",
        ),
        (
            TypeError("'<' not supported between instances of 'size' and 'str'"),
            "'<' not supported between instances of an invented value and 'str'",
        ),
        (
            TypeError('can only concatenate str (not "size") to str'),
            "can only concatenate str (not an invented value) to str",
        ),
        (
            TypeError("linear(): argument 'input' must be Tensor, not InventedModule"),
            "linear(): argument 'input' must be Tensor, not an invented value",
        ),
        (AttributeError("'cfg.net' object has no attribute 'size'"), "an invented value has no attribute 'size'"),
        (TypeError("f() missing 1 required argument: size"), "f() missing 1 required argument: size"),
        (ValueError("the type size"), "the type size"),
        (TypeError(), ""),
    ],
)
def test_the_words(error: Exception, words: str) -> None:
    same = in_plain_words(error, ["dims[0]", "size", "cfg.net"])
    assert same is error
    assert str(same) == words
