"""Recognizes what is missing and accepts no traced values, whatever it is called with: a call of it ends any trace."""

from __future__ import annotations

import re

from fx_lsp.agent.importing.compiled_extensions import is_extension
from fxcore.proxy import Proxy

_OF_EINOPS = re.compile(
    r"einops\.(.*\.)?(asnumpy|einsum|pack|parse_shape|rearrange|reduce|repeat|unpack|Rearrange|Reduce)$"
)
"""The functions of einops, and those of its layers that torch.fx looks into in vain; it can trace `EinMix`."""

_TOKENIZES = re.compile(
    r"transformers\.(\w+\.)*\w*Tokenizer(Fast)?(\.from_pretrained)?\(\)(\.\w+)?$|(open_)?clip\.(\w+\.)*tokenize$"
)
"""Tokenizers, with their methods: they take text, or compute with the numbers that stand for it."""


def refusal(name: str, file: str) -> Exception | None:
    """What the missing function, or an instance of the missing class, ``name`` raises for a traced value.

    None if nobody knows. ``file`` is the one that calls the function or makes the instance.
    """
    if _OF_EINOPS.match(name):
        return RuntimeError(f"Tensor type unknown to einops {Proxy}")
    if _TOKENIZES.match(name):
        return ValueError(f"text input must be a string or a list of strings, not {Proxy}")
    if is_extension(name, file):
        function = name.rpartition(".")[2]
        return TypeError(f"{function}(): incompatible function arguments: a C++ extension accepts tensors only")
    return None
