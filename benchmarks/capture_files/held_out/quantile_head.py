import torch
from torch import nn


class QuantileHead(nn.Module):
    def __init__(self, dim=6, quantiles=(0.1, 0.5, 0.9)):
        super().__init__()
        self.linear = nn.Linear(dim, len(quantiles))
        self.register_buffer("quantiles", torch.tensor(quantiles))
        self.crossings = 0

    def forward(self, x, target):
        pred = self.linear(x)
        crossed = (pred[:, 1:] < pred[:, :-1]).any()
        if crossed:
            self.crossings += 1
            pred = pred.sort(dim=-1).values
        error = target[:, None] - pred
        loss = torch.maximum(self.quantiles * error, (self.quantiles - 1) * error).mean()
        if loss.item() > 10.0:
            print(f"large quantile loss: {loss.item():.3f}")
        return pred, loss


model = QuantileHead()

if __name__ == "__main__":
    torch.export.export(model, (torch.randn(5, 6), torch.randn(5)))
    torch.compile(model, fullgraph=True)(torch.randn(5, 6), torch.randn(5))
