"""LoRA adapters on a frozen encoder: several adapters, merging on the fly, a context manager and per-row routing."""

import contextlib
import copy
import os

import torch
from torch import nn


class LoraLinear(nn.Module):
    def __init__(self, base: nn.Linear, names, rank=2, alpha=4):
        super().__init__()
        self.base = base
        self.base.requires_grad_(False)
        self.down = nn.ParameterDict({n: nn.Parameter(torch.randn(rank, base.in_features) * 0.02) for n in names})
        self.up = nn.ParameterDict({n: nn.Parameter(torch.zeros(base.out_features, rank)) for n in names})
        self.scaling = alpha / rank
        self.active = names[0]
        self.merged = False

    def delta(self, name):
        return self.up[name] @ self.down[name] * self.scaling

    def merge(self):
        if not self.merged:
            self.base.weight.data += self.delta(self.active)
            self.merged = True

    def unmerge(self):
        if self.merged:
            self.base.weight.data -= self.delta(self.active)
            self.merged = False

    def forward(self, x):
        y = self.base(x)
        if self.active is None or self.merged:
            return y
        return y + (x @ self.down[self.active].t()) @ self.up[self.active].t() * self.scaling


class Encoder(nn.Module):
    def __init__(self, vocabulary, width, names):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.first = LoraLinear(nn.Linear(width, 2 * width), names)
        self.second = LoraLinear(nn.Linear(2 * width, width), names)

    def forward(self, tokens):
        x = self.embed(tokens)
        return x + self.second(torch.relu(self.first(x)))


class AdapterHub(nn.Module):
    def __init__(self, names=("news", "legal", "chat"), vocabulary=16, width=6, classes=3):
        super().__init__()
        self.names = list(names)
        self.encoder = Encoder(vocabulary, width, self.names)
        self.heads = nn.ModuleDict({name: nn.Linear(width, classes) for name in names})
        self.uses = {name: 0 for name in names}

    def lora_layers(self):
        for module in self.encoder.modules():
            if isinstance(module, LoraLinear):
                yield module

    @contextlib.contextmanager
    def using(self, name):
        previous = [layer.active for layer in self.lora_layers()]
        for layer in self.lora_layers():
            layer.active = name
        try:
            yield
        finally:
            for layer, old in zip(self.lora_layers(), previous):
                layer.active = old

    def merged_reference(self, tokens, name):
        encoder = copy.deepcopy(self.encoder)
        for module in encoder.modules():
            if isinstance(module, LoraLinear):
                module.active = name
                module.merge()
        return encoder(tokens)

    def forward(self, tokens, adapter_ids):
        debug = os.environ.get("ADAPTER_CHECK", "1") == "1"
        out = torch.zeros(tokens.size(0), 3)
        wanted, counts = adapter_ids.unique(return_counts=True)
        for index, count in zip(wanted.tolist(), counts):
            name = self.names[index]
            rows = (adapter_ids == index).nonzero(as_tuple=True)[0]
            with self.using(name):
                hidden = self.encoder(tokens[rows])
            if debug and not torch.allclose(hidden, self.merged_reference(tokens[rows], name), atol=1e-4):
                raise RuntimeError(f"adapter {name!r} does not merge cleanly")
            self.uses[name] += int(count)
            out[rows] = self.heads[name](hidden.mean(1))
        return out, dict(self.uses)


model = AdapterHub()

if __name__ == "__main__":
    torch.export.export(model, (torch.arange(12).reshape(3, 4), torch.tensor([0, 2, 0])))
    torch.compile(model, fullgraph=True)(torch.arange(12).reshape(3, 4), torch.tensor([0, 2, 0]))
