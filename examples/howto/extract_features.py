"""Getting what a model computes on its way: its graph, with other outputs and no more work than they need."""

import torch
from torch import nn

import fxcore


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.stage1 = nn.Sequential(nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU())
        self.stage2 = nn.Sequential(nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU())
        self.head = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.stage2(self.stage1(self.stem(x)))
        return self.head(x.mean((2, 3)))


def extractor(model: nn.Module, names: list[str]) -> fxcore.GraphModule:
    """``model`` that returns, by name, what the submodules ``names`` computed last."""
    traced = fxcore.symbolic_trace(model)
    last = {}
    for node in traced.graph.nodes:
        for name in names:
            if node.op == "call_module" and f"{node.target}.".startswith(f"{name}."):
                last[name] = node
    output = traced.graph.output_node()
    with traced.graph.inserting_before(output):
        traced.graph.output({name: last[name] for name in names})
    traced.graph.erase_node(output)
    traced.graph.eliminate_dead_code()  # the head is no longer needed …
    traced.delete_all_unused_submodules()  # … and neither are its weights
    traced.recompile()
    return traced


features = extractor(Network(), ["stage1", "stage2"])
print(features.code.strip())
for name, feature in features(torch.rand(1, 3, 64, 64)).items():
    print(name, tuple(feature.shape))
