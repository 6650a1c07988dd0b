"""A layer that asks for everything, called with names for its parts."""
# Layer: traced
# Mixer: traced

from functools import partial

from torch import nn


class Layer(nn.Module):
    def __init__(
        self, in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, norm_layer, act_layer,
        drop_rate, expand_ratio,
    ):
        super().__init__()
        hidden = int(in_channels * expand_ratio)
        self.expand = nn.Conv2d(in_channels, hidden, 1, bias=bias)
        self.depthwise = nn.Conv2d(hidden, hidden, kernel_size, stride, padding, dilation, groups * hidden, bias)
        self.norm = norm_layer(hidden)
        self.act = act_layer(inplace=True)
        self.project = nn.Conv2d(hidden, out_channels, 1)
        self.drop = nn.Dropout(drop_rate)

    def forward(self, x):
        return self.drop(self.project(self.act(self.norm(self.depthwise(self.expand(x))))))


class Mixer(nn.Module):
    def __init__(self, dims, depths, mode, token_mixer, norm=partial(nn.LayerNorm, eps=1e-6)):
        super().__init__()
        if mode == "sum":
            self.scale = 1
        elif mode == "mean":
            self.scale = 1 / len(dims)
        else:
            raise ValueError(f"{mode} is not known")
        self.stages = nn.ModuleList(nn.Sequential(*[norm(dim) for _ in range(depth)]) for dim, depth in zip(dims, depths))
        self.mixer = token_mixer

    def forward(self, x):
        return self.mixer(self.stages[0](x)) * self.scale
