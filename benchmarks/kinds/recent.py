# SPDX-License-Identifier: Apache-2.0
"""Pictures' classifiers and generators, sound, series and skeletons of forms that the other files do not have."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from .common import Attention, Block, Feed, conv
from .sequences import RootNorm


class Encodec(nn.Module):
    """A codec of sound: strided convolutions, an LSTM, and the nearest codes of what the last ones left."""

    def __init__(self, width, rates, inner, books, codes):
        super().__init__()
        parts, w = [nn.Conv1d(1, width, 7, padding=3, padding_mode="reflect")], width
        for rate in rates:
            parts += [Unit(w), nn.ELU(), nn.Conv1d(w, 2 * w, 2 * rate, rate, rate // 2)]
            w *= 2
        self.down, self.rows = nn.Sequential(*parts), nn.LSTM(w, w, 2, batch_first=True)
        self.into, self.out = nn.Conv1d(w, inner, 7, padding=3), nn.Conv1d(inner, w, 7, padding=3)
        self.books, parts = nn.Parameter(torch.randn(books, codes, inner)), []
        for rate in reversed(rates):
            parts += [nn.ELU(), nn.ConvTranspose1d(w, w // 2, 2 * rate, rate, rate // 2), Unit(w // 2)]
            w //= 2
        self.up = nn.Sequential(*parts, nn.ELU(), nn.Conv1d(w, 1, 7, padding=3, padding_mode="reflect"))

    def forward(self, sound):
        x = self.down(sound).transpose(1, 2)
        x = self.into(F.elu((x + self.rows(x)[0]).transpose(1, 2)))
        left, total = x.transpose(1, 2), 0
        for book in self.books:
            far = (left * left).sum(-1, keepdim=True) - 2 * left @ book.t() + (book * book).sum(-1)
            found = F.embedding(far.argmin(-1), book)
            left, total = left - found, total + found
        return self.up(self.out(total.transpose(1, 2)))


class Unit(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.parts = nn.Sequential(nn.ELU(), nn.Conv1d(width, width // 2, 3, padding=1, padding_mode="reflect"), nn.ELU(), nn.Conv1d(width // 2, width, 1))

    def forward(self, x):
        return x + self.parts(x)


class Speaker(nn.Module):
    """Voices as vectors (ECAPA-TDNN): convolutions in scales, excitation, statistics under attention."""

    def __init__(self, bands, width, scales=8):
        super().__init__()
        def line(a, b, size=1, far=1):
            return nn.Sequential(nn.Conv1d(a, b, size, padding=far * (size // 2), dilation=far), nn.ReLU(), nn.BatchNorm1d(b))
        self.scales, self.begin = scales, line(bands, width, 5)
        self.wide, self.narrow = (nn.ModuleList(line(width, width) for _ in range(3)) for _ in range(2))
        self.parts = nn.ModuleList(nn.ModuleList(line(width // scales, width // scales, 3, far) for _ in range(scales - 1)) for far in (2, 3, 4))
        self.squeeze = nn.ModuleList(nn.Sequential(nn.Conv1d(width, 128, 1), nn.ReLU(), nn.Conv1d(128, width, 1), nn.Sigmoid()) for _ in range(3))
        self.join = nn.Sequential(nn.Conv1d(3 * width, 3 * width // 2, 1), nn.ReLU())
        self.shares = nn.Sequential(nn.Conv1d(9 * width // 2, 128, 1), nn.ReLU(), nn.Tanh(), nn.Conv1d(128, 3 * width // 2, 1))
        self.out = nn.Sequential(nn.BatchNorm1d(3 * width), nn.Linear(3 * width, 192))

    def forward(self, x):
        x, every = self.begin(x), []
        for wide, parts, narrow, squeeze in zip(self.wide, self.parts, self.narrow, self.squeeze):
            given, found = wide(x).chunk(self.scales, 1), []
            for k, piece in enumerate(given):
                found.append(piece if k == 0 else parts[k - 1](piece if k == 1 else piece + found[-1]))
            y = narrow(torch.cat(found, 1))
            x = x + y * squeeze(y.mean(2, keepdim=True))
            every.append(x)
        x = self.join(torch.cat(every, 1))
        mean, spread = x.mean(2, keepdim=True), (x.var(2, keepdim=True, unbiased=False) + 1e-4).sqrt()
        shares = self.shares(torch.cat([x, mean.expand_as(x), spread.expand_as(x)], 1)).softmax(2)
        mean = (shares * x).sum(2)
        spread = ((shares * (x - mean[..., None]).square()).sum(2) + 1e-4).sqrt()
        return self.out(torch.cat([mean, spread], 1))


class Waves(nn.Module):
    """Wav2vec 2: seven convolutions over sound, one of many taps in groups for places, a transformer."""

    def __init__(self, width, heads, layers, inner=512):
        super().__init__()
        self.down = nn.ModuleList(nn.Conv1d(1 if k == 0 else inner, inner, size, stride, bias=False)
                                  for k, (size, stride) in enumerate([(10, 5)] + [(3, 2)] * 4 + [(2, 2)] * 2))
        self.group, self.norm, self.into = nn.GroupNorm(inner, inner), nn.LayerNorm(inner), nn.Linear(inner, width)
        self.places, self.blocks = nn.Conv1d(width, width, 128, padding=64, groups=16), nn.Sequential(*[Block(width, heads) for _ in range(layers)])
        self.out = nn.Linear(width, 32)

    def forward(self, sound):
        x = sound
        for k, down in enumerate(self.down):
            x = down(x)
            x = F.gelu(self.group(x) if k == 0 else x)
        rows = self.into(self.norm(x.transpose(1, 2)))
        rows = rows + F.gelu(self.places(rows.transpose(1, 2))[..., :-1]).transpose(1, 2)
        return self.out(self.blocks(rows))


class Modulated(nn.Module):
    """A diffusion transformer (DiT): norms are scaled and shifted by the time."""

    def __init__(self, layers, width, heads, channels, side):
        super().__init__()
        self.into, self.places = nn.Conv2d(channels, width, 2, 2), nn.Parameter(torch.randn(side * side // 4, width) * 0.02)
        self.time, self.width, self.side = nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, width)), width, side // 2
        self.six = nn.ModuleList(nn.Linear(width, 6 * width) for _ in range(layers))
        self.own, self.feeds = nn.ModuleList(Attention(width, heads) for _ in range(layers)), nn.ModuleList(Feed(width, 4 * width, lambda: nn.GELU("tanh")) for _ in range(layers))
        self.two, self.out = nn.Linear(width, 2 * width), nn.Linear(width, 4 * channels)

    def forward(self, x, time):
        angles = time[:, None] * torch.exp(torch.arange(128, device=x.device) * (-math.log(10000.0) / 128)).to(x.dtype)
        given = F.silu(self.time(torch.cat([angles.cos(), angles.sin()], -1)))[:, None]
        n, c = x.shape[:2]
        rows = self.into(x).flatten(2).transpose(1, 2) + self.places
        def norm(rows, shift, scale):
            return F.layer_norm(rows, (self.width,)) * (1 + scale) + shift
        for six, own, feed in zip(self.six, self.own, self.feeds):
            a, b, g, d, e, h = six(given).chunk(6, -1)
            rows = rows + g * own(norm(rows, a, b))
            rows = rows + h * feed(norm(rows, d, e))
        rows = self.out(norm(rows, *self.two(given).chunk(2, -1))).view(n, self.side, self.side, 2, 2, c)
        return rows.permute(0, 5, 1, 3, 2, 4).reshape(n, c, 2 * self.side, 2 * self.side)


class Registers(nn.Module):
    """A vision transformer with registers, gated feeds and scaled layers (DINOv2)."""

    def __init__(self, layers, width, heads, side, inner):
        super().__init__()
        self.into, self.first, self.places = nn.Conv2d(3, width, 14, 14), nn.Parameter(torch.randn(1, 5, width)), nn.Parameter(torch.randn(side * side, width))
        self.norms, self.own = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers + 1)), nn.ModuleList(Attention(width, heads) for _ in range(layers))
        self.wide, self.narrow = nn.ModuleList(nn.Linear(width, 2 * inner) for _ in range(layers)), nn.ModuleList(nn.Linear(inner, width) for _ in range(layers))
        self.scales = nn.Parameter(torch.rand(2 * layers, width))

    def forward(self, picture):
        rows = self.into(picture).flatten(2).transpose(1, 2) + self.places
        rows = torch.cat([self.first.expand(rows.shape[0], -1, -1), rows], 1)
        for k, own in enumerate(self.own):
            rows = rows + self.scales[2 * k] * own(self.norms[2 * k](rows))
            a, b = self.wide[k](self.norms[2 * k + 1](rows)).chunk(2, -1)
            rows = rows + self.scales[2 * k + 1] * self.narrow[k](F.silu(a) * b)
        return self.norms[-1](rows)[:, 0]


class ConvMixer(nn.Sequential):
    def __init__(self, width, layers, size=9, patch=7):
        class Own(nn.Sequential):
            def forward(self, x):
                return x + super().forward(x)
        def after(part):
            return part, nn.GELU(), nn.BatchNorm2d(width)
        super().__init__(*after(nn.Conv2d(3, width, patch, patch)),
                         *[part for _ in range(layers) for part in (Own(*after(nn.Conv2d(width, width, size, padding=size // 2, groups=width))), *after(nn.Conv2d(width, width, 1)))],
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 1000))


class Gated(nn.Module):
    """gMLP: places are mixed by a product, which gates the other half."""

    def __init__(self, layers, width, length):
        super().__init__()
        self.norms, self.gates = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers)), nn.ModuleList(nn.LayerNorm(3 * width) for _ in range(layers))
        self.wide, self.narrow = nn.ModuleList(nn.Linear(width, 6 * width) for _ in range(layers)), nn.ModuleList(nn.Linear(3 * width, width) for _ in range(layers))
        self.mixes = nn.ModuleList(nn.Conv1d(length, length, 1) for _ in range(layers))

    def forward(self, rows):
        for norm, wide, gate, mix, narrow in zip(self.norms, self.wide, self.gates, self.mixes, self.narrow):
            a, b = F.gelu(wide(norm(rows))).chunk(2, -1)
            rows = rows + narrow(a * mix(gate(b)))
        return rows


class MobileVit(nn.Module):
    """Places of a picture apart, each with its like in the other cells, in a transformer, and back."""

    def __init__(self, width, inner, layers):
        super().__init__()
        self.near, self.into = conv(width, width), nn.Conv2d(width, inner, 1, bias=False)
        self.blocks, self.norm = nn.Sequential(*[Block(inner, 4, 2 * inner, activation=nn.SiLU) for _ in range(layers)]), nn.LayerNorm(inner)
        self.out, self.join = conv(inner, width, 1), conv(2 * width, width)

    def forward(self, x):
        y = self.into(self.near(x))
        n, c, h, w = y.shape
        rows = y.reshape(n * c * (h // 2), 2, w // 2, 2).transpose(1, 2).reshape(n, c, h * w // 4, 4).transpose(1, 3).reshape(4 * n, h * w // 4, c)
        rows = self.norm(self.blocks(rows)).view(n, 4, h * w // 4, c).transpose(1, 3)
        y = rows.reshape(n * c * (h // 2), w // 2, 2, 2).transpose(1, 2).reshape(n, c, h, w)
        return self.join(torch.cat([x, self.out(y)], 1))


class Inverted(nn.Sequential):
    def __init__(self, a, b, stride, more=4):
        super().__init__(conv(a, more * a, 1), conv(more * a, more * a, 3, stride, more * a), conv(more * a, b, 1, activation=None))
        self.add = a == b and stride == 1

    def forward(self, x):
        return x + super().forward(x) if self.add else super().forward(x)


def mobile_vit(w):
    return nn.Sequential(conv(3, w, 3, 2), Inverted(w, 2 * w, 1), Inverted(2 * w, 4 * w, 2), Inverted(4 * w, 4 * w, 1), Inverted(4 * w, 6 * w, 2), MobileVit(6 * w, 9 * w, 2),
                         Inverted(6 * w, 8 * w, 2), MobileVit(8 * w, 12 * w, 4), Inverted(8 * w, 10 * w, 2), MobileVit(10 * w, 15 * w, 3), conv(10 * w, 40 * w, 1),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(40 * w, 1000))


class Invertible(nn.Module):
    """Layers that can be turned around (Glow): squeezes, products of channels, halves that scale and shift the others."""

    def __init__(self, channels, width, steps):
        super().__init__()
        c = 4 * channels
        self.mixes, self.scales = nn.ModuleList(nn.Conv2d(c, c, 1) for _ in range(steps)), nn.Parameter(torch.rand(steps, 2, c, 1, 1))
        self.nets = nn.ModuleList(nn.Sequential(nn.Conv2d(c // 2, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 1), nn.ReLU(), nn.Conv2d(width, c, 3, padding=1)) for _ in range(steps))

    def forward(self, x):
        x = F.pixel_unshuffle(x, 2)
        for mix, (scale, shift), net in zip(self.mixes, self.scales, self.nets):
            a, b = mix((x + shift) * scale).chunk(2, 1)
            more, less = net(a).chunk(2, 1)
            x = torch.cat([a, (b + more) * torch.sigmoid(less + 2)], 1)
        return F.pixel_shuffle(x, 2)


class Skeletons(nn.Module):
    """Joints through a graph's matrices, frames through convolutions (ST-GCN)."""

    def __init__(self, widths, joints=25):
        super().__init__()
        self.register_buffer("near", torch.rand(3, joints, joints) / joints)
        pairs = list(zip([3, *widths], widths))
        self.into = nn.ModuleList(nn.Conv2d(a, 3 * b, 1) for a, b in pairs)
        self.times = nn.ModuleList(nn.Sequential(nn.BatchNorm2d(b), nn.ReLU(), nn.Conv2d(b, b, (9, 1), padding=(4, 0)), nn.BatchNorm2d(b)) for _, b in pairs)
        self.skips, self.out = nn.ModuleList(nn.Conv2d(a, b, 1) if a != b else nn.Identity() for a, b in pairs), nn.Linear(widths[-1], 60)

    def forward(self, x):
        for into, times, skip in zip(self.into, self.times, self.skips):
            n, _, t, v = x.shape
            y = torch.einsum("nkctv,kvw->nctw", into(x).view(n, 3, -1, t, v), self.near)
            x = F.relu(times(y) + skip(x))
        return self.out(x.mean((2, 3)))


