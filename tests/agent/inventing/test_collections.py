"""Invented arguments that have a length, items or entries: vocabularies, arrays, masks, configurations, pairs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from tests.agent.inventing.test_argument_synthesis import made, module

OPERATIONS = {"none": nn.Identity, "skip": nn.ReLU}


def with_a_vocabulary(self: Any, vocab: Any) -> None:
    self.embedding = nn.Embedding(len(vocab), 8, padding_idx=vocab.stoi["<pad>"])


def with_a_tokenizer(self: Any, tokenizer: Any) -> None:
    self.pad = tokenizer.pad_token_id + 1
    self.embedding = nn.Embedding(len(tokenizer), tokenizer.width)


def with_an_array(self: Any, vectors: Any) -> None:
    self.register_buffer("vectors", torch.from_numpy(vectors).float())
    self.layer = nn.Linear(vectors.shape[1], 8)


def with_a_mask(self: Any, mask: Any) -> None:
    self.mask = nn.Parameter(mask, requires_grad=False)
    self.layer = nn.Linear(len(mask), 8)


def with_a_list_that_becomes_an_array(self: Any, betas: Any) -> None:
    betas = np.array(betas)
    assert len(betas.shape) == 1
    self.steps = int(betas.shape[0])


def with_pairs(self: Any, genotype: Any) -> None:
    names, indices = zip(*genotype.normal, strict=False)
    states = ["first", "second"]
    for name, index in zip(names, indices, strict=True):
        self.last = OPERATIONS[name](), states[index]


def with_integers_as_names(self: Any, settings: Any) -> None:
    self.layers = nn.ModuleList([nn.Linear(int(key) + 1, size) for key, size in settings.words.items()])


def with_names_that_are_taken_out(self: Any, norm_cfg: Any) -> None:
    norm_cfg = norm_cfg.copy()
    if norm_cfg.pop("type") not in ("BN", "GN"):
        raise KeyError("type")
    self.norm = nn.BatchNorm2d(8, **norm_cfg)


def with_names_that_are_taken_out_and_set_again(self: Any, cfg: Any) -> None:
    cfg["eps"] = float(cfg.pop("eps", 1e-5))
    self.eps = dict(cfg)["eps"]


def with_names_that_are_taken_out_of_a_copy(self: Any, cfg: Any) -> None:
    cfg.copy().pop("width")
    own = {name: cfg[name] for name in cfg.keys() or ["width"]}
    self.layer = nn.Linear(own["width"], 8)


def with_a_number_for_a_parameter(self: Any, init: Any) -> None:
    self.init = float(init)
    self.weight = nn.Parameter(torch.tensor(init))


def with_words_between_numbers(self: Any, cfg: Any) -> None:
    widths = [size for size in cfg if size != "M" and size % 2 == 0]
    self.layer = nn.Linear(8, len(widths) + 1)


def with_windows(self: Any, input_resolution: Any, window_size: int = 7) -> None:
    height, width = input_resolution
    mask = torch.zeros(height, width)
    self.mask = mask.view(height // window_size, window_size, width // window_size, window_size)


def with_names_of_columns(self: Any, sizes: Any, columns: Any) -> None:
    self.embeddings = nn.ModuleDict({column: nn.Embedding(sizes[column], 8) for column in columns})


def with_a_method_of_what_a_method_returns(self: Any, dataset: Any) -> None:
    self.users = nn.Embedding(dataset.num("users"), 8)
    self.matrix = dataset.matrix(form="coo").astype(np.float32)


@pytest.mark.parametrize(
    ("constructor", "shown"),
    [
        (with_a_method_of_what_a_method_returns, "M(dataset=…)"),
        (with_a_vocabulary, "M(vocab=…)"),
        (with_a_tokenizer, "M(tokenizer=…)"),
        (with_an_array, "M(vectors=ndarray(…))"),
        (with_a_mask, "M(mask=torch.ones((64,)))"),
        (with_a_list_that_becomes_an_array, "M(betas=[0.1, 0.1])"),
        (with_pairs, "M(genotype=…)"),
        (with_integers_as_names, "M(settings=…)"),
        (with_names_that_are_taken_out, "M(norm_cfg=…)"),
        (with_names_that_are_taken_out_and_set_again, "M(cfg=…)"),
        (with_names_that_are_taken_out_of_a_copy, "M(cfg=…)"),
        (with_a_number_for_a_parameter, "M(init=0.5)"),
        (with_words_between_numbers, "M(cfg=['M', 'M'])"),
        (with_windows, "M(input_resolution=[35, 35])"),
        (with_names_of_columns, "M(sizes=…, columns=['item', 'item', 'item', 'item'])"),
    ],
)
def test_what_a_constructor_reads_decides(constructor: Callable[..., None], shown: str) -> None:
    assert made(module(constructor)) == shown


def test_a_file_that_is_missing_is_no_misuse_of_its_name() -> None:
    """The error has the invented path itself, which must not be compared as the program would compare it."""

    def constructor(self: Any, mean_params: Any, n_joints: int = 24) -> None:
        self.width = len(np.load(mean_params)) + n_joints

    with pytest.raises(Exception, match="can't be built with invented arguments"):
        made(module(constructor))
