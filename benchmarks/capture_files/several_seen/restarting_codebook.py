"""Vector quantization whose unused codes start again at samples of the batch."""

import logging

import torch
from torch import nn

logger = logging.getLogger(__name__)


class RestartingCodebook(nn.Module):
    def __init__(self, codes=5, width=4, every=2):
        super().__init__()
        self.register_buffer("codes", torch.linspace(-1, 1, codes * width).reshape(codes, width))
        self.register_buffer("usage", torch.zeros(codes))
        self.register_buffer("steps", torch.zeros((), dtype=torch.long))
        self.every = every

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        if self.steps.item() == 0:
            self.usage.zero_()
        self.steps.add_(1)
        distances = torch.cdist(flat, self.codes)
        index = distances.argmin(-1)
        counts = torch.bincount(index, minlength=self.codes.shape[0])
        self.usage.add_(counts)
        dead = self.usage < 1
        if dead.any():
            number = int(dead.sum())
            logger.info("%d codes are unused", number)
            picked = torch.randperm(flat.shape[0])[:number]
            if picked.shape[0] == number:
                self.codes[dead] = flat[picked].detach()
        for code, count in enumerate(counts):
            if count > 3:
                self.usage[code] = 0
        quantized = self.codes[index].view_as(x)
        perplexity = torch.exp(-(counts / counts.sum() * (counts / counts.sum() + 1e-9).log()).sum())
        return quantized, float(perplexity)


model = RestartingCodebook()

if __name__ == "__main__":
    torch.export.export(model, (torch.linspace(-1, 1, 24).reshape(2, 3, 4),))
    torch.compile(model, fullgraph=True)(torch.linspace(-1, 1, 24).reshape(2, 3, 4))
