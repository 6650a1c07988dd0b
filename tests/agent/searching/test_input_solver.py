"""Inputs are found by running a program and reading what did not fit."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from fx_lsp.agent.importing.stand_ins import StandIn
from fx_lsp.agent.missing.missing_modules import MissingModule
from fx_lsp.agent.searching.input_changes import ErrorText, other_tensors
from fx_lsp.agent.searching.input_solver import MOST_MISSING, _one_by_one, solve_inputs
from fx_lsp.agent.searching.named_inputs import named_inputs
from fx_lsp.agent.searching.search_budget import SearchBudget
from fx_lsp.agent.searching.solved_inputs import solutions
from fx_lsp.agent.searching.wanted_inputs import TensorLike, Wanted, is_shape
from fxcore.accelerators import OnCpu


class Diffusion(torch.nn.Module):
    """Images, time steps and labels, as a diffusion transformer takes them."""

    def __init__(self) -> None:
        super().__init__()
        self.patches = torch.nn.Conv2d(4, 24, 2, 2)
        self.labels = torch.nn.Embedding(11, 24)
        self.time = torch.nn.Linear(6, 24)
        self.places = torch.nn.Parameter(torch.zeros(1, 64, 24))

    def forward(self, x: torch.Tensor, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2) + self.places
        angles = t[:, None].float() * torch.arange(3)[None]
        time = self.time(torch.cat([angles.cos(), angles.sin()], dim=-1))
        condition: torch.Tensor = (time + self.labels(y)).unsqueeze(1)
        return x * condition


class Kernel(torch.nn.Module):
    """Takes apart two dimensions whose product is known, and requires a mask that may be None."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(12, 12)

    def forward(self, x: torch.Tensor, mask: Any) -> torch.Tensor:
        batch, length, channels, kernel = x.shape
        y: torch.Tensor = self.inner(x.view(batch, length, -1)).view(batch, length, channels, kernel)
        return y if mask is None else y.masked_fill(mask.unknown(), 0.0)


class Padded(torch.nn.Module):
    """Two sequences, and a mask for each, which has no channels."""

    def __init__(self) -> None:
        super().__init__()
        self.query = torch.nn.Conv1d(12, 12, 1)
        self.keys = torch.nn.Conv1d(12, 12, 1)

    def forward(self, x: torch.Tensor, x_mask: torch.Tensor, h: torch.Tensor, h_mask: torch.Tensor) -> torch.Tensor:
        mask = h_mask.unsqueeze(2) * x_mask.unsqueeze(-1)
        query, keys = (part.view(2, 3, 4, -1).transpose(2, 3) for part in (self.query(x * x_mask), self.keys(h)))
        scores: torch.Tensor = (query @ keys.transpose(2, 3)).masked_fill(mask == 0, -1e4)
        return scores


