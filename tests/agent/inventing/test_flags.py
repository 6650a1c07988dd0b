"""Which arguments are taken for flags: those that the program tests and does nothing else with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from torch import nn

from fx_lsp.agent.inventing.flags import Flags


class Switched(nn.Module):
    def __init__(self, check: Any, other: Any, width: Any, never: Any, cfg: Any) -> None:
        super().__init__()
        self.check, self.other = check, other
        self.on = self.also_on = cfg["on"]
        self.cfg = cfg
        self.late = cfg.late
        self.never = never
        self.layer = nn.Linear(width, 4) if width else None

    def forward(self, x: Any) -> Any:
        if (self.check and x.sum() > 0) or not self.cfg.train.strict:
            return x
        return [one for one in x if self.also_on] if bool(self.on) else self.late

    def with_other(self) -> int:
        return 1 if self.other else 2

    def extra_repr(self) -> str:
        return f"check={self.check}"


class Inherited(Switched):
    def both(self) -> Any:
        return self.other + 1


class HandsOn(nn.Module):
    def __init__(self, cfg: Any, check: Any, strict: Any) -> None:
        super().__init__()
        self.strict = strict
        self.helper = Helper(cfg, check)
        self.is_on = bool(cfg.on)

    @property
    def is_strict(self) -> bool:
        return self.strict if self.strict else False


class Helper(nn.Module):
    def __init__(self, cfg: Any, check: Any) -> None:
        super().__init__()
        self.check = check if check else cfg.check


def helper(check: Any, width: Any) -> nn.Module:
    return nn.Linear(width, width) if not check else nn.Identity()


@pytest.mark.parametrize(
    ("maker", "paths", "is_flag"),
    [
        (Switched, ["check", "other", "cfg.on", "cfg.train.strict"], True),
        (Switched, ["width", "never", "cfg.late", "cfg.absent", "absent", "widths[0]"], False),
        (Inherited, ["check"], True),
        (Inherited, ["other"], False),
        (HandsOn, ["cfg.on", "check", "strict"], False),
        (Helper, ["check"], False),
        (helper, ["check"], True),
        (helper, ["width"], False),
        (nn.Linear, ["in_features"], False),
        (dict, ["key"], False),
    ],
)
def test_what_is_a_flag(maker: type | Any, paths: list[str], is_flag: bool) -> None:
    flags = Flags(maker)
    assert {path: path in flags for path in paths} == dict.fromkeys(paths, is_flag)


def test_the_constructor_that_a_decorator_has_replaced_is_read() -> None:
    def decorated(constructor: Callable[..., None]) -> Callable[..., None]:
        def call(*args: Any) -> None:
            constructor(*args)

        call.__wrapped__ = constructor  # type: ignore[attr-defined]
        return call

    class Decorated(nn.Module):
        @decorated
        def __init__(self, check: Any) -> None:
            super().__init__()
            self.layer = nn.Identity() if check else None

    assert "check" in Flags(Decorated)
