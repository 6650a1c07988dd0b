"""Dependency parser: a recursive tree composer over heads decoded by the biaffine scores, words of dynamic length."""

import os
import types
from collections import defaultdict

import torch
import torch.nn.functional as F
from scipy.sparse.csgraph import minimum_spanning_tree
from torch import nn
from torch.nn.utils.rnn import PackedSequence, pack_sequence, pad_packed_sequence

LABELS = types.MappingProxyType({0: "root", 1: "nsubj", 2: "obj", 3: "det"})


class Biaffine(nn.Module):
    def __init__(self, width, outputs=1):
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, outputs * (width + 1) * (width + 1)).sin().reshape(outputs, width + 1, width + 1))

    def forward(self, a, b):
        a, b = (F.pad(x, (0, 1), value=1.0) for x in (a, b))
        return torch.einsum("bix,oxy,bjy->boij", a, self.weight, b)


class SharedDropout(nn.Dropout):
    def forward(self, x):
        if not self.training:
            return x
        mask = torch.bernoulli(torch.full_like(x[:, :1], 1 - self.p)) / (1 - self.p)
        return x * mask


class TreeComposer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.below = nn.Linear(width, width)
        self.own = nn.Linear(width, width)

    def forward(self, x, children, node, depth=0):
        total = x.new_zeros(x.shape[-1])
        for child in children.get(node, ()):
            if depth < 8:
                total = total + self(x, children, child, depth + 1)
        return torch.tanh(self.own(x[node]) + self.below(total))


class Parser(nn.Module):
    def __init__(self, vocabulary=20, width=8):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.rnn = nn.LSTM(width, width, batch_first=True)
        self.dropout = SharedDropout(0.3)
        self.dependent, self.head = nn.Linear(width, width), nn.Linear(width, width)
        self.arcs = Biaffine(width)
        self.labels = Biaffine(width, len(LABELS))
        self.compose = TreeComposer(width)
        self.decode_mode = os.environ.get("PARSER_DECODE", "tree")

    def encode(self, sentences):
        packed = pack_sequence([self.embed(s) for s in sentences], enforce_sorted=False)
        out, _ = self.rnn(packed)
        if isinstance(out, PackedSequence):
            out, lengths = pad_packed_sequence(out, batch_first=True)
        return self.dropout(out), lengths

    def tree(self, scores, length):
        scores = scores[:length, :length]
        cost = (scores.max() - torch.maximum(scores, scores.t()) + 0.01).detach().numpy()
        links = minimum_spanning_tree(cost).tocoo()
        near = defaultdict(list)
        for i, j in zip(links.row.tolist(), links.col.tolist()):
            near[i].append(j)
            near[j].append(i)
        heads, queue = {0: 0}, [0]
        while queue:
            node = queue.pop()
            for other in near[node]:
                if other not in heads:
                    heads[other] = node
                    queue.append(other)
        return [heads[i] for i in range(length)]

    def greedy(self, scores, length):
        return scores[:length, :length].argmax(-1).tolist()

    def forward(self, sentences):
        hidden, lengths = self.encode(sentences)
        dependent, head = F.leaky_relu(self.dependent(hidden), 0.1), F.leaky_relu(self.head(hidden), 0.1)
        arcs = self.arcs(dependent, head).squeeze(1)
        labels = self.labels(dependent, head)
        decode = getattr(self, self.decode_mode, self.greedy)
        sentences_out, vectors = [], []
        for b, length in enumerate(lengths.tolist()):
            heads = decode(arcs[b], length)
            children = defaultdict(list)
            for node, parent in enumerate(heads[1:], 1):
                children[parent].append(node)
            names = [LABELS[labels[b, :, i, h].argmax().item()] for i, h in enumerate(heads)]
            sentences_out.append(list(zip(heads, names)))
            vectors.append(self.compose(hidden[b], children, 0))
        return arcs, sentences_out, torch.stack(vectors)


model = Parser().eval()

if __name__ == "__main__":
    torch.export.export(model, ([torch.tensor([1, 4, 7, 9]), torch.tensor([2, 3, 5])],))
    torch.compile(model, fullgraph=True)([torch.tensor([1, 4, 7, 9]), torch.tensor([2, 3, 5])])
