"""An encoder-decoder transformer; its table of positions is filled in Python loops."""

import math

import torch
from torch import nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        table = torch.zeros(max_len, d_model)
        for pos in range(max_len):
            for i in range(0, d_model, 2):
                angle = pos / 10000 ** (i / d_model)
                table[pos, i] = math.sin(angle)
                table[pos, i + 1] = math.cos(angle)
        self.register_buffer("table", table)

    def forward(self, x):
        batch_size, seq_len, _ = x.size()
        assert seq_len <= self.table.size(0)
        return x + self.table[:seq_len, :]


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_head):
        super().__init__()
        self.n_head = n_head
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def split(self, x):
        batch_size, length, d_model = x.size()
        return x.view(batch_size, length, self.n_head, d_model // self.n_head).transpose(1, 2)

    def forward(self, q, k, v, mask=None):
        q, k, v = self.split(self.w_q(q)), self.split(self.w_k(k)), self.split(self.w_v(v))
        score = q @ k.transpose(2, 3) / math.sqrt(q.size(-1))
        if mask is not None:
            score = score.masked_fill(mask == 0, -10000)
        out = score.softmax(dim=-1) @ v
        batch_size, head, length, d_head = out.size()
        return self.w_o(out.transpose(1, 2).contiguous().view(batch_size, length, head * d_head))


class FeedForward(nn.Sequential):
    def __init__(self, d_model, hidden, drop_prob):
        super().__init__(nn.Linear(d_model, hidden), nn.ReLU(), nn.Dropout(drop_prob), nn.Linear(hidden, d_model))


class EncoderLayer(nn.Module):
    def __init__(self, d_model, ffn_hidden, n_head, drop_prob):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_head)
        self.norm1 = nn.LayerNorm(d_model)
        self.ffn = FeedForward(d_model, ffn_hidden, drop_prob)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(drop_prob)

    def forward(self, x, src_mask):
        x = self.norm1(x + self.dropout(self.attention(x, x, x, mask=src_mask)))
        return self.norm2(x + self.dropout(self.ffn(x)))


class DecoderLayer(nn.Module):
    def __init__(self, d_model, ffn_hidden, n_head, drop_prob):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_head)
        self.norm1 = nn.LayerNorm(d_model)
        self.cross_attention = MultiHeadAttention(d_model, n_head)
        self.norm2 = nn.LayerNorm(d_model)
        self.ffn = FeedForward(d_model, ffn_hidden, drop_prob)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(drop_prob)

    def forward(self, dec, enc, trg_mask, src_mask):
        x = self.norm1(dec + self.dropout(self.self_attention(dec, dec, dec, mask=trg_mask)))
        if enc is not None:
            x = self.norm2(x + self.dropout(self.cross_attention(x, enc, enc, mask=src_mask)))
        return self.norm3(x + self.dropout(self.ffn(x)))


class Translator(nn.Module):
    def __init__(
        self,
        src_pad_idx=1,
        trg_pad_idx=1,
        enc_voc_size=32000,
        dec_voc_size=32000,
        d_model=512,
        n_head=8,
        max_len=5000,
        ffn_hidden=2048,
        n_layers=6,
        drop_prob=0.1,
    ):
        super().__init__()
        self.src_pad_idx = src_pad_idx
        self.trg_pad_idx = trg_pad_idx
        self.src_embedding = nn.Embedding(enc_voc_size, d_model, padding_idx=src_pad_idx)
        self.trg_embedding = nn.Embedding(dec_voc_size, d_model, padding_idx=trg_pad_idx)
        self.positions = PositionalEncoding(d_model, max_len)
        self.encoder = nn.ModuleList([EncoderLayer(d_model, ffn_hidden, n_head, drop_prob) for _ in range(n_layers)])
        self.decoder = nn.ModuleList([DecoderLayer(d_model, ffn_hidden, n_head, drop_prob) for _ in range(n_layers)])
        self.linear = nn.Linear(d_model, dec_voc_size)

    def make_src_mask(self, src):
        return (src != self.src_pad_idx).unsqueeze(1).unsqueeze(2)

    def make_trg_mask(self, trg):
        pad = (trg != self.trg_pad_idx).unsqueeze(1).unsqueeze(3)
        length = trg.shape[1]
        return pad & torch.tril(torch.ones(length, length)).bool().to(trg.device)

    def forward(self, src, trg):
        src_mask, trg_mask = self.make_src_mask(src), self.make_trg_mask(trg)
        enc = self.positions(self.src_embedding(src))
        for layer in self.encoder:
            enc = layer(enc, src_mask)
        dec = self.positions(self.trg_embedding(trg))
        for layer in self.decoder:
            dec = layer(dec, enc, trg_mask, src_mask)
        return self.linear(dec)


if __name__ == "__main__":
    model = Translator()
