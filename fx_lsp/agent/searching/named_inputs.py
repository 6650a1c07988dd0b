"""What inputs usually are that have such names: only a first guess, which the program confirms or not."""

from __future__ import annotations

import re
from collections.abc import Iterable

from fx_lsp.agent.searching.wanted_inputs import BATCH, LENGTH, TensorLike

_USUAL = {
    r"lengths?|lens?": TensorLike((BATCH,), "length", below=LENGTH),
    r"masks?": TensorLike((BATCH, LENGTH), "mask"),
    r"t|times?|time_?steps?|sigmas?|noise_levels?": TensorLike((BATCH,)),
    r"labels?|class(es)?|targets?|y|speakers?|sid|spk": TensorLike((BATCH,), "index"),
    r"ids|idx|tokens?|words?|text": TensorLike((BATCH, LENGTH), "index"),
    r"styles?|latents?|z|w|embeddings?|emb|cond(ition)?|noise": TensorLike((BATCH, LENGTH)),
    r"images?|imgs?": TensorLike((BATCH, 3, 32, 32)),
}
"""By the last word, or words, of a name."""

_PATTERNS = [(re.compile(rf"(.*_)?({words})\d?", re.IGNORECASE), like) for words, like in _USUAL.items()]


def named_inputs(names: Iterable[str]) -> dict[str, TensorLike]:
    """What inputs of these names usually are; names that say nothing are left out."""
    usual = ((name, next((like for word, like in _PATTERNS if word.fullmatch(name)), None)) for name in names)
    return {name: like for name, like in usual if like is not None}
