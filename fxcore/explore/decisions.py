"""The yes-or-no decisions of one exploring trace, and which of them a second trace reverses."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import CodeType

from fxcore.node import Node, map_arg
from fxcore.source.bytecode import raising_truth

Condition = tuple[str, CodeType, int]
"""An instruction that tests a value: its file, code object and offset."""


class Decisions:
    """Collects the decisions of one run, and reverses some of them.

    A run that reverses decisions gives the same answer whenever the same question comes up, so that it does not take a
    path that no input can take.
    """

    def __init__(
        self, turned: Mapping[Condition, int] | None = None, path: Collection[tuple[CodeType, int] | None] = ()
    ) -> None:
        """``turned`` are the conditions to reverse: their first answer is the opposite of the likely one.

        With each comes how many nodes had been recorded when it was met before; ``path`` are the places (`Node.where`)
        of these nodes.
        """
        turned = turned or {}
        self.met_at: dict[Condition, int] = {}
        """How many nodes had been recorded when a condition was first met."""
        self.recorded = 0
        """How many nodes have been recorded, on the ``path`` if there is one."""
        self._last_at = max(turned.values(), default=0)
        self.taken: dict[Condition, bool] = {}
        """For each condition, in the order of the run: whether the unlikely answer leads straight to a ``raise``."""
        self.are_over = False
        """Whether the run should have ended: what it still meets, in a handler of its program, does not count."""
        self.last_turned: Condition | None = None
        """The reversed condition that determined the most recent unlikely answer."""
        self.path = frozenset(path)
        self._to_turn = frozenset(turned)
        self._answers: dict[int, tuple[bool, Condition]] = {}
        """For each question (see `_question`): its first answer in this run, and the condition where it was given."""
        self._questions: dict[str, int] = {}
        self._numbers: dict[Node, int] = {}

    def decide(self, condition: Condition, node: Node, likely: bool) -> bool:
        """Return whether ``node`` counts as true at ``condition``; ``likely`` is the answer if nothing is reversed."""
        is_new = condition not in self.taken
        if is_new and not self.are_over:
            _, code, offset = condition
            self.taken[condition] = raising_truth(code, offset) is (not likely)
            self.met_at[condition] = self.recorded
        if not self._to_turn:
            return likely
        question = self._question(node)
        if question not in self._answers:
            self._answers[question] = likely is not (is_new and condition in self._to_turn), condition
        answer, first = self._answers[question]
        if answer is not likely:
            self.last_turned = first
        return answer

    @property
    def are_behind(self) -> bool:
        """Whether there are conditions to reverse, and the run has met them, or has passed where they were met before.

        The second operand of an ``or`` is not met if the first is reversed.
        """
        has_met_all = self._to_turn <= self.taken.keys()
        return bool(self._to_turn) and (has_met_all or self.recorded > self._last_at)

    def turnable(self) -> dict[Condition, int]:
        """The conditions that are worth reversing, each with how many nodes had been recorded when it was met.

        The unlikely answer doesn't lead straight to a ``raise``.
        """
        return {condition: self.met_at[condition] for condition, only_raises in self.taken.items() if not only_raises}

    def _question(self, node: Node) -> int:
        """Return a number that is the same for all nodes that compute the same from the same inputs."""
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
