"""Trains as soon as it is imported."""
# net: traced
# loss: skipped
# import: definitions-only

import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(10_000_000):
    optimizer.zero_grad()
    loss = net(torch.rand(4, 3)).square().mean()
    loss.backward()
    optimizer.step()
    print(epoch, loss.item())
torch.save(net.state_dict(), "net.pt")
