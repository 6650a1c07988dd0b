"""Finds every place where a capture fails on a program: the truth that `capture_recall.py` compares fx-lsp with.

The oracle captures the program with the installed torch. Where torch fails, the oracle notes the place, mends it in the
program's source text, and begins again, each time in a new process. A mended expression is replaced by what it yields
in a real run: a number or an answer by itself, a tensor by one of the same shape. Nothing here uses fx-lsp.
"""
