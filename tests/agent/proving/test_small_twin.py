"""Edits of large models are tried on small twins of them."""

from __future__ import annotations

import dataclasses

import pytest

from tests.agent.client import Client
from tests.agent.proving.edits import Edit, prove

pytestmark = pytest.mark.asyncio(loop_scope="session")

GPT = """
import dataclasses
import torch
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass
class Config:
    block_size: int = 1024
    vocab_size: int = 50304
    n_layer: int = 12
    n_head: int = 12
    n_embd: int = 768


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.n_head = config.n_head
        self.norm = nn.LayerNorm(config.n_embd)
        self.qkv = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.out = nn.Linear(config.n_embd, config.n_embd)

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.qkv(self.norm(x)).split(C, dim=2)
        q, k, v = (part.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for part in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(y.transpose(1, 2).contiguous().view(B, T, C))


class GPT(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.tokens = nn.Embedding(config.vocab_size, config.n_embd)
        self.places = nn.Embedding(config.block_size, config.n_embd)
        self.blocks = nn.ModuleList([Block(config) for _ in range(config.n_layer)])
        self.head = nn.Linear(config.n_embd, config.vocab_size, bias=False)

    def forward(self, idx):
        b, t = idx.size()
        assert t <= self.config.block_size, "too long"
        x = self.tokens(idx) + self.places(torch.arange(t, device=idx.device))
        for block in self.blocks:
            x = block(x)
        return self.head(x)
"""

ASSERT = Edit(
    GPT,
    'assert t <= self.config.block_size, "too long"',
    'torch._assert(t <= self.config.block_size, "too long")',
    root="GPT(Config())",
)


async def test_a_fix_of_a_large_language_model_is_proven_on_a_twin(client: Client) -> None:
    proof = await prove(client, ASSERT)
    assert proof.verdict == "proven", proof.reason
    assert "n_embd=" in proof.reason


async def test_a_large_number_of_layers_becomes_a_small_one(client: Client) -> None:
    proof = await prove(client, dataclasses.replace(ASSERT, text=GPT.replace("n_layer: int = 12", "n_layer: int = 48")))
    assert proof.verdict == "proven", proof.reason
    assert "n_layer=3" in proof.reason


async def test_an_edit_that_changes_what_a_large_model_computes_is_refuted_on_a_twin(client: Client) -> None:
    new = ASSERT.new + "\n        idx = idx.clamp(max=5)"
    proof = await prove(client, Edit(GPT, ASSERT.old, new, root="GPT(Config())"))
    assert proof.verdict == "refuted", proof.reason


VIT = """
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.scale = (dim // heads) ** -0.5
        self.qkv = nn.Linear(dim, 3 * dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        B, N, C = x.shape
        q, k, v = self.qkv(x).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 1, 4)
        weights = (q @ k.transpose(-2, -1) * self.scale).softmax(-1)
        x = x + (weights @ v).transpose(1, 2).reshape(B, N, C)
        return x + self.mlp(x)


class ViT(nn.Module):
    def __init__(self, img_size=128, patch=16, dim=384, depth=6, heads=6, classes=1000):
        super().__init__()
        self.img_size = img_size
        self.patches = nn.Conv2d(3, dim, patch, patch)
        self.register_buffer("places", torch.randn((img_size // patch) ** 2, dim))
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        assert x.shape[2] == self.img_size
        x = self.patches(x).flatten(2).transpose(1, 2) + self.places
        features = []
        for number, block in enumerate(self.blocks):
            x = block(x)
            if number < len(self.blocks) - 1:
                features.append(x)
        return self.head(x.mean(1)), features[-1], x[..., :256].relu(), x[..., 256:].tanh()
"""

CHECK = ("assert x.shape[2] == self.img_size", 'torch._assert(x.shape[2] == self.img_size, "")')

WRONG = {
    "another scale": ("* self.scale", "* 1.0"),
    "another mean": ("x.mean(1)", "x.amax(1)"),
    "heads before positions": (
        "(weights @ v).transpose(1, 2).reshape(B, N, C)",
        "(weights @ v).reshape(B, N, C)",
    ),
    "the first layer instead of all but the last": ("number < len(self.blocks) - 1", "number == 0"),
    "the second feature instead of the last": ("features[-1]", "features[1]"),
    "a part that a narrow model does not have": ("x[..., 256:].tanh()", "x[..., 256:].sigmoid()"),
    "fewer layers": ("depth=6", "depth=3"),
    "fewer patches than there are": ("x.mean(1)", "x[:, :60].mean(1)"),
    "half of the images": ("self.patches(x)", "self.patches(x[: max(1, len(x) // 2)].repeat(2, 1, 1, 1)[: len(x)])"),
}
"""Changes that small models are likely to hide, in addition to `CHECK`."""


@pytest.mark.parametrize(("old", "new"), WRONG.values(), ids=WRONG)
async def test_what_a_small_model_is_likely_to_hide_is_refuted(client: Client, old: str, new: str) -> None:
    assert old in VIT
    proof = await prove(client, Edit(VIT, VIT, VIT.replace(old, new).replace(*CHECK), root="ViT()"))
    assert proof.verdict != "proven", proof.reason


