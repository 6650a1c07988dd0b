"""Where torch.fx fails on a program, one place after the other: the truth that `recall.py` compares fxcore with.

A tracer of the installed torch.fx's, made concolic: beside each symbol it keeps the value that a real run computes, and
wherever torch.fx would give up, the place is noted and the real run's answer is taken. Nothing here uses fxcore.

What is answered: tensors stay symbols, everything else is the value itself, and the items of something that is iterated
are symbols. C functions that refuse a symbol can't be caught by the symbol. So the libraries' calls and subscripts are
rewritten when they are imported, each into a call of a function of `calls`, which tries, notes, and answers.
"""

from benchmarks.oracle.places import Place, place_of_return, raised_place
from benchmarks.oracle.rewriting import rewrite_imports
from benchmarks.oracle.tracing import Oracle

__all__ = ["Oracle", "Place", "place_of_return", "raised_place", "rewrite_imports"]
