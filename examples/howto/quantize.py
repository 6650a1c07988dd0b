"""Quantizing a model after training: `prepare_fx` traces it, so it has to trace first."""

import warnings

import torch
import torch.fx
from torch import nn
from torch.ao.quantization import get_default_qconfig_mapping
from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

warnings.simplefilter("ignore", DeprecationWarning)  # torch.ao says where its successor is


def pad_to_even(x: torch.Tensor) -> torch.Tensor:
    if x.shape[-1] % 2:  # no trace can decide this …
        x = nn.functional.pad(x, (0, 1))
    return x


torch.fx.wrap("pad_to_even")  # … so the call is recorded as it is: the fix that fx-lsp offers


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())
        self.head = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.features(pad_to_even(x)).mean((2, 3)))


torch.manual_seed(0)
model = Classifier().eval()
example = torch.rand(2, 3, 15, 15)
mapping = get_default_qconfig_mapping(torch.backends.quantized.engine)
prepared = prepare_fx(model, mapping, (example,))
prepared(example)  # calibration: the observers see real values
quantized = convert_fx(prepared)

print([type(module).__name__ for name, module in quantized.named_modules() if name in ("features.0", "head")])
print("pad_to_even" in [getattr(node.target, "__name__", "") for node in quantized.graph.nodes])
print("close to the original:", torch.allclose(quantized(example), model(example), atol=0.05))
