import logging

import torch
from torch import nn

log = logging.getLogger("monitor")


class MonitoredMlp(nn.Module):
    def __init__(self, dim=6, depth=3):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.stats = {}

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = torch.relu(layer(x))
            dead = (x == 0).all(dim=0).float().mean()
            self.stats[f"layer{i}/dead"] = dead.item()
            if dead > 0.5:
                log.warning("layer %d: %.0f%% of units are dead", i, 100 * dead)
            if not torch.isfinite(x).all():
                raise FloatingPointError(f"layer {i} overflowed")
        return x


model = MonitoredMlp()

if __name__ == "__main__":
    torch.export.export(model, (torch.randn(4, 6),))
    torch.compile(model, fullgraph=True)(torch.randn(4, 6))
