import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class Tagger(nn.Module):
    def __init__(self, vocab=20, dim=6, tags=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.rnn = nn.LSTM(dim, dim, batch_first=True, bidirectional=True)
        self.tag = nn.Linear(2 * dim, tags)

    def forward(self, tokens):
        lengths = (tokens != 0).sum(1)
        x = self.embed(tokens)
        packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
        out, _ = self.rnn(packed)
        out, _ = pad_packed_sequence(out, batch_first=True, total_length=tokens.size(1))
        return self.tag(out)


model = Tagger()

if __name__ == "__main__":
    torch.export.export(model, (torch.tensor([[4, 7, 2, 0], [3, 9, 0, 0]]),))
    torch.compile(model, fullgraph=True)(torch.tensor([[4, 7, 2, 0], [3, 9, 0, 0]]))
