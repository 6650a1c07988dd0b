"""Finds out, from compiled code, what an instruction does with a value: call, unpack, test or iterate over it."""

from __future__ import annotations

import dis
import functools
import sys
from collections.abc import Sequence
from types import CodeType

_EXTENDED_ARG = dis.opmap["EXTENDED_ARG"]
_CACHE = dis.opmap.get("CACHE")  # since Python 3.11
_COMPARE_OP = dis.opmap["COMPARE_OP"]
_TO_BOOL = dis.opmap.get("TO_BOOL")  # since Python 3.13
# Since Python 3.13, this bit of ``COMPARE_OP``'s argument is set if the result is to be converted to a bool.
_AS_BOOL = 16

# Since Python 3.12, this bit of ``LOAD_ATTR``'s argument is set if what it loads is called as a method is; since Python
# 3.11, this bit of ``LOAD_GLOBAL``'s argument is set if it also pushes a NULL.
_AS_METHOD = 1
_WITH_NULL = 1

# Instructions that only consume the value computed just before them.
_TAKES_UP = frozenset(
    opcode
    for name, opcode in dis.opmap.items()
    if name in ("BEFORE_WITH", "GET_ITER", "TO_BOOL", "UNARY_NOT") or name.startswith(("POP_JUMP", "JUMP_IF"))
)

# Instructions that may come between computing the value and consuming it.
_BETWEEN = frozenset(dis.opmap[name] for name in ("COPY", "EXTENDED_ARG", "NOP") if name in dis.opmap)

# The argument of ``BINARY_OP`` for ``+=`` (CPython's NB_INPLACE_ADD); the other in-place operators have higher ones.
_FIRST_IN_PLACE = 13


def unpack_count(code: CodeType, lasti: int) -> int | None:
    """How many names the instruction at offset ``lasti`` unpacks into (``a, b = x``); None if it doesn't unpack."""
    instructions = code.co_code  # never has the interpreter's specialized instructions, even while it runs
    at = _operation(instructions, lasti)
    if dis.opname[instructions[at]] != "UNPACK_SEQUENCE":
        return None
    count, shift = instructions[at + 1], 8
    while at >= 2 and instructions[at - 2] == _EXTENDED_ARG:
        at -= 2
        count |= instructions[at + 1] << shift
        shift += 8
    return count


def is_call(code: CodeType, lasti: int) -> bool:
    """Whether the instruction at offset ``lasti`` calls something."""
    instructions = code.co_code
    return dis.opname[instructions[_operation(instructions, lasti)]].startswith(("CALL", "PRECALL"))


def looks_up_to_call(code: CodeType, lasti: int) -> bool:
    """Whether the instruction at offset ``lasti`` looks up an attribute that is called next: ``np.ceil(x)``.

    In Python 3.10, this is False for calls with keyword arguments, ``*`` or ``**``.
    """
    return _operation(code.co_code, lasti) in _lookups_to_call(code)


@functools.lru_cache(maxsize=1024)
def _lookups_to_call(code: CodeType) -> frozenset[int]:
    """The offsets of the instructions for which `looks_up_to_call` is true."""
    instructions = _instructions(code)
    return frozenset(
        instruction.offset for at, instruction in enumerate(instructions) if _is_lookup_to_call(instructions, at)
    )


def _is_lookup_to_call(instructions: Sequence[dis.Instruction], at: int) -> bool:
    """Whether the instruction with this index looks up a method, or loads what the NULL on the stack is for.

    The NULL shows a call that there is no ``self``. Up to Python 3.12, it is pushed before the name whose attribute is
    looked up, or with it; since Python 3.13, it is pushed after the lookup, and what follows it are the arguments.
    """
    name = instructions[at].opname
    if name == "LOAD_METHOD":
        return True
    following = instructions[at + 1].opname if at + 1 < len(instructions) else ""
    if name != "LOAD_ATTR" or following in ("LOAD_ATTR", "LOAD_METHOD"):
        return False
    if sys.version_info >= (3, 12) and (instructions[at].arg or 0) & _AS_METHOD:
        return True
    if sys.version_info >= (3, 13):
        return following == "PUSH_NULL"
    first = at
    while first > 0 and instructions[first].opname == "LOAD_ATTR":
        first -= 1
    if sys.version_info >= (3, 11) and instructions[first].opname == "LOAD_GLOBAL":
        if (instructions[first].arg or 0) & _WITH_NULL:
            return True
    return first > 0 and instructions[first - 1].opname == "PUSH_NULL"


