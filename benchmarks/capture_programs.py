"""Small programs, after habits in public code, that `torch.export` or `torch.compile` can't capture.

Most are the body of one ``forward``. Those in `capture_files` are whole files, which also say with which inputs they
are captured; one half of them is held out: fixes may be written because of the other half only.
"""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

FOLDER = Path(__file__).resolve().parent / "capture_files"

HEAD = """\
import dataclasses
import logging
import random
import time

import numpy as np
import torch
from torch import nn

logger = logging.getLogger(__name__)


@dataclasses.dataclass
class Output:
    hidden: torch.Tensor
    score: torch.Tensor


class Box:
    def __init__(self, hidden, score):
        self.hidden = hidden
        self.score = score


@torch.library.custom_op("{name}::scaled", mutates_args=())
def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor


@torch.library.custom_op("{name}::halved", mutates_args=())
def halved(x: torch.Tensor) -> torch.Tensor:
    return x[:2].clone()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)
        self.verbose = True

    def forward(self, x):
{body}


model = Net()
model(torch.linspace(-1, 2, 12).view(3, 4))
"""

PROGRAMS = {
    "two_values": "if x.sum() > 0:\n    return x * 2\nreturn x - 1",
    "two_layers": "if x.mean() > 0:\n    return self.first(x)\nreturn self.second(x)",
    "two_layers_in_an_expression": "return self.first(x) if x.mean() > 0 else self.second(x)",
    "else": "if (x > 1).any():\n    y = self.first(x)\n    y = y * 2\nelse:\n    y = x - 1\nreturn y + 1",
    "no_else": "y = x * 1\nif (x > 1).any():\n    y = y + 1\n    y = y * 2\nreturn y",
    "early_return": "if x.sum() > 0:\n    return x * 2\nx = x - 1\nx = self.first(x)\nreturn x",
    "two_results": "if x.sum() > 0:\n    return x * 1, x + 1\nreturn x * 1, x - 1",
    "elif": "s = x.sum()\nif s > 3:\n    y = x * 2\nelif s > 0:\n    y = x * 3\nelse:\n    y = x * 1\nreturn y",
    "another_shape": "if x.sum() > 0:\n    return x[:1] * 2\nreturn x * 2",
    "assertion": "assert (x > -100).all()\nreturn x * 2",
    "guard": "if torch.isnan(x).any():\n    raise ValueError('nan')\nreturn x * 2",
    "guard_with_value": "if x.max() > 1e6:\n    raise ValueError(f'too large: {x.max()}')\nreturn x * 2",
    "clean": "if torch.isnan(x).any():\n    x = torch.nan_to_num(x)\nreturn x * 2",
    "normalize": "if x.abs().max() > 1:\n    x = x / x.abs().max()\nreturn x * 2",
    "item_guard": "n = x.argmax().item()\nif n > 100:\n    raise ValueError('far')\nreturn x * n",
    "item_branch": "n = x.argmax().item()\nif n > 5:\n    return x * n\nreturn x * 1",
    "while": "while x.abs().sum() > 1:\n    x = x / 2\nreturn x",
    "loop": "y = x * 0\nfor i in range(int(x.argmax())):\n    y = y + i\nreturn y",
    "list_index": "return [self.first, self.second][int(x.argmax()) % 2](x)",
    "empty": "y = x[x > 0]\nif y.numel() == 0:\n    return x * 1\nreturn x * y.sum()",
    "mask_of_some": "mask = x > 0\nif mask.any():\n    x = x.clone()\n    x[mask] = 0.5\nreturn x * 2",
    "int": "n = int(x.argmax())\nreturn x.new_zeros(n) + 1",
    "int_factor": "return x * max(int(x.argmax()), 1)",
    "int_of_truth": "return x * int(x.sum() > 0)",
    "bool": "return x * bool(x.sum() > 0)",
    "float": "return x * float(x.sum())",
    "float_threshold": "t = float(x.mean())\nreturn torch.where(x > t, x, 0.0)",
    "numpy": "return x + float(x.numpy().sum())",
    "numpy_and_back": "return torch.from_numpy(np.sqrt(np.abs(x.numpy())))",
    "detached_numpy": "return x * torch.from_numpy(x.detach().cpu().numpy() * 2)",
    "dataclass": "return Output(self.first(x), x.sum())",
    "plain_class": "return Box(self.first(x), x.sum())",
    "iterator": "return iter([x, x + 1])",
    "dict_values": "return {'a': x, 'b': x + 1}.values()",
    "operator": "return scaled(x, 2.0) + 1",
    "operator_with_another_shape": "return halved(x) + 1",
    "print": "print(x.sum())\nreturn x * 2",
    "print_if_verbose": "if self.verbose:\n    print('mean', x.mean().item())\nreturn x * 2",
    "log": "logger.info('shape %s', x.shape)\nreturn x * 2",
    "log_from_module": "logging.getLogger('net').warning('sum %s', x.sum())\nreturn x * 2",
    "random": "if random.random() > 2:\n    return x * 1\nreturn x * 2",
    "time": "began = time.time()\ny = self.first(x)\nself.took = time.time() - began\nreturn y",
    "text": "return x * len(str(x.sum()))",
    "try": "try:\n    return x.view(5)\nexcept RuntimeError:\n    return x * 2",
}
"""By name: the lines of ``forward``."""


