"""What compiled code reads: found in its instructions, without running it."""

from __future__ import annotations

import dis
import re
from collections.abc import Iterator
from itertools import pairwise
from types import CodeType

from fxcore.source import Place

_IS_NONE_JUMP = re.compile(r"POP_JUMP.*_NONE")


def attribute_places(code: CodeType, name: str, operation: str = "LOAD_ATTR") -> Iterator[Place]:
    """Where ``code`` reads (or, with ``STORE_ATTR``, sets) an attribute called ``name``."""
    if name in code.co_names:
        for instruction in dis.get_instructions(code):
            if instruction.opname == operation and instruction.argval == name:
                yield code, instruction.offset


def none_tests(code: CodeType, variable: str) -> Iterator[Place]:
    """Where ``code`` tests whether a parameter is None, before anything is assigned to it."""
    instructions = list(dis.get_instructions(code))
    for at, (load, after) in enumerate(pairwise(instructions)):
        if load.argval == variable and load.opname.startswith("STORE"):
            return
        if load.argval != variable or not load.opname.startswith(("LOAD_FAST", "LOAD_DEREF")):
            continue
        if _IS_NONE_JUMP.fullmatch(after.opname):
            yield code, after.offset
        elif after.opname == "LOAD_CONST" and after.argval is None and instructions[at + 2].opname == "IS_OP":
            yield code, instructions[at + 2].offset