class Slopes(nn.Module):
    """A decoder whose scores fall with the distance (ALiBi) and whose keys and values all heads share."""

    def __init__(self, layers, width, heads, length):
        super().__init__()
        self.heads, self.norms = heads, nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.three = nn.ModuleList(nn.Linear(width, width + 2 * width // heads) for _ in range(layers))
        self.outs, self.feeds = nn.ModuleList(nn.Linear(width, width) for _ in range(layers)), nn.ModuleList(Feed(width, 4 * width) for _ in range(layers))
        far = torch.arange(length)[None] - torch.arange(length)[:, None]
        bias = far[None] * (2.0 ** (-8.0 * torch.arange(1, heads + 1) / heads))[:, None, None]
        self.register_buffer("bias", bias.masked_fill(far > 0, -30000.0)[None])

    def forward(self, rows):
        n, length, width = rows.shape
        size = width // self.heads
        for k, three in enumerate(self.three):
            q, key, v = three(self.norms[2 * k](rows)).split([width, size, size], -1)
            q = q.view(n, length, self.heads, size).transpose(1, 2)
            scores = q @ key[:, None].transpose(-1, -2) * size ** -0.5 + self.bias
            rows = rows + self.outs[k]((scores.softmax(-1) @ v[:, None]).transpose(1, 2).flatten(2))
            rows = rows + self.feeds[k](self.norms[2 * k + 1](rows))
        return rows


class Disentangled(nn.Module):
    """DeBERTa: rows with distances and distances with rows, picked by gathers."""

    def __init__(self, layers, width, heads, length, span):
        super().__init__()
        self.heads, self.far = heads, nn.Parameter(torch.randn(2 * span, width) * 0.1)
        self.three, self.outs = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers)), nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.norms, self.feeds = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers)), nn.ModuleList(Feed(width, 4 * width) for _ in range(layers))
        far = (torch.arange(length)[:, None] - torch.arange(length)[None]).clamp(-span, span - 1) + span
        self.register_buffer("first", far[None, None]), self.register_buffer("second", far.t().contiguous()[None, None])

    def forward(self, rows):
        n, length, width = rows.shape
        def split(x):
            return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)
        for k, three in enumerate(self.three):
            q, key, v = (split(x) for x in three(rows).chunk(3, -1))
            places, asked, _ = (split(x) for x in three(self.far[None]).chunk(3, -1))
            scores = q @ key.transpose(-1, -2)
            scores = scores + torch.gather(q @ asked.transpose(-1, -2), -1, self.first.expand(n, self.heads, -1, -1))
            scores = scores + torch.gather(key @ places.transpose(-1, -2), -1, self.second.expand(n, self.heads, -1, -1)).transpose(-1, -2)
            y = ((scores * (3 * q.shape[-1]) ** -0.5).softmax(-1) @ v).transpose(1, 2).flatten(2)
            rows = self.norms[2 * k](rows + self.outs[k](y))
            rows = self.norms[2 * k + 1](rows + self.feeds[k](rows))
        return rows


