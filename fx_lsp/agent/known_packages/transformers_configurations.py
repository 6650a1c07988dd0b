"""The base class of transformers's configurations, and the package's own ones, of which only what is given is known."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any

from fx_lsp.agent.importing.stand_ins import StandIn
from fx_lsp.agent.inventing.frame_code import is_about_to_call

_NONE = (
    *("torch_dtype", "dtype", "cross_attention_hidden_size", "architectures", "finetuning_task", "tokenizer_class"),
    *("prefix", "task_specific_params", "problem_type", "_attn_implementation", "_commit_hash", "bad_words_ids"),
    *("bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "decoder_start_token_id", "forced_bos_token_id"),
)
_OFF = (
    *("output_hidden_states", "output_attentions", "torchscript", "use_bfloat16", "is_encoder_decoder", "is_decoder"),
    *("add_cross_attention", "tie_encoder_decoder", "do_sample", "early_stopping", "output_scores"),
)

_DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(_NONE, None),
    **dict.fromkeys(_OFF, False),
    "return_dict": True,
    "tie_word_embeddings": True,
    "pruned_heads": {},
    "chunk_size_feed_forward": 0,
    "max_length": 20,
    "min_length": 0,
    "num_beams": 1,
    "num_return_sequences": 1,
    "no_repeat_ngram_size": 0,
    "temperature": 1.0,
    "top_k": 50,
    "top_p": 1.0,
    "repetition_penalty": 1.0,
    "length_penalty": 1.0,
    "_name_or_path": "",
    "id2label": {0: "LABEL_0", 1: "LABEL_1"},
}
"""What every configuration has unless it is given something else."""


class PretrainedConfig:
    """A configuration whose attributes are its keyword arguments, and defaults that all configurations have."""

    model_type = ""

    def __init__(self, *, num_labels: int | None = None, **kwargs: Any) -> None:
        """``num_labels`` is short for labels without names."""
        if num_labels is not None:
            kwargs.setdefault("id2label", {index: f"LABEL_{index}" for index in range(num_labels)})
        own = vars(self)
        for name, value in copy.deepcopy(_DEFAULTS).items():
            own.setdefault(name, kwargs.get(name, value))
        for name, value in kwargs.items():
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:
        """A stand-in for a method that is called. Raises AttributeError for what no configuration has."""
        if name.startswith("__") or not is_about_to_call(sys._getframe(1)):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return StandIn(f"transformers.{type(self).__name__}().{name}")

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any], **kwargs: Any) -> Any:
        """A configuration with the items of a dictionary."""
        return cls(**{**config_dict, **kwargs})

    @classmethod
    def from_json_file(cls, json_file: str) -> Any:
        """A configuration with what a file contains. Raises OSError."""
        return cls.from_dict(json.loads(Path(json_file).read_text(encoding="utf-8")))

    @classmethod
    def from_pretrained(cls, name: Any, *args: Any, **kwargs: Any) -> Any:
        """A configuration with what a file or a folder contains; a stand-in for one that would be downloaded."""
        for path in (Path(str(name)), Path(str(name)) / "config.json"):
            if path.is_file():
                return cls.from_json_file(str(path))
        return StandIn(f"transformers.{cls.__name__}.from_pretrained()")

    @property
    def label2id(self) -> dict[str, int]:
        """The number of each label."""
        return {label: number for number, label in vars(self)["id2label"].items()}

    @property
    def num_labels(self) -> int:
        """The number of labels."""
        return len(vars(self)["id2label"])

    @num_labels.setter
    def num_labels(self, number: int) -> None:
        self.__dict__["id2label"] = {index: f"LABEL_{index}" for index in range(number)}

    @property
    def use_return_dict(self) -> bool:
        """Whether models return their outputs with names."""
        return bool(vars(self)["return_dict"])

    @property
    def name_or_path(self) -> str:
        """Where the configuration was loaded from."""
        return str(vars(self)["_name_or_path"])

    def update(self, config_dict: dict[str, Any]) -> None:
        """Set attributes to the items of a dictionary."""
        for name, value in config_dict.items():
            setattr(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """The attributes, and the type of the model."""
        return {**copy.deepcopy(vars(self)), "model_type": self.model_type}


class PackagesConfiguration(PretrainedConfig):
    """A configuration of one of the package's own models: what attributes it has besides those given is not known.

    Those below have these values in all configurations that have them.
    """

    position_embedding_type = "absolute"
    use_cache = True
    gradient_checkpointing = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(StandIn(f"transformers.{type(self).__name__}().{name}"), name)


def packages_configuration(name: str) -> type[PretrainedConfig]:
    """The class that stands for the package's own configuration ``name``."""
    return type(name, (PackagesConfiguration,), {})
