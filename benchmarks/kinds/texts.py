# SPDX-License-Identifier: Apache-2.0
"""Language models of forms that sequences.py and chosen.py do not have: masks, windows, caps, shared and latent keys, reading and ranking."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from .common import Attention, Block, Feed, attend
from .sequences import RootNorm, turned


class Masked(nn.Module):
    """RoBERTa: places counted over what the mask leaves, the mask added to scores, norms behind; the answer is of the first word."""

    def __init__(self, layers, width, heads, words, kinds=2):
        super().__init__()
        self.words, self.places, self.norm = nn.Embedding(words, width), nn.Embedding(514, width), nn.LayerNorm(width)
        self.own, self.feeds = nn.ModuleList(Attention(width, heads) for _ in range(layers)), nn.ModuleList(Feed(width, 4 * width) for _ in range(layers))
        self.norms, self.head = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers)), nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, kinds))

    def encoded(self, ids, mask):
        rows = self.norm(self.words(ids) + self.places(mask.cumsum(1) * mask + 1))
        hidden = (1.0 - mask[:, None, None].to(rows.dtype)) * torch.finfo(torch.float16).min
        for k, (own, feed) in enumerate(zip(self.own, self.feeds)):
            rows = self.norms[2 * k](rows + own(rows, mask=hidden))
            rows = self.norms[2 * k + 1](rows + feed(rows))
        return rows

    def forward(self, ids, mask):
        return self.head(self.encoded(ids, mask)[:, 0])


class Sentences(Masked):
    """Means of what the mask leaves, as vectors of length one (MiniLM, E5, BGE)."""

    def forward(self, ids, mask):
        rows, counted = self.encoded(ids, mask), mask[..., None]
        return F.normalize((rows * counted).sum(1) / counted.sum(1).clamp(min=1), dim=-1)


class Grown(nn.Module):
    """A decoder of today: keys that heads share, rotary places, any of: norms of queries and keys, biases, a window, caps of scores,
    norms before and behind, feeds beside the attention, part of each head turned. With a past it makes one step."""

    def __init__(self, layers, width, heads, key_heads, size, inner, words, length, *, own_norms=False, bias=False, window=None, cap=None,
                 sandwich=False, beside=False, share=1.0, gate="silu"):
        super().__init__()
        self.heads, self.key_heads, self.size, self.length = heads, key_heads, size, length
        self.cap, self.beside, self.turn, self.gate = cap, beside, int(size * share), {"silu": F.silu, "gelu": lambda x: F.gelu(x, approximate="tanh")}[gate]
        def lines(a, b, bias=False):
            return nn.ModuleList(nn.Linear(a, b, bias=bias) for _ in range(layers))
        def norms(width, wanted=True):
            return nn.ModuleList(RootNorm(width) for _ in range(layers if wanted else 0))
        self.words, self.head, self.last = nn.Embedding(words, width), nn.Linear(width, words, bias=False), RootNorm(width)
        self.query, self.key, self.value, self.out = lines(width, heads * size, bias), lines(width, key_heads * size, bias), lines(width, key_heads * size, bias), lines(heads * size, width)
        self.gates, self.up, self.down = lines(width, inner), lines(width, inner), lines(inner, width)
        self.before, self.middle = norms(width), norms(width, not beside)
        self.behind, self.end, self.query_norms, self.key_norms = norms(width, sandwich), norms(width, sandwich), norms(size, own_norms), norms(size, own_norms)
        far = torch.arange(length)[:, None] - torch.arange(length)[None]
        allowed = (far >= 0) & (far < (window or length))
        self.windowed = window is not None
        self.register_buffer("hidden", torch.zeros(length, length).masked_fill(~allowed, -30000.0))

    def turned(self, x, places):
        return turned(x, places) if self.turn == self.size else torch.cat([turned(x[..., :self.turn], places), x[..., self.turn:]], -1)

    def looked(self, q, k, v, step):
        n, _, length, _ = q.shape
        repeats = self.heads // self.key_heads
        if repeats > 1:
            k, v = (x[:, :, None].expand(-1, -1, repeats, -1, -1).reshape(n, self.heads, x.shape[2], self.size) for x in (k, v))
        if self.cap is None:
            return F.scaled_dot_product_attention(q, k, v, attn_mask=self.hidden if self.windowed and not step else None, is_causal=not self.windowed and not step)
        scores = torch.tanh(q @ k.transpose(-1, -2) * (self.size ** -0.5 / self.cap)) * self.cap
        return (scores if step else scores + self.hidden).softmax(-1) @ v

    def forward(self, ids, *past):
        rows, kept, (n, length) = self.words(ids), [], ids.shape
        places = torch.arange(length, device=ids.device) + (past[0].shape[2] if past else 0)
        for j in range(len(self.query)):
            x = self.before[j](rows)
            q, k, v = (part[j](x).view(n, length, -1, self.size).transpose(1, 2) for part in (self.query, self.key, self.value))
            if len(self.query_norms):
                q, k = self.query_norms[j](q), self.key_norms[j](k)
            q, k = self.turned(q, places), self.turned(k, places)
            if past:
                k, v = torch.cat([past[2 * j], k], 2), torch.cat([past[2 * j + 1], v], 2)
                kept += [k, v]
            y = self.out[j](self.looked(q, k, v, bool(past)).transpose(1, 2).reshape(n, length, -1))
            y = self.behind[j](y) if len(self.behind) else y
            x = x if self.beside else self.middle[j](rows + y)
            z = self.down[j](self.gate(self.gates[j](x)) * self.up[j](x))
            rows = rows + y + (self.end[j](z) if len(self.end) else z)
        scores = self.head(self.last(rows[:, -1:]))
        return (scores if self.cap is None else torch.tanh(scores / 30.0) * 30.0, *kept)


class Latent(nn.Module):
    """A decoder whose keys and values are made of one short row for all heads (DeepSeek), which is what a cache keeps."""

    def __init__(self, layers, width, heads, size, turn, rank, inner, words):
        super().__init__()
        self.heads, self.size, self.turn, self.rank = heads, size, turn, rank
        def lines(a, b):
            return nn.ModuleList(nn.Linear(a, b, bias=False) for _ in range(layers))
        self.words, self.head = nn.Embedding(words, width), nn.Linear(width, words, bias=False)
        self.query, self.short, self.long, self.out = lines(width, heads * (size + turn)), lines(width, rank + turn), lines(rank, heads * 2 * size), lines(heads * size, width)
        self.gates, self.up, self.down = lines(width, inner), lines(width, inner), lines(inner, width)
        self.norms, self.ranks = nn.ModuleList(RootNorm(width) for _ in range(2 * layers + 1)), nn.ModuleList(RootNorm(rank) for _ in range(layers))

    def forward(self, ids):
        rows, (n, length) = self.words(ids), ids.shape
        places = torch.arange(length, device=ids.device)
        for j in range(len(self.query)):
            x = self.norms[2 * j](rows)
            q, far = self.query[j](x).view(n, length, self.heads, -1).transpose(1, 2).split([self.size, self.turn], -1)
            short, turn = self.short[j](x).split([self.rank, self.turn], -1)
            k, v = self.long[j](self.ranks[j](short)).view(n, length, self.heads, -1).transpose(1, 2).chunk(2, -1)
            q = torch.cat([q, turned(far, places)], -1)
            k = torch.cat([k, turned(turn[:, None], places).expand(-1, self.heads, -1, -1)], -1)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            rows = rows + self.out[j](y.transpose(1, 2).reshape(n, length, -1))
            x = self.norms[2 * j + 1](rows)
            rows = rows + self.down[j](F.silu(self.gates[j](x)) * self.up[j](x))
        return self.head(self.norms[-1](rows[:, -1:]))


class Alternate(nn.Module):
    """An encoder of text (ModernBERT): most layers look at 128 neighbours, each third at all; rotary places, gated feeds, a mask."""

    def __init__(self, layers, width, heads, inner, words, length, near=64):
        super().__init__()
        self.words, self.norms, self.heads = nn.Embedding(words, width), nn.ModuleList(nn.LayerNorm(width, bias=False) for _ in range(2 * layers + 1)), heads
        self.three, self.out = nn.ModuleList(nn.Linear(width, 3 * width, bias=False) for _ in range(layers)), nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))
        self.wide, self.narrow = nn.ModuleList(nn.Linear(width, 2 * inner, bias=False) for _ in range(layers)), nn.ModuleList(nn.Linear(inner, width, bias=False) for _ in range(layers))
        far = (torch.arange(length)[:, None] - torch.arange(length)[None]).abs()
        self.register_buffer("local", torch.zeros(length, length).masked_fill(far > near, -30000.0))

    def forward(self, ids, mask):
        rows = self.norms[-1](self.words(ids))
        hidden = (1.0 - mask[:, None, None].to(rows.dtype)) * -30000.0
        places = torch.arange(ids.shape[1], device=ids.device)
        for j, three in enumerate(self.three):
            q, k, v = three(self.norms[2 * j](rows)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
            y = F.scaled_dot_product_attention(turned(q, places), turned(k, places), v, attn_mask=hidden if j % 3 == 0 else (hidden + self.local).clamp(min=-30000.0))
            rows = rows + self.out[j](y.transpose(1, 2).flatten(2))
            a, b = self.wide[j](self.norms[2 * j + 1](rows)).chunk(2, -1)
            rows = rows + self.narrow[j](F.gelu(a) * b)
        return rows


class Answered(nn.Module):
    """T5's decoder for one step: a bias by distance, keys and values of before and of an encoder as inputs."""

    def __init__(self, layers, width, heads, inner, words, past):
        super().__init__()
        self.words, self.heads, self.bias = nn.Embedding(words, width), heads, nn.Embedding(32, heads)
        def lines(a, b):
            return nn.ModuleList(nn.Linear(a, b, bias=False) for _ in range(layers))
        self.three, self.out, self.asked, self.other, self.wide, self.narrow = lines(width, 3 * width), lines(width, width), lines(width, width), lines(width, width), lines(width, inner), lines(inner, width)
        self.norms, far = nn.ModuleList(RootNorm(width) for _ in range(3 * layers + 1)), past - torch.arange(past + 1)
        large = (16 + (far.clamp(min=1).float() / 16).log() / math.log(8) * 16).long().clamp(max=31)
        self.register_buffer("bins", torch.where(far < 16, far, large)[None])

    def forward(self, ids, keys, values, others, other_values):
        rows, size, kept = self.words(ids), keys.shape[-1], []
        bias = self.bias(self.bins).permute(2, 0, 1)[None]
        def split(x):
            return x.unflatten(-1, (self.heads, size)).transpose(1, 2)
        for j in range(len(self.three)):
            q, k, v = (split(x) for x in self.three[j](self.norms[3 * j](rows)).chunk(3, -1))
            k, v = torch.cat([keys[:, j], k], 2), torch.cat([values[:, j], v], 2)
            kept += [k, v]
            rows = rows + self.out[j](((q @ k.transpose(-1, -2) + bias).softmax(-1) @ v).transpose(1, 2).flatten(2))
            q = split(self.asked[j](self.norms[3 * j + 1](rows)))
            rows = rows + self.other[j](((q @ others[:, j].transpose(-1, -2)).softmax(-1) @ other_values[:, j]).transpose(1, 2).flatten(2))
            rows = rows + self.narrow[j](F.relu(self.wide[j](self.norms[3 * j + 2](rows))))
        return (self.norms[-1](rows) @ self.words.weight.T * rows.shape[-1] ** -0.5, *kept)


