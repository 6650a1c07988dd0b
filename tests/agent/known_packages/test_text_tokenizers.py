"""Tokenizers of a missing package: their sizes are invented, what they make of a text is not known."""

from __future__ import annotations

from typing import Any

import pytest

from fx_lsp.agent.importing.stand_in_modules import StandInModule
from fx_lsp.agent.importing.stand_ins import StandIn
from fx_lsp.agent.missing.missing_uses import forget_uses, used_stand_in

OURS = StandInModule("transformers")


@pytest.mark.parametrize(
    "make", [OURS.AutoTokenizer.from_pretrained, OURS.BertTokenizerFast], ids=["AutoTokenizer", "BertTokenizerFast"]
)
def test_sizes_and_numbers_of_tokens(make: Any) -> None:
    forget_uses()
    tokenizer = make("small")
    assert tokenizer.add_special_tokens({"bos_token": "[DEC]"}) == 1
    tokenizer.enc_token_id = tokenizer.additional_special_tokens_ids[0]
    tokenizer.padding_side = "left"
    numbers = (len(tokenizer), tokenizer.vocab_size, tokenizer.pad_token_id, tokenizer.enc_token_id)
    assert all(isinstance(number, int) for number in numbers)
    assert isinstance(tokenizer.eos_token, str)
    assert tokenizer.eos_token != tokenizer.pad_token
    assert len({tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.enc_token_id}) == 3
    assert used_stand_in() is None


def test_what_it_makes_of_a_text_is_not_known() -> None:
    forget_uses()
    tokens = OURS.AutoTokenizer.from_pretrained("small")("a text")
    assert isinstance(tokens, StandIn)
    assert len(tokens.input_ids) == 0
    assert used_stand_in() is not None