HELD_OUT = {
    "clip_norm": "norm = x.norm()\nif norm > 1.0:\n    x = x * (1.0 / norm)\nreturn x * 1",
    "no_valid_item": "mask = x > 0\nif mask.sum() == 0:\n    return x.sum() * 0\nreturn x[mask].mean()",
    "trim_padding": "lengths = (x > 0).sum(1)\nlongest = int(lengths.max())\nreturn x[:, :longest] * 2",
    "loop_over_indices": (
        "out = x.clone()\nfor i in (x[:, 0] > 0).nonzero().flatten().tolist():\n    out[i] = out[i] * 2\nreturn out"
    ),
    "skip_by_chance": "if torch.rand(1).item() > 2:\n    return x * 1\nreturn x * 2",
    "finite": "assert torch.isfinite(x).all(), 'not finite'\nreturn self.first(x)",
    "split_at_count": "n = int((x[:, 0] > 0).sum())\na, b = x.split([n, 3 - n])\nreturn a.sum() + b.sum()",
    "warn": "import warnings\n\nif (x < 0).any():\n    warnings.warn('negative')\nreturn x * 2",
    "temperature": "t = x.std().item()\nreturn x / max(t, 1e-6)",
    "one_hot": "ids = x[:, 0].abs().long()\nreturn nn.functional.one_hot(ids, int(ids.max()) + 1)",
    "three_ways": "m = x.mean()\nif m < 0:\n    x = -x\nelif m > 0.4:\n    x = x * 2\nreturn self.first(x)",
    "lost_loss": "loss = x.pow(2).mean()\nif torch.isnan(loss):\n    loss = torch.zeros_like(loss)\nreturn loss * 1",
    "top_values": "k = min(int((x > 0).sum()), 2)\nreturn x.flatten().topk(k).values",
    "debug_shape": "if self.verbose:\n    logger.debug(f'{x.shape} {x.mean():.3f}')\nreturn self.second(x)",
}
"""Programs that nobody has looked at while the fixes were written."""

