"""A model as ONNX: `torch.onnx.export` uses `torch.export`, which can't branch on the values in a tensor."""

import onnxruntime
import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU())
        self.head = nn.Linear(8, 4)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        # pixels from 0 to 255
        images = torch.where(images.max() > 1, images / 255, images)  # the fix that fx-lsp offers
        return self.head(self.features(images).mean((2, 3)))


torch.manual_seed(0)
model = Classifier().eval()
example = torch.rand(2, 3, 32, 32)
batch = torch.export.Dim("batch")
program = torch.onnx.export(model, (example,), dynamo=True, dynamic_shapes={"images": {0: batch}}, verbose=False)
assert program is not None

session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())
(given,) = session.get_inputs()
print(given.name, given.shape)
for images in (example, 255 * torch.rand(5, 3, 32, 32)):
    (scores,) = session.run(None, {given.name: images.numpy()})
    is_close = torch.allclose(torch.from_numpy(scores), model(images), atol=1e-5)
    print(f"a batch of {len(images)} is close to the original:", is_close)
