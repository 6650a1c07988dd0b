"""Settings come by a decorator of a package that is not installed."""
# Head: traced
# Gate: failed control-flow
# import: missing-package

import hydra_that_is_missing as hydra
from torch import nn


class Head(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.norm = nn.LayerNorm(cfg.model.width)
        self.layers = nn.ModuleList(nn.Linear(cfg.model.width, cfg.model.width) for _ in range(cfg.model.depth))

    def forward(self, x):
        for layer in self.layers:
            x = layer(self.norm(x))
        return x


class Gate(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.limit = cfg.gate.limit

    def forward(self, x):
        if x.sum() > self.limit:
            return x
        return -x


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    Head(cfg)(Gate(cfg)(cfg.data))


if __name__ == "__main__":
    main()
