"""Single-stage detection post-processing: decode anchors, filter by score and run class-wise greedy NMS."""

from typing import List, NamedTuple

import torch
from torch import Tensor, nn


class Detections(NamedTuple):
    boxes: Tensor
    scores: Tensor
    labels: Tensor


def box_area(boxes: Tensor) -> Tensor:
    return (boxes[:, 2] - boxes[:, 0]).clamp(min=0) * (boxes[:, 3] - boxes[:, 1]).clamp(min=0)


def pairwise_iou(a: Tensor, b: Tensor) -> Tensor:
    lt = torch.max(a[:, None, :2], b[None, :, :2])
    rb = torch.min(a[:, None, 2:], b[None, :, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    return inter / (box_area(a)[:, None] + box_area(b)[None, :] - inter + 1e-6)


def greedy_nms(boxes: Tensor, scores: Tensor, threshold: float) -> Tensor:
    order = scores.argsort(descending=True)
    keep: List[Tensor] = []
    while order.numel() > 0:
        best = order[0]
        keep.append(best)
        if order.numel() == 1:
            break
        rest = order[1:]
        iou = pairwise_iou(boxes[best][None], boxes[rest])[0]
        order = rest[iou <= threshold]
    return torch.stack(keep)


class AnchorHead(nn.Module):
    def __init__(self, channels: int, classes: int, stride: int):
        super().__init__()
        self.classes = classes
        self.stride = stride
        self.scores = nn.Conv2d(channels, classes, 1)
        self.deltas = nn.Conv2d(channels, 4, 1)

    def grid(self, height: int, width: int, like: Tensor) -> Tensor:
        ys = torch.arange(height, device=like.device, dtype=like.dtype) + 0.5
        xs = torch.arange(width, device=like.device, dtype=like.dtype) + 0.5
        yy, xx = torch.meshgrid(ys, xs, indexing="ij")
        return torch.stack((xx, yy), -1).reshape(-1, 2) * self.stride

    def forward(self, features: Tensor):
        b, _, h, w = features.shape
        centres = self.grid(h, w, features)
        deltas = self.deltas(features).permute(0, 2, 3, 1).reshape(b, -1, 4).exp() * self.stride
        boxes = torch.cat((centres - deltas[..., :2], centres + deltas[..., 2:]), -1)
        scores = self.scores(features).permute(0, 2, 3, 1).reshape(b, -1, self.classes).sigmoid()
        return boxes, scores


class Detector(nn.Module):
    def __init__(self, classes=3, score_threshold=0.3, iou_threshold=0.5, top=20):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))
        self.head = AnchorHead(8, classes, stride=2)
        self.score_threshold = score_threshold
        self.iou_threshold = iou_threshold
        self.top = top

    def clip(self, boxes: Tensor, size) -> Tensor:
        height, width = size
        xs = boxes[:, 0::2].clamp(0, width)
        ys = boxes[:, 1::2].clamp(0, height)
        return torch.stack((xs[:, 0], ys[:, 0], xs[:, 1], ys[:, 1]), -1)

    def postprocess(self, boxes: Tensor, scores: Tensor, size) -> Detections:
        best, labels = scores.max(-1)
        keep = torch.nonzero(best > self.score_threshold).squeeze(1)
        if keep.numel() > self.top:
            keep = keep[best[keep].topk(self.top).indices]
        boxes, best, labels = self.clip(boxes[keep], size), best[keep], labels[keep]
        if torch.jit.is_scripting() or len(boxes) == 0:
            return Detections(boxes, best, labels)
        chosen = []
        for label in labels.unique().tolist():
            members = torch.where(labels == label)[0]
            chosen.append(members[greedy_nms(boxes[members], best[members], self.iou_threshold)])
        picked = torch.cat(chosen)
        return Detections(boxes[picked], best[picked], labels[picked])

    def forward(self, images: Tensor):
        size = images.shape[-2:]
        boxes, scores = self.head(self.body(images))
        return [self.postprocess(b, s, size) for b, s in zip(boxes, scores)]


model = Detector().eval()

if __name__ == "__main__":
    torch.export.export(model, (torch.linspace(0, 50, 384).sin().reshape(2, 3, 8, 8),))
    torch.compile(model, fullgraph=True)(torch.linspace(0, 50, 384).sin().reshape(2, 3, 8, 8))
