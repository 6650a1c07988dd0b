"""The attribute dictionaries of missing packages hold what the program puts into them, as those of the packages do."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import pytest
import torch

from fx_lsp.agent.importing.stand_in_modules import StandInModule
from fx_lsp.agent.importing.stand_ins import StandIn, add_as_modules
from fx_lsp.agent.missing.missing_modules import MissingModule
from fx_lsp.agent.missing.missing_uses import forget_uses, used_stand_in


def of(package: str, name: str) -> Any:
    return getattr(StandInModule(package), name)


KINDS: dict[str, Callable[[Any], Any]] = {
    "easydict.EasyDict": of("easydict", "EasyDict"),
    "addict.Dict": of("addict", "Dict"),
    "munch.munchify": of("munch", "munchify"),
    "munch.DefaultMunch": lambda content: of("munch", "DefaultMunch").fromDict(content, 7),
    "box.Box": of("box", "Box"),
    "mmcv.ConfigDict": of("mmcv.utils.config", "ConfigDict"),
    "mmengine.ConfigDict": of("mmengine", "ConfigDict"),
    "yacs.CfgNode": of("yacs.config", "CfgNode"),
    "omegaconf.OmegaConf.create": of("omegaconf", "OmegaConf").create,
    "ml_collections.ConfigDict": of("ml_collections", "ConfigDict"),
}

DICTIONARIES = [name for name in KINDS if not name.startswith(("omegaconf", "ml_"))]

KEEP_LISTS = ["ml_collections.ConfigDict", "yacs.CfgNode"]
"""Those that leave the dictionaries in a list as they are."""


@pytest.mark.parametrize("kind", KINDS)
def test_items_are_attributes(kind: str) -> None:
    content = {"width": 8, "head": {"classes": 2}, "stages": [{"depth": 1}, {"depth": 2}], "none": None}
    made = KINDS[kind](content)
    made.added = 3
    made["more"] = 4
    assert (made.width, made.head.classes, made["head"]["classes"], made.none) == (8, 2, 2, None)
    assert (made["added"], made.more, len(made)) == (3, 4, 6)
    assert "width" in made
    assert "nothing" not in made
    assert copy.deepcopy(made).head.classes == 2
    assert {**made}["width"] == 8
    if kind not in KEEP_LISTS:
        assert [stage.depth for stage in made.stages] == [1, 2]
    assert content["head"] == {"classes": 2}
    assert isinstance(made, dict) == (kind in DICTIONARIES)


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("easydict.EasyDict", AttributeError),
        ("munch.munchify", AttributeError),
        ("box.Box", KeyError),
        ("mmcv.ConfigDict", AttributeError),
        ("mmengine.ConfigDict", AttributeError),
        ("ml_collections.ConfigDict", AttributeError),
    ],
)
def test_what_is_not_there_is_an_error(kind: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        _ = KINDS[kind]({"width": 8}).nothing
    with pytest.raises(KeyError):
        _ = KINDS[kind]({"width": 8})["nothing"]
    assert getattr(KINDS[kind]({}), "nothing", 3) == 3


def test_what_is_not_there_has_a_default() -> None:
    assert KINDS["munch.DefaultMunch"]({"head": {}}).head.nothing == 7
    record = KINDS["addict.Dict"]({})
    assert not record.net.head
    record.net.head.classes = 2
    assert record == {"net": {"head": {"classes": 2}}}
    record.freeze()
    with pytest.raises(KeyError):
        _ = record.other


def test_classes_are_classes() -> None:
    base = of("easydict", "EasyDict")

    class Settings(base):  # type: ignore[misc, valid-type]
        width = 4

    assert isinstance(Settings(), base)
    assert Settings({"depth": 2}) == {"width": 4, "depth": 2}
    assert not isinstance({}, base)
    assert isinstance(KINDS["omegaconf.OmegaConf.create"]({}), of("omegaconf.dictconfig", "DictConfig"))
    assert type(of("nowhere", "EasyDict")) is StandIn


@pytest.mark.parametrize(
    "made",
    [
        of("easydict", "EasyDict")(StandIn("yaml.load()")),
        of("box", "Box")({"width": 8}, default_box=True),
        of("omegaconf", "OmegaConf").create("width: 8"),
        of("omegaconf", "OmegaConf").load("net.yaml"),
        of("omegaconf", "DictConfig")({"width": 8}, flags={"allow_objects": True}),
        of("ml_collections", "ConfigDict")({"width": 8}, sort_keys=False),
    ],
)
def test_what_is_made_in_other_ways_is_unknown(made: Any) -> None:
    assert isinstance(made, StandIn)


def test_what_an_omegaconf_evaluates_or_lacks_is_unknown() -> None:
    made = KINDS["omegaconf.OmegaConf.create"]({"width": 8, "size": "${width}", "needed": "???", "object": object()})
    forget_uses()
    assert all(isinstance(made[name], StandIn) for name in ("size", "needed", "object"))
    assert used_stand_in() is None
    assert (made.get("nothing"), made.get("nothing", 3)) == (None, 3)
    assert isinstance(made.nothing, StandIn)
    assert used_stand_in() == "omegaconf.DictConfig.nothing"


def test_texts_that_omegaconf_evaluates_are_plain_until_then() -> None:
    assert of("omegaconf", "MISSING") == "???"
    assert (of("omegaconf", "II")("net.width"), of("omegaconf", "SI")("w${net.width}")) == (
        "${net.width}",
        "w${net.width}",
    )


def test_omegaconfs_are_merged() -> None:
    omegaconf = of("omegaconf", "OmegaConf")
    merged = omegaconf.merge(omegaconf.create({"net": {"width": 8, "sides": [1, 2]}}), {"net": {"sides": [3]}})
    assert omegaconf.to_container(merged) == {"net": {"width": 8, "sides": [3]}}
    assert type(merged.net.sides[:1]) is list
    assert merged.net.sides + [4] == [3, 4]  # noqa: RUF005
    assert (omegaconf.is_list(merged.net.sides), omegaconf.is_dict(merged)) == (True, True)


def test_after_an_unknown_change_values_are_unknown() -> None:
    omegaconf = of("omegaconf", "OmegaConf")
    updated, merged = omegaconf.create({"net": {"width": 8}}), omegaconf.create({"net": {"width": 8}})
    omegaconf.update(updated, "net.width", 4)
    merged.merge_with_dotlist(["net.width=4"])
    assert isinstance(updated.net.width, StandIn)
    assert isinstance(merged.net.width, StandIn)
    config = KINDS["ml_collections.ConfigDict"]({"net": {"width": 8}})
    config.update_from_flattened_dict({"net.width": 4})
    assert isinstance(config.net.width, StandIn)
    box = KINDS["box.Box"]({"net": {"width": 8}})
    box.merge_add({})
    assert isinstance(box.net, StandIn)


def test_an_ml_configuration_keeps_types_and_refuses_keys_once_it_is_locked() -> None:
    config = KINDS["ml_collections.ConfigDict"]({"width": 8, "b": 1, "a": None})
    config.width, config.a = 4, 2
    assert (config.width, config.keys()) == (4, ["a", "b", "width"])
    config.b = 0.5
    assert isinstance(config.b, StandIn)
    config.lock()
    with pytest.raises(AttributeError):
        config.new = 3
    with config.unlocked():
        config.new = 3
    assert config.to_dict()["new"] == 3


def test_questions_about_types() -> None:
    for package in ("mmcv", "mmcv.utils", "mmengine.utils"):
        assert of(package, "is_tuple_of")((1, 2), int) is True
        assert of(package, "is_tuple_of")([1, 2], int) is False
        assert of(package, "is_list_of")([1, "2"], int) is False
        assert of(package, "is_seq_of")([1, "2"], (int, str)) is True
        assert of(package, "is_seq_of")((1, 2), int, None) is True
        assert of(package, "is_str")("x") is True
    assert isinstance(of("mmcv", "is_tuple_of")((1, StandIn("x")), int), StandIn)


def test_tuples_of_sizes() -> None:
    twice = of("mmcv.utils", "to_2tuple")
    assert (twice(7), twice([7, 8]), of("mmengine.utils", "to_ntuple")(3)(1)) == ((7, 7), [7, 8], (1, 1, 1))
    twice = of("timm.models.layers", "to_2tuple")
    assert (twice(7), twice([7, 8]), twice("ab")) == ((7, 7), (7, 8), ("ab", "ab"))
    assert of("timm.layers", "to_ntuple")(3)(1) == (1, 1, 1)


def test_the_base_classes_of_modules_are_those_of_torch() -> None:
    forget_uses()

    class Stack(of("mmcv.runner", "Sequential")):  # type: ignore[misc]
        pass

    stack = Stack(torch.nn.ReLU(), torch.nn.Linear(2, 3), init_cfg={"type": "Normal"})
    listed = of("mmengine.model", "ModuleList")([stack])
    listed.init_weights()
    assert (stack(torch.ones(1, 2)).shape, stack.init_cfg["type"], listed.is_init) == ((1, 3), "Normal", True)
    assert used_stand_in() is None


def test_a_module_may_have_a_stand_in_as_a_part() -> None:
    add_as_modules()
    stack = of("mmcv.runner", "Sequential")(torch.nn.ReLU(), StandIn("mmcv.cnn.build_activation_layer()"))
    assert [type(part).__name__ for part in stack] == ["ReLU", MissingModule.__name__]


def test_a_decorator_that_renames_arguments() -> None:
    def build(width: int, drop: float = 0.0) -> tuple[int, float]:
        return width, drop

    built = of("mmcv.utils", "deprecated_api_warning")({"dropout": "drop"}, cls_name="Net")(build)
    assert (built(3, dropout=0.5), built(width=3)) == ((3, 0.5), (3, 0.0))


def test_a_decorator_that_documents_changes_nothing() -> None:
    def forward(x: Any) -> Any:
        return x

    documents = of("transformers.utils", "replace_return_docstrings")
    assert documents(output_type=StandIn("transformers.modeling_outputs.Output"))(forward) is forward
    assert of("overrides", "overrides")(forward) is forward
    assert of("overrides", "overrides")(check_signature=False)(forward) is forward


def test_a_module_with_an_abstract_method_is_not_built() -> None:
    class Head(of("mmcv.runner", "BaseModule")):  # type: ignore[misc]
        @abstractmethod
        def loss(self, x: Any) -> Any:
            """Only subclasses know."""

    with pytest.raises(TypeError, match="abstract"):
        Head()


class Checked:
    """Asks typeguard about its arguments when it is made, and when it is called."""

    def __init__(self, width: int) -> None:
        self.is_well_made = of("typeguard", "check_argument_types")()

    def __call__(self, x: torch.Tensor) -> Any:
        return of("typeguard", "check_argument_types")()


def test_typeguard_accepts_what_a_constructor_gets_and_is_left_open_elsewhere() -> None:
    forget_uses()
    checked = Checked(8)
    assert checked.is_well_made is True
    assert isinstance(checked(torch.ones(1)), StandIn)
