from torch import nn


class Segmenter(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3)

    def forward(self, x):
        if x.shape[1] != 3:
            raise ValueError("three channels, please")
        x = self.conv(x)
        return x.view(2, -1)  # expect: export specialized-dimension information