class Sequences(torch.nn.Module):
    """Packs sequences of several lengths, the longest first, each of which it cuts off itself."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv1d(12, 12, 3, padding=1)
        self.rnn = torch.nn.GRU(12, 8, batch_first=True)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        cut = [self.conv(x[at : at + 1, :, : lengths[at]])[0].T for at in range(len(x))]
        padded = torch.nn.utils.rnn.pad_sequence(cut, batch_first=True)
        packed = torch.nn.utils.rnn.pack_padded_sequence(padded, lengths.cpu(), batch_first=True)
        result: torch.Tensor = torch.nn.utils.rnn.pad_packed_sequence(self.rnn(packed)[0], batch_first=True)[0]
        return result


class Calendar(torch.nn.Module):
    """Converts numbers to indices."""

    def __init__(self) -> None:
        super().__init__()
        self.hours = torch.nn.Embedding(24, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hours: torch.Tensor = self.hours(x[:, :, 0].long())
        return hours


class Translator(torch.nn.Module):
    """Two sequences of tokens and a mask."""

    def __init__(self) -> None:
        super().__init__()
        self.source = torch.nn.Embedding(30, 8)
        self.target = torch.nn.Embedding(20, 8)

    def forward(self, source: torch.Tensor, target: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        source, target = self.source(source), self.target(target)
        scores = target @ source.transpose(1, 2)
        return scores.masked_fill(~mask[:, None, :], float("-inf")).softmax(-1) @ source


class Points(torch.nn.Module):
    """Two sets of points with different numbers of coordinates."""

    def __init__(self) -> None:
        super().__init__()
        self.xyz = torch.nn.Conv1d(3, 16, 1)
        self.features = torch.nn.Linear(5, 16)

    def forward(self, xyz: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        batch, length, _ = features.shape
        embedded: torch.Tensor = self.features(features)
        moved: torch.Tensor = self.xyz(xyz)
        return embedded + moved.reshape(batch, length, 16)


class Windows(torch.nn.Module):
    """A sequence whose length has to be that of an image with 6 x 4 patches."""

    def __init__(self) -> None:
        super().__init__()
        self.resolution = (6, 4)
        self.reduce = torch.nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        height, width = self.resolution
        batch, length, channels = x.shape
        assert length == height * width, "the input has a wrong size"
        reduced: torch.Tensor = self.reduce(x.view(batch, height, width, channels))
        return reduced


class Matching(torch.nn.Module):
    """Inputs whose shapes only the docstring tells."""

    def forward(self, scores: torch.Tensor, points: torch.Tensor, boxes: torch.Tensor) -> torch.Tensor:
        """Match them.

        Args:
            scores (Tensor): shape(batch, points, classes)
            points (Tensor): shape(points, 2)
            boxes (Tensor): shape(batch, boxes, 4)
        """
        inside = (points > boxes[:, :, None, :2]) & (points < boxes[:, :, None, 2:])
        return torch.where(inside.all(-1), scores.amax(-1).unsqueeze(1), torch.zeros(()))


class Assignment(torch.nn.Module):
    """Predictions in a dict and targets in a list of dicts, as losses of detectors take them."""

    def forward(self, outputs: Any, targets: Any) -> torch.Tensor:
        """Compute the costs.

        Args:
            outputs: a dict with
                "logits": Tensor of dim [batch_size, queries, classes]
                "boxes": Tensor of dim [batch_size x queries x 4]
            targets: a list of dicts, each with
                "labels": Tensor of dim [objects] (the classes)
                "boxes_of_objects": Tensor of dim [objects, 4]
        """
        outputs = {key: value for key, value in outputs.items() if key != "others"}
        scores = outputs["logits"].flatten(0, 1).softmax(-1)
        classes = torch.cat([target["labels"] for target in targets])
        low, high = outputs["boxes"].flatten(0, 1).unflatten(-1, (2, 2)).unbind(1)
        others = torch.cat([target["boxes_of_objects"] for target in targets])
        if (others[:, 2:] < 0).any():
            raise ValueError  # an assertion would have a message here, since pytest rewrites it
        costs: torch.Tensor = torch.cdist(torch.cat([low, high], 1), others) - scores[:, classes]
        return costs


class Wavelets(torch.nn.Module):
    """A pair of a sequence and a list of others."""

    def forward(self, coefficients: Any) -> torch.Tensor:
        x, details = coefficients
        for detail in details[::-1]:
            x = torch.cat([x, x - detail], dim=-2)[:, 1:-2]
        result: torch.Tensor = x
        return result


class Stack(torch.nn.Module):
    """An image, and a list of others from which the last ones are taken."""

    def __init__(self) -> None:
        super().__init__()
        self.merge = torch.nn.Conv2d(10, 5, 1)

    def forward(self, x: torch.Tensor, skips: Any) -> torch.Tensor:
        for _ in range(2):
            x = self.merge(torch.cat([x, skips.pop()], dim=1))
        return x


class Taken(torch.nn.Module):
    """A dict from which items are taken."""

    def forward(self, state: Any) -> torch.Tensor:
        result: torch.Tensor = state.pop("query") * state["key"]
        return result


class Decoder(torch.nn.Module):
    """An image, tokens that are paired with it, and a vector."""

    def __init__(self) -> None:
        super().__init__()
        self.query = torch.nn.Linear(24, 24)

    def forward(self, image: torch.Tensor, tokens: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        pixels = torch.repeat_interleave(image, len(tokens), dim=0) * style[:, :, None, None]
        batch, channels, _, _ = pixels.shape
        found: torch.Tensor = self.query(tokens) @ pixels.view(batch, channels, -1)
        return found


class Kernel1d(torch.nn.Module):
    """Needs a length, which is a number, and may have a state, which nothing here can invent."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(4, 8))

    def forward(self, state: Any = None, rate: float = 1.0, L: Any = None) -> torch.Tensor:
        if state is not None:
            state = state.hidden().state
        times = torch.linspace(0, rate, round(rate * L))
        kernel: torch.Tensor = self.weight @ torch.exp(-times * torch.ones(8, 1))
        return kernel


