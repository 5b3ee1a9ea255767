# SPDX-License-Identifier: Apache-2.0
"""Networks that choose rows by indices, add rows up by them, or repeat small steps: graphs, tables, experts, decoders."""
import torch
from torch import nn
from torch.nn import functional as F

from .common import Attention, Feed
from .sequences import RootNorm


class Experts(nn.Module):
    """A transformer whose feed is a mixture: each row is computed by the two best of the experts, all are products here."""

    def __init__(self, layers, width, heads, inner, experts):
        super().__init__()
        self.own, self.norms = nn.ModuleList(Attention(width, heads, causal=True) for _ in range(layers)), nn.ModuleList(RootNorm(width) for _ in range(2 * layers))
        self.gates = nn.ModuleList(nn.Linear(width, experts, bias=False) for _ in range(layers))
        self.wide, self.through = (nn.ParameterList(nn.Parameter(torch.randn(experts, width, inner) * width ** -0.5) for _ in range(layers)) for _ in range(2))
        self.narrow = nn.ParameterList(nn.Parameter(torch.randn(experts, inner, width) * inner ** -0.5) for _ in range(layers))

    def forward(self, rows):
        for k, gate in enumerate(self.gates):
            rows = rows + self.own[k](self.norms[2 * k](rows))
            x = self.norms[2 * k + 1](rows).flatten(0, 1)
            weights, chosen = gate(x).softmax(-1).topk(2, -1)
            weights = weights / weights.sum(-1, keepdim=True)
            shares = torch.zeros(x.shape[0], self.wide[k].shape[0], device=x.device, dtype=x.dtype).scatter(1, chosen, weights)
            y = F.silu(x @ self.wide[k]) * (x @ self.through[k])
            rows = rows + ((y @ self.narrow[k]) * shares.t()[..., None]).sum(0).view(rows.shape)
        return rows


class ChosenExperts(nn.Module):
    """A step of few rows: the weights of the chosen experts are gathered."""

    def __init__(self, width, inner, experts):
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.wide, self.narrow = nn.Parameter(torch.randn(experts, width, inner) * width ** -0.5), nn.Parameter(torch.randn(experts, inner, width) * inner ** -0.5)

    def forward(self, x):
        weights, chosen = self.gate(x).topk(2, -1)
        y = F.gelu(x[:, None, None] @ self.wide[chosen])
        y = (y @ self.narrow[chosen])[:, :, 0]
        return x + (y * weights.softmax(-1)[..., None]).sum(1)


