"""A flag that is known before tracing: bind it, and its branch is decided."""

import torch

import fxcore


def f(x: torch.Tensor, flag: bool) -> torch.Tensor:
    if flag:
        return x
    return x * 2


try:
    fxcore.symbolic_trace(f)
except fxcore.proxy.TraceError as error:
    print(f"TraceError: {error}")
traced = fxcore.symbolic_trace(f, concrete_args={"flag": True})
print(traced(torch.tensor(4), True))
