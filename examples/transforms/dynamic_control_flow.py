"""What tracing can't follow: a branch that hangs on an input's value. The failure knows its place."""

import linecache

import torch

import fxcore


def func_to_trace(x: torch.Tensor) -> torch.Tensor:
    if x.sum() > 0:
        return torch.relu(x)
    return torch.neg(x)


try:
    fxcore.symbolic_trace(func_to_trace)
except fxcore.proxy.TraceError as error:
    print(f"TraceError: {error}")
    place = error.span
    print(linecache.getline(place.file, place.line).strip())
