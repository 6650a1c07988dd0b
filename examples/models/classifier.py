"""An image classifier that traces as it is."""

import torch
from torch import Tensor, nn


class ResidualBlock(nn.Module):
    """Two convolutions with a skip connection."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, kernel_size=3, padding=1)
        self.second = nn.Conv2d(channels, channels, kernel_size=3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.second(torch.relu(self.first(x))))


class Classifier(nn.Module):
    """Images (batch, 3, height, width) to scores (batch, classes)."""

    def __init__(self, classes: int = 10, width: int = 16, depth: int = 2, dropout: float = 0.0) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3)
        self.blocks = nn.Sequential(*(ResidualBlock(width) for _ in range(depth)))
        self.dropout = nn.Dropout(dropout) if dropout else None
        self.head = nn.Linear(width, classes)

    def forward(self, images: Tensor) -> Tensor:
        features = self.blocks(torch.relu(self.stem(images)))
        pooled = features.mean(dim=(2, 3))
        # This branch is decided when the model is built, so tracing can follow it.
        if self.dropout is not None:
            pooled = self.dropout(pooled)
        return self.head(pooled)


classifier = Classifier(classes=100, depth=3)