class LabelledPoints(torch.nn.Module):
    """A pair of points and their labels, which has one dimension less."""

    def __init__(self) -> None:
        super().__init__()
        self.places = torch.nn.Linear(2, 12)
        self.kinds = torch.nn.Parameter(torch.zeros(12))

    def forward(self, points: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
        places, labels = points
        found = self.places(places)
        found = torch.cat([found.new_zeros(len(places), 0, 12), found], dim=1)
        labelled: torch.Tensor = found + torch.where(labels.unsqueeze(-1) > 0, self.kinds, -self.kinds)
        return labelled


class Pixels(torch.nn.Module):
    """Tokens of an image, and its height and width, which another function uses."""

    def forward(self, x: torch.Tensor, height: Any, width: Any) -> torch.Tensor:
        return pooled(x, height, width)


def pooled(x: torch.Tensor, height: int, width: int) -> torch.Tensor:
    batch, _, channels = x.shape
    return x.reshape(batch, height, width, channels).mean((1, 2))


class Pyramid(torch.nn.Module):
    """Requires an image of 128 pixels squared: the error tells how many elements are too few."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.avg_pool2d(x, 8).reshape(len(x), 3, 16, 16)


class WeightedLevels(torch.nn.Module):
    """A list with the features of five levels, each of which has a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = torch.nn.Parameter(torch.ones(5))

    def forward(self, features: list[torch.Tensor]) -> torch.Tensor:
        return torch.stack([level.flatten(1) for level in features], -1) * self.weights


class Detections(torch.nn.Module):
    """The outputs of a detector, and a list with the targets of each image."""

    def forward(self, outputs: dict[str, torch.Tensor], targets: list[dict[str, torch.Tensor]]) -> torch.Tensor:
        scores = outputs["logits"].flatten(0, 1).softmax(-1)
        labels = torch.cat([target["labels"] for target in targets])
        boxes = torch.cat([target["boxes"] for target in targets])
        return scores[:, labels].sum() + torch.cdist(outputs["boxes"].flatten(0, 1), boxes).sum()


class Levels(torch.nn.Module):
    """A list with the features of three levels, which differ in their channels."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = torch.nn.ModuleList(torch.nn.Conv2d(channels, 5, 1) for channels in (4, 8, 12))

    def forward(self, features: Any) -> torch.Tensor:
        return torch.cat([head(x).flatten(2) for head, x in zip(self.heads, features, strict=True)], -1)


class Scales(torch.nn.Module):
    """A list of features, of which a loop replaces one after another."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 3
        self.heads = torch.nn.ModuleList(torch.nn.Conv2d(channels, 5, 1) for channels in (4, 8, 12))

    def forward(self, x: Any) -> Any:
        for i in range(self.count):
            x[i] = self.heads[i](x[i])
            batch, channels, height, width = x[i].shape
            x[i] = x[i].view(batch, 1, channels, height, width).permute(0, 1, 3, 4, 2).contiguous()
        return x


class Prompts(torch.nn.Module):
    """Points with their labels, and boxes; either may be None."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds = torch.nn.Embedding(2, 6)
        self.places = torch.nn.Linear(2, 6)

    def forward(self, points: tuple[torch.Tensor, torch.Tensor] | None, boxes: torch.Tensor | None) -> torch.Tensor:
        found = []
        if points is not None:
            places, labels = points
            found.append(self.places(places) + self.kinds(labels))
        if boxes is not None:
            found.append(self.places(boxes.reshape(len(boxes), -1, 2)))
        return torch.cat(found, 1)


class Skips(torch.nn.Module):
    """A list whose last item is a vector."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Linear(7, 3)

    def forward(self, parts: list[torch.Tensor]) -> torch.Tensor:
        image, style = parts[0], parts[-1]
        scaled: torch.Tensor = image * self.scale(style)[:, :, None, None]
        return scaled


class Cell(torch.nn.Module):
    """A recurrent cell: the widths of the input and of the state add up to the width of the layer."""

    def __init__(self) -> None:
        super().__init__()
        self.gates = torch.nn.Conv2d(5 + 7, 4 * 7, 3, padding=1)

    def forward(self, x: torch.Tensor, state: Any) -> tuple[torch.Tensor, torch.Tensor]:
        hidden, memory = state
        keep, add, out, new = self.gates(torch.cat([x, hidden], 1)).chunk(4, 1)
        memory = keep.sigmoid() * memory + add.sigmoid() * new.tanh()
        return out.sigmoid() * memory.tanh(), memory


class Clips(torch.nn.Module):
    """Videos with a mask, tokens and sounds, each of another number of dimensions, whose features are joined."""

    def __init__(self) -> None:
        super().__init__()
        self.frames = torch.nn.Linear(20, 16)
        self.tokens = torch.nn.Embedding(30, 16)
        self.classes = torch.nn.Linear(48, 5)

    def forward(
        self, video: torch.Tensor, text: torch.Tensor, audio: torch.Tensor, video_mask: torch.Tensor
    ) -> torch.Tensor:
        frames = (self.frames(video) * video_mask.unsqueeze(-1)).sum(1) / video_mask.sum(1, keepdim=True)
        scores: torch.Tensor = self.classes(torch.cat([frames, self.tokens(text).mean(1), audio], -1))
        return scores


class Durations(torch.nn.Module):
    """Tokens, how many of them there are, and how long each takes."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = torch.nn.Embedding(40, 16)
        self.long = torch.nn.Conv1d(16, 1, 1)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor, durations: torch.Tensor) -> torch.Tensor:
        x = self.tokens(x).transpose(1, 2)
        mask = (torch.arange(x.size(2))[None] < lengths[:, None]).unsqueeze(1).float()
        error: torch.Tensor = (self.long(x * mask) - torch.log(durations + 1e-6)) ** 2 * mask
        return error.sum((1, 2))


class Batch(torch.nn.Module):
    """An object with images and a mask."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = torch.nn.Conv2d(3, 8, 4, 4)

    def forward(self, batch: Any) -> torch.Tensor:
        images, mask = batch.images, batch.mask
        places = (~mask).cumsum(1, dtype=torch.float32)
        embedded: torch.Tensor = self.embed(images * places[:, None])
        return embedded


class Nodes(torch.nn.Module):
    """A graph: the features of its nodes, and the pairs of nodes that are joined."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = torch.nn.Linear(7, 5)

    def forward(self, graph: Any) -> torch.Tensor:
        graph.x = self.mix(graph.x)
        source, target = graph.pairs
        return torch.zeros_like(graph.x).index_add(0, target, graph.x[source])


class Merged(torch.nn.Module):
    """A list of three features, which another function takes apart; there are many channels."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(300, 16, 3, padding=1)
        self.others = torch.nn.ModuleList(torch.nn.Conv2d(channels, 16, 1) for channels in (96, 48, 24))

    def forward(self, x: torch.Tensor, features: list[torch.Tensor]) -> torch.Tensor:
        return merged(self.first(x), features, self.others)


def merged(x: torch.Tensor, features: list[torch.Tensor], layers: torch.nn.ModuleList) -> torch.Tensor:
    for at in range(len(layers)):
        x = x + layers[at](features[at])
    return x


class Residual(torch.nn.Module):
    """A block of a diffusion model: images, and a vector for each of them, whose width only a layer shows."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Sequential(torch.nn.GroupNorm(16, 48), torch.nn.Conv2d(48, 32, 3, padding=1))
        self.time = torch.nn.Linear(80, 32)
        self.second = torch.nn.Sequential(torch.nn.GroupNorm(16, 32), torch.nn.Conv2d(32, 32, 3, padding=1))

    def forward(self, x: torch.Tensor, emb: torch.Tensor) -> torch.Tensor:
        h, shift = self.first(x), self.time(emb)
        while shift.dim() < h.dim():
            shift = shift[..., None]
        changed: torch.Tensor = self.second(h + shift)
        return changed


class CrossAttention(torch.nn.Module):
    """Images attend to a context, which may be left out only if it has the width of the images."""

    def __init__(self) -> None:
        super().__init__()
        self.project = torch.nn.Conv2d(48, 48, 1)
        self.queries = torch.nn.Linear(48, 32)
        self.keys = torch.nn.Linear(24, 32)

    def forward(self, x: torch.Tensor, context: Any = None) -> torch.Tensor:
        x = self.project(x).flatten(2).transpose(1, 2)
        context = x if context is None else context
        queries, keys = (part.unflatten(-1, (4, -1)).transpose(1, 2) for part in (self.queries(x), self.keys(context)))
        weights: torch.Tensor = (queries @ keys.transpose(-2, -1)).softmax(-1)
        return weights


class Fields(torch.nn.Module):
    """Indices in four fields, each of which has a quarter of the rows."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = torch.nn.Embedding(256, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows: torch.Tensor = self.rows(x + x.new_tensor([[0, 64, 128, 192]]))
        return rows


class Joined(torch.nn.Module):
    """Two inputs that are joined; one of them has a dimension more."""

    def __init__(self) -> None:
        super().__init__()
        self.mix = torch.nn.Conv2d(24, 8, 3)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        mixed: torch.Tensor = self.mix(torch.cat([x, y.flatten(0, 1)], 1))
        return mixed


class Conditional(torch.nn.Module):
    """Needs two of its three optional inputs, and can't do with the third."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(4, 32, 3)
        self.context = torch.nn.Linear(24, 32)

    def forward(self, x: Any, steps: Any = None, context: Any = None, labels: Any = None) -> torch.Tensor:
        """
        x: an [N x C x H x W] tensor
        steps: a 1-D batch of time steps
        context: an [N x L x width] tensor
        """
        assert labels is None
        waves = torch.cos(steps[:, None] * torch.arange(32.0)[None])
        context = self.context(context).mean(1)
        features: torch.Tensor = self.conv(x) + (waves + context)[:, :, None, None]
        return features


class Pooled(torch.nn.Module):
    """Puts the mean in front of the pixels, so that there is one position more than pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.places = torch.nn.Parameter(torch.randn(32, 50))
        self.mix = torch.nn.Conv1d(32, 8, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, c, *_ = x.shape
        pixels = x.reshape(b, c, -1)
        mixed: torch.Tensor = self.mix(torch.cat([pixels.mean(-1, keepdim=True), pixels], -1) + self.places)
        return mixed


class Labelled(torch.nn.Module):
    """A convolution, which takes inputs of three dimensions for single images, and a number for each of a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(48, 32, 3, padding=1)
        self.labels = torch.nn.Embedding(10, 32)

    def forward(self, x: Any, steps: Any, y: Any = None) -> torch.Tensor:
        """
        x: an [N x C x ...] tensor
        steps: a 1-D batch of time steps
        y: an [N] tensor of labels
        """
        if y is None:
            raise ValueError
        waves = torch.cos(steps[:, None] * torch.arange(32.0)[None])
        if y.shape != (x.shape[0],):
            raise ValueError
        features: torch.Tensor = self.conv(x) + (waves + self.labels(y))[..., None, None]
        return features


class Images(torch.nn.Module):
    """Takes a list of images."""

    def forward(self, images: list[torch.Tensor]) -> torch.Tensor:
        batch = images[0].new_zeros(len(images), 3, 99, 99)
        for at, image in enumerate(images):
            batch[at, :, : image.shape[1], : image.shape[2]] = image
        return batch


class Parts(torch.nn.Module):
    """The error about parts names their sizes, not their sum."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(4, 4)

    def forward(self, x: Any) -> Any:
        first, second = torch.split(x, [4, 7], dim=-1)
        return self.layer(first) + second.sum()


class PassingOn(torch.nn.Module):
    """Passes all that it gets by name on to a method that needs some of it."""

    def __init__(self) -> None:
        super().__init__()
        self.classes = torch.nn.Embedding(10, 3)

    def forward(self, x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        assert x.shape[-1] == 16
        return self.loss(x, *args, **kwargs)

    def loss(self, x: torch.Tensor, *, classes: torch.Tensor) -> Any:
        return x.movedim(1, -1) + self.classes(classes)[:, None, None]


class PassingOptionsOn(torch.nn.Module):
    """Passes all that it gets by name on to a layer, which checks whether it gets what is optional."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = Optional()

    def forward(self, x: torch.Tensor, **kwargs: Any) -> Any:
        return self.layer(x, **kwargs)


class Optional(torch.nn.Module):
    """The layer."""

    def __init__(self) -> None:
        super().__init__()
        self.classes = torch.nn.Embedding(10, 16)

    def forward(self, x: torch.Tensor, unused: Any = None, classes: Any = None) -> Any:
        return x[..., :16] + self.embedded(classes)

    def embedded(self, classes: Any) -> torch.Tensor:
        assert classes is not None
        rows: torch.Tensor = self.classes(classes.long())
        return rows


class Checked(torch.nn.Module):
    """Compares shapes without telling what does not fit."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Conv2d(5, 8, 3)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        assert x.shape[1:] == (5, 46, 58)
        assert list(mask.shape[-2:]) == [44, 56]
        y: torch.Tensor = self.layer(x) * mask
        return y


class Segmented(torch.nn.Module):
    """Compares what a model yields for each pixel with the pixel's class, of which there are few."""

    def __init__(self) -> None:
        super().__init__()
        self.loss = torch.nn.CrossEntropyLoss()

    def forward(self, score: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        height, width = target.size(1), target.size(2)
        if (score.size(2), score.size(3)) != (height, width):
            score = torch.nn.functional.interpolate(score, size=(height, width), mode="bilinear")
        loss: torch.Tensor = self.loss(score, target)
        return loss


class Guided(torch.nn.Module):
    """Needs one of its two optional inputs, which it asks for only after it has checked the others."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 32, 3, padding=1)
        self.labels = torch.nn.Linear(10, 32)

    def forward(self, x: Any, time: Any, condition: Any = None, labels: Any = None) -> torch.Tensor:
        if x.shape[1:] != (3, 24, 36):
            raise ValueError
        if condition is not None:
            raise ValueError
        if time.dim() != 1:
            raise RuntimeError("Expected a tensor with 1 dimension")
        waves = torch.cos(time[:, None] * torch.arange(32.0)[None])
        if labels is None:
            raise ValueError
        if labels.shape[-1] != 10:
            raise ValueError
        features: torch.Tensor = self.conv(x) + (waves + self.labels(labels))[..., None, None]
        return features


class Subsampled(torch.nn.Module):
    """Spectra with as many frequencies as a layer needs after a convolution without padding, and their lengths."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 4, 3, 2)
        self.out = torch.nn.Linear(4 * 39, 16)

    def forward(self, spectra: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        x = self.conv(spectra.unsqueeze(1))
        batch, channels, length, bands = x.shape
        mask = torch.arange(length)[None] < ((lengths >> 1) - 1)[:, None]
        found: torch.Tensor = self.out(x.transpose(1, 2).reshape(batch, length, channels * bands)) * mask.unsqueeze(-1)
        return found


class Grouped(torch.nn.Module):
    """Places and features of points, which are joined: together they are as wide as a layer."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Conv2d(9, 8, 1)

    def forward(self, places: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        places, features = places.permute(0, 2, 1), features.permute(0, 2, 1)
        nearest = torch.cdist(places, places).argsort(-1)[..., :3]
        batch = torch.arange(len(places)).view(-1, 1, 1)
        grouped = torch.cat([places[batch, nearest], features[batch, nearest]], -1)
        found: torch.Tensor = self.layer(grouped.permute(0, 3, 2, 1)).amax(2)
        return found


class Vocoder(torch.nn.Module):
    """A pair of spectra and a sound, with a large transposed convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.upsample = torch.nn.ConvTranspose1d(80, 80, 1024, stride=256)

    def forward(self, inputs: Any) -> torch.Tensor:
        spectra, sound = inputs
        found: torch.Tensor = self.upsample(spectra)[:, :, : sound.shape[1]] * sound.unsqueeze(1)
        return found


class Modulated(torch.nn.Module):
    """An image, and a style for each, by which the weights of a convolution are scaled."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Linear(16, 8)
        self.weight = torch.nn.Parameter(torch.rand(1, 8, 8, 3, 3))

    def forward(self, input: torch.Tensor, style: torch.Tensor) -> torch.Tensor:
        batch, channels, height, width = input.shape
        weight: torch.Tensor = (self.weight * self.scale(style).view(batch, 1, channels, 1, 1)).view(
            batch * 8, channels, 3, 3
        )
        image = input.view(1, batch * channels, height, width)
        found: torch.Tensor = torch.nn.functional.conv2d(image, weight, padding=1, groups=batch)
        return found.view(batch, 8, height, width)


class Upsampled(torch.nn.Module):
    """Noise, and a condition for every 64 samples of it, as a check demands that has no message."""

    def __init__(self) -> None:
        super().__init__()
        self.condition = torch.nn.Conv1d(20, 8, 5)
        self.noise = torch.nn.Conv1d(1, 8, 1)

    def forward(self, noise: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        c = torch.nn.functional.interpolate(self.condition(c), scale_factor=64)
        if c.size(-1) != noise.size(-1):
            raise AssertionError  # an assertion would have a message here, since pytest rewrites it
        found: torch.Tensor = self.noise(noise) + c
        return found


class Aligned(torch.nn.Module):
    """Tokens and a longer sequence, each with the lengths of its items."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = torch.nn.Embedding(30, 12)
        self.encode = torch.nn.Conv1d(12, 12, 3, padding=1)
        self.posterior = torch.nn.Conv1d(40, 12, 3, padding=1)

    def forward(self, x: Any, x_lengths: Any, y: Any, y_lengths: Any) -> torch.Tensor:
        hidden = self.tokens(x).transpose(1, 2)
        mask = (torch.arange(hidden.shape[2])[None] < x_lengths[:, None]).unsqueeze(1)
        hidden = self.encode(hidden * mask) * mask
        other_mask = (torch.arange(y.shape[2])[None] < y_lengths[:, None]).unsqueeze(1)
        other = self.posterior(y) * other_mask
        aligned = torch.einsum("bts,bct->bcs", torch.einsum("bct,bcs->bts", hidden, other), hidden)
        found: torch.Tensor = aligned * other_mask
        return found


@pytest.mark.parametrize(
    "root",
    [
        Aligned(),
        Upsampled(),
        Modulated(),
        Subsampled(),
        Grouped(),
        Vocoder(),
        Guided(),
        Segmented(),
        Checked(),
        PassingOn(),
        PassingOptionsOn(),
        Parts(),
        Cell(),
        Joined(),
        Fields(),
        Clips(),
        Durations(),
        Diffusion(),
        Kernel(),
        Calendar(),
        Padded(),
        Translator(),
        Points(),
        Windows(),
        Matching(),
        Assignment(),
        Decoder(),
        LabelledPoints(),
        Kernel1d(),
        Pixels(),
        Pyramid(),
        Detections(),
        Levels(),
        WeightedLevels(),
        Scales(),
        Prompts(),
        Skips(),
        Conditional(),
        Pooled(),
        Labelled(),
        Images(),
        Residual(),
        CrossAttention(),
        Merged(),
        Batch(),
        Nodes(),
        Wavelets(),
        Stack(),
        Taken(),
        Sequences(),
    ],
    ids=lambda root: type(root).__name__,
)
def test_inputs_that_the_layers_alone_do_not_show_are_found(root: torch.nn.Module) -> None:
    with OnCpu(), SearchBudget() as budget:  # as in a proof
        given = next(solutions(root, {}, budget.may_run))
    root(*given.args, **given.kwargs)


def test_an_optional_input_may_be_a_label_for_each_item() -> None:
    start: Wanted = {("x",): TensorLike((6, 3, 8, 8)), ("mask",): TensorLike((6, 3)), ("labels",): TensorLike((6, 3))}
    tried = [(wanted["mask",], wanted["labels",]) for wanted in _one_by_one(start, ["mask", "labels"])]
    assert (TensorLike((), "none"), TensorLike((6,), "index")) in tried


def test_a_tensor_that_is_indexed_may_need_more_items() -> None:
    told = ErrorText("IndexError: index 4 is out of bounds for dimension 0 with size 4", ())
    assert 5 in told.sizes


WIDE, NARROW = torch.empty(2, 18, 12, device="meta"), torch.empty(1, 30, 12, device="meta")


@pytest.mark.parametrize(
    ("run", "widths", "unlike"),
    [
        (lambda: torch.rand(2, 16) @ torch.rand(12, 4), [(12, 16)], []),
        (lambda: torch.empty(2, 16, device="meta") @ torch.empty(12, 4, device="meta"), [(12, 16)], []),
        (lambda: torch.rand(2, 3, 16) @ torch.rand(2, 12, 4), [(12, 16)], []),
        (lambda: torch.rand(2, 18, 12) + torch.rand(1, 30, 12), [], [(18, 30)]),
        (lambda: WIDE + NARROW, [], [(30, 18)]),
    ],
    ids=["layer", "layer on meta", "batches", "sum", "sum on meta"],
)
def test_sizes_that_do_not_fit_are_read_from_errors(
    run: Callable[[], object], widths: list[tuple[int, int]], unlike: list[tuple[int, int]]
) -> None:
    with pytest.raises(RuntimeError) as raised:
        run()
    told = ErrorText(f"RuntimeError: {raised.value}", ())
    assert (told.widths, told.unlike) == (widths, unlike)


def test_an_input_may_be_joined_with_others_before_its_length_counts() -> None:
    told = ErrorText("RuntimeError: The size of tensor a (21) must match the size of tensor b (274)", ())
    assert TensorLike((2, 269, 24)) in other_tensors(TensorLike((2, 16, 24)), told, ())


def test_indices_may_have_to_be_smaller() -> None:
    told = ErrorText("IndexError: index 537 is out of bounds for dimension 0 with size 12", ())
    assert next(other_tensors(TensorLike((2, 7), "index"), told, ())) == TensorLike((2, 7), "index", below=12)


def test_names_say_what_inputs_usually_are() -> None:
    names = ["x", "input_lengths", "attention_mask", "img2", "timesteps", "targets", "text", "w", "weights"]
    usual = named_inputs(names)
    kinds = {name: like.kind for name, like in usual.items()}
    assert kinds == {
        "input_lengths": "length",
        "attention_mask": "mask",
        "img2": "float",
        "timesteps": "float",
        "targets": "index",
        "text": "index",
        "w": "float",
    }
    assert len(usual["img2"].shape) == 4


def test_a_length_may_be_that_of_the_only_sequence() -> None:
    length = TensorLike((), "length", below=16).make(5, torch.Generator())
    assert isinstance(length, torch.Tensor)
    assert (length.item(), length.dim()) == (16, 0)


def test_lengths_may_have_to_be_longer() -> None:
    told = ErrorText("RuntimeError: The size of tensor a (2) must match the size of tensor b (16)", ())
    assert TensorLike((3,), "length", below=16) in other_tensors(TensorLike((3,), "length"), told, ())
    lengths = TensorLike((3,), "length", below=16).make(5, torch.Generator())
    assert isinstance(lengths, torch.Tensor)
    assert lengths[0] == 16
    assert (lengths[:-1] >= lengths[1:]).all()
    assert lengths[-1] > 0


@pytest.mark.parametrize(("layers", "side"), [((), 16), ((torch.nn.AvgPool2d(32),), 64)])
def test_on_the_meta_device_images_become_small_but_not_a_single_pixel(
    layers: tuple[torch.nn.Module, ...], side: int
) -> None:
    root = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3, padding=1), *layers)
    given = next(solve_inputs(root, ["input"], {}, [{"input": torch.zeros(2, 3, 64, 64)}], computes=False))
    assert given.kwargs["input"].shape == (2, 3, side, side)


def test_neither_empty_nor_negative_sizes_are_tried() -> None:
    shapes = [(2, 3), (), (2, 0), (2, -1, -1)]
    assert list(map(is_shape, shapes)) == [True, True, False, False]


def test_known_values_stay_as_they_are() -> None:
    given = next(solutions(Translator(), {"mask": torch.ones(2, 16, dtype=torch.bool)}))
    assert given.kwargs["mask"].all()


def test_the_search_gives_up_on_a_program_that_accepts_nothing() -> None:
    class Refusing(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise ValueError(x.shape)

    assert list(solutions(Refusing(), {})) == []


def test_where_the_program_calls_what_is_missing_there_are_few_runs() -> None:
    runs: list[torch.Tensor] = []
    missing = MissingModule("flash_attn.Attention", lambda what: None)

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            runs.append(x)
            result: torch.Tensor = missing(x + y)
            return result

    assert list(solve_inputs(Net(), ("x", "y"), {}, [])) == []
    assert 0 < len(runs) < 3 * MOST_MISSING


def test_where_the_program_uses_a_value_of_what_is_missing_there_are_few_runs() -> None:
    runs: list[torch.Tensor] = []

    class Net(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            runs.append(x)
            raise TypeError(f"view_as_real(): argument 'input' must be Tensor, not {StandIn.__name__}")

    assert list(solve_inputs(Net(), ("x", "y"), {}, [])) == []
    assert 0 < len(runs) < 3 * MOST_MISSING


def test_where_a_fixed_value_is_rejected_there_are_few_runs() -> None:
    with OnCpu(), SearchBudget() as budget:
        assert next(solutions(Labelled(), {"y": None}, budget.may_run), None) is None
    assert budget.runs < 50


@pytest.mark.parametrize(
    "layers",
    [
        torch.nn.Sequential(torch.nn.Conv2d(1, 4, 40)),
        torch.nn.Sequential(torch.nn.Conv2d(1, 4, 1), torch.nn.MaxPool2d(50)),
    ],
)
def test_an_image_that_is_smaller_than_a_window_grows_in_all_dimensions(layers: torch.nn.Module) -> None:
    start = {"input": torch.rand(2, 3, 2)}
    assert list(itertools.islice(solve_inputs(layers, ["input"], {}, [start], most_runs=60), 1))


@pytest.mark.parametrize(
    ("layer", "shape", "larger"),
    [
        (torch.nn.AvgPool1d(12), (2, 4, 8), (2, 4, 16)),
        (torch.nn.MaxPool2d(12), (2, 4, 8, 8), (2, 4, 16, 16)),
        (torch.nn.AvgPool3d(12), (2, 4, 8, 8, 8), (2, 4, 16, 16, 16)),
        (torch.nn.Conv3d(4, 4, 12), (2, 4, 8, 8, 8), (2, 4, 16, 16, 16)),
        (torch.nn.Unfold(12), (2, 4, 8, 8), (2, 4, 16, 16)),
        (torch.nn.ReflectionPad1d(9), (2, 4, 8), (2, 4, 16)),
        (torch.nn.ReflectionPad2d((0, 0, 9, 9)), (2, 4, 8, 8), (2, 4, 16, 16)),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, torch.nn.Module) else None,
)
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_an_image_that_has_no_window_becomes_larger(
    layer: torch.nn.Module, shape: tuple[int, ...], larger: tuple[int, ...], device: str
) -> None:
    with pytest.raises(RuntimeError) as raised:
        layer.to(device)(torch.zeros(shape, device=device))
    told = ErrorText(f"RuntimeError: {raised.value}", ())
    assert TensorLike(larger) in itertools.islice(other_tensors(TensorLike(shape), told, ()), 6)
