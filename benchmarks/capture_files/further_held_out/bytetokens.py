"""Sentence classifier that tokenizes raw strings in its forward and pads the batch to its longest sentence."""

import re
import unicodedata
from collections import Counter
from functools import lru_cache

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

WORD = re.compile(r"\w+|[^\w\s]")
MERGES = {("t", "h"): 0, ("th", "e"): 1, ("i", "n"): 2, ("in", "g"): 3, ("o", "n"): 4}


@lru_cache(maxsize=1024)
def merge(word):
    parts = list(word)
    while len(parts) > 1:
        ranked = [(MERGES.get(pair, 99), i) for i, pair in enumerate(zip(parts, parts[1:]))]
        rank, i = min(ranked)
        if rank == 99:
            break
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
    return tuple(parts)


class Tokenizer:
    def __init__(self):
        pieces = [chr(c) for c in range(32, 127)] + ["".join(pair) for pair in MERGES]
        self.ids = {piece: i + 2 for i, piece in enumerate(pieces)}

    def __len__(self):
        return len(self.ids) + 2

    def __call__(self, text):
        text = unicodedata.normalize("NFKC", text).lower()
        return [self.ids.get(p, 1) for word in WORD.findall(text) for p in merge(word)]


class AttentionPool(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.query = nn.Parameter(torch.ones(width) / width)

    def forward(self, x, mask):
        scores = (x @ self.query).masked_fill(~mask, float("-inf"))
        weights = scores.softmax(-1)
        return (weights.unsqueeze(-1) * x).sum(1), weights


class SentenceClassifier(nn.Module):
    def __init__(self, width=8, classes=("negative", "neutral", "positive"), longest=32):
        super().__init__()
        self.tokenizer = Tokenizer()
        self.classes = classes
        self.longest = longest
        self.embed = nn.Embedding(len(self.tokenizer), width, padding_idx=0)
        self.mix = nn.Conv1d(width, width, 3, padding=1)
        self.pool = AttentionPool(width)
        self.head = nn.Linear(width, len(classes))
        self.counts = Counter()

    @property
    def device(self):
        return next(self.parameters()).device

    def batch(self, texts):
        rows = [torch.tensor(self.tokenizer(text)[: self.longest], device=self.device) for text in texts]
        ids = pad_sequence(rows, batch_first=True)
        remainder = -ids.size(1) % 4
        if remainder:
            ids = nn.functional.pad(ids, (0, remainder))
        return ids

    def explain(self, ids, weights):
        best = weights.argmax(-1)
        names = {i: piece for piece, i in self.tokenizer.ids.items()}
        return [names.get(row[k].item(), "<unk>") for row, k in zip(ids, best)]

    def forward(self, texts, prior):
        if isinstance(texts, str):
            texts = [texts]
        ids = self.batch(texts)
        mask = ids != 0
        x = self.embed(ids)
        x = x + torch.relu(self.mix(x.transpose(1, 2))).transpose(1, 2)
        pooled, weights = self.pool(x, mask)
        try:
            logits = self.head(pooled) + torch.log(prior)
        except RuntimeError:
            logits = self.head(pooled)
        labels = [self.classes[i] for i in logits.argmax(-1)]
        self.counts.update(labels)
        return logits, labels, self.explain(ids, weights)


model = SentenceClassifier().eval()

if __name__ == "__main__":
    torch.export.export(model, (["The thing is on.", "Nothing, really!"], torch.tensor([0.2, 0.5, 0.3])))
    torch.compile(model, fullgraph=True)(["The thing is on.", "Nothing, really!"], torch.tensor([0.2, 0.5, 0.3]))
