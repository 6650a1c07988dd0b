"""Which edits of a text can be made in a process that has loaded it."""

import itertools
import textwrap
from types import ModuleType
from typing import Any

import pytest

from fx_lsp.agent.keeping.code_run import CodeRun
from fx_lsp.agent.keeping.loaded_code import LoadedCode, StaleError

NUMBERS = itertools.count()

TEXT = textwrap.dedent(
    """
    import functools

    LIMIT = 3
    gone = 1

    def used(x):
        return x + 1

    def unused(x, by=2):
        "What it does."
        return x * by

    def outer():
        def inner(x):
            return x - 1
        return inner

    class Net:
        scale = used(1)

        def forward(self, x):
            total = 0
            for value in x:
                total += value
            return total

        @property
        def size(self):
            return 1

        @functools.lru_cache
        def cached(self):
            return 2

        both = lambda self: 1, lambda self: 2

    made = outer()
    """
)


SUSPENDED = """
def numbers():
    yield 1
    yield 2

running = numbers()
next(running)
"""


class Process:
    """A module that was loaded from the text."""

    def __init__(self, text: str = TEXT) -> None:
        self.path = f"/work/model{next(NUMBERS)}.py"  # functions of other tests may still be in this process
        self.text = text
        self.module = ModuleType("model")
        with CodeRun() as run:
            exec(compile(text, self.path, "exec"), vars(self.module))
        assert run.complete
        self.loaded = LoadedCode({self.path: text}, run.code)

    def take(self, text: str) -> None:
        """Put another text into the process."""
        self.loaded.edited({self.path: text}).apply()

    def edit(self, old: str, new: str) -> Any:
        """Edit the text, and put the edit into the process."""
        assert self.text.count(old) == 1
        self.take(self.text.replace(old, new))
        return self.module


@pytest.mark.parametrize(
    ("old", "new", "expression", "value"),
    [
        ("return x * by", "return x * by + 5", "unused(2)", 9),
        ("total += value", "total += 2 * value", "Net().forward([1, 2])", 6),
        ("        return 1\n", "        return 7\n", "Net().size", 7),
        ("        return 2\n", "        return [7 for _ in (1, 2)]\n", "Net().cached()", [7, 7]),
        ("both = lambda self: 1,", "both = lambda self: 5,", "[f(0) for f in Net.both]", [5, 2]),
        ("\ndef unused", "\n\n\n\ndef unused", "unused.__code__.co_firstlineno", 13),
        ("total = 0", "total  =  0", "Net().forward([1, 2])", 3),
    ],
)
def test_a_body_that_has_not_run_is_replaced(old: str, new: str, expression: str, value: object) -> None:
    module = Process().edit(old, new)
    assert eval(expression, vars(module)) == value


def test_everything_that_refers_to_a_function_refers_to_the_edited_one() -> None:
    process = Process()
    bound, listed = process.module.Net().forward, [process.module.Net.forward]
    process.edit("total = 0", "total = 10")
    assert (bound([1]), listed[0](None, [1])) == (11, 11)


def test_positions_move_with_their_code() -> None:
    text = "\n\n" + TEXT.replace("total += value", "total  += value")
    process = Process()
    process.take(text)
    fresh: dict[str, Any] = {}
    exec(compile(text, process.path, "exec"), fresh)
    for name in ("used", "unused", "made"):
        ours, theirs = getattr(process.module, name).__code__, fresh[name].__code__
        assert (ours.co_firstlineno, ours.co_linetable) == (theirs.co_firstlineno, theirs.co_linetable)
    ours, theirs = process.module.Net.forward.__code__, fresh["Net"].forward.__code__
    assert (ours, ours.co_linetable) == (theirs, theirs.co_linetable)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("LIMIT = 3", "LIMIT = 4", "<module> has run"),
        ("gone = 1", "gone = True", "<module> has run"),
        ("return x + 1", "return x + 2", "used has run"),
        ("by=2", "by=3", "<module> has run"),
        ("unused(x,", "unused(y,", "another signature"),
        ("What it does.", "What else it does.", "another signature"),
        ("return x - 1", "return x - 2", "inner has run"),
        ("total = 0", "super(); total = 0", "Net has run"),
        ("@property", "@staticmethod", "Net has run"),
        ("total += value", "total +=", "can't be compiled"),
    ],
)
def test_any_other_edit_needs_a_new_process(old: str, new: str, reason: str) -> None:
    with pytest.raises(StaleError, match=reason):
        Process().edit(old, new)


@pytest.mark.parametrize(("old", "new"), [("yield 2", "yield 3"), ("def numbers", "# more\ndef numbers")])
def test_what_is_suspended_stays_as_it_is(old: str, new: str) -> None:
    with pytest.raises(StaleError, match="numbers is suspended"):
        Process(SUSPENDED).edit(old, new)


def test_code_that_something_else_holds_is_noticed() -> None:
    with pytest.raises(StaleError, match="refers to the code of used"):
        Process(TEXT + "\nkept = [used.__code__]\n")


def test_names_matter_if_the_import_may_define_those_that_are_read() -> None:
    text = TEXT + 'if __name__ == "__main__":\n    device = 1\n'
    process = Process(text)
    process.edit("total = 0", "total = 1")
    with pytest.raises(StaleError, match="reads other names"):
        process.edit("total = 0", "total = device")


def test_a_text_that_is_not_the_one_that_was_loaded_is_noticed() -> None:
    process = Process()
    with pytest.raises(StaleError, match="not in its text"):
        LoadedCode({process.path: TEXT.replace("total = 0", "total = 1")}, ())


@pytest.mark.parametrize(("one", "other"), [("1", "True"), ("0.0", "-0.0"), ("(1, 2)", "(1, 2.0)"), ("'a'", "b'a'")])
def test_equal_constants_can_differ(one: str, other: str) -> None:
    text = f"def f():\n    return {one}\n\nvalue = f()\n"
    process = Process(text)
    with pytest.raises(StaleError, match="f has run"):
        process.edit(f"return {one}", f"return {other}")
