"""Constructors that refuse arguments which do not agree, or that hand on what their bases require."""
# Heads: traced
# Levels: traced
# Either: traced
# Base: traced
# Wider: traced
# Named: traced
# Powers: traced
# Every: traced
# WithoutHead: traced
# Joined: traced
# Stack: traced
# Dilated: traced
# Stages: traced
# Lacking: not-built

import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self, width, many):
        super().__init__()
        if width % many or many > 7:
            raise ValueError("the width is not a multiple")
        self.layer = nn.Linear(width, width // many)

    def forward(self, x):
        return self.layer(x)


class Levels(nn.Module):
    def __init__(self, kinds, width):
        super().__init__()
        assert width == 3 * 28
        self.layer = nn.Linear(width, kinds)

    def forward(self, x):
        return self.layer(x)


class Either(nn.Module):
    def __init__(self, options):
        super().__init__()
        if options.embed_type == 1:
            self.layer = nn.Linear(4, 4)
        elif options.embed_type == 2:
            self.layer = nn.Linear(4, 8)

    def forward(self, x):
        return self.layer(x)


class Base(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.layer = nn.Linear(width, depth)

    def forward(self, x):
        return self.layer(x)


class Wider(Base):
    def __init__(self, *args, **kwargs):
        if "width" in kwargs:
            kwargs["width"] *= 2
        else:
            args = (args[0] * 2, *args[1:])
        super().__init__(*args, **kwargs)


class Named(nn.Module):
    def __init__(self, **kwargs):
        super().__init__()
        self.layer = nn.Linear(kwargs["in_features"], 3)

    def forward(self, x):
        return self.layer(x)


class Powers(nn.Module):
    def __init__(self, bits):
        super().__init__()
        assert 2**bits <= 256
        self.layer = nn.Linear(2**bits, 3)

    def forward(self, x):
        return self.layer(x)


class Every(nn.Module):
    def __init__(self, widths, heads):
        super().__init__()
        assert all(width % heads == 0 for width in widths) and heads > 30
        self.layer = nn.Linear(widths[0], heads)

    def forward(self, x):
        return self.layer(x)


class Headed(nn.Module):
    def __init__(self, width=8, num_classes=10):
        super().__init__()
        self.num_classes = num_classes
        self.layer = nn.Linear(width, width)


class WithoutHead(Headed):
    def __init__(self, **options):
        super().__init__(**options)
        assert self.num_classes == 0

    def forward(self, x):
        return self.layer(x)


class Joined(nn.Sequential):
    def __init__(self, first, second):
        super().__init__(first, second)

    def forward(self, x):
        return self[1](self[0](x))


class Stack(nn.Module):
    def __init__(self, parts, device):
        super().__init__()
        self.parts = nn.ModuleList(parts)
        self.home = torch.device(device)

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


class Dilated(nn.Module):
    def __init__(self, hidden_channels, kernel_size, dilation_rate):
        super().__init__()
        self.hidden = hidden_channels
        padding = (kernel_size * dilation_rate - dilation_rate) // 2
        self.layer = nn.Conv1d(hidden_channels, hidden_channels, kernel_size, dilation=dilation_rate, padding=padding)

    def forward(self, x):
        return self.layer(x) * torch.IntTensor([self.hidden])


class Stages(nn.Module):
    def __init__(self, upsample_rates, kernel_sizes):
        super().__init__()
        self.many = len(upsample_rates)
        pairs = zip(upsample_rates, kernel_sizes)
        self.layers = nn.ModuleList([nn.ConvTranspose1d(8, 8, size, rate) for rate, size in pairs])

    def forward(self, x):
        for at in range(self.many):
            x = self.layers[at](x)
        return x


class Lacking(nn.Module):
    def __init__(self):
        super().__init__()
        self.prior = PriorBoxes()

    def forward(self, x):
        return self.prior(x)
