"""Modules of Lightning, which is not installed, read what their constructors were given from ``self.hparams``."""
# Saves: traced on a condition
# Chosen: traced on a condition
# Inherits: traced on a condition
# Whole: traced on a condition
# Ignores: unchecked
# Branches: failed control-flow
# import: missing-package

from argparse import Namespace

import pytorch_lightning as pl
import torch
from torch import nn


class Saves(pl.LightningModule):
    def __init__(self, width=8, rate=1e-3, **kwargs):
        super().__init__()
        self.save_hyperparameters(logger=False)
        self.layer = nn.Linear(3, self.hparams.width)

    def forward(self, x):
        return self.layer(x)

    def training_step(self, batch, index):
        loss = self(batch).mean()
        self.log("loss", loss)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.hparams.rate)


class Chosen(pl.core.LightningModule):
    def __init__(self, width=8, classes=2, net=None):
        super().__init__()
        self.save_hyperparameters("width", "classes")
        assert "net" not in self.hparams
        self.layer = nn.Linear(self.hparams["width"], self.hparams.classes)

    def forward(self, x):
        return self.layer(x)


class Inherits(Saves):
    def __init__(self, classes=2):
        super().__init__(width=4, extra=3)
        self.head = nn.Linear(self.hparams.width + self.hparams.extra - 3, self.hparams.classes)

    def forward(self, x):
        return self.head(super().forward(x))


class Whole(pl.LightningModule):
    def __init__(self, options=Namespace(width=4)):
        super().__init__()
        self.save_hyperparameters(options)
        self.layer = nn.Linear(3, self.hparams.width)

    def forward(self, x):
        return self.layer(x)


class Ignores(pl.LightningModule):
    """What is ignored is no hyperparameter, but its base might add it."""

    def __init__(self, width=4, classes=2):
        super().__init__()
        self.save_hyperparameters(ignore=["classes"])
        self.layer = nn.Linear(self.hparams.width, self.hparams.classes)

    def forward(self, x):
        return self.layer(x)


class Branches(Saves):
    def forward(self, x):
        return self.layer(x) if x.sum() > self.hparams.rate else x
