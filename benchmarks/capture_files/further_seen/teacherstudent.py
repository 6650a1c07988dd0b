"""Self-distillation: the EMA teacher, the centre and the multi-crop loss all live in one forward."""

import copy
import math
import warnings

import torch
import torch.nn.functional as F
from torch import nn


def cosine(step, total, start, end):
    return end - (end - start) * (math.cos(math.pi * step / total) + 1) / 2


class Backbone(nn.Module):
    def __init__(self, size, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.LazyLinear(width) if size is None else nn.Linear(size, width), nn.GELU())
        self.head = nn.utils.parametrizations.weight_norm(nn.Linear(width, width, bias=False))

    def forward(self, x):
        return self.head(F.normalize(self.layers(x), dim=-1))


class CentredLoss(nn.Module):
    def __init__(self, width, momentum=0.9, student=0.1, teacher=0.04):
        super().__init__()
        self.register_buffer("centre", torch.zeros(1, width))
        self.momentum, self.student, self.teacher = momentum, student, teacher

    @torch.no_grad()
    def update(self, teacher):
        batch = torch.cat(teacher).mean(0, keepdim=True)
        self.centre = self.centre * self.momentum + batch * (1 - self.momentum)

    def forward(self, student, teacher):
        targets = [((t - self.centre) / self.teacher).softmax(-1).detach() for t in teacher]
        total, terms = 0.0, 0
        for i, target in enumerate(targets):
            for j, s in enumerate(student):
                if i == j:
                    continue
                total = total - (target * (s / self.student).log_softmax(-1)).sum(-1).mean()
                terms += 1
        self.update(teacher)
        return total / terms


class SelfDistiller(nn.Module):
    def __init__(self, size=48, width=8, steps=100, clip=3.0):
        super().__init__()
        self.student = Backbone(size, width)
        self.teacher = copy.deepcopy(self.student).requires_grad_(False)
        self.loss = CentredLoss(width)
        self.register_buffer("step", torch.tensor(0))
        self.steps, self.clip = steps, clip
        self.averages = {}

    @torch.no_grad()
    def move_teacher(self):
        momentum = cosine(self.step.item(), self.steps, 0.99, 1.0)
        for ours, theirs in zip(self.teacher.parameters(), self.student.parameters()):
            ours.data.mul_(momentum).add_(theirs.data, alpha=1 - momentum)
        self.step += 1

    def track(self, **values):
        for name, value in values.items():
            if isinstance(value, torch.Tensor):
                value = value.item()
            self.averages[name] = 0.9 * self.averages.get(name, value) + 0.1 * value

    def crops(self, images):
        views = [images, images.flip(-1)]
        for dx in (0, 2):
            small = images[..., dx : dx + 2, dx : dx + 2]
            views.append(F.interpolate(small, size=images.shape[-2:], mode="bilinear", align_corners=False))
        return views

    def forward(self, images):
        views = self.crops(images)
        with torch.no_grad():
            teacher = [self.teacher(v) for v in views[:2]]
        student = [self.student(v) for v in views]
        loss = self.loss(student, teacher)
        if not math.isfinite(loss):
            warnings.warn("the loss is not finite; returning zero")
            return torch.zeros_like(loss), self.averages
        if self.training:
            self.move_teacher()
        spread = torch.cat(teacher).std(0).mean()
        self.track(loss=loss, spread=spread, width=student[0].shape[-1])
        return loss.clamp(max=self.clip), dict(self.averages)


model = SelfDistiller().train()

if __name__ == "__main__":
    torch.export.export(model, (torch.linspace(0, 40, 144).sin().reshape(3, 3, 4, 4),))
    torch.compile(model, fullgraph=True)(torch.linspace(0, 40, 144).sin().reshape(3, 3, 4, 4))
