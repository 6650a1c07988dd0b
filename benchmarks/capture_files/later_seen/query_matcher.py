"""A detector with object queries: each layer's predictions are matched to the objects of an image before the loss."""

import torch
import torch.nn.functional as F
from scipy.optimize import linear_sum_assignment
from torch import nn


class QueryDecoder(nn.Module):
    def __init__(self, width, queries, depth):
        super().__init__()
        self.queries = nn.Embedding(queries, width)
        self.layers = nn.ModuleList(nn.MultiheadAttention(width, 2, batch_first=True) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, memory):
        x = self.queries.weight.unsqueeze(0).expand(memory.shape[0], -1, -1)
        for layer in self.layers:
            update, _ = layer(x, memory, memory)
            x = self.norm(x + update)
            yield x


class Matcher(nn.Module):
    def __init__(self, box_weight=2.0):
        super().__init__()
        self.box_weight = box_weight

    @torch.no_grad()
    def forward(self, logits, boxes, targets):
        pairs = []
        for scores, found, target in zip(logits.softmax(-1), boxes, targets):
            cost = self.box_weight * torch.cdist(found, target["boxes"], p=1) - scores[:, target["labels"]]
            if not torch.isfinite(cost).all():
                cost = torch.nan_to_num(cost, nan=1e3, posinf=1e3)
            rows, columns = linear_sum_assignment(cost.numpy())
            pairs.append((torch.as_tensor(rows), torch.as_tensor(columns)))
        return pairs


class QueryDetector(nn.Module):
    def __init__(self, channels=6, width=8, queries=5, classes=3, depth=2):
        super().__init__()
        self.project = nn.Conv2d(channels, width, 1)
        self.decoder = QueryDecoder(width, queries, depth)
        self.matcher = Matcher()
        self.classify = nn.Linear(width, classes + 1)
        self.locate = nn.Linear(width, 4)
        self.nothing = classes

    def losses(self, logits, boxes, targets, objects):
        wanted = torch.full(logits.shape[:2], self.nothing)
        distances = []
        for image, (rows, columns) in enumerate(self.matcher(logits, boxes, targets)):
            wanted[image, rows] = targets[image]["labels"][columns]
            distances.append((boxes[image, rows] - targets[image]["boxes"][columns]).abs().sum(-1))
        class_loss = F.cross_entropy(logits.transpose(1, 2), wanted)
        return class_loss, torch.cat(distances).sum() / objects

    def forward(self, features, targets):
        for target in targets:
            if (target["boxes"][:, 2:] <= 0).any():
                raise ValueError("a box has no area")
        objects = max(sum(len(target["labels"]) for target in targets), 1)
        memory = self.project(features).flatten(2).transpose(1, 2)
        total = features.new_zeros(())
        for number, hidden in enumerate(self.decoder(memory)):
            logits = self.classify(hidden)
            boxes = self.locate(hidden).sigmoid()
            class_loss, box_loss = self.losses(logits, boxes, targets, objects)
            total = total + class_loss + 5 * box_loss
        found = (logits.argmax(-1) != self.nothing).sum(1)
        numbers = torch.tensor([len(target["labels"]) for target in targets])
        metrics = {"cardinality": (found - numbers).abs().float().mean().item(), "layers": number + 1}
        return total, boxes, metrics


model = QueryDetector().eval()

if __name__ == "__main__":
    torch.export.export(
        model,
        (
            torch.linspace(0, 40, 192).sin().reshape(2, 6, 4, 4),
            [
                {"labels": torch.tensor([0, 2]), "boxes": torch.tensor([[0.2, 0.3, 0.1, 0.2], [0.7, 0.6, 0.3, 0.2]])},
                {"labels": torch.tensor([1]), "boxes": torch.tensor([[0.5, 0.5, 0.4, 0.6]])},
            ],
        ),
    )
    torch.compile(model, fullgraph=True)(
        torch.linspace(0, 40, 192).sin().reshape(2, 6, 4, 4),
        [
            {"labels": torch.tensor([0, 2]), "boxes": torch.tensor([[0.2, 0.3, 0.1, 0.2], [0.7, 0.6, 0.3, 0.2]])},
            {"labels": torch.tensor([1]), "boxes": torch.tensor([[0.5, 0.5, 0.4, 0.6]])},
        ],
    )
