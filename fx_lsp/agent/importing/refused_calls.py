"""Tells which missing functions accept no traced values, whatever they are called with: calls of them end any trace."""

from __future__ import annotations

from fx_lsp.agent.importing.compiled_extensions import is_extension
from fxcore.proxy import Proxy

_OF_EINOPS = frozenset({"asnumpy", "einsum", "pack", "parse_shape", "rearrange", "reduce", "repeat", "unpack"})


def refusal(name: str, file: str) -> Exception | None:
    """What the missing function ``name``, which ``file`` calls, raises for a traced value; None if nobody knows."""
    package, function = name.partition(".")[0], name.rpartition(".")[2]
    if package == "einops" and function in _OF_EINOPS:
        return RuntimeError(f"Tensor type unknown to einops {Proxy}")
    if is_extension(name, file):
        return TypeError(f"{function}(): incompatible function arguments: a C++ extension accepts tensors only")
    return None
