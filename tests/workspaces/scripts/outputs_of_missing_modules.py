"""What is done with the output of a missing module may work; what is done with the program's own values does not."""
# LoopsOverFeatures: unchecked
# LoopsOverItems: unchecked
# LoopsOverValues: unchecked
# AsksForSizeOfView: failed control-flow
# AsksForShape: unchecked
# LoopsOverInput: failed iteration
# FailsBesides: failed control-flow
# Concatenates: traced on a condition
# import: missing-package

import torch
from torch import nn
from backbones_that_are_missing import FeaturePyramid


class Concatenates(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.backbone = FeaturePyramid(width)
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(torch.cat([self.backbone(x), x]))


class LoopsOverFeatures(Concatenates):
    def forward(self, x):
        return [self.head(feature) for feature in self.backbone(x)]


class LoopsOverItems(Concatenates):
    def forward(self, x):
        return {name: self.head(feature) for name, feature in self.backbone(x).items()}


class LoopsOverValues(Concatenates):
    def forward(self, x):
        return [self.head(feature) for feature in self.backbone(x).values()]


class AsksForSizeOfView(Concatenates):
    def forward(self, x):
        if self.backbone(x).view(-1).size(0) > 1:
            return x
        return self.head(x)


class AsksForShape(Concatenates):
    def forward(self, x):
        if self.backbone(x).shape[0] > 1:
            return x
        return self.head(x)


class LoopsOverInput(Concatenates):
    def forward(self, x):
        return [self.head(self.backbone(row)) for row in x]


class FailsBesides(Concatenates):
    def forward(self, x):
        y = self.backbone(x)
        return y if x.sum() > 0 else self.head(x)