async def test_a_fix_of_a_large_vision_transformer_is_proven_on_a_twin(client: Client) -> None:
    proof = await prove(client, Edit(VIT, *CHECK, root="ViT()"))
    assert proof.verdict == "proven", proof.reason
    assert "depth=3" in proof.reason


WRAPPED = f"""{VIT}

class Wrapped(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = ViT(128, patch=16, dim=384, depth=6, heads=6, classes=1000)

    def forward(self, x):
        return self.model(x)
"""


async def test_a_twin_of_a_model_that_takes_no_numbers_has_smaller_ones_where_it_calls_other_constructors(
    client: Client,
) -> None:
    proof = await prove(client, Edit(WRAPPED, *CHECK, root="Wrapped()"))
    assert proof.verdict == "proven", proof.reason
    assert "depth=3" in proof.reason


async def test_all_twins_of_a_model_that_accepts_one_number_of_patches_get_fitting_images(client: Client) -> None:
    """What is found for the first twin is scaled for the others: their images have other sizes."""
    text = VIT.replace("(img_size // patch) ** 2", "64").replace("== self.img_size", "% 2 == 0")
    edit = Edit(text, CHECK[0].replace("== self.img_size", "% 2 == 0"), 'torch._assert(x.shape[2] % 2 == 0, "")')
    proof = await prove(client, dataclasses.replace(edit, root="ViT()"))
    assert proof.verdict == "proven", proof.reason
    assert "patch=" in proof.reason


async def test_an_edit_without_numbers_that_twins_refute_is_not_tried_on_the_model(client: Client) -> None:
    wrong = VIT.replace(*WRONG["another scale"])
    proof = await prove(client, Edit(VIT, VIT, wrong.replace(*CHECK), root="ViT()"))
    assert proof.verdict == "refuted"
    assert "(2, 3, 128, 128)" not in proof.reason


PATCHES = """
import torch
from torch import nn


class Stem(nn.Module):
    def __init__(self, hidden=4096):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, hidden), nn.ReLU(), nn.Linear(hidden, 3))

    def forward(self, x):
        return x + self.layers(x.movedim(1, -1)).movedim(-1, 1)


class Net(nn.Module):
    def __init__(self, width=2688, heads=21):
        super().__init__()
        self.heads = heads
        self.stem = Stem()
        self.conv = nn.Conv2d(3, width, 3)
        self.norm = nn.GroupNorm(32, width)
        self.mix = nn.Linear(width, width)

    def forward(self, x):
        assert x.shape[-1] % 2 == 0
        y = self.norm(self.conv(self.stem(x))).flatten(2).transpose(1, 2)
        batch, length, width = y.shape
        parts = self.mix(y).view(batch, length, self.heads, width // self.heads)
        return parts.mean(1)
"""


async def test_a_small_model_is_tried_as_it_is(client: Client) -> None:
    root = "GPT(Config(16, 50, 2, 2, 8))"
    proof = await prove(client, Edit(GPT, ASSERT.old, ASSERT.new, root=root))
    assert proof.verdict == "proven"
    assert proof.reason.endswith("inputs")


async def test_twins_have_widths_that_heads_and_groups_divide(client: Client) -> None:
    """Otherwise they could be traced, but not be run. An inner constructor's defaults are made smaller as well."""
    proof = await prove(client, Edit(PATCHES, "assert x.shape[-1] % 2 == 0", "torch._assert(x.shape[-1] % 2 == 0, '')"))
    assert proof.verdict == "proven", proof.reason
    assert "width=" in proof.reason
    assert "hidden=" in proof.reason


NUMBER_WRITTEN_TWICE = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, code=120, classes=1000, width=4096):
        super().__init__()
        self.embedding = nn.Linear(classes, 128, bias=False)
        self.first = nn.Linear(20, width)
        self.parts = nn.ModuleList(nn.Linear(code + 28, width) for _ in range(5))
        self.last = nn.Linear(width, 8)

    def forward(self, x, kind):
        assert x.shape[1] % 2 == 0
        kind = self.embedding(kind)
        codes = torch.chunk(x, 6, 1)
        y = self.first(codes[0])
        for at, part in enumerate(self.parts):
            y = y + part(torch.cat([codes[at + 1], kind], 1)).relu()
        return self.last(y)
"""


async def test_a_number_that_the_program_has_written_twice_is_not_replaced(client: Client) -> None:
    """With another ``code``, the twin could be traced, but nothing could be concatenated to what it splits."""
    edit = Edit(NUMBER_WRITTEN_TWICE, "assert x.shape[1] % 2 == 0", "torch._assert(x.shape[1] % 2 == 0, '')")
    proof = await prove(client, edit)
    assert proof.verdict == "proven", proof.reason
    assert "width=" in proof.reason
    assert "code=" not in proof.reason
