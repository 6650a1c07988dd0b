from torch import nn


class Gate(nn.Module):
    def forward(self, x):
        if x.sum() > 0:  # expect: export data-dependent-guard error
            return x
        return -x


class Long(nn.Module):
    def forward(self, x):
        return x / len(x.shape)
