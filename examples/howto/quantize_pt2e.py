"""Quantizing a model with torchao's pt2e: it starts from `torch.export`, which has to know what a model returns."""

from dataclasses import dataclass

import torch
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer.x86_inductor_quantizer import (
    X86InductorQuantizer,
    get_default_x86_inductor_quantization_config,
)


@dataclass
class Result:
    scores: torch.Tensor
    features: torch.Tensor


torch.export.register_dataclass(Result)  # the fix that fx-lsp names


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())
        self.head = nn.Linear(8, 4)

    def forward(self, images: torch.Tensor) -> Result:
        features = self.features(images).mean((2, 3))
        return Result(self.head(features), features)


torch.manual_seed(0)
model = Classifier().eval()
example = torch.rand(2, 3, 32, 32)
exported = torch.export.export(model, (example,)).module()
quantizer = X86InductorQuantizer().set_global(get_default_x86_inductor_quantization_config())
prepared = prepare_pt2e(exported, quantizer)
prepared(example)  # calibration: the observers see real values
quantized = convert_pt2e(prepared)

result = quantized(example)
quantize = torch.ops.quantized_decomposed.quantize_per_tensor.default
print("inputs of layers as 8-bit numbers:", sum(node.target is quantize for node in quantized.graph.nodes))
print("weights as 8-bit numbers:", sum(buffer.dtype is torch.int8 for buffer in quantized.buffers()))
print(type(result).__name__, "close to the original:", torch.allclose(result.scores, model(example).scores, atol=0.05))
