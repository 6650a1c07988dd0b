"""Tells what is missing and accepts no traced values, whatever it is called with: a call of it ends any trace."""

from __future__ import annotations

from fx_lsp.agent.importing.compiled_extensions import is_extension
from fxcore.proxy import Proxy

_OF_EINOPS = frozenset(
    {"asnumpy", "einsum", "pack", "parse_shape", "rearrange", "reduce", "repeat", "unpack"} | {"Rearrange", "Reduce"}
)
"""The functions of einops, and those of its layers that torch.fx looks into in vain; it can trace `EinMix`."""


def refusal(name: str, file: str) -> Exception | None:
    """What the missing function, or an instance of the missing class, ``name`` raises for a traced value.

    None if nobody knows. ``file`` is the one that calls the function or makes the instance.
    """
    package, function = name.partition(".")[0], name.rpartition(".")[2]
    if package == "einops" and function in _OF_EINOPS:
        return RuntimeError(f"Tensor type unknown to einops {Proxy}")
    if is_extension(name, file):
        return TypeError(f"{function}(): incompatible function arguments: a C++ extension accepts tensors only")
    return None