class GraphAttention(nn.Module):
    """Each node's softmax over its edges (GAT)."""

    def __init__(self, inputs, width, heads, layers):
        super().__init__()
        widths = [inputs] + [width] * layers
        self.heads, self.into = heads, nn.ModuleList(nn.Linear(a, b, bias=False) for a, b in zip(widths, widths[1:]))
        self.source, self.target = (nn.ParameterList(nn.Parameter(torch.randn(heads, width // heads) * 0.1) for _ in range(layers)) for _ in range(2))

    def forward(self, x, edges):
        source, target = edges[0], edges[1]
        for into, a, b in zip(self.into, self.source, self.target):
            h = into(x).view(x.shape[0], self.heads, -1)
            scores = F.leaky_relu((h * a).sum(-1)[source] + (h * b).sum(-1)[target], 0.2)
            shares = torch.exp(scores.clamp(max=8.0))
            index = target[:, None].expand_as(shares)
            total = torch.zeros(x.shape[0], self.heads, device=x.device, dtype=x.dtype).scatter_add(0, index, shares)
            given = (h[source] * (shares / (total[target] + 1e-3))[..., None]).flatten(1)
            x = F.elu(torch.zeros(x.shape[0], given.shape[1], device=x.device, dtype=x.dtype).scatter_add(0, target[:, None].expand_as(given), given))
        return x


class Messages(nn.Module):
    """A network of edges and nodes (MeshGraphNet): both have their own products."""

    def __init__(self, nodes, edges, width, layers):
        super().__init__()
        self.nodes, self.edges = Feed(nodes, width, nn.ReLU), Feed(edges, width, nn.ReLU)
        self.nodes[2], self.edges[2] = nn.Linear(width, width), nn.Linear(width, width)
        def layer(count):
            return nn.Sequential(nn.Linear(count * width, width), nn.ReLU(), nn.Linear(width, width), nn.LayerNorm(width))
        self.onto, self.into = nn.ModuleList(layer(3) for _ in range(layers)), nn.ModuleList(layer(2) for _ in range(layers))
        self.out = nn.Linear(width, 3)

    def forward(self, nodes, edges, ends):
        x, e = self.nodes(nodes), self.edges(edges)
        for onto, into in zip(self.onto, self.into):
            e = e + onto(torch.cat([e, x[ends[0]], x[ends[1]]], -1))
            total = torch.zeros_like(x).scatter_add(0, ends[1][:, None].expand_as(e), e)
            x = x + into(torch.cat([x, total], -1))
        return self.out(x)


class Bags(nn.Module):
    """Sums of embeddings, crosses (DCN V2) and a deep part."""

    def __init__(self, tables, words, width, crosses):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(words, width) for _ in range(tables))
        whole = tables * width + 13
        self.crosses = nn.ModuleList(nn.Sequential(nn.Linear(whole, whole // 4, bias=False), nn.Linear(whole // 4, whole)) for _ in range(crosses))
        self.deep = nn.Sequential(nn.Linear(whole, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU())
        self.out = nn.Linear(whole + 256, 1)

    def forward(self, numbers, kinds):
        first = torch.cat([torch.log1p(numbers)] + [table(kinds[:, k]).sum(1) for k, table in enumerate(self.tables)], -1)
        x = first
        for cross in self.crosses:
            x = first * cross(x) + x
        return self.out(torch.cat([x, self.deep(first)], -1)).sigmoid()


class Session(nn.Module):
    """The next of many things after those that were seen (GRU4Rec): the ten best."""

    def __init__(self, words, width):
        super().__init__()
        self.words, self.rows = nn.Embedding(words, width), nn.GRU(width, width, batch_first=True)

    def forward(self, seen):
        last = self.rows(self.words(seen))[0][:, -1]
        return (last @ self.words.weight.t()).topk(10, -1)[0]


class Cells(nn.Module):
    """A decoder that looks at all rows before each step and takes its own last answer (speech synthesis, translation)."""

    def __init__(self, width, bands, steps):
        super().__init__()
        self.steps, self.width, self.bands = steps, width, bands
        self.before = nn.Sequential(nn.Linear(bands, width // 2), nn.ReLU(), nn.Linear(width // 2, width // 2), nn.ReLU())
        self.first, self.second = nn.LSTMCell(width // 2 + width, width), nn.LSTMCell(2 * width, width)
        self.key, self.ask, self.score = nn.Linear(width, 128, bias=False), nn.Linear(width, 128, bias=False), nn.Linear(128, 1, bias=False)
        self.place = nn.Conv1d(2, 32, 31, padding=15, bias=False)
        self.placed, self.out, self.stop = nn.Linear(32, 128, bias=False), nn.Linear(2 * width, bands), nn.Linear(2 * width, 1)

    def forward(self, rows):
        n, length, width = rows.shape
        def zeros(*shape):
            return torch.zeros(n, *shape, device=rows.device, dtype=rows.dtype)
        keys, answer, seen, h1, c1, h2, c2 = self.key(rows), zeros(self.bands), zeros(width), *(zeros(self.width) for _ in range(4))
        share, total, found, ends = zeros(length), zeros(length), [], []
        for _ in range(self.steps):
            h1, c1 = self.first(torch.cat([self.before(answer), seen], -1), (h1, c1))
            place = self.placed(self.place(torch.stack([share, total], 1)).transpose(1, 2))
            share = self.score(torch.tanh(self.ask(h1)[:, None] + keys + place))[..., 0].softmax(-1)
            total, seen = total + share, (share[:, None] @ rows)[:, 0]
            h2, c2 = self.second(torch.cat([h1, seen], -1), (h2, c2))
            both = torch.cat([h2, seen], -1)
            answer = self.out(both)
            found.append(answer)
            ends.append(self.stop(both))
        return torch.stack(found, 1), torch.cat(ends, 1)


class Translator(nn.Module):
    """An encoder and a decoder of LSTMs, whose best word is its next input."""

    def __init__(self, words, width, steps):
        super().__init__()
        self.words, self.rows, self.steps = nn.Embedding(words, width), nn.LSTM(width, width, 2, batch_first=True), steps
        self.first, self.second, self.join, self.out = nn.LSTMCell(2 * width, width), nn.LSTMCell(width, width), nn.Linear(2 * width, width), nn.Linear(width, words)

    def forward(self, ids):
        rows, (h, c) = self.rows(self.words(ids))
        first, second, seen, word = (h[0], c[0]), (h[1], c[1]), torch.zeros_like(h[0]), ids[:, 0]
        scores = []
        for _ in range(self.steps):
            first = self.first(torch.cat([self.words(word), seen], -1), first)
            second = self.second(first[0], second)
            shares = (rows @ second[0][..., None])[..., 0].softmax(-1)
            seen = torch.tanh(self.join(torch.cat([(shares[:, None] @ rows)[:, 0], second[0]], -1)))
            scores.append(self.out(seen))
            word = scores[-1].argmax(-1)
        return torch.stack(scores, 1)


class HashGrid(nn.Module):
    """Features of corners of cubes at several resolutions, found by a hash of their places, and a small network (Instant NGP)."""

    def __init__(self, levels, entries, width=64):
        super().__init__()
        self.table = nn.Parameter(torch.randn(levels, entries, 2) * 0.1)
        self.register_buffer("scale", torch.tensor([16.0 * 1.38 ** k for k in range(levels)]))
        self.register_buffer("corners", torch.tensor([[i, j, k] for i in range(2) for j in range(2) for k in range(2)]))
        self.feed = nn.Sequential(nn.Linear(2 * levels, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))

    def forward(self, points):
        levels, entries, _ = self.table.shape
        x = points.float()[:, None] * self.scale[:, None].float()
        low = x.floor()
        part = (x - low)[:, :, None]
        corner = low.long()[:, :, None] + self.corners
        index = (corner[..., 0] + corner[..., 1] * 31 + corner[..., 2] * 1009) % entries
        shares = torch.where(self.corners == 1, part, 1 - part).prod(-1)
        index = index + entries * torch.arange(levels, device=points.device)[:, None]
        found = self.table.flatten(0, 1)[index] * shares[..., None].to(self.table.dtype)
        return self.feed(found.sum(2).flatten(1))


class Receptance(nn.Module):
    """A step of RWKV: matrices of state for each head."""

    def __init__(self, layers, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.mixes = nn.Parameter(torch.rand(layers, 6, width))
        self.four, self.outs = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(4 * layers)), nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(layers))
        self.decay, self.bonus = nn.Parameter(torch.rand(layers, heads, width // heads, 1)), nn.Parameter(torch.rand(layers, heads, width // heads, 1))
        self.groups = nn.ModuleList(nn.GroupNorm(heads, width) for _ in range(layers))
        self.wide, self.gate, self.narrow = (nn.ModuleList(nn.Linear(a, b, bias=False) for _ in range(layers)) for a, b in ((width, 7 * width // 2), (width, width), (7 * width // 2, width)))

    def forward(self, x, last, states):
        lasts, after = [], []
        for k in range(len(self.groups)):
            y, mix = self.norms[2 * k](x), self.mixes[k]
            before = last[:, 2 * k]
            r, key, v, g = (self.four[4 * k + j](y * mix[j] + before * (1 - mix[j])) for j in range(4))
            r, key, v = (t.view(-1, self.heads, t.shape[-1] // self.heads) for t in (r, key, v))
            outer = key[..., None] * v[:, :, None]
            state = states[:, k]
            y2 = (r[:, :, None] @ (self.bonus[k] * outer + state)).flatten(1)
            after.append(torch.exp(-torch.exp(self.decay[k])) * state + outer)
            x = x + self.outs[k](self.groups[k](y2) * F.silu(g))
            z, before = self.norms[2 * k + 1](x), last[:, 2 * k + 1]
            wide = F.relu(self.wide[k](z * mix[4] + before * (1 - mix[4]))).square()
            x = x + self.gate[k](z * mix[5] + before * (1 - mix[5])).sigmoid() * self.narrow[k](wide)
            lasts += [y, z]
        return x, torch.stack(lasts, 1), torch.stack(after, 1)


class Steps(nn.Module):
    """A step of a decoder that keeps its keys and values and looks at what an encoder gave (Whisper)."""

    def __init__(self, layers, width, heads, words):
        super().__init__()
        self.heads, self.words = heads, nn.Embedding(words, width)
        self.three, self.outs = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers)), nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.ask, self.answers = (nn.ModuleList(nn.Linear(width, width) for _ in range(layers)) for _ in range(2))
        self.norms, self.feeds = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 * layers + 1)), nn.ModuleList(Feed(width, 4 * width) for _ in range(layers))

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, ids, keys, values, far_keys, far_values):
        x, kept = self.words(ids), []
        for k, feed in enumerate(self.feeds):
            q, key, value = (self.split(t) for t in self.three[k](self.norms[3 * k](x)).chunk(3, -1))
            key, value = torch.cat([keys[:, k], key], 2), torch.cat([values[:, k], value], 2)
            kept += [key, value]
            x = x + self.outs[k](F.scaled_dot_product_attention(q, key, value).transpose(1, 2).flatten(2))
            q = self.split(self.ask[k](self.norms[3 * k + 1](x)))
            x = x + self.answers[k](F.scaled_dot_product_attention(q, far_keys[:, k], far_values[:, k]).transpose(1, 2).flatten(2))
            x = x + feed(self.norms[3 * k + 2](x))
        return (self.norms[-1](x) @ self.words.weight.t(), *kept)