class Matches(nn.Module):
    """Points of two pictures matched: attention, scores, and rows and columns normalized in turns (SuperGlue)."""

    def __init__(self, layers, width, heads, turns):
        super().__init__()
        self.own, self.cross = (nn.ModuleList(Attention(width, heads) for _ in range(layers)) for _ in range(2))
        self.feeds, self.last, self.turns = nn.ModuleList(Feed(2 * width, 2 * width, nn.ReLU) for _ in range(2 * layers)), nn.Linear(width, width), turns
        for feed in self.feeds:
            feed[2] = nn.Linear(2 * width, width)

    def forward(self, a, b):
        for k, (own, cross) in enumerate(zip(self.own, self.cross)):
            for j, part in enumerate((own, cross)):
                more = part(a, a if j == 0 else b), part(b, b if j == 0 else a)
                a, b = (x + self.feeds[2 * k + j](torch.cat([x, y], -1)) for x, y in zip((a, b), more))
        scores = self.last(a) @ self.last(b).transpose(1, 2) * a.shape[-1] ** -0.5
        u, v = torch.zeros_like(scores[:, :, 0]), torch.zeros_like(scores[:, 0])
        for _ in range(self.turns):
            u = -torch.logsumexp(scores + v[:, None], 2)
            v = -torch.logsumexp(scores + u[..., None], 1)
        return scores + u[..., None] + v[:, None]


