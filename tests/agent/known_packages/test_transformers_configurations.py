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


@pytest.mark.parametrize("given", [{}, {"num_labels": 3}, {"depth": 2, "return_dict": False, "pad_token_id": 1}])
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


def test_a_configuration_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "config.json"
    file.write_text(json.dumps({"hidden_size": 12, "width": 4}), encoding="utf-8")
    for found in (own(OURS).from_json_file(str(file)), own(OURS).from_pretrained(str(tmp_path))):
        assert (found.hidden_size, found.width, found.to_dict()["width"]) == (12, 4, 4)
    assert isinstance(own(OURS).from_pretrained("small"), StandIn)
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
