"""Configurations that inherit from transformers's base class, or are the package's own, where it is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fx_lsp.agent.importing.stand_in_modules import StandInModule
from fx_lsp.agent.importing.stand_ins import StandIn
from fx_lsp.agent.missing.missing_uses import forget_uses, used_stand_in

OURS = StandInModule("transformers")


def own(package: Any) -> Any:
    """A configuration of the program's own, with the base class of ``package``."""

    class NetConfig(package.PretrainedConfig):  # type: ignore[misc]
        model_type = "net"

        def __init__(self, width: int = 8, **kwargs: Any) -> None:
            self.width = width
            super().__init__(**kwargs)

    return NetConfig


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"num_labels": 3},
        {"depth": 2, "return_dict": False, "pad_token_id": 1},
        {"id2label": {"0": "cat"}, "label2id": {"cat": 0}},
        {"id2label": None},
        {"name_or_path": "small"},
    ],
)
def test_a_configuration_has_what_it_is_given_and_what_all_have(given: dict[str, Any]) -> None:
    transformers = pytest.importorskip("transformers")
    ours, theirs = own(OURS)(**given), own(transformers)(**given)
    asked = (
        "width",
        "num_labels",
        "output_attentions",
        "output_hidden_states",
        "return_dict",
        "chunk_size_feed_forward",
    )
    for name in (
        *asked,
        "is_encoder_decoder",
        "problem_type",
        "name_or_path",
        "model_type",
        "id2label",
        "label2id",
        *given,
    ):
        assert getattr(ours, name) == getattr(theirs, name)
    with pytest.raises(AttributeError):
        theirs.nothing  # noqa: B018
    with pytest.raises(AttributeError):
        ours.nothing  # noqa: B018
    assert isinstance(ours.to_json_string(), StandIn)
    assert isinstance(ours.new_method(), StandIn)
    assert isinstance(type(ours).register_for_auto_class(), StandIn)
    assert isinstance(super(type(ours), ours).save_pretrained("folder"), StandIn)


@pytest.mark.parametrize("ours", [True, False])
def test_attributes_have_other_names(ours: bool) -> None:
    package = OURS if ours else pytest.importorskip("transformers")

    class NetConfig(package.PretrainedConfig):  # type: ignore[name-defined, misc]
        attribute_map = {"hidden_size": "width"}

        def __init__(self, width: int = 8, **kwargs: Any) -> None:
            self.width = width
            self.num_labels = 5  # as in transformers, what is given decides
            super().__init__(**kwargs)

    config = NetConfig(hidden_size=6)
    assert (config.hidden_size, config.width, config.num_labels) == (6, 6, 2)
    config.hidden_size = 7
    assert config.width == 7


def test_a_configuration_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"hidden_size": 12, "width": 4}), encoding="utf-8")
    for found in (own(OURS).from_json_file(str(file)), own(OURS).from_pretrained(str(tmp_path))):
        assert (found.hidden_size, found.width, found.to_dict()["width"]) == (12, 4, 4)
        contents, left = own(OURS).get_config_dict(str(tmp_path), revision="main")
        assert (contents["width"], left) == (4, {"revision": "main"})
    assert isinstance(own(OURS).from_pretrained("small"), StandIn)
    assert isinstance(own(OURS).from_dict(*own(OURS).get_config_dict("small")[:1]), StandIn)
    with pytest.raises(OSError, match="elsewhere"):
        own(OURS).from_json_file("elsewhere.json")


def test_of_the_package_s_own_configurations_only_what_is_given_is_known() -> None:
    forget_uses()
    config = OURS.BertConfig(hidden_size=12)
    config.encoder_width = 4
    assert (config.hidden_size, config.encoder_width, config.is_decoder) == (12, 4, False)
    assert used_stand_in() is None
    assert isinstance(config.num_attention_heads, StandIn)
    assert used_stand_in() == "transformers.BertConfig().num_attention_heads"
    assert isinstance(config.pad_token_id, StandIn)
    assert OURS.BertConfig(pad_token_id=1).pad_token_id == 1
    assert own(OURS)().pad_token_id is None


def test_a_class_has_defaults_of_its_own() -> None:
    class NetConfig(OURS.PretrainedConfig):  # type: ignore[name-defined, misc]
        tie_word_embeddings: bool = False

    assert not NetConfig().tie_word_embeddings
    assert NetConfig(tie_word_embeddings=True).tie_word_embeddings


@pytest.mark.parametrize("name", ["GPT2Config", "BertConfig", "MptConfig", "DetrConfig", "BlipTextConfig"])
def test_the_usual_values_are_those_that_the_package_s_own_configurations_have(name: str) -> None:
    theirs = getattr(pytest.importorskip("transformers"), name)()
    for asked in ("use_cache", "position_embedding_type", "is_decoder", "return_dict"):
        assert getattr(getattr(OURS, name)(), asked) == getattr(theirs, asked, getattr(OURS.Net2Config(), asked))