class Texts(nn.Module):
    """Letters in a picture: convolutions, then rows both ways, then kinds (CRNN)."""

    def __init__(self, w, width):
        super().__init__()
        self.convs = nn.Sequential(conv(1, w, activation=nn.ReLU), nn.MaxPool2d(2), conv(w, 2 * w, activation=nn.ReLU), nn.MaxPool2d(2), conv(2 * w, 4 * w, activation=nn.ReLU),
                                   conv(4 * w, 4 * w, activation=nn.ReLU), nn.MaxPool2d((2, 1)), conv(4 * w, 8 * w, activation=nn.ReLU), conv(8 * w, 8 * w, activation=nn.ReLU),
                                   nn.MaxPool2d((2, 1)), nn.Conv2d(8 * w, 8 * w, (2, 1)), nn.ReLU())
        self.rows, self.out = nn.LSTM(8 * w, width, 2, bidirectional=True, batch_first=True), nn.Linear(2 * width, 97)

    def forward(self, picture):
        return F.log_softmax(self.out(self.rows(self.convs(picture)[:, :, 0].transpose(1, 2))[0]), -1)


class LongConv(nn.Module):
    """Layers of one long causal filter a channel (state spaces as convolutions) and gates."""

    def __init__(self, layers, width, taps):
        super().__init__()
        self.norms, self.into, self.outs = nn.ModuleList(RootNorm(width) for _ in range(layers)), nn.ModuleList(nn.Linear(width, 2 * width) for _ in range(layers)), nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.taps, self.convs = taps, nn.ModuleList(nn.Conv1d(width, width, taps, padding=taps - 1, groups=width) for _ in range(layers))

    def forward(self, rows):
        for norm, into, conv, out in zip(self.norms, self.into, self.convs, self.outs):
            a, b = into(norm(rows)).chunk(2, -1)
            rows = rows + out(conv(a.transpose(1, 2))[..., :rows.shape[1]].transpose(1, 2) * F.silu(b))
        return rows
