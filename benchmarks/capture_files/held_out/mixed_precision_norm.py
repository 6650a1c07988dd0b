import torch
from torch import nn


class SafeRmsNorm(nn.Module):
    """Computes in float32; falls back where half precision would overflow."""

    def __init__(self, dim=8, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        dtype = x.dtype
        if x.is_cuda and dtype in (torch.float16, torch.bfloat16):
            x = x.float()
        limit = torch.finfo(torch.float16).max
        if x.abs().max() >= limit:
            x = x.clamp(-limit, limit)
        scale = torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        if x.device.type == "cpu" and bool((scale > 1e3).any()):
            scale = scale.clamp(max=1e3)
        return (x * scale * self.weight).to(dtype)


model = SafeRmsNorm()

if __name__ == "__main__":
    torch.export.export(model, (torch.randn(2, 3, 8),))
    torch.compile(model, fullgraph=True)(torch.randn(2, 3, 8))
