"""Which models a class is a part of."""

from __future__ import annotations

from fx_lsp.agent.messages import Recipe, Snippet, Span, Target
from fx_lsp.analysis.enclosing_models import enclosing_models

TEXT = """
class Part(nn.Module): ...

class Block(nn.Module):
    def __init__(self):
        self.part = Part()

class Model(nn.Module):
    def __init__(self):
        self.blocks = [Block() for _ in range(3)]

class Other(nn.Module): ...
"""


def target(symbol: str, *, made_up: bool = True, hosts: tuple[Recipe, ...] = ()) -> Target:
    return Target(
        symbol, symbol, Span("net.py", 1, 0, 1, 1), recipe(symbol, made_up=made_up), symbol=symbol, hosts=hosts
    )


def recipe(source: str, *, made_up: bool = True) -> Recipe:
    return Recipe(Snippet(source, 1), made_up=made_up)


OTHERS = [target("Block"), target("Model"), target("Other")]


def test_the_largest_comes_first() -> None:
    assert enclosing_models(TEXT, target("Part"), OTHERS) == [recipe("Model"), recipe("Block")]


def test_what_the_workspace_builds_itself_is_trusted_more() -> None:
    others = [target("Block", made_up=False), target("Model")]
    assert enclosing_models(TEXT, target("Part"), others) == [recipe("Block", made_up=False), recipe("Model")]


def test_those_of_other_files_come_last() -> None:
    elsewhere = recipe("Elsewhere")
    assert enclosing_models(TEXT, target("Block", hosts=(elsewhere,)), OTHERS) == [recipe("Model"), elsewhere]


def test_a_class_that_nothing_uses() -> None:
    assert enclosing_models(TEXT, target("Model"), OTHERS) == []


def test_a_file_that_is_no_python() -> None:
    assert enclosing_models("class", target("Part"), OTHERS) == []
