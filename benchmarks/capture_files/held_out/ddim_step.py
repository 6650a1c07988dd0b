import numpy as np
import torch
from torch import nn


class DdimStep(nn.Module):
    def __init__(self, dim=4, steps=50):
        super().__init__()
        betas = np.linspace(1e-4, 0.02, steps, dtype=np.float32)
        self.alphas_cumprod = torch.from_numpy(np.cumprod(1.0 - betas))
        self.eps = nn.Linear(dim, dim)
        self.clip_sample = True

    def forward(self, sample, timestep):
        t = int(timestep)
        alpha = self.alphas_cumprod[t]
        prev = self.alphas_cumprod[t - 1] if t > 0 else torch.tensor(1.0)
        eps = self.eps(sample)
        x0 = (sample - (1 - alpha).sqrt() * eps) / alpha.sqrt()
        if self.clip_sample:
            x0 = x0.clamp(-1, 1)
        return prev.sqrt() * x0 + (1 - prev).sqrt() * eps


model = DdimStep()

if __name__ == "__main__":
    torch.export.export(model, (torch.randn(2, 4), torch.tensor(20)))
    torch.compile(model, fullgraph=True)(torch.randn(2, 4), torch.tensor(20))
