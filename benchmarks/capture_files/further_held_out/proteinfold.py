"""A small structure module: recycling until the coordinates settle, Kabsch alignment and clash checks."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import nn

RESIDUES = "ACDEFGHIKLMNPQRSTVWY"


@dataclass
class Structure:
    coordinates: torch.Tensor
    confidence: torch.Tensor
    cycles: int = 0


def kabsch(moving, fixed, mask):
    a = moving[mask] - moving[mask].mean(0)
    b = fixed[mask] - fixed[mask].mean(0)
    u, _, vt = torch.linalg.svd(a.t() @ b)
    sign = torch.sign(torch.det(u @ vt))
    if sign < 0:
        vt = torch.cat((vt[:2], -vt[2:]))
    return (moving - moving[mask].mean(0)) @ (u @ vt) + fixed[mask].mean(0)


class PairUpdate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.left, self.right, self.out = (nn.Linear(width, width) for _ in range(3))
        self.norm = nn.LayerNorm(width)

    def forward(self, pair):
        x = self.norm(pair)
        return pair + self.out(torch.einsum("bikc,bjkc->bijc", self.left(x).sigmoid(), self.right(x)))


class Trunk(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.ModuleList(PairUpdate(width) for _ in range(depth))

    def forward(self, single, pair):
        for block in self.blocks:
            if self.training and np.random.rand() < 0.1:
                continue
            pair = block(pair)
        return single + pair.mean(2), pair


class FoldingModel(nn.Module):
    def __init__(self, width=6, depth=2, recycles=3, tolerance=0.05):
        super().__init__()
        self.embed = nn.Embedding(len(RESIDUES) + 1, width, padding_idx=len(RESIDUES))
        self.relative = nn.Embedding(9, width)
        self.distance = nn.Linear(1, width)
        self.trunk = Trunk(width, depth)
        self.move = nn.Linear(width, 3)
        self.plddt = nn.Linear(width, 1)
        self.recycles, self.tolerance = recycles, tolerance

    def encode(self, sequences):
        longest = max(map(len, sequences))
        rows = [[RESIDUES.find(r) % 21 for r in s] + [20] * (longest - len(s)) for s in sequences]
        tokens = torch.as_tensor(rows)
        return tokens, tokens.ne(20)

    def pair_features(self, tokens):
        x = self.embed(tokens)
        positions = torch.arange(tokens.shape[1])
        offset = (positions[:, None] - positions[None]).clamp(-4, 4) + 4
        return x, x[:, :, None] + x[:, None] + self.relative(offset)

    def clashes(self, structure, mask):
        d = torch.cdist(structure.coordinates, structure.coordinates)
        near = (d < 0.02) & mask[:, :, None] & mask[:, None]
        return torch.nonzero(near.triu(1))

    def refine(self, structure, single, pair):
        d = torch.cdist(structure.coordinates, structure.coordinates).unsqueeze(-1)
        single, pair = self.trunk(single, pair + self.distance(d))
        moved = structure.coordinates + torch.tanh(self.move(single))
        return replace(structure, coordinates=moved, confidence=self.plddt(single).squeeze(-1).sigmoid(),
                       cycles=structure.cycles + 1)

    def forward(self, sequences, template):
        tokens, mask = self.encode(sequences)
        single, pair = self.pair_features(tokens)
        structure = Structure(template[:, : tokens.shape[1]].clone(), torch.zeros(tokens.shape))
        while structure.cycles < self.recycles:
            previous = structure.coordinates
            with torch.set_grad_enabled(structure.cycles == self.recycles - 1):
                structure = self.refine(structure, single, pair)
            shift = (structure.coordinates - previous)[mask].norm(dim=-1).mean()
            if shift.item() < self.tolerance:
                break
        aligned = [kabsch(c, t[: len(c)], m) for c, t, m in zip(structure.coordinates, template, mask)]
        clashes = self.clashes(structure, mask)
        if len(clashes) > 4:
            structure.confidence[clashes[:, 0], clashes[:, 1]] *= 0.5
        return torch.stack(aligned), structure.confidence, len(clashes)


model = FoldingModel().eval()

if __name__ == "__main__":
    torch.export.export(model, (["ACDKW", "GHI"], torch.linspace(0, 30, 36).sin().reshape(2, 6, 3)))
    torch.compile(model, fullgraph=True)(["ACDKW", "GHI"], torch.linspace(0, 30, 36).sin().reshape(2, 6, 3))
