"""The U-Net of a latent diffusion model, which attends to a context such as an encoded text."""

import math

import torch
from torch import nn
from torch.nn import functional as F


def timestep_embedding(timesteps, dim, max_period=10000):
    half = dim // 2
    freqs = torch.exp(-math.log(max_period) * torch.arange(half, dtype=torch.float32) / half).to(timesteps.device)
    args = timesteps[:, None].float() * freqs[None]
    return torch.cat([torch.cos(args), torch.sin(args)], dim=-1)


class Downsample(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.channels = channels
        self.op = nn.Conv2d(channels, channels, 3, stride=2, padding=1)

    def forward(self, x):
        assert x.shape[1] == self.channels
        return self.op(x)


class Upsample(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.channels = channels
        self.conv = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        assert x.shape[1] == self.channels
        return self.conv(F.interpolate(x, scale_factor=2, mode="nearest"))


class ResBlock(nn.Module):
    def __init__(self, channels, emb_channels, out_channels, dropout=0.0):
        super().__init__()
        self.in_layers = nn.Sequential(
            nn.GroupNorm(32, channels), nn.SiLU(), nn.Conv2d(channels, out_channels, 3, padding=1)
        )
        self.emb_layers = nn.Sequential(nn.SiLU(), nn.Linear(emb_channels, out_channels))
        self.out_layers = nn.Sequential(
            nn.GroupNorm(32, out_channels),
            nn.SiLU(),
            nn.Dropout(dropout),
            nn.Conv2d(out_channels, out_channels, 3, padding=1),
        )
        self.skip = nn.Identity() if channels == out_channels else nn.Conv2d(channels, out_channels, 1)

    def forward(self, x, emb):
        h = self.in_layers(x)
        emb_out = self.emb_layers(emb)
        while len(emb_out.shape) < len(h.shape):
            emb_out = emb_out[..., None]
        return self.skip(x) + self.out_layers(h + emb_out)


class CrossAttention(nn.Module):
    def __init__(self, query_dim, context_dim=None, heads=8, dim_head=64):
        super().__init__()
        inner = heads * dim_head
        context_dim = query_dim if context_dim is None else context_dim
        self.heads = heads
        self.scale = dim_head**-0.5
        self.to_q = nn.Linear(query_dim, inner, bias=False)
        self.to_k = nn.Linear(context_dim, inner, bias=False)
        self.to_v = nn.Linear(context_dim, inner, bias=False)
        self.to_out = nn.Linear(inner, query_dim)

    def forward(self, x, context=None):
        context = x if context is None else context
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in (self.to_q(x), self.to_k(context), self.to_v(context))
        )
        weights = (q @ k.transpose(-2, -1) * self.scale).softmax(dim=-1)
        return self.to_out((weights @ v).transpose(1, 2).flatten(2))


class SpatialTransformer(nn.Module):
    def __init__(self, channels, heads, dim_head, context_dim):
        super().__init__()
        self.norm = nn.GroupNorm(32, channels)
        self.proj_in = nn.Conv2d(channels, channels, 1)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(channels) for _ in range(3))
        self.attn1 = CrossAttention(channels, None, heads, dim_head)
        self.attn2 = CrossAttention(channels, context_dim, heads, dim_head)
        self.ff = nn.Sequential(nn.Linear(channels, 4 * channels), nn.GELU(), nn.Linear(4 * channels, channels))
        self.proj_out = nn.Conv2d(channels, channels, 1)

    def forward(self, x, context=None):
        b, c, h, w = x.shape
        y = self.proj_in(self.norm(x)).flatten(2).transpose(1, 2)
        y = y + self.attn1(self.norm1(y))
        y = y + self.attn2(self.norm2(y), context)
        y = y + self.ff(self.norm3(y))
        return x + self.proj_out(y.transpose(1, 2).reshape(b, c, h, w))


class Stage(nn.Sequential):
    def forward(self, x, emb, context=None):
        for layer in self:
            if isinstance(layer, ResBlock):
                x = layer(x, emb)
            elif isinstance(layer, SpatialTransformer):
                x = layer(x, context)
            else:
                x = layer(x)
        return x


class LatentUNet(nn.Module):
    def __init__(
        self,
        in_channels=4,
        out_channels=4,
        model_channels=320,
        num_res_blocks=2,
        attention_resolutions=(4, 2, 1),
        channel_mult=(1, 2, 4, 4),
        num_heads=8,
        context_dim=768,
        num_classes=None,
    ):
        super().__init__()
        self.model_channels = model_channels
        self.num_classes = num_classes
        emb_dim = model_channels * 4
        self.time_embed = nn.Sequential(nn.Linear(model_channels, emb_dim), nn.SiLU(), nn.Linear(emb_dim, emb_dim))
        if num_classes is not None:
            self.label_emb = nn.Embedding(num_classes, emb_dim)

        def attention(channels):
            return SpatialTransformer(channels, num_heads, channels // num_heads, context_dim)

        self.input_blocks = nn.ModuleList([Stage(nn.Conv2d(in_channels, model_channels, 3, padding=1))])
        widths, ch, ds = [model_channels], model_channels, 1
        for level, mult in enumerate(channel_mult):
            for _ in range(num_res_blocks):
                layers = [ResBlock(ch, emb_dim, mult * model_channels)]
                ch = mult * model_channels
                if ds in attention_resolutions:
                    layers.append(attention(ch))
                self.input_blocks.append(Stage(*layers))
                widths.append(ch)
            if level != len(channel_mult) - 1:
                self.input_blocks.append(Stage(Downsample(ch)))
                widths.append(ch)
                ds *= 2
        self.middle_block = Stage(ResBlock(ch, emb_dim, ch), attention(ch), ResBlock(ch, emb_dim, ch))
        self.output_blocks = nn.ModuleList()
        for level, mult in reversed(list(enumerate(channel_mult))):
            for i in range(num_res_blocks + 1):
                layers = [ResBlock(ch + widths.pop(), emb_dim, mult * model_channels)]
                ch = mult * model_channels
                if ds in attention_resolutions:
                    layers.append(attention(ch))
                if level and i == num_res_blocks:
                    layers.append(Upsample(ch))
                    ds //= 2
                self.output_blocks.append(Stage(*layers))
        self.out = nn.Sequential(nn.GroupNorm(32, ch), nn.SiLU(), nn.Conv2d(ch, out_channels, 3, padding=1))

    def forward(self, x, timesteps=None, context=None, y=None):
        """
        :param x: an [N x C x H x W] tensor of latent images.
        :param timesteps: a 1-D batch of time steps.
        :param context: an [N x L x context_dim] tensor to attend to.
        :param y: an [N] tensor of labels, if the model is conditional on classes.
        :return: an [N x C x H x W] tensor.
        """
        assert (y is not None) == (self.num_classes is not None)
        emb = self.time_embed(timestep_embedding(timesteps, self.model_channels))
        if self.num_classes is not None:
            assert y.shape == (x.shape[0],)
            emb = emb + self.label_emb(y)
        hs, h = [], x
        for module in self.input_blocks:
            h = module(h, emb, context)
            hs.append(h)
        h = self.middle_block(h, emb, context)
        for module in self.output_blocks:
            h = module(torch.cat([h, hs.pop()], dim=1), emb, context)
        return self.out(h)
