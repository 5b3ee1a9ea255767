# SPDX-License-Identifier: Apache-2.0
"""Tables and recommendation, series, points and control of forms that the other files do not have."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from .common import Attention, Block, Feed, conv


def layers(*widths, activation=nn.ReLU):
    pairs = list(zip(widths, widths[1:]))
    return nn.Sequential(*[x for k, (a, b) in enumerate(pairs) for x in (nn.Linear(a, b), *([activation()] if k + 1 < len(pairs) else []))])


class Fields(nn.Module):
    """One table for all columns of numbers of words: each column begins at a row of its own."""

    def __init__(self, columns, words, width):
        super().__init__()
        self.table = nn.Embedding(columns * words, width)
        self.register_buffer("begin", torch.arange(columns)[None] * words)

    def forward(self, ids):
        return self.table(ids + self.begin)


class Crosses(nn.Module):
    """DCN V2: each layer multiplies the input by a product of what came before, of low rank with experts, beside a deep network."""

    def __init__(self, columns, words, width, depth, rank, inner):
        super().__init__()
        w = columns * width + 13
        self.fields, self.first, self.second = Fields(columns, words, width), nn.ModuleList(nn.Linear(w, rank, bias=False) for _ in range(depth)), nn.ModuleList(nn.Linear(rank, w) for _ in range(depth))
        self.deep, self.out = layers(w, inner, inner), nn.Linear(w + inner, 1)

    def forward(self, numbers, ids):
        given = torch.cat([numbers, self.fields(ids).flatten(1)], 1)
        x = given
        for first, second in zip(self.first, self.second):
            x = given * second(first(x)) + x
        return torch.sigmoid(self.out(torch.cat([x, F.relu(self.deep(given))], 1)))


class Factors(nn.Module):
    """DeepFM and xDeepFM: squares of sums, and compressed interactions of each column with each."""

    def __init__(self, columns, words, width, inner, maps):
        super().__init__()
        self.fields, self.one = Fields(columns, words, width), Fields(columns, words, 1)
        self.deep = layers(columns * width, inner, inner, 1)
        self.maps = nn.ModuleList(nn.Conv1d(columns * a, b, 1) for a, b in zip([columns, *maps], maps))
        self.out = nn.Linear(sum(maps), 1)

    def forward(self, ids):
        x = self.fields(ids)
        pairs = 0.5 * (x.sum(1).square() - x.square().sum(1)).sum(1, keepdim=True)
        hidden, found = x, []
        for part in self.maps:
            hidden = F.relu(part((hidden[:, :, None] * x[:, None]).flatten(1, 2)))
            found.append(hidden.sum(-1))
        return torch.sigmoid(self.one(ids).sum(1) + pairs + self.deep(x.flatten(1)) + self.out(torch.cat(found, 1)))


class Interest(nn.Module):
    """DIN: a candidate weighs what a user looked at by a small network of both, their difference and product."""

    def __init__(self, words, width, inner):
        super().__init__()
        self.words, self.weigh, self.deep = nn.Embedding(words, width), layers(4 * width, 80, 40, 1, activation=nn.Sigmoid), layers(3 * width, inner, inner // 2, 1, activation=nn.PReLU)

    def forward(self, candidate, seen, lengths):
        one, past = self.words(candidate), self.words(seen)
        wide = one[:, None].expand_as(past)
        scores = self.weigh(torch.cat([wide, past, wide - past, wide * past], -1))[..., 0]
        shown = torch.arange(seen.shape[1], device=seen.device)[None] < lengths[:, None]
        user = (scores.masked_fill(~shown, 0.0)[:, None] @ past)[:, 0]
        return torch.sigmoid(self.deep(torch.cat([one, user, one * user], -1)))


class Towers(nn.Module):
    """Users and items as vectors of length one, and the scores of all pairs."""

    def __init__(self, columns, words, width, inner):
        super().__init__()
        self.users, self.items = Fields(columns, words, width), Fields(columns, words, width)
        self.user, self.item = (layers(columns * width, inner, inner, 128) for _ in range(2))

    def forward(self, users, items):
        user, item = (F.normalize(tower(fields(ids).flatten(1)), dim=-1) for tower, fields, ids in ((self.user, self.users, users), (self.item, self.items, items)))
        return user @ item.t() / 0.05


class Tasks(nn.Module):
    """Experts that all tasks share, a gate for each task (MMoE)."""

    def __init__(self, inputs, inner, experts, tasks):
        super().__init__()
        self.experts, self.gates = nn.ModuleList(layers(inputs, inner, inner) for _ in range(experts)), nn.ModuleList(nn.Linear(inputs, experts) for _ in range(tasks))
        self.ends = nn.ModuleList(layers(inner, inner // 2, 1) for _ in range(tasks))

    def forward(self, rows):
        found = torch.stack([F.relu(expert(rows)) for expert in self.experts], 1)
        return torch.cat([torch.sigmoid(end((gate(rows).softmax(-1)[..., None] * found).sum(1))) for gate, end in zip(self.gates, self.ends)], 1)


class Columns(nn.Module):
    """Each column of a table a row of a transformer (FT-Transformer): numbers times a vector, words from tables, gated feeds."""

    def __init__(self, depth, numbers, columns, words, width, heads):
        super().__init__()
        self.scale, self.shift, self.fields = nn.Parameter(torch.randn(numbers, width)), nn.Parameter(torch.randn(numbers, width)), Fields(columns, words, width)
        self.first, self.blocks, self.out = nn.Parameter(torch.randn(1, 1, width)), nn.Sequential(*[Block(width, heads, 2 * width, activation=nn.ReLU) for _ in range(depth)]), nn.Sequential(nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, numbers, ids):
        rows = torch.cat([self.first.expand(ids.shape[0], -1, -1), numbers[..., None] * self.scale + self.shift, self.fields(ids)], 1)
        return self.out(self.blocks(rows)[:, 0])


class Next(nn.Module):
    """What a user takes next (SASRec): causal layers over what was taken, scores of all items for the last."""

    def __init__(self, depth, items, width, heads, length):
        super().__init__()
        self.items, self.places, self.blocks = nn.Embedding(items, width), nn.Parameter(torch.randn(length, width)), nn.ModuleList(Block(width, heads, width, causal=True, activation=nn.ReLU) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids):
        rows, shown = self.items(ids) * self.items.weight.shape[1] ** 0.5 + self.places, (ids != 0)[..., None]
        rows = rows * shown
        for block in self.blocks:
            rows = block(rows) * shown
        return self.norm(rows[:, -1]) @ self.items.weight.t()


class PatchSeries(nn.Module):
    """PatchTST: each series by itself, pieces that overlap as rows, normalization that is undone at the end."""

    def __init__(self, depth, width, heads, length, ahead, piece=16, step=8):
        super().__init__()
        self.piece, self.step = piece, step
        count = (length - piece) // step + 2
        self.into, self.places, self.blocks = nn.Linear(piece, width), nn.Parameter(torch.randn(count, width) * 0.02), nn.Sequential(*[Block(width, heads, 2 * width) for _ in range(depth)])
        self.out = nn.Linear(count * width, ahead)

    def forward(self, series):
        mean, spread = series.mean(1, keepdim=True), (series.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
        x = ((series - mean) / spread).transpose(1, 2)
        rows = torch.cat([x, x[..., -1:].expand(-1, -1, self.step)], -1).unfold(2, self.piece, self.step)
        n, c = rows.shape[:2]
        rows = self.blocks((self.into(rows) + self.places).flatten(0, 1))
        return self.out(rows.flatten(1).view(n, c, -1)).transpose(1, 2) * spread + mean


class Basis(nn.Module):
    """N-BEATS: blocks that take from the past what they explain and add what they foretell."""

    def __init__(self, blocks, length, ahead, width):
        super().__init__()
        self.blocks, self.ahead = nn.ModuleList(layers(length, width, width, width, width, length + ahead) for _ in range(blocks)), ahead

    def forward(self, past):
        future = 0
        for block in self.blocks:
            back, more = block(past).split([past.shape[1], self.ahead], 1)
            past, future = F.relu(past - back), future + more
        return future


class Inverted(nn.Module):
    """Each series as one row (iTransformer)."""

    def __init__(self, depth, width, heads, length, ahead):
        super().__init__()
        self.into, self.blocks, self.out = nn.Linear(length, width), nn.Sequential(*[Block(width, heads) for _ in range(depth)]), nn.Linear(width, ahead)

    def forward(self, series):
        return self.out(self.blocks(self.into(series.transpose(1, 2)))).transpose(1, 2)


class Sparse(nn.Module):
    """Informer: only the queries whose scores differ most look; the others take the mean. Lengths are halved between layers."""

    def __init__(self, depth, inputs, width, heads, length, kept, sampled):
        super().__init__()
        self.into, self.heads, self.kept = nn.Conv1d(inputs, width, 3, padding=1, padding_mode="circular"), heads, kept
        self.three, self.outs = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(depth)), nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.norms, self.feeds = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * depth)), nn.ModuleList(Feed(width, 4 * width) for _ in range(depth))
        self.halves = nn.ModuleList(nn.Sequential(nn.Conv1d(width, width, 3, padding=1), nn.BatchNorm1d(width), nn.ELU(), nn.MaxPool1d(3, 2, 1)) for _ in range(depth - 1))
        for k in range(depth):
            self.register_buffer(f"some{k}", torch.randint(0, length // 2 ** k, (sampled,)))

    def forward(self, series):
        rows = self.into(series.transpose(1, 2)).transpose(1, 2)
        for j, three in enumerate(self.three):
            q, k, v = three(rows).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
            some = q @ k[:, :, getattr(self, f"some{j}")].transpose(-1, -2)
            best = (some.amax(-1) - some.mean(-1)).topk(self.kept, -1).indices[..., None].expand(-1, -1, -1, q.shape[-1])
            found = (q.gather(2, best) @ k.transpose(-1, -2) * q.shape[-1] ** -0.5).softmax(-1) @ v
            y = v.mean(2, keepdim=True).expand_as(v).scatter(2, best, found)
            rows = self.norms[2 * j](rows + self.outs[j](y.transpose(1, 2).flatten(2)))
            rows = self.norms[2 * j + 1](rows + self.feeds[j](rows))
            if j < len(self.halves):
                rows = self.halves[j](rows.transpose(1, 2)).transpose(1, 2)
        return rows


class Weighed(nn.Module):
    """The temporal fusion transformer: gated residual networks choose columns, an LSTM, attention, three quantiles."""

    class Gate(nn.Module):
        def __init__(self, a, width, b):
            super().__init__()
            self.first, self.second, self.gate, self.norm = nn.Linear(a, width), nn.Linear(width, width), nn.Linear(width, 2 * b), nn.LayerNorm(b)
            self.skip = nn.Linear(a, b) if a != b else nn.Identity()

        def forward(self, x):
            return self.norm(self.skip(x) + F.glu(self.gate(self.second(F.elu(self.first(x)))), -1))

    def __init__(self, columns, width, heads, ahead):
        super().__init__()
        self.into, self.parts = nn.ModuleList(nn.Linear(1, width) for _ in range(columns)), nn.ModuleList(self.Gate(width, width, width) for _ in range(columns))
        self.choose, self.rows, self.ahead = self.Gate(columns * width, width, columns), nn.LSTM(width, width, batch_first=True), ahead
        self.look, self.ends, self.out = Attention(width, heads, causal=True), nn.ModuleList(self.Gate(width, width, width) for _ in range(3)), nn.Linear(width, 3)

    def forward(self, series):
        columns = [into(x) for into, x in zip(self.into, series.split(1, -1))]
        shares = self.choose(torch.cat(columns, -1)).softmax(-1)
        x = (torch.stack([part(x) for part, x in zip(self.parts, columns)], -1) * shares[..., None, :]).sum(-1)
        x = self.ends[0](x + self.rows(x)[0])
        x = self.ends[1](x + self.look(x))
        return self.out(self.ends[2](x[:, -self.ahead:]))


class Groups(nn.Module):
    """Points around given centres (PointNet++): the nearest, their differences, a small network, the greatest; twice."""

    def __init__(self, widths, near, kinds):
        super().__init__()
        self.near, pairs = near, list(zip([0, *widths], widths))
        self.parts = nn.ModuleList(nn.Sequential(conv(3 + a, b // 2, 1, activation=nn.ReLU), conv(b // 2, b, 1, activation=nn.ReLU)) for a, b in pairs)
        self.out = layers(widths[-1], widths[-1], kinds)

    def forward(self, points, *counts):
        x, given = points, None
        for part in self.parts:
            middle = x[:, ::4]
            far = (middle * middle).sum(-1, keepdim=True) - 2 * middle @ x.transpose(1, 2) + (x * x).sum(-1)[:, None]
            index = far.topk(self.near, -1, largest=False).indices
            n, m, k = index.shape
            def picked(rows):
                return rows.gather(1, index.view(n, m * k, 1).expand(-1, -1, rows.shape[2])).view(n, m, k, -1)
            y = picked(x) - middle[:, :, None]
            y = y if given is None else torch.cat([y, picked(given)], -1)
            given, x = part(y.permute(0, 3, 1, 2)).amax(-1).transpose(1, 2), middle
        return self.out(given.amax(1))


class Agent(nn.Module):
    """A policy and its value from a picture (IMPALA): residual convolutions, one step of an LSTM."""

    def __init__(self, widths, side, width, actions):
        super().__init__()
        class Own(nn.Module):
            def __init__(self, w):
                super().__init__()
                self.parts = nn.Sequential(nn.ReLU(), nn.Conv2d(w, w, 3, padding=1), nn.ReLU(), nn.Conv2d(w, w, 3, padding=1))

            def forward(self, x):
                return x + self.parts(x)
        parts = [x for a, b in zip([4, *widths], widths) for x in (nn.Conv2d(a, b, 3, padding=1), nn.MaxPool2d(3, 2, 1), Own(b), Own(b))]
        left = -(-side // 2 ** len(widths))
        self.trunk, self.cell = nn.Sequential(*parts, nn.ReLU(), nn.Flatten(), nn.Linear(widths[-1] * left * left, width), nn.ReLU()), nn.LSTM(width, width)
        self.policy, self.value = nn.Linear(width, actions), nn.Linear(width, 1)

    def forward(self, picture, hidden, cell):
        rows, (hidden, cell) = self.cell(self.trunk(picture / 255.0)[None], (hidden, cell))
        return self.policy(rows[0]).softmax(-1), self.value(rows[0]), hidden, cell


class Control(nn.Module):
    """A policy of joints: normalized inputs, three layers, a squashed mean and spread, and two critics (SAC)."""

    def __init__(self, inputs, width, actions):
        super().__init__()
        self.register_buffer("mean", torch.randn(inputs)), self.register_buffer("spread", torch.rand(inputs) + 0.5)
        self.policy, self.critics = layers(inputs, width, width, 2 * actions, activation=nn.ELU), nn.ModuleList(layers(inputs + actions, width, width, 1, activation=nn.ELU) for _ in range(2))

    def forward(self, seen):
        seen = ((seen - self.mean) / self.spread).clamp(-5, 5)
        mean, spread = self.policy(seen).chunk(2, -1)
        action = torch.tanh(mean)
        return action, spread.clamp(-5, 2).exp(), torch.minimum(*(critic(torch.cat([seen, action], -1)) for critic in self.critics))


class Planned(nn.Module):
    """Movements by diffusion (diffusion policy): a UNet over time, groups normalized, what is seen scales and shifts."""

    class Part(nn.Module):
        def __init__(self, a, b, given):
            super().__init__()
            self.convs, self.norms = nn.ModuleList([nn.Conv1d(a, b, 5, padding=2), nn.Conv1d(b, b, 5, padding=2)]), nn.ModuleList(nn.GroupNorm(8, b) for _ in range(2))
            self.film, self.skip = nn.Linear(given, 2 * b), nn.Conv1d(a, b, 1) if a != b else nn.Identity()

        def forward(self, x, given):
            y = F.mish(self.norms[0](self.convs[0](x)))
            scale, shift = self.film(F.mish(given))[..., None].chunk(2, 1)
            return self.skip(x) + F.mish(self.norms[1](self.convs[1](y * scale + shift)))

    def __init__(self, actions, seen, widths):
        super().__init__()
        given = 128 + seen
        pairs = list(zip([actions, *widths], widths))
        self.down = nn.ModuleList(nn.ModuleList([self.Part(a, b, given), self.Part(b, b, given), nn.Conv1d(b, b, 3, 2, 1) if k + 1 < len(widths) else nn.Identity()]) for k, (a, b) in enumerate(pairs))
        self.middle, self.time = self.Part(widths[-1], widths[-1], given), layers(128, 512, 128, activation=nn.Mish)
        self.up = nn.ModuleList(nn.ModuleList([self.Part(2 * b, a, given), self.Part(a, a, given), nn.ConvTranspose1d(a, a, 4, 2, 1)]) for a, b in reversed(pairs[1:]))
        self.out = nn.Conv1d(widths[0], actions, 1)

    def forward(self, actions, time, seen):
        angles = time[:, None] * torch.exp(torch.arange(64, device=time.device) * (-math.log(10000.0) / 63)).to(time.dtype)
        given, x, kept = torch.cat([self.time(torch.cat([angles.sin(), angles.cos()], -1)), seen], -1), actions.transpose(1, 2), []
        for first, second, shrink in self.down:
            x = second(first(x, given), given)
            kept.append(x)
            x = shrink(x)
        x = self.middle(x, given)
        for first, second, grow in self.up:
            x = grow(second(first(torch.cat([x, kept.pop()], 1), given), given))
        return self.out(x).transpose(1, 2)
