"""Which third-party modules are tried, one after the other, before the agent itself imports them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from fx_lsp.agent.children import Brood, Child
from fx_lsp.agent.rehearsal import Rehearsal


class FakeBrood:
    """Children that do what the test says."""

    def __init__(self) -> None:
        self.tried: list[str] = []
        self.hear: Callable[[str], None]
        self.gone: Callable[[Child], None]

    def fork(self, job: Any, *, seconds: float, hear: Callable[[str], None], gone: Callable[[Child], None]) -> None:
        (self.tried,) = job.args
        self.tried = list(self.tried)
        self.hear, self.gone = hear, gone

    def end(self) -> None:
        """The child's end."""
        self.gone(cast(Child, None))


def test_what_comes_after_a_module_that_fails_is_tried_without_its_package() -> None:
    brood = FakeBrood()
    rehearsal = Rehearsal(cast(Brood, brood))
    rehearsal.want(["missing_one.a", "missing_two", "missing_one.b", "missing_three"])
    rehearsal.proceed()
    brood.end()
    rehearsal.proceed()
    assert brood.tried == ["missing_two", "missing_three"]
    brood.end()
    rehearsal.proceed()
    assert brood.tried == ["missing_three"]
    brood.end()
    brood.tried.clear()
    rehearsal.proceed()
    assert brood.tried == []
