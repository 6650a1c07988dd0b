"""A diffusion transformer of XL size: it predicts the noise in latent images of a class."""

import math

import torch
from torch import nn


def modulate(x, shift, scale):
    return x * (1 + scale.unsqueeze(1)) + shift.unsqueeze(1)


class TimestepEmbedder(nn.Module):
    def __init__(self, hidden_size, frequencies=256):
        super().__init__()
        self.mlp = nn.Sequential(
            nn.Linear(frequencies, hidden_size), nn.SiLU(), nn.Linear(hidden_size, hidden_size)
        )
        self.frequencies = frequencies

    @staticmethod
    def waves(t, dim, max_period=10000):
        half = dim // 2
        steps = torch.arange(half, dtype=torch.float32, device=t.device)
        angles = t[:, None].float() * torch.exp(-math.log(max_period) * steps / half)[None]
        return torch.cat([torch.cos(angles), torch.sin(angles)], dim=-1)

    def forward(self, t):
        return self.mlp(self.waves(t, self.frequencies))


class LabelEmbedder(nn.Module):
    def __init__(self, num_classes, hidden_size, dropout_prob):
        super().__init__()
        self.table = nn.Embedding(num_classes + 1, hidden_size)
        self.num_classes = num_classes
        self.dropout_prob = dropout_prob

    def drop(self, labels):
        dropped = torch.rand(labels.shape[0], device=labels.device) < self.dropout_prob
        return torch.where(dropped, self.num_classes, labels)

    def forward(self, labels):
        if self.training and self.dropout_prob > 0:
            labels = self.drop(labels)
        return self.table(labels)


class Attention(nn.Module):
    def __init__(self, dim, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.qkv = nn.Linear(dim, dim * 3)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        batch, length, dim = x.shape
        qkv = self.qkv(x).reshape(batch, length, 3, self.num_heads, dim // self.num_heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        weights = (q @ k.transpose(-2, -1) * (dim // self.num_heads) ** -0.5).softmax(dim=-1)
        return self.proj((weights @ v).transpose(1, 2).reshape(batch, length, dim))


class DiffusionBlock(nn.Module):
    def __init__(self, hidden_size, num_heads, mlp_ratio=4.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(hidden_size, elementwise_affine=False, eps=1e-6)
        self.attn = Attention(hidden_size, num_heads)
        self.norm2 = nn.LayerNorm(hidden_size, elementwise_affine=False, eps=1e-6)
        wide = int(hidden_size * mlp_ratio)
        self.mlp = nn.Sequential(nn.Linear(hidden_size, wide), nn.GELU(approximate="tanh"), nn.Linear(wide, hidden_size))
        self.modulation = nn.Sequential(nn.SiLU(), nn.Linear(hidden_size, 6 * hidden_size))

    def forward(self, x, c):
        shift_a, scale_a, gate_a, shift_m, scale_m, gate_m = self.modulation(c).chunk(6, dim=1)
        x = x + gate_a.unsqueeze(1) * self.attn(modulate(self.norm1(x), shift_a, scale_a))
        return x + gate_m.unsqueeze(1) * self.mlp(modulate(self.norm2(x), shift_m, scale_m))


class PatchEmbed(nn.Module):
    def __init__(self, img_size, patch_size, in_chans, embed_dim):
        super().__init__()
        self.img_size = img_size
        self.num_patches = (img_size // patch_size) ** 2
        self.proj = nn.Conv2d(in_chans, embed_dim, kernel_size=patch_size, stride=patch_size)

    def forward(self, x):
        assert x.shape[-2] == self.img_size, f"the height {x.shape[-2]} is not {self.img_size}"
        return self.proj(x).flatten(2).transpose(1, 2)


class DiffusionTransformer(nn.Module):
    def __init__(
        self,
        input_size=32,
        patch_size=2,
        in_channels=4,
        hidden_size=1152,
        depth=28,
        num_heads=16,
        mlp_ratio=4.0,
        class_dropout_prob=0.1,
        num_classes=1000,
        learn_sigma=True,
    ):
        super().__init__()
        self.out_channels = in_channels * 2 if learn_sigma else in_channels
        self.patch_size = patch_size
        self.x_embedder = PatchEmbed(input_size, patch_size, in_channels, hidden_size)
        self.t_embedder = TimestepEmbedder(hidden_size)
        self.y_embedder = LabelEmbedder(num_classes, hidden_size, class_dropout_prob)
        self.pos_embed = nn.Parameter(torch.zeros(1, self.x_embedder.num_patches, hidden_size))
        self.blocks = nn.ModuleList([DiffusionBlock(hidden_size, num_heads, mlp_ratio) for _ in range(depth)])
        self.norm = nn.LayerNorm(hidden_size, elementwise_affine=False, eps=1e-6)
        self.linear = nn.Linear(hidden_size, patch_size * patch_size * self.out_channels)
        nn.init.normal_(self.pos_embed, std=0.02)

    def unpatchify(self, x):
        c, p = self.out_channels, self.patch_size
        h = w = int(x.shape[1] ** 0.5)
        assert h * w == x.shape[1]
        x = x.reshape(x.shape[0], h, w, p, p, c)
        return torch.einsum("nhwpqc->nchpwq", x).reshape(x.shape[0], c, h * p, h * p)

    def forward(self, x, t, y):
        """
        x: (N, C, H, W) latent images
        t: (N,) time steps
        y: (N,) class labels
        """
        x = self.x_embedder(x) + self.pos_embed
        c = self.t_embedder(t) + self.y_embedder(y)
        for block in self.blocks:
            x = block(x, c)
        return self.unpatchify(self.linear(self.norm(x)))


def diffusion_transformer_xl_2(**kwargs):
    return DiffusionTransformer(depth=28, hidden_size=1152, patch_size=2, num_heads=16, **kwargs)