def operand_offset(code: CodeType, lasti: int) -> int | None:
    """The offset of the instruction whose result is tested, iterated over or entered (``with``) at ``lasti``.

    None if the instruction at ``lasti`` does anything else. The compiler gives tests and iterations the source range
    of the whole statement or condition, which may be wide: a ``for`` includes its body.
    """
    instructions = code.co_code
    if _compares_to_a_bool(instructions, lasti):
        return lasti
    if instructions[lasti] not in _TAKES_UP:
        return None
    lasti -= 2
    while lasti >= 0 and instructions[lasti] in _BETWEEN:
        lasti -= 2
    return lasti if lasti >= 0 else None


def is_assertion(code: CodeType, lasti: int) -> bool:
    """Whether the instruction at offset ``lasti`` decides an ``assert`` (or ``if not x: raise AssertionError``).

    That is the case for a jump on true over instructions that first load AssertionError and end with a ``raise``.
    """
    decide, *rest = _from_jump(code, lasti)
    if not (decide.opname.startswith("POP_JUMP") and decide.opname.endswith("IF_TRUE")):
        return False
    loads_error = rest[0].opname == "LOAD_ASSERTION_ERROR" or rest[0].argval == "AssertionError"
    skipped = [instruction for instruction in rest if instruction.offset < decide.argval]
    return loads_error and bool(skipped) and skipped[-1].opname == "RAISE_VARARGS"


@functools.lru_cache(maxsize=1024)
def raising_truth(code: CodeType, lasti: int) -> bool | None:
    """Which truth value of the condition tested at ``lasti`` leads straight to a ``raise``; None if neither does."""
    decide, *rest = _from_jump(code, lasti)
    if not decide.opname.startswith(("POP_JUMP", "JUMP_IF")) or "IF_" not in decide.opname or "NONE" in decide.opname:
        return None
    jumps_if = "IF_TRUE" in decide.opname
    if _raises(rest):
        return not jumps_if
    if _raises([instruction for instruction in _instructions(code) if instruction.offset >= decide.argval]):
        return jumps_if
    return None


def _from_jump(code: CodeType, lasti: int) -> list[dis.Instruction]:
    """The instructions from ``lasti`` on; the first is left out if it makes the bool for the jump that follows."""
    at = _operation(code.co_code, lasti)
    makes_bool = code.co_code[at] == _TO_BOOL or _compares_to_a_bool(code.co_code, at)
    following = [instruction for instruction in _instructions(code) if instruction.offset >= at]
    return following[1:] if makes_bool else following


def _compares_to_a_bool(instructions: bytes, at: int) -> bool:
    """Whether the instruction is a comparison that also converts its result to a bool, as in Python 3.13."""
    return _TO_BOOL is not None and instructions[at] == _COMPARE_OP and bool(instructions[at + 1] & _AS_BOOL)


def _raises(instructions: list[dis.Instruction]) -> bool:
    """Whether running from the first instruction reaches a ``raise`` without a jump or a return in between."""
    for instruction in instructions:
        if instruction.opname == "RAISE_VARARGS":
            return True
        if "JUMP" in instruction.opname or instruction.opname.startswith(("RETURN", "FOR_ITER", "YIELD", "SEND")):
            return False
    return False


def _operation(instructions: bytes, lasti: int) -> int:
    """The offset of the operation that ``lasti`` belongs to.

    In Python 3.10, ``lasti`` may be at the prefixes of a long argument; since Python 3.11, a frame that calls a Python
    function is at the cache entries that follow the call.
    """
    while instructions[lasti] == _CACHE:
        lasti -= 2
    while instructions[lasti] == _EXTENDED_ARG:
        lasti += 2
    return lasti


@functools.lru_cache(maxsize=64)
def _instructions(code: CodeType) -> tuple[dis.Instruction, ...]:
    return tuple(instruction for instruction in dis.get_instructions(code) if instruction.opcode != _EXTENDED_ARG)


def is_in_place_operator(code: CodeType, lasti: int) -> bool:
    """Whether the instruction at offset ``lasti`` is an in-place operator, such as ``+=``."""
    instructions = code.co_code
    at = _operation(instructions, lasti)
    name = dis.opname[instructions[at]]
    if name != "BINARY_OP":
        return name.startswith("INPLACE_")  # until Python 3.10
    return instructions[at + 1] >= _FIRST_IN_PLACE
