"""Finds every place where torch.fx fails on a program: the truth that `recall.py` compares fxcore with.

The oracle is a tracer of the installed torch.fx, made concolic: beside each symbol it keeps the value that a real run
computes. Where torch.fx would fail, the oracle records the place and continues with the answer of the real run. Nothing
here uses fxcore.

In an answer, tensors remain symbols, everything else is the value itself, and the items of an iteration are symbols. A
symbol can't intercept C functions that reject it. So the oracle rewrites the libraries' calls and subscripts when they
are imported: each becomes a call to a function in `calls`, which tries the operation, records a failure, and answers.
"""

from benchmarks.oracle.places import Place, place_of_return, raised_place
from benchmarks.oracle.rewriting import rewrite_imports
from benchmarks.oracle.tracing import Oracle

__all__ = ["Oracle", "Place", "place_of_return", "raised_place", "rewrite_imports"]
