"""A detector with a transformer, which takes a list of images of different sizes."""

from typing import List

import torch
from torch import nn


def batch_images(images: List[torch.Tensor], divisor=32):
    """Pads images to the largest height and width; the mask is true where there is padding."""
    height = max(image.shape[1] for image in images)
    width = max(image.shape[2] for image in images)
    height, width = (height + divisor - 1) // divisor * divisor, (width + divisor - 1) // divisor * divisor
    batch = images[0].new_zeros(len(images), 3, height, width)
    mask = torch.ones(len(images), height, width, dtype=torch.bool, device=images[0].device)
    for i, image in enumerate(images):
        batch[i, :, : image.shape[1], : image.shape[2]] = image
        mask[i, : image.shape[1], : image.shape[2]] = False
    return batch, mask


class Bottleneck(nn.Module):
    def __init__(self, inplanes, planes, stride=1):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inplanes, planes, 1, bias=False),
            nn.BatchNorm2d(planes),
            nn.ReLU(),
            nn.Conv2d(planes, planes, 3, stride, 1, bias=False),
            nn.BatchNorm2d(planes),
            nn.ReLU(),
            nn.Conv2d(planes, planes * 4, 1, bias=False),
            nn.BatchNorm2d(planes * 4),
        )
        self.shortcut = nn.Identity()
        if stride != 1 or inplanes != planes * 4:
            self.shortcut = nn.Sequential(
                nn.Conv2d(inplanes, planes * 4, 1, stride, bias=False), nn.BatchNorm2d(planes * 4)
            )

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


class Backbone(nn.Module):
    def __init__(self, layers=(3, 4, 6, 3), width=64):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        blocks, inplanes = [], width
        for stage, count in enumerate(layers):
            planes = width * 2**stage
            for block in range(count):
                blocks.append(Bottleneck(inplanes, planes, 2 if stage and not block else 1))
                inplanes = planes * 4
        self.blocks = nn.Sequential(*blocks)
        self.num_channels = inplanes

    def forward(self, x):
        return self.blocks(self.stem(x))


class PositionEmbeddingSine(nn.Module):
    def __init__(self, num_pos_feats=64, temperature=10000):
        super().__init__()
        self.num_pos_feats = num_pos_feats
        self.temperature = temperature

    def forward(self, mask):
        y, x = (~mask).cumsum(1, dtype=torch.float32), (~mask).cumsum(2, dtype=torch.float32)
        steps = torch.arange(self.num_pos_feats, dtype=torch.float32, device=mask.device)
        steps = self.temperature ** (2 * (steps // 2) / self.num_pos_feats)
        y, x = y[:, :, :, None] / steps, x[:, :, :, None] / steps
        return torch.cat([y.sin(), x.cos()], dim=3).permute(0, 3, 1, 2)


class MLP(nn.Module):
    def __init__(self, input_dim, hidden_dim, output_dim, num_layers):
        super().__init__()
        dims = [input_dim, *[hidden_dim] * (num_layers - 1), output_dim]
        self.layers = nn.ModuleList(nn.Linear(n, k) for n, k in zip(dims, dims[1:]))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x).relu() if i < len(self.layers) - 1 else layer(x)
        return x


class Detector(nn.Module):
    def __init__(self, num_classes=91, num_queries=100, hidden_dim=256, nheads=8, enc_layers=6, dec_layers=6):
        super().__init__()
        self.backbone = Backbone()
        self.position = PositionEmbeddingSine(hidden_dim // 2)
        self.input_proj = nn.Conv2d(self.backbone.num_channels, hidden_dim, kernel_size=1)
        self.encoder = nn.ModuleList(
            nn.TransformerEncoderLayer(hidden_dim, nheads, 2048, batch_first=True) for _ in range(enc_layers)
        )
        self.decoder = nn.ModuleList(
            nn.TransformerDecoderLayer(hidden_dim, nheads, 2048, batch_first=True) for _ in range(dec_layers)
        )
        self.query_embed = nn.Embedding(num_queries, hidden_dim)
        self.class_embed = nn.Linear(hidden_dim, num_classes + 1)
        self.bbox_embed = MLP(hidden_dim, hidden_dim, 4, 3)

    def forward(self, images: List[torch.Tensor]):
        batch, mask = batch_images(images)
        features = self.input_proj(self.backbone(batch))
        mask = nn.functional.interpolate(mask[None].float(), size=features.shape[-2:])[0] > 0
        memory = (features + self.position(mask)).flatten(2).transpose(1, 2)
        mask = mask.flatten(1)
        for layer in self.encoder:
            memory = layer(memory, src_key_padding_mask=mask)
        queries = self.query_embed.weight.unsqueeze(0).repeat(len(images), 1, 1)
        for layer in self.decoder:
            queries = layer(queries, memory, memory_key_padding_mask=mask)
        return {"pred_logits": self.class_embed(queries), "pred_boxes": self.bbox_embed(queries).sigmoid()}


def build():
    model = Detector()
    return model.eval()
