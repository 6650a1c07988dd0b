"""The base class of transformers's configurations, and the package's own ones, of which only what is given is known."""

from __future__ import annotations

import copy
import json
import sys
from pathlib import Path
from typing import Any, ClassVar

from fx_lsp.agent.frame_code import is_about_to_call
from fx_lsp.agent.importing.stand_ins import StandIn

_NONE = (
    *("torch_dtype", "dtype", "cross_attention_hidden_size", "architectures", "finetuning_task", "tokenizer_class"),
    *("prefix", "task_specific_params", "problem_type", "_attn_implementation", "_commit_hash", "bad_words_ids"),
    *("bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "decoder_start_token_id", "forced_bos_token_id"),
    *("forced_eos_token_id", "suppress_tokens", "begin_suppress_tokens", "exponential_decay_length_penalty"),
    "transformers_version",
)
_OFF = (
    *("output_hidden_states", "output_attentions", "torchscript", "use_bfloat16", "is_encoder_decoder", "is_decoder"),
    *("add_cross_attention", "tie_encoder_decoder", "do_sample", "early_stopping", "output_scores"),
    *("return_dict_in_generate", "remove_invalid_values", "tf_legacy_loss"),
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
    "num_beam_groups": 1,
    "diversity_penalty": 0.0,
    "num_return_sequences": 1,
    "no_repeat_ngram_size": 0,
    "encoder_no_repeat_ngram_size": 0,
    "temperature": 1.0,
    "top_k": 50,
    "top_p": 1.0,
    "typical_p": 1.0,
    "repetition_penalty": 1.0,
    "length_penalty": 1.0,
    "_name_or_path": "",
}
"""What every configuration has unless it is given something else."""

_VARYING = frozenset(
    {
        *(name for name in _DEFAULTS if name.endswith("_token_id")),
        *("begin_suppress_tokens", "is_encoder_decoder", "max_length", "suppress_tokens", "tie_word_embeddings"),
    }
)
"""Of these, what the package's own configurations set to various values."""

_LABELS = 2
"""How many labels a configuration has unless it is given some."""


class PretrainedConfig:
    """A configuration whose attributes are its keyword arguments, and defaults that all configurations have."""

    model_type = ""
    id2label: dict[int, str]
    attribute_map: ClassVar[dict[str, str]] = {}
    """Other names of attributes, each with the usual one."""
    _defaults: ClassVar[dict[str, Any]] = _DEFAULTS
    """What it has unless its class, its constructor or its caller has set something else."""

    def __init__(self, *, num_labels: int | None = None, id2label: dict[Any, str] | None = None, **kwargs: Any) -> None:
        """``num_labels`` is short for labels without names."""
        self.num_labels = _LABELS if num_labels is None else num_labels
        if id2label is not None:
            self.id2label = {int(number): label for number, label in id2label.items()}
        for name, value in copy.deepcopy(self._defaults).items():
            if name not in vars(self) and not hasattr(type(self), name):
                vars(self)[name] = value
        for name, value in kwargs.items():
            setattr(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(self.attribute_map.get(name, name), value)

    def __getattr__(self, name: str) -> Any:
        """What has another name; a stand-in for a method that is called. Raises AttributeError for what none has."""
        if name in type(self).attribute_map:
            return getattr(self, self.attribute_map[name])
        if name.startswith("__") or not is_about_to_call(sys._getframe(1)):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return StandIn(f"transformers.{type(self).__name__}().{name}")

    @classmethod
    def from_dict(cls, config_dict: Any, **kwargs: Any) -> Any:
        """A configuration with the items of a dictionary; a stand-in if they are not known."""
        if isinstance(config_dict, StandIn):
            return StandIn(f"transformers.{cls.__name__}.from_pretrained()")
        return cls(**{**config_dict, **kwargs})

    @classmethod
    def from_json_file(cls, json_file: str) -> Any:
        """A configuration with what a file contains. Raises OSError."""
        return cls.from_dict(json.loads(Path(json_file).read_text(encoding="utf-8")))

    @classmethod
    def from_pretrained(cls, name: Any, *args: Any, **kwargs: Any) -> Any:
        """A configuration with what a file or a folder contains; a stand-in for one that would be downloaded."""
        return cls.from_dict(cls.get_config_dict(name)[0])

    @classmethod
    def get_config_dict(cls, name: Any, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        """What a file or a folder contains, or a stand-in for that, and the arguments that are left."""
        for path in (Path(str(name)), Path(str(name)) / "config.json"):
            if path.is_file():
                return json.loads(path.read_text(encoding="utf-8")), kwargs
        return StandIn(f"transformers.{cls.__name__}.get_config_dict()"), kwargs

    @property
    def num_labels(self) -> int:
        """The number of labels."""
        return len(self.id2label)

    @num_labels.setter
    def num_labels(self, number: int) -> None:
        self.id2label = {index: f"LABEL_{index}" for index in range(number)}
        self.label2id = {label: index for index, label in self.id2label.items()}

    @property
    def use_return_dict(self) -> bool:
        """Whether models return their outputs with names."""
        return bool(vars(self)["return_dict"])

    @property
    def name_or_path(self) -> str:
        """Where the configuration was loaded from."""
        return str(vars(self)["_name_or_path"])

    @name_or_path.setter
    def name_or_path(self, value: str) -> None:
        vars(self)["_name_or_path"] = value

    def update(self, config_dict: dict[str, Any]) -> None:
        """Set attributes to the items of a dictionary."""
        for name, value in config_dict.items():
            setattr(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """The attributes, and the type of the model."""
        return {**copy.deepcopy(vars(self)), "model_type": self.model_type}


for _method in (
    *("get_text_config", "push_to_hub", "register_for_auto_class", "save_pretrained"),
    *("to_diff_dict", "to_json_file", "to_json_string", "update_from_string"),
):  # also those that are called on a class, or by `super()`, which does not ask `__getattr__`
    setattr(PretrainedConfig, _method, StandIn(f"transformers.PretrainedConfig().{_method}"))


class PackagesConfiguration(PretrainedConfig):
    """A configuration of one of the package's own models: what attributes it has besides those given is not known.

    Those below have these values in nearly all configurations that have them; see `_EXCEPTIONS`.
    """

    _defaults: ClassVar[dict[str, Any]] = {name: value for name, value in _DEFAULTS.items() if name not in _VARYING}
    position_embedding_type = "absolute"
    use_cache = True
    gradient_checkpointing = False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if name in type(self).attribute_map:
            return super().__getattr__(name)
        return getattr(StandIn(f"transformers.{type(self).__name__}().{name}"), name)


_EXCEPTIONS: dict[str, dict[str, Any]] = {
    "BlipTextConfig": {"is_decoder": True},
    "ConditionalDetrConfig": {"position_embedding_type": "sine"},
    "DeformableDetrConfig": {"position_embedding_type": "sine"},
    "DetrConfig": {"position_embedding_type": "sine"},
    "EvollaConfig": {"use_cache": False},
    "GroundingDinoConfig": {"position_embedding_type": "sine"},
    "MimiConfig": {"use_cache": False},
    "MptConfig": {"use_cache": False},
    "Pix2StructTextConfig": {"is_decoder": True, "use_cache": False},
    "TableTransformerConfig": {"position_embedding_type": "sine"},
}
"""By the name of the class: what it has instead of the usual values."""


def packages_configuration(name: str) -> type[PretrainedConfig]:
    """The class that stands for the package's own configuration ``name``."""
    return type(name, (PackagesConfiguration,), _EXCEPTIONS.get(name, {}))
