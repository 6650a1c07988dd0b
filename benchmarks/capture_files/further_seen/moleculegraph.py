"""Message passing over molecules, with neighbour lists from scipy and a readout per molecule."""

import torch
import torch.nn.functional as F
from scipy.spatial import cKDTree
from torch import nn


def radius_graph(positions, batch, cutoff):
    """Pairs (source, target) of atoms of one molecule closer than cutoff."""
    points = positions.detach().cpu().numpy()
    pairs = cKDTree(points).query_pairs(cutoff, output_type="ndarray")
    edges = torch.from_numpy(pairs).long().t()
    edges = torch.cat((edges, edges.flip(0)), dim=1)
    same = batch[edges[0]] == batch[edges[1]]
    return edges[:, same]


def scatter_mean(values, index, size):
    total = values.new_zeros(size, values.size(-1)).index_add_(0, index, values)
    count = torch.bincount(index, minlength=size).clamp(min=1)
    return total / count.unsqueeze(-1)


class RadialBasis(nn.Module):
    def __init__(self, cutoff, count):
        super().__init__()
        self.register_buffer("centres", torch.linspace(0, cutoff, count))
        self.gamma = count / cutoff
        self.cutoff = cutoff

    def forward(self, distance):
        smooth = 0.5 * (torch.cos(distance * torch.pi / self.cutoff) + 1)
        return torch.exp(-self.gamma * (distance.unsqueeze(-1) - self.centres) ** 2) * smooth.unsqueeze(-1)


class Interaction(nn.Module):
    def __init__(self, width, basis):
        super().__init__()
        self.filter = nn.Sequential(nn.Linear(basis, width), nn.SiLU(), nn.Linear(width, width))
        self.update = nn.GRUCell(width, width)

    def forward(self, x, edges, basis):
        source, target = edges
        messages = x[source] * self.filter(basis)
        gathered = torch.zeros_like(x).scatter_add_(0, target.unsqueeze(-1).expand_as(messages), messages)
        return self.update(gathered, x)


class MoleculeNet(nn.Module):
    def __init__(self, elements=10, width=8, depth=2, cutoff=2.5, basis=6, verbose=False):
        super().__init__()
        self.embed = nn.Embedding(elements, width)
        self.basis = RadialBasis(cutoff, basis)
        self.blocks = nn.ModuleList([Interaction(width, basis) for _ in range(depth)])
        self.energy = nn.Linear(width, 1)
        self.charge = nn.Linear(width, 1)
        self.cutoff = cutoff
        self.verbose = verbose

    def forward(self, numbers, positions, batch):
        assert numbers.shape[0] == positions.shape[0] == batch.shape[0]
        edges = radius_graph(positions, batch, self.cutoff)
        if edges.numel() == 0:
            raise RuntimeError("no atoms within the cutoff of each other")
        if self.verbose:
            print("edges:", edges.shape[1])
        distance = (positions[edges[0]] - positions[edges[1]]).norm(dim=-1)
        basis = self.basis(distance)
        x = self.embed(numbers)
        for block in self.blocks:
            x = x + F.dropout(block(x, edges, basis), 0.1, self.training)
        molecules = int(batch.max()) + 1
        charges = self.charge(x).squeeze(-1)
        energies, dipoles = [], []
        for m in range(molecules):
            mine = batch == m
            charge = charges[mine] - charges[mine].mean()
            dipoles.append((charge.unsqueeze(-1) * positions[mine]).sum(0))
            energies.append(self.energy(x[mine]).sum())
        summary = scatter_mean(x, batch, molecules)
        return {"energy": torch.stack(energies), "dipole": torch.stack(dipoles), "embedding": summary}


model = MoleculeNet().eval()

if __name__ == "__main__":
    torch.export.export(
        model,
        (
            torch.tensor([6, 1, 1, 8, 1, 1]),
            torch.linspace(0, 5, 18).sin().reshape(6, 3),
            torch.tensor([0, 0, 0, 1, 1, 1]),
        ),
    )
    torch.compile(model, fullgraph=True)(
        torch.tensor([6, 1, 1, 8, 1, 1]),
        torch.linspace(0, 5, 18).sin().reshape(6, 3),
        torch.tensor([0, 0, 0, 1, 1, 1]),
    )
