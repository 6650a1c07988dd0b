"""A speech encoder-decoder of the size that is called medium; the decoder keeps keys and values in a cache."""

from dataclasses import dataclass
from typing import Dict, Optional

import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass
class SpeechDimensions:
    n_mels: int = 80
    n_audio_ctx: int = 1500
    n_audio_state: int = 1024
    n_audio_head: int = 16
    n_audio_layer: int = 24
    n_vocab: int = 51865
    n_text_ctx: int = 448
    n_text_state: int = 1024
    n_text_head: int = 16
    n_text_layer: int = 24


def sinusoids(length, channels, max_timescale=10000):
    assert channels % 2 == 0
    step = torch.log(torch.tensor(float(max_timescale))) / (channels // 2 - 1)
    scales = torch.exp(-step * torch.arange(channels // 2))
    times = torch.arange(length)[:, None] * scales[None, :]
    return torch.cat([torch.sin(times), torch.cos(times)], dim=1)


class CachedAttention(nn.Module):
    def __init__(self, n_state: int, n_head: int, name: str):
        super().__init__()
        self.n_head = n_head
        self.name = name
        self.query = nn.Linear(n_state, n_state)
        self.key = nn.Linear(n_state, n_state, bias=False)
        self.value = nn.Linear(n_state, n_state)
        self.out = nn.Linear(n_state, n_state)

    def forward(
        self, x: Tensor, xa: Optional[Tensor] = None, mask: Optional[Tensor] = None, kv_cache: Optional[dict] = None
    ):
        q = self.query(x)
        if kv_cache is None or xa is None or self.name not in kv_cache:
            k, v = self.key(x if xa is None else xa), self.value(x if xa is None else xa)
            if kv_cache is not None:
                kv_cache[self.name] = (k, v)
        else:
            k, v = kv_cache[self.name]
        n_batch, n_ctx, n_state = q.shape
        scale = (n_state // self.n_head) ** -0.25
        q = q.view(*q.shape[:2], self.n_head, -1).permute(0, 2, 1, 3) * scale
        k = k.view(*k.shape[:2], self.n_head, -1).permute(0, 2, 3, 1) * scale
        v = v.view(*v.shape[:2], self.n_head, -1).permute(0, 2, 1, 3)
        qk = q @ k
        if mask is not None:
            qk = qk + mask[:n_ctx, :n_ctx]
        return self.out((qk.softmax(dim=-1) @ v).permute(0, 2, 1, 3).flatten(start_dim=2))


class ResidualBlock(nn.Module):
    def __init__(self, n_state: int, n_head: int, name: str, cross: bool = False):
        super().__init__()
        self.attn = CachedAttention(n_state, n_head, name + ".self")
        self.attn_ln = nn.LayerNorm(n_state)
        self.cross_attn = CachedAttention(n_state, n_head, name + ".cross") if cross else None
        self.cross_attn_ln = nn.LayerNorm(n_state) if cross else None
        self.mlp = nn.Sequential(nn.Linear(n_state, n_state * 4), nn.GELU(), nn.Linear(n_state * 4, n_state))
        self.mlp_ln = nn.LayerNorm(n_state)

    def forward(self, x, xa=None, mask=None, kv_cache=None):
        x = x + self.attn(self.attn_ln(x), mask=mask, kv_cache=kv_cache)
        if self.cross_attn is not None:
            x = x + self.cross_attn(self.cross_attn_ln(x), xa, kv_cache=kv_cache)
        return x + self.mlp(self.mlp_ln(x))


class AudioEncoder(nn.Module):
    def __init__(self, n_mels: int, n_ctx: int, n_state: int, n_head: int, n_layer: int):
        super().__init__()
        self.conv1 = nn.Conv1d(n_mels, n_state, kernel_size=3, padding=1)
        self.conv2 = nn.Conv1d(n_state, n_state, kernel_size=3, stride=2, padding=1)
        self.register_buffer("positional_embedding", sinusoids(n_ctx, n_state))
        self.blocks = nn.ModuleList([ResidualBlock(n_state, n_head, f"encoder.{i}") for i in range(n_layer)])
        self.ln_post = nn.LayerNorm(n_state)

    def forward(self, x: Tensor):
        """
        x: (batch_size, n_mels, 2 * n_ctx), the mel spectrogram
        """
        x = F.gelu(self.conv2(F.gelu(self.conv1(x)))).permute(0, 2, 1)
        assert x.shape[1:] == self.positional_embedding.shape, "the audio has another length"
        x = x + self.positional_embedding
        for block in self.blocks:
            x = block(x)
        return self.ln_post(x)


class TextDecoder(nn.Module):
    def __init__(self, n_vocab: int, n_ctx: int, n_state: int, n_head: int, n_layer: int):
        super().__init__()
        self.token_embedding = nn.Embedding(n_vocab, n_state)
        self.positional_embedding = nn.Parameter(torch.zeros(n_ctx, n_state))
        self.blocks = nn.ModuleList([ResidualBlock(n_state, n_head, f"{i}", cross=True) for i in range(n_layer)])
        self.ln = nn.LayerNorm(n_state)
        self.register_buffer("mask", torch.full((n_ctx, n_ctx), float("-inf")).triu_(1), persistent=False)

    def forward(self, x: Tensor, xa: Tensor, kv_cache: Optional[Dict[str, tuple]] = None):
        """
        x: (batch_size, <= n_ctx), the text tokens
        xa: (batch_size, n_audio_ctx, n_state), the encoded audio
        """
        offset = next(iter(kv_cache.values()))[0].shape[1] if kv_cache else 0
        x = self.token_embedding(x) + self.positional_embedding[offset : offset + x.shape[-1]]
        for block in self.blocks:
            x = block(x, xa, mask=self.mask, kv_cache=kv_cache)
        x = self.ln(x)
        return (x @ torch.transpose(self.token_embedding.weight, 0, 1)).float()


class Speech(nn.Module):
    def __init__(self, dims: SpeechDimensions):
        super().__init__()
        self.dims = dims
        self.encoder = AudioEncoder(
            dims.n_mels, dims.n_audio_ctx, dims.n_audio_state, dims.n_audio_head, dims.n_audio_layer
        )
        self.decoder = TextDecoder(
            dims.n_vocab, dims.n_text_ctx, dims.n_text_state, dims.n_text_head, dims.n_text_layer
        )

    def forward(self, mel: Tensor, tokens: Tensor):
        return self.decoder(tokens, self.encoder(mel))


def load_model():
    return Speech(SpeechDimensions())
