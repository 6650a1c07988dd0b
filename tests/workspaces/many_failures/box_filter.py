"""Keeps the best boxes, with a helper that does greedy suppression."""

import torch
from torch import nn


def iou(box, boxes):
    lt = torch.maximum(box[:2], boxes[:, :2])
    rb = torch.minimum(box[2:], boxes[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[:, 0] * wh[:, 1]
    area = (box[2] - box[0]) * (box[3] - box[1])
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    return inter / (area + areas - inter)


def greedy_nms(boxes, scores, thresh):
    order = scores.argsort(descending=True)
    keep = []
    while order.numel() > 0:
        i = order[0].item()
        keep.append(i)
        if order.numel() == 1:
            break
        rest = order[1:]
        overlap = iou(boxes[i], boxes[rest])
        order = rest[overlap <= thresh]
    return torch.tensor(keep)


class BoxFilter(nn.Module):
    def __init__(self, score_thresh=0.05, nms_thresh=0.5):
        super().__init__()
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh

    def forward(self, boxes, scores):
        mask = scores > self.score_thresh
        if not mask.any():
            return boxes[:0], scores[:0]
        boxes, scores = boxes[mask], scores[mask]
        keep = greedy_nms(boxes, scores, self.nms_thresh)
        return boxes[keep], scores[keep]


if __name__ == "__main__":
    model = BoxFilter()
    model(
        torch.tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 2.1], [5.0, 5.0, 6.0, 6.0]]),
        torch.tensor([0.9, 0.8, 0.7]),
    )
