"""Turns the raw output of a detector into the boxes of each image."""

import torch
from torch import nn


class BoxPostprocess(nn.Module):
    def __init__(self, channels=4, classes=3, threshold=0.3, most=4):
        super().__init__()
        self.classes = nn.Linear(channels, classes)
        self.boxes = nn.Linear(channels, 4)
        self.threshold = threshold
        self.most = most

    def forward(self, features, sizes):
        scores = self.classes(features).softmax(-1)
        boxes = self.boxes(features).sigmoid()
        results = []
        for index, (score, box) in enumerate(zip(scores, boxes)):
            height, width = sizes[index].tolist()
            best, label = score.max(-1)
            keep = best > self.threshold
            if keep.sum() == 0:
                results.append(torch.zeros(1, 6))
                continue
            best, label, box = best[keep], label[keep], box[keep]
            if len(best) > self.most:
                best, order = best.topk(self.most)
                label, box = label[order], box[order]
            scaled = box * torch.tensor([width, height, width, height])
            wide = scaled[:, 2] > scaled[:, 0]
            if not wide.all():
                scaled = scaled[wide]
            results.append(torch.cat([scaled.mean(0), best.max()[None], label.float().max()[None]])[None])
        return torch.cat(results)


model = BoxPostprocess().eval()

if __name__ == "__main__":
    torch.export.export(
        model, (torch.linspace(-1, 1, 48).reshape(2, 6, 4), torch.tensor([[32, 32], [24, 40]]))
    )
    torch.compile(model, fullgraph=True)(
        torch.linspace(-1, 1, 48).reshape(2, 6, 4), torch.tensor([[32, 32], [24, 40]])
    )
