"""Parts of a host that can only be traced within it, and a function of a missing package that the host calls."""
# Inner: failed control-flow
# Host: unchecked
# import: missing-package

from torch import nn
from rearranging_that_is_missing import rearrange


class Inner(nn.Module):
    def __init__(self, host):
        super().__init__()
        self.layer = nn.Linear(host.width, host.width)

    def forward(self, x, rows):
        if rows > 3:
            x = rearrange(x, "b (r c) -> b r c", r=rows)
        return self.layer(x)


class Host(nn.Module):
    def __init__(self):
        super().__init__()
        self.width = 8
        self.inner = Inner(self)

    def forward(self, x):
        return self.inner(x, 4)