LATER = {
    "normalize_if_loud": "peak = x.abs().max()\nif peak > 1:\n    x = x / peak\nreturn self.first(x)",
    "mask_of_ones": (
        "mask = (x > -2).long()\nif torch.all(mask == 1):\n    mask = None\n"
        "return self.first(x) if mask is None else self.first(x) * mask"
    ),
    "lengths_to_mask": (
        "lengths = x[:, 0].abs().long() + 1\nsteps = torch.arange(lengths.max().item())\n"
        "return (steps[None] < lengths[:, None]).float()"
    ),
    "keep_boxes": "keep = x[:, 0] > 0.1\nif not keep.any():\n    return x.new_zeros(0, 4)\nreturn x[keep]",
    "padding_warning": "if 0 in x.long()[:, -1]:\n    logger.warning('padded')\nreturn self.first(x)",
    "repair_numbers": (
        "y = self.first(x)\nif torch.isnan(y).any() or torch.isinf(y).any():\n    y = torch.nan_to_num(y)\nreturn y"
    ),
    "stop_early": ("for _ in range(3):\n    x = self.first(x)\n    if (x.sum(1) > 9).all():\n        break\nreturn x"),
    "suppress": (
        "order, kept = x[:, 0].argsort(descending=True), []\nwhile order.numel() > 0:\n"
        "    kept.append(order[0].item())\n    order = order[1:][x[order[1:], 1] > 0]\nreturn x[kept]"
    ),
    "gate": "w = torch.sigmoid(x.mean())\nif w.item() < 0.05:\n    return x\nreturn x + w * self.second(x)",
    "best_of_each_image": (
        "best = []\nfor row in x:\n    kept = row[row > 0]\n    if kept.numel() == 0:\n"
        "        kept = row.new_zeros(1)\n    best.append(kept.max())\nreturn torch.stack(best)"
    ),
    "trim_silence": (
        "loud = (x.abs().mean(0) > 0.1).nonzero()\nif len(loud) == 0:\n    return x\n"
        "return x[:, int(loud[0]) : int(loud[-1]) + 1]"
    ),
    "last_token": "last = int((x[0] != 0).sum()) - 1\nreturn x[:, last]",
}
"""Programs that were written after the fixes, like what models do to masks, boxes, sound and text."""


