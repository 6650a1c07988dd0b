"""The yes-or-no decisions of one exploring trace, and which of them a second trace takes the other way."""

from __future__ import annotations

from collections.abc import Collection
from types import CodeType

from fxcore.node import Node, map_arg
from fxcore.source.bytecode import raising_truth

Condition = tuple[str, CodeType, int]
"""An instruction that tests a value: its file, code object and offset."""


class Decisions:
    """Collects the decisions of one run, and turns some of them around.

    The same question gets the same answer for as long as a run that turns decisions around lasts, so that it does not
    take a way that no input can take.
    """

    def __init__(self, turned: Collection[Condition] = ()) -> None:
        """``turned`` are the conditions whose first answer is to be the other one."""
        self.taken: dict[Condition, bool] = {}
        """The conditions in the order in which they were met: whether the unlikely answer leads straight to a raise."""
        self.last_turned: Condition | None = None
        """The condition that was turned around and decided the last answer that is not the likely one."""
        self._to_turn = frozenset(turned)
        self._answers: dict[int, tuple[bool, Condition]] = {}
        """By question (see `_question`): its first answer in this run, and where it was given."""
        self._questions: dict[str, int] = {}
        self._numbers: dict[Node, int] = {}

    def decide(self, condition: Condition, node: Node, likely: bool) -> bool:
        """The answer to whether ``node``'s value is true at ``condition``; ``likely`` is the one without turning."""
        is_new = condition not in self.taken
        if is_new:
            _, code, offset = condition
            self.taken[condition] = raising_truth(code, offset) is (not likely)
        if not self._to_turn:
            return likely
        question = self._question(node)
        if question not in self._answers:
            self._answers[question] = likely is not (is_new and condition in self._to_turn), condition
        answer, first = self._answers[question]
        if answer is not likely:
            self.last_turned = first
        return answer

    def turnable(self) -> list[Condition]:
        """The conditions whose other side is worth a look: it doesn't just raise."""
        return [condition for condition, only_raises in self.taken.items() if not only_raises]

    def _question(self, node: Node) -> int:
        """A number that nodes share which compute the same from the same inputs."""
        waiting = [node]
        while waiting:
            inputs = [one for one in waiting[-1].all_input_nodes if one not in self._numbers]
            if inputs:
                waiting += inputs
                continue
            one = waiting.pop()
            arguments = map_arg((one.args, one.kwargs), lambda other: f"%{self._numbers[other]}")
            key = f"{one.op} {one.target} {arguments}"
            self._numbers[one] = self._questions.setdefault(key, len(self._questions))
        return self._numbers[node]
