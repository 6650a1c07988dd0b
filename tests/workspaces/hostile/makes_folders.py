"""Makes folders all over the place."""

# expect denied: writing to

from pathlib import Path

import torch

CANARY = Path(__file__).parents[1] / "canary"
(CANARY / "more").mkdir()


class Net(torch.nn.Module):
    def forward(self, x):
        return x.relu()
