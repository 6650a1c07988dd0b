from torch import nn


class Mobile(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        if x.dim() != 4:
            raise ValueError("a batch of images, please")
        if x.max() > 1:  # expect: export data-dependent-guard error
            x = x / 255
        return self.conv(x)
