"""The framework is not installed; the network inside needs none."""
# Net: traced
# Regressor: traced on a condition
# Distillation: failed exception
# Pooled: unchecked
# Activated: unchecked
# import: missing-package

import lightning_that_is_missing as pl
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x)


class Regressor(pl.LightningModule):
    def __init__(self, rate=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.net = Net()

    def forward(self, x):
        return self.net(x)

    def training_step(self, batch, index):
        x, y = batch
        return nn.functional.mse_loss(self(x), y)


class Distillation(pl.Loss):
    def __init__(self):
        super().__init__()
        self.distance = nn.MSELoss()

    def forward(self, outputs, x):
        assert isinstance(outputs, list), "one output for each student"
        return sum(self.distance(output, x) for output in outputs)


class Pooled(pl.Loss):
    def forward(self, x):
        parts = pl.split_heads(x)
        assert isinstance(parts, tuple), "several heads"
        return parts[0]


class Activated(nn.Module):
    def __init__(self):
        super().__init__()
        self.activation = pl.activations.Gated()

    def forward(self, x):
        parts = self.activation(x)
        assert isinstance(parts, (list, tuple)), "a value and a gate"
        return parts[0]


if __name__ == "__main__":
    pl.Trainer(max_epochs=3).fit(Regressor())
