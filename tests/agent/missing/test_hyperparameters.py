"""What a module of Lightning, which is missing, keeps of the arguments of its constructor."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import pytest
import torch

from fx_lsp.agent.importing.stand_in_modules import StandInModule
from fx_lsp.agent.missing.missing_uses import forget_uses, used_stand_in

Base: Any = StandInModule("pytorch_lightning").LightningModule


class Saves(Base):  # type: ignore[misc]
    def __init__(self, width: int, depth: int = 2, *rest: int, bias: bool = False, **others: Any) -> None:
        super().__init__()
        depth = depth + 1
        self.save_hyperparameters()


class Heir(Saves):
    def __init__(self, classes: int) -> None:
        super(Heir, self).__init__(3)  # noqa: UP008


class Chosen(Base):  # type: ignore[misc]
    def __init__(self, *args: Any, width: int = 3, depth: int = 2, **kwargs: Any) -> None:
        super().__init__()
        self.save_hyperparameters(*args, **kwargs)


class Later(Base):  # type: ignore[misc]
    def __init__(self, width: int) -> None:
        super().__init__()
        self._set_up()

    def _set_up(self) -> None:
        self.save_hyperparameters(logger=False)


@pytest.mark.parametrize("name", ["lightning", "lightning.pytorch", "pytorch_lightning.core.lightning"])
def test_it_is_known_by_several_names(name: str) -> None:
    base: Any = StandInModule(name).LightningModule

    class Net(base):  # type: ignore[misc]
        def __init__(self, width: int = 4) -> None:
            super().__init__()
            self.save_hyperparameters()

    assert isinstance(Net(), torch.nn.Module)
    assert Net().hparams.width == 4


def test_all_arguments_are_kept_with_their_present_values() -> None:
    assert Saves(4, 5, 6, extra=7).hparams == {"width": 4, "depth": 6, "bias": False, "extra": 7}


def test_those_of_all_constructors_are_kept() -> None:
    assert Heir(9).hparams == {"width": 3, "depth": 3, "bias": False, "classes": 9}
    assert Later(4).hparams == {"width": 4}


@pytest.mark.parametrize(
    ("args", "kwargs", "kept"),
    [
        (("width",), {}, {"width": 3}),
        ((), {"ignore": "width"}, {"depth": 2, "ignore": "width"}),
        ((), {"ignore": ["width", "ignore"]}, {"depth": 2}),
        (({"a": 1},), {}, {"a": 1}),
        ((Namespace(a=1),), {}, {"a": 1}),
        (({},), {}, {}),
    ],
)
def test_some_are_kept(args: tuple[Any, ...], kwargs: dict[str, Any], kept: dict[str, Any]) -> None:
    assert Chosen(*args, **kwargs).hparams == kept


def test_errors_are_those_of_lightning() -> None:
    with pytest.raises(KeyError):
        Chosen("nothing")
    with pytest.raises(ValueError, match="Primitives"):
        Chosen(3)
    with pytest.raises(AttributeError, match="'AttributeDict' object has no attribute 'nothing'"):
        _ = Saves(4).hparams.nothing


def test_hyperparameters_are_added_to_those_that_are_there() -> None:
    module = Saves(4)
    module.hparams.update(width=5)
    module.hparams.extra = 6
    module.save_hyperparameters({"more": 7})
    assert module.hparams == {"width": 5, "depth": 3, "bias": False, "extra": 6, "more": 7}
    module.hparams = Namespace(width=8)  # as older versions allow
    assert module.hparams["width"] == 8


def test_outside_of_constructors_what_is_kept_is_unknown() -> None:
    forget_uses()
    Saves(4).save_hyperparameters()
    assert used_stand_in() == "LightningModule.save_hyperparameters"
