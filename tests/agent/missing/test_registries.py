"""What a registry of a missing package knows: what the program has registered with it, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from fx_lsp.agent.importing.stand_in_modules import StandInModule
from fx_lsp.agent.importing.stand_ins import StandIn
from fx_lsp.agent.missing import registries
from fx_lsp.agent.missing.missing_uses import decorators, forget_uses, used_stand_in


class Block:
    def __init__(self, width: int = 4, **others: Any) -> None:
        self.width = width


class Other(Block):
    pass


def make_block() -> Block:
    return Block(7)


@pytest.fixture(autouse=True)
def nothing_registered() -> Iterator[None]:
    registries._by_name.clear()
    forget_uses()
    yield
    registries._by_name.clear()


def of_toolbox() -> Any:
    """A registry of a missing package, as each import of it yields it."""
    return StandInModule("toolbox.builder").BLOCKS


def test_each_way_to_register_returns_what_it_registers() -> None:
    blocks = of_toolbox()
    assert blocks.register_module()(Block) is Block
    assert blocks.register_module(name=["one", "two"], force=True)(Block) is Block
    assert blocks.register("other")(Other) is Other
    assert blocks.register(Other) is Other
    assert blocks.register_module("made", module=make_block) is make_block
    assert blocks.register(make_block) is make_block
    again = of_toolbox()
    names = {"Block": Block, "one": Block, "two": Block, "other": Other, "Other": Other, "made": make_block}
    assert {name: again.get(name) for name in names} == names
    assert {name: again[name] for name in names} == names
    assert all(name in again for name in names)
    assert again.get("make_block")().width == 7
    assert (used_stand_in(), decorators()) == (None, [])


def test_what_a_missing_function_registers_is_unchanged() -> None:
    assert StandInModule("zoo.registry").register_model(make_block) is make_block


def test_any_other_name_is_unknown() -> None:
    blocks = of_toolbox()
    blocks.register_module()(Block)
    assert isinstance(blocks.get("ResNet"), StandIn)
    assert isinstance(blocks["ResNet"], StandIn)
    assert isinstance(blocks.build({"type": "ResNet"}), StandIn)
    assert used_stand_in() is None
    assert "ResNet" not in blocks
    assert used_stand_in() == "toolbox.builder.BLOCKS"


def test_a_name_of_two_things_is_unknown_unless_they_are_one_definition() -> None:
    blocks = of_toolbox()
    again = type("Block", (), {"__module__": Block.__module__, "__qualname__": Block.__qualname__})
    blocks.register_module()(Block)
    blocks.register_module()(again)  # as if its module had been imported again
    assert blocks.get("Block") is again
    blocks.register_module(name="Block", force=True)(Other)
    assert isinstance(blocks.get("Block"), StandIn)


@pytest.mark.parametrize("given", [{"alias": "block"}, {"name": StandIn("toolbox.NAME")}])
def test_under_an_unknown_name_nothing_is_registered(given: dict[str, Any]) -> None:
    blocks = of_toolbox()
    assert blocks.register_module(**given)(Block) is Block
    assert isinstance(blocks.get("Block"), StandIn)


def test_registries_of_the_program_are_told_apart() -> None:
    utils: Any = StandInModule("toolbox.utils")
    first, second = utils.Registry("blocks"), utils.Registry("blocks")
    first.register_module()(Block)
    second.register_module(name="Block")(Other)
    assert (first.get("Block"), second.get("Block")) == (Block, Other)
    assert isinstance(first, StandIn)


def test_a_class_of_registries_is_no_module() -> None:
    base: Any = StandInModule("toolbox.utils").Registry

    class Builder(base):  # type: ignore[misc]
        pass

    blocks: Any = Builder("blocks")
    assert [cls.__name__ for cls in type(blocks).__mro__] == ["Builder", "Registry", "StandInBase", "object"]
    assert blocks.register_module()(Block) is Block


def test_it_builds_as_mmcv_does() -> None:
    blocks = of_toolbox()
    blocks.register_module()(Block)
    build: Any = StandInModule("toolbox.utils").build_from_cfg
    cfg = {"type": "Block", "width": 5}
    assert blocks.build(cfg).width == 5
    assert build(cfg, of_toolbox(), {"width": 6}).width == 5
    assert build({"type": "Block"}, of_toolbox(), default_args={"width": 6}).width == 6
    assert type(build({"type": Other}, of_toolbox())) is Other
    assert cfg == {"type": "Block", "width": 5}
    for unknown in ({"width": 5}, {"type": "Block", "_scope_": "other"}, StandIn("cfg")):
        assert isinstance(blocks.build(unknown), StandIn)
        assert isinstance(build(unknown, blocks), StandIn)


def test_what_a_function_of_the_program_builds_is_unknown() -> None:
    utils: Any = StandInModule("toolbox.utils")
    blocks = utils.Registry("blocks", build_func=make_block)
    below = utils.Registry("below", parent=blocks)
    for registry in (blocks, below):
        registry.register_module()(Block)
        assert isinstance(registry.build({"type": "Block"}), StandIn)
