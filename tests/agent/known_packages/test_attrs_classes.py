"""attrs writes constructors."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any, cast

import pytest
from torch import nn

from fx_lsp.agent.importing.stand_in_modules import StandInModule
from fx_lsp.agent.importing.stand_ins import StandIn
from fx_lsp.agent.missing.missing_uses import forget_uses, used_stand_in

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


def test_what_has_fields_that_are_not_known_is_a_use_of_what_is_missing() -> None:
    @attr.s
    class Renamed:
        width: Any = attr.ib(alias="other")

    @attr.s
    class Base:
        width: Any = attr.ib(default=3)

    @attr.s(these={"depth": attr.ib()})
    class Given(Base): ...

    @attr.s
    class Inherits(Renamed):
        depth: Any = attr.ib(default=3)

    kinds: Any = (Renamed, Given, Inherits)
    for made in kinds:
        forget_uses()
        with contextlib.suppress(TypeError):
            made(1)
        assert used_stand_in() is not None


def test_instances_are_compared_and_hashed_as_the_options_say() -> None:
    @attr.s
    class Plain:
        one: Any = attr.ib()
        other: Any = attr.ib(default=0, eq=False)

    @attr.s(frozen=True)
    class Frozen:
        one: Any = attr.ib()

    @attr.s(cmp=False)
    class Same:
        one: Any = attr.ib()

    @attr.define
    class Own:
        one: int

        def __hash__(self) -> int:
            return 3

    plain, frozen, same, own = (cast("Any", kind) for kind in (Plain, Frozen, Same, Own))
    assert plain(1, 2) == plain(1, 3)
    assert plain(1) != plain(2)
    with pytest.raises(TypeError, match="unhashable"):
        hash(plain(1))
    assert len({frozen(1), frozen(1), frozen(2)}) == 2
    assert len({same(1), same(1)}) == 2
    assert hash(own(1)) == 3


def test_a_constructor_of_its_own_may_call_the_one_that_is_written() -> None:
    @attr.define
    class Own:
        width: int

        def __init__(self, half: int) -> None:
            self.__attrs_init__(2 * half)  # type: ignore[attr-defined]

    assert Own(2).width == 4


def test_a_field_that_is_defined_again_is_the_last_also_for_those_that_inherit_it() -> None:
    @attr.s
    class Base:
        one: Any = attr.ib(default=1)
        other: Any = attr.ib(default=2)

    @attr.s
    class Middle(Base):
        one: Any = attr.ib(default=3)

    @attr.s
    class Last(Middle):
        more: Any = attr.ib(default=4)

    assert [*inspect.signature(Last).parameters] == ["other", "one", "more"]


def test_an_optional_value_is_not_converted_if_it_is_none() -> None:
    @attr.s
    class Settings:
        width: Any = attr.ib(None, None, converter=attr.converters.optional(int))

    assert Settings().width is None
    assert Settings(width="3").width == 3  # type: ignore[call-arg]