class Aligned(nn.Module):
    """A picture's rows and a text's in one decoder (LLaVA): two products in front, then causal layers, the words behind."""

    def __init__(self, layers, width, heads, seen, words):
        super().__init__()
        self.into, self.words = nn.Sequential(nn.Linear(seen, width), nn.GELU(), nn.Linear(width, width)), nn.Embedding(words, width)
        self.blocks, self.norm, self.head = nn.ModuleList(Block(width, heads, causal=True) for _ in range(layers)), nn.LayerNorm(width), nn.Linear(width, words)

    def forward(self, ids, seen):
        rows = torch.cat([self.into(seen), self.words(ids)], 1)
        for block in self.blocks:
            rows = block(rows)
        return self.head(self.norm(rows[:, seen.shape[1]:]))


class Asked(nn.Module):
    """Learned queries that look at a picture's rows and at a text (Q-Former, Perceiver)."""

    def __init__(self, layers, width, heads, queries, seen, words):
        super().__init__()
        self.queries, self.words, self.width = nn.Parameter(torch.randn(1, queries, width)), nn.Embedding(words, width), width
        self.blocks = nn.ModuleList(Block(width, heads, other=seen if k % 2 == 0 else None) for k in range(layers))
        self.out, self.norm = nn.Linear(width, 256), nn.LayerNorm(width)

    def forward(self, ids, seen):
        count = self.queries.shape[1]
        rows, words = self.queries.expand(ids.shape[0], -1, -1), self.words(ids)
        for block in self.blocks:
            both = torch.cat([rows, words], 1)
            both = both + block.own(block.norms[0](both))
            rows, words = both[:, :count], both[:, count:]
            if block.cross is not None:
                rows = rows + block.cross(block.norms[1](rows), seen)
            rows, words = (x + block.feed(block.norms[-1](x)) for x in (rows, words))
        return F.normalize(self.out(self.norm(rows)), dim=-1), F.normalize(self.out(self.norm(words[:, 0])), dim=-1)


