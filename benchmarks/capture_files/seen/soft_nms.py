import torch
from torch import nn


def iou(a, b):
    lt = torch.max(a[:, None, :2], b[None, :, :2])
    rb = torch.min(a[:, None, 2:], b[None, :, 2:])
    inter = (rb - lt).clamp(min=0).prod(-1)
    area = lambda t: (t[:, 2:] - t[:, :2]).clamp(min=0).prod(-1)
    return inter / (area(a)[:, None] + area(b)[None] - inter + 1e-6)


class GreedyNms(nn.Module):
    def __init__(self, threshold=0.5, max_keep=4):
        super().__init__()
        self.threshold = threshold
        self.max_keep = max_keep

    def forward(self, boxes, scores):
        order = scores.argsort(descending=True)
        keep = []
        while order.numel() > 0 and len(keep) < self.max_keep:
            best = order[0]
            keep.append(best)
            if order.numel() == 1:
                break
            overlap = iou(boxes[best][None], boxes[order[1:]])[0]
            order = order[1:][overlap <= self.threshold]
        return torch.stack(keep)


model = GreedyNms()

if __name__ == "__main__":
    torch.export.export(model, (torch.tensor([[0.0, 0, 4, 4], [0, 1, 4, 4], [5, 5, 9, 9], [6, 5, 9, 9]]), torch.rand(4)))
    torch.compile(model, fullgraph=True)(torch.tensor([[0.0, 0, 4, 4], [0, 1, 4, 4], [5, 5, 9, 9], [6, 5, 9, 9]]), torch.rand(4))
