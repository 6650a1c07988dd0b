import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 2)

    def forward(self, x):
        if len(x) > 1:
            x = self.linear(x)
        print("x")  # expect: compile graph-break information
        return x


def train(steps=2):
    model = Net()
    model.compile()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(steps):
        loss = model(torch.randn(3, 4)).sum()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    train()
