"""attrs writes constructors."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from torch import nn

from fx_lsp.agent.importing.stand_in_modules import StandInModule
from fx_lsp.agent.importing.stand_ins import StandIn

attr: Any = StandInModule("attr")


@attr.s(eq=False)
class Block(nn.Module):
    width: Any = attr.ib()
    depth: Any = attr.ib(default=2, converter=int)
    sizes: Any = attr.ib(factory=list)
    note = "no field"

    @depth.validator  # type: ignore[untyped-decorator]
    def check(self, attribute: Any, value: int) -> None: ...

    def __attrs_post_init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(self.width, self.width) for _ in range(self.depth))


@attr.s(eq=False)
class Wide(Block):
    factor: Any = attr.ib(default=4, kw_only=True)
    area: Any = attr.ib()

    @area.default  # type: ignore[untyped-decorator]
    def _area(self) -> Any:
        return self.width * self.factor


def test_a_constructor_takes_the_fields() -> None:
    made = Block(8, depth="3")
    assert (made.width, made.depth, made.sizes, made.note, len(made.layers)) == (8, 3, [], "no field", 3)
    assert Block(1).sizes is not Block(1).sizes
    with pytest.raises(TypeError, match="width"):
        Block()
    assert [*inspect.signature(Block).parameters] == ["width", "depth", "sizes"]


def test_the_fields_of_a_base_come_first() -> None:
    assert [*inspect.signature(Wide).parameters] == ["width", "depth", "sizes", "area", "factor"]
    assert Wide(2).area == 8
    assert Wide(2, area=3).area == 3


def test_the_newer_decorator_takes_all_that_is_annotated() -> None:
    @attr.define
    class Settings:
        width: int
        depth: int = 2
        _name: str = attr.field(default="net")
        hidden: int = attr.field(init=False, default=7)

    made: Any = Settings(8, name="x")  # type: ignore[call-arg]
    assert (made.width, made.depth, made._name, made.hidden) == (8, 2, "x", 7)

    @attr.define(kw_only=True)
    class Own:
        width: int

        def __init__(self) -> None:
            self.width = 1

    assert Own().width == 1


def test_a_class_that_compares_fields_has_no_hash() -> None:
    @attr.attrs(auto_attribs=True)
    class Pair:
        one: int

    with pytest.raises(TypeError, match="unhashable"):
        hash(Pair(1))  # type: ignore[call-arg]
    assert hash(Block(1))


def test_what_is_given_another_name_is_unknown() -> None:
    assert isinstance(attr.ib(alias="other"), StandIn)