class Folded(nn.Module):
    """Pairs of a protein's places (Evoformer): triangles of products, gates, attention along rows with a bias of pairs."""

    def __init__(self, layers, width, heads, inner):
        super().__init__()
        def lines(a, b):
            return nn.ModuleList(nn.Linear(a, b) for _ in range(layers))
        self.norms, self.heads = nn.ModuleList(nn.LayerNorm(width) for _ in range(4 * layers)), heads
        self.mixed = nn.ModuleList(nn.LayerNorm(inner) for _ in range(2 * layers))
        self.both, self.gates, self.end, self.opened = (nn.ModuleList(nn.Linear(a, b) for _ in range(2 * layers)) for a, b in ((width, 2 * inner), (width, 2 * inner), (inner, width), (width, width)))
        self.three, self.bias, self.gate, self.out, self.feeds = lines(width, 3 * width), lines(width, heads), lines(width, width), lines(width, width), nn.ModuleList(Feed(width, 4 * width, nn.ReLU) for _ in range(layers))

    def forward(self, pairs):
        for j, three in enumerate(self.three):
            for way, form in enumerate(("bikc,bjkc->bijc", "bkic,bkjc->bijc")):
                x, k = self.norms[4 * j + way](pairs), 2 * j + way
                a, b = (self.both[k](x) * torch.sigmoid(self.gates[k](x))).chunk(2, -1)
                pairs = pairs + torch.sigmoid(self.opened[k](x)) * self.end[k](self.mixed[k](torch.einsum(form, a, b) / a.shape[1]))
            x = self.norms[4 * j + 2](pairs)
            q, k, v = three(x).unflatten(-1, (3, self.heads, -1)).permute(3, 0, 1, 4, 2, 5).unbind(0)
            scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5 + self.bias[j](x).permute(0, 3, 1, 2)[:, None]
            y = (scores.softmax(-1) @ v).transpose(2, 3).flatten(3)
            pairs = pairs + self.out[j](y * torch.sigmoid(self.gate[j](x)))
            pairs = pairs + self.feeds[j](self.norms[4 * j + 3](pairs))
        return pairs
