"""Two networks, initialised and trained at the top level."""
# generator: traced
# discriminator: failed control-flow
# import: definitions-only

import random

import torch
from torch import nn

random.seed(999)
torch.manual_seed(999)
latent, ngpu = 16, 1
device = torch.device("cuda:0" if torch.cuda.is_available() and ngpu > 0 else "cpu")


def initialise(module):
    name = module.__class__.__name__
    if name.find("Conv") != -1:
        nn.init.normal_(module.weight.data, 0.0, 0.02)


class Generator(nn.Module):
    def __init__(self, ngpu):
        super().__init__()
        self.main = nn.Sequential(nn.ConvTranspose2d(latent, 8, 4), nn.BatchNorm2d(8), nn.ReLU(True), nn.Tanh())

    def forward(self, x):
        return self.main(x)


class Discriminator(nn.Module):
    def __init__(self, ngpu):
        super().__init__()
        self.main = nn.Sequential(nn.Conv2d(3, 8, 4), nn.LeakyReLU(0.2, inplace=True), nn.Conv2d(8, 1, 4))

    def forward(self, x):
        if x.size(1) == 3:
            x = self.main(x)
        return x.view(-1, 1).squeeze(1)


generator = Generator(ngpu).to(device)
generator.apply(initialise)
discriminator = Discriminator(ngpu).to(device)
discriminator.apply(initialise)
optimizer = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
for epoch in range(5):
    for step in range(1000):
        real = torch.rand(4, 3, 16, 16, device=device)
        discriminator.zero_grad()
        nn.functional.binary_cross_entropy(discriminator(real), torch.ones(4)).backward()
        optimizer.step()