FRESH = {
    "moe_dispatch": (
        "router = self.first(x).softmax(-1)\n"
        "weight, chosen = router[:, :2].max(-1)\n"
        "out = torch.zeros_like(x)\n"
        "for i, expert in enumerate([self.first, self.second]):\n"
        "    rows = torch.where(chosen == i)[0]\n"
        "    if rows.shape[0] == 0:\n"
        "        continue\n"
        "    out[rows] += expert(x[rows]) * weight[rows, None]\n"
        "return out"
    ),
    "quantize_input": (
        "low, high = x.min().item(), x.max().item()\n"
        "scale = (high - low) / 255\n"
        "zero_point = int(round(-low / scale))\n"
        "x = torch.quantize_per_tensor(x, scale, zero_point, torch.quint8).dequantize()\n"
        "return self.first(x)"
    ),
    "pool_graphs": (
        "batch = (x[:, 0] > 0).long()\n"
        "size = int(batch.max()) + 1\n"
        "out = x.new_zeros(size, x.size(1)).index_add_(0, batch, self.first(x))\n"
        "count = torch.bincount(batch, minlength=size).clamp(min=1)\n"
        "return out / count[:, None]"
    ),
    "prototypes": (
        "labels = (x[:, 0] > 0).long()\n"
        "z = nn.functional.normalize(self.first(x), dim=-1)\n"
        "prototypes = torch.stack([z[labels == c].mean(0) for c in torch.unique(labels)])\n"
        "return -torch.cdist(z, prototypes)"
    ),
    "ctc_text": (
        "ids = self.first(x).argmax(-1)\n"
        "ids = torch.unique_consecutive(ids)\n"
        "return ''.join('-abc'[i] for i in ids.tolist() if i != 0)"
    ),
    "image_tokens": (
        "embeds = self.first(x)\n"
        "is_image = x[:, 0] > 0\n"
        "features = self.second(x[1:])\n"
        "n_tokens = is_image.sum().item()\n"
        "if n_tokens != features.shape[0]:\n"
        "    raise ValueError(f'Image features and image tokens do not match: {n_tokens} and {features.shape[0]}')\n"
        "return embeds.masked_scatter(is_image[:, None].expand_as(embeds), features)"
    ),
    "forces": (
        "with torch.enable_grad():\n"
        "    positions = x.detach().requires_grad_(True)\n"
        "    energy = self.first(positions).pow(2).sum()\n"
        "    grad, = torch.autograd.grad(energy, positions, create_graph=self.training)\n"
        "return energy, -grad"
    ),
    "mixup": (
        "lam = np.random.beta(0.2, 0.2)\n"
        "perm = torch.randperm(x.size(0))\n"
        "x = lam * x + (1 - lam) * x[perm]\n"
        "return self.first(x)"
    ),
    "match_costs": (
        "pred, target = self.first(x), x\n"
        "cost = torch.cdist(pred, target, p=1).detach().cpu().numpy()\n"
        "taken, pairs = set(), []\n"
        "for i, j in zip(*np.unravel_index(np.argsort(cost, axis=None), cost.shape)):\n"
        "    if i not in {a for a, _ in pairs} and j not in taken:\n"
        "        taken.add(j)\n"
        "        pairs.append((i, j))\n"
        "src, dst = (torch.as_tensor(p, dtype=torch.int64) for p in zip(*pairs))\n"
        "return (pred[src] - target[dst]).abs().mean()"
    ),
    "progress_bar": (
        "from tqdm import tqdm\n"
        "\n"
        "for t in tqdm(range(3), desc='sampling', disable=not self.verbose):\n"
        "    x = x - 0.1 * self.first(x)\n"
        "return x"
    ),
    "policy_and_value": (
        "policy = torch.distributions.Categorical(logits=self.first(x))\n"
        "value = self.second(x).mean(-1)\n"
        "return policy, value"
    ),
    "seeded_noise": (
        "generator = torch.Generator(device=x.device).manual_seed(0)\n"
        "noise = torch.randn(x.shape, generator=generator, device=x.device, dtype=x.dtype)\n"
        "return self.first(x + 0.1 * noise)"
    ),
    "detections": (
        "scores, labels = self.first(x).softmax(-1).max(-1)\n"
        "results = []\n"
        "for box, score, label in zip(x, scores, labels):\n"
        "    if score > 0.3:\n"
        "        name = ['cat', 'dog', 'bird', 'car'][label]\n"
        "        results.append({'box': box.tolist(), 'score': score.item(), 'label': name})\n"
        "return results"
    ),
    "category_codes": (
        "codes = {v: i for i, v in enumerate(sorted(set(x[:, 0].long().tolist())))}\n"
        "ids = torch.tensor([codes[v] for v in x[:, 0].long().tolist()])\n"
        "return self.first.weight[ids] + x"
    ),
    "spec_augment": (
        "width = int(torch.randint(0, 3, (1,)).item())\n"
        "start = int(torch.randint(0, x.size(1) - width, (1,)).item())\n"
        "x = x.clone()\n"
        "x[:, start : start + width] = 0\n"
        "return self.first(x)"
    ),
    "momentum_update": (
        "q = nn.functional.normalize(self.first(x), dim=1)\n"
        "with torch.no_grad():\n"
        "    for a, b in zip(self.first.parameters(), self.second.parameters()):\n"
        "        b.data = b.data * 0.999 + a.data * 0.001\n"
        "    k = nn.functional.normalize(self.second(x), dim=1)\n"
        "return q @ k.t()"
    ),
}
"""Programs that somebody wrote who had not read how fx-lsp makes fixes."""


WHOLE, WHOLE_HELD_OUT = (
    {path.stem: path.read_text(encoding="utf-8") for path in sorted((FOLDER / part).glob("*.py"))}
    for part in ("seen", "held_out")
)
"""Whole files, by name."""


def text_of(name: str) -> str:
    """The file with one of the programs."""
    if text := {**WHOLE, **WHOLE_HELD_OUT}.get(name):
        return text
    return HEAD.replace("{name}", f"capture_{name}").replace(
        "{body}", indent({**PROGRAMS, **HELD_OUT, **LATER, **FRESH}[name], " " * 8)
    )
