"""Image classifier with early exits: branches stop when entropy is low, hooks record activations."""

import sys
from collections import namedtuple

import torch
import torch.nn.functional as F
from torch import nn

ExitOutput = namedtuple("ExitOutput", "logits stage entropy sizes")


def entropy(logits):
    log_p = F.log_softmax(logits, -1)
    return -(log_p.exp() * log_p).sum(-1)


def patience_rule(limit):
    state = {"last": None, "agreed": 0}

    def check(logits):
        label = logits.argmax(-1)
        if state["last"] is not None and torch.equal(label, state["last"]):
            state["agreed"] += 1
        else:
            state["agreed"] = 0
        state["last"] = label
        return state["agreed"] >= limit

    return check


class Stage(nn.Module):
    def __init__(self, channels, out):
        super().__init__()
        self.conv = nn.Conv2d(channels, out, 3, padding=1)
        self.norm = nn.BatchNorm2d(out)
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(out, out, 1), nn.Sigmoid())

    def forward(self, x):
        y = F.relu(self.norm(self.conv(x)), inplace=True)
        y = y * self.squeeze(y)
        return F.max_pool2d(y, 2) if min(y.shape[-2:]) > 1 else y


class Exit(nn.Module):
    def __init__(self, channels, classes):
        super().__init__()
        self.linear = nn.Linear(channels, classes)

    def forward(self, x):
        return self.linear(x.mean((2, 3)))


class EarlyExitNet(nn.Module):
    def __init__(self, classes=4, widths=(4, 6, 8), threshold=0.2, patience=1):
        super().__init__()
        channels = (3, *widths)
        self.stages = nn.ModuleList(Stage(a, b) for a, b in zip(channels, widths))
        self.exits = nn.ModuleList(Exit(w, classes) for w in widths)
        self.threshold, self.patience = threshold, patience
        self.activity = {}
        for i, stage in enumerate(self.stages):
            stage.register_forward_hook(self.recorder(i))

    def recorder(self, i):
        def hook(module, args, output):
            self.activity[i] = (output.detach() > 0).float().mean().item()

        return hook

    def standardise(self, images):
        std, mean = torch.std_mean(images, dim=(2, 3), keepdim=True)
        return (images - mean) / std.clamp_min(1e-3)

    def report(self, stage, h):
        if not sys.flags.quiet and stage == len(self.stages) - 1:
            print("exit at stage {} with entropy {:.3f}".format(stage, float(h.mean())))

    def forward(self, images):
        x = self.standardise(images)
        rule = patience_rule(self.patience)
        outputs = []
        for number, (stage, head) in enumerate(zip(self.stages, self.exits)):
            x = stage(x)
            logits = head(x)
            outputs.append(logits)
            if self.training:
                continue
            h = entropy(logits)
            if bool((h < self.threshold).all()) or rule(logits):
                self.report(number, h)
                return ExitOutput(logits, number, h, tuple(x.shape))
        logits = torch.stack(outputs).mean(0) if self.training else outputs[-1]
        return ExitOutput(logits, number, entropy(logits), tuple(x.shape))


model = EarlyExitNet().eval()

if __name__ == "__main__":
    torch.export.export(model, (torch.linspace(0, 50, 384).sin().reshape(2, 3, 8, 8),))
    torch.compile(model, fullgraph=True)(torch.linspace(0, 50, 384).sin().reshape(2, 3, 8, 8))
