"""Missing tokenizers refuse traced values, as those of the installed transformers do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fx_lsp.agent.importing.refused_calls import refusal
from fx_lsp.agent.importing.stand_in_modules import StandInModule
from fxcore import symbolic_trace
from fxcore.failures import FailureKind, TraceFailure

CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "call": lambda tokenizer, x: tokenizer(x, return_tensors="pt"),
    "call with a list": lambda tokenizer, x: tokenizer([x]),
    "encode": lambda tokenizer, x: tokenizer.encode(x),
    "tokenize": lambda tokenizer, x: tokenizer.tokenize(x),
    "decode": lambda tokenizer, x: tokenizer.decode(x),
    "batch_decode": lambda tokenizer, x: tokenizer.batch_decode(x),
    "convert_tokens_to_ids": lambda tokenizer, x: tokenizer.convert_tokens_to_ids(x),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("name", ["AutoTokenizer", "BertTokenizer", "T5TokenizerFast"])
def test_a_missing_tokenizer_refuses_traced_values(name: str, call: Callable[[Any, Any], Any]) -> None:
    tokenizer = getattr(StandInModule("transformers"), name).from_pretrained("small")
    with pytest.raises(TraceFailure) as info:
        symbolic_trace(lambda x: call(tokenizer, x))
    assert info.value.kind is FailureKind.FOREIGN_CALL


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_an_installed_tokenizer_refuses_traced_values(call: Callable[[Any, Any], Any]) -> None:
    tokenizers, transformers = pytest.importorskip("tokenizers"), pytest.importorskip("transformers")
    words = tokenizers.models.WordLevel({"a": 0, "unknown": 1}, unk_token="unknown")
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizers.Tokenizer(words), unk_token="unknown")
    with pytest.raises(TraceFailure):
        symbolic_trace(lambda x: call(tokenizer, x))


def test_a_missing_tokenizer_is_no_module_that_could_be_a_leaf() -> None:
    tokenizer = StandInModule("transformers").BertTokenizer("vocabulary.txt")
    with pytest.raises(TraceFailure):
        symbolic_trace(lambda x: tokenizer(x))


@pytest.mark.parametrize("name", ["transformers.AutoModel.from_pretrained()", "tokenizers.Tokenizer.from_pretrained()"])
def test_of_others_nothing_is_known(name: str) -> None:
    assert refusal(name, __file__) is None
