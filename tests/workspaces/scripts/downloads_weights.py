"""Downloads weights with a package that is missing; with the package, the download would be refused."""
# Perceptual: traced
# import: missing-package

import os

import torch
from torch import nn

import gdown


def get_ckpt_path(name, root="checkpoints"):
    path = os.path.join(root, name)
    if not os.path.exists(path):
        size = gdown.download("https://example.org/" + name, path, quiet=True)
        print("downloaded", len(size))
    return path


class Perceptual(nn.Module):
    def __init__(self, name="vgg.pth"):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.load_state_dict(torch.load(get_ckpt_path(name), map_location="cpu"), strict=False)

    def forward(self, x):
        return self.layer(x)
