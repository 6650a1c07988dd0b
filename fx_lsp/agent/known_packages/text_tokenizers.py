"""Tokenizers: how many tokens they know and which numbers these have is invented, as sizes of a model may be.

`refused_calls.py` has them refuse traced values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fx_lsp.agent.importing.stand_ins import StandIn

_TOKENS = 32_000
"""How many tokens a tokenizer knows."""

_SPECIAL = ("pad", "unk", "cls", "sep", "mask", "bos", "eos")
"""The tokens that tokenizers have names for. Each has a number of its own; those that a program adds have others."""

_COUNTS = frozenset({"vocab_size", "model_max_length"})
_ADDS = frozenset({"add_tokens", "add_special_tokens"})


class TokenizerClass(StandIn):
    """Stands for a class of tokenizers."""

    @property
    def from_pretrained(self) -> Callable[..., Tokenizer]:
        """Makes a tokenizer that would be downloaded or read from files."""
        return lambda *args, **kwargs: Tokenizer(f"{self._name}.from_pretrained()")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A tokenizer."""
        return Tokenizer(f"{self._name}()")


class Tokenizer(StandIn):
    """Stands for a tokenizer. What it makes of a text is not known."""

    def __getattr__(self, name: str) -> Any:
        if name in _COUNTS:
            return _TOKENS
        special = name.removesuffix("_id").removesuffix("_token")
        if name.endswith("_token_id"):
            return _SPECIAL.index(special) if special in _SPECIAL else len(_SPECIAL)
        if name.endswith("additional_special_tokens_ids"):
            return [len(_SPECIAL), len(_SPECIAL) + 1]
        if name.endswith("special_ids"):
            return [*range(len(_SPECIAL))]
        if name.endswith("_token"):
            return f"[{special.upper()}]"
        if name in _ADDS:
            return lambda *args, **kwargs: 1
        return super().__getattr__(name)

    def __len__(self) -> int:
        """The number of tokens."""
        return _TOKENS

    def _has_own_attributes(self) -> bool:
        """That its padding was set, for example, changes no method so that less would be known of it."""
        return False
