# SPDX-License-Identifier: Apache-2.0
"""Classifiers of pictures as people take them from libraries: convolutions of many forms, and convolutions with attention."""
import torch
from torch import nn
from torch.nn import functional as F

from .common import Attention, Block, Feed, conv


class Response(nn.Module):
    """Channels scaled by their share of the response (ConvNeXt V2); channels are last."""

    def __init__(self, width):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.randn(width) * 0.1), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        size = torch.norm(x.float(), dim=(1, 2), keepdim=True).to(x.dtype)
        return self.scale * (x * (size / (size.mean(-1, keepdim=True) + 1e-6))) + self.shift + x


class NextBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.near, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
        self.wide, self.response, self.narrow = nn.Linear(width, 4 * width), Response(4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.norm(self.near(x).permute(0, 2, 3, 1))
        return x + self.narrow(self.response(F.gelu(self.wide(y)))).permute(0, 3, 1, 2)


class First(nn.LayerNorm):
    """A normalization of the channels of a picture whose channels come first."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def classes(trunk, width, count=1000):
    return nn.Sequential(*trunk, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, count))


def next_two(widths, depths):
    parts, before = [nn.Conv2d(3, widths[0], 4, 4), First(widths[0])], widths[0]
    for width, depth in zip(widths, depths):
        if width != before:
            parts += [First(before), nn.Conv2d(before, width, 2, 2)]
        parts += [NextBlock(width) for _ in range(depth)]
        before = width
    return classes(parts, before)


class Branches(nn.Module):
    """A convolution as it is trained: three taps, one, and the input, each normalized, added up (RepVGG)."""

    def __init__(self, a, b, stride):
        super().__init__()
        self.three, self.one = conv(a, b, 3, stride, activation=None), conv(a, b, 1, stride, activation=None)
        self.same = nn.BatchNorm2d(a) if a == b and stride == 1 else None

    def forward(self, x):
        y = self.three(x) + self.one(x)
        return F.relu(y if self.same is None else y + self.same(x))


def branches(widths, depths):
    parts, before = [], 3
    for width, depth in zip(widths, depths):
        parts += [Branches(before if k == 0 else width, width, 2 if k == 0 else 1) for k in range(depth)]
        before = width
    return classes(parts, before)


class Excite(nn.Module):
    def __init__(self, width, inner, gate=nn.Hardsigmoid, activation=nn.ReLU):
        super().__init__()
        self.parts = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, inner, 1), activation(), nn.Conv2d(inner, width, 1), gate())

    def forward(self, x):
        return x * self.parts(x)


class Ghost(nn.Module):
    """Half of the channels by a product, the others by a depthwise convolution of these."""

    def __init__(self, a, b, activation):
        super().__init__()
        self.own, self.cheap = conv(a, b // 2, 1, activation=activation), conv(b // 2, b // 2, 3, groups=b // 2, activation=activation)

    def forward(self, x):
        y = self.own(x)
        return torch.cat([y, self.cheap(y)], 1)


class GhostBlock(nn.Module):
    def __init__(self, a, inner, b, stride):
        super().__init__()
        down = [conv(inner, inner, 3, stride, inner, None)] if stride > 1 else []
        self.parts = nn.Sequential(Ghost(a, inner, nn.ReLU), *down, Excite(inner, max(4, inner // 4)), Ghost(inner, b, None))
        self.skip = nn.Identity() if a == b and stride == 1 else nn.Sequential(conv(a, a, 3, stride, a, None), conv(a, b, 1, activation=None))

    def forward(self, x):
        return self.skip(x) + self.parts(x)


def ghosts(widths, depths):
    parts, before = [conv(3, widths[0], 3, 2, activation=nn.ReLU)], widths[0]
    for k, (width, depth) in enumerate(zip(widths, depths)):
        for j in range(depth):
            parts.append(GhostBlock(before, 4 * before, width, 2 if j == 0 and k else 1))
            before = width
    return classes(parts, before)


class Basic(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.parts = nn.Sequential(conv(width, width, activation=nn.ReLU), conv(width, width, activation=None))

    def forward(self, x):
        return F.relu(x + self.parts(x))


class Exchange(nn.Module):
    """Pictures of several sizes side by side, each added to all others (HRNet)."""

    def __init__(self, widths, depth):
        super().__init__()
        self.rows = nn.ModuleList(nn.Sequential(*[Basic(w) for _ in range(depth)]) for w in widths)
        self.ways = nn.ModuleList(nn.ModuleList(self.way(widths, a, b) for a in range(len(widths))) for b in range(len(widths)))

    @staticmethod
    def way(widths, a, b):
        if a > b:
            return nn.Sequential(conv(widths[a], widths[b], 1, activation=None), nn.Upsample(scale_factor=float(2 ** (a - b))))
        steps = [conv(widths[a], widths[a], 3, 2, activation=nn.ReLU) for _ in range(b - a - 1)]
        return nn.Sequential(*steps, conv(widths[a], widths[b], 3, 2, activation=None)) if a < b else nn.Identity()

    def forward(self, given):
        given = [row(x) for row, x in zip(self.rows, given)]
        return [F.relu(sum(way(x) for way, x in zip(ways, given))) for ways in self.ways]


class Parallel(nn.Module):
    """HRNet with the heat maps of a pose."""

    def __init__(self, width, depth, joints=17):
        super().__init__()
        self.begin = nn.Sequential(conv(3, 64, 3, 2, activation=nn.ReLU), conv(64, 64, 3, 2, activation=nn.ReLU), Basic(64))
        widths = [width * 2 ** k for k in range(4)]
        self.first, self.more = conv(64, width, activation=nn.ReLU), nn.ModuleList(conv(widths[k - 1] if k > 1 else 64, widths[k], 3, 2, activation=nn.ReLU) for k in (1, 2, 3))
        self.stages, self.out = nn.ModuleList(Exchange(widths[:k], depth) for k in (2, 3, 4)), nn.Conv2d(width, joints, 1)

    def forward(self, picture):
        x = self.begin(picture)
        given = [self.first(x), self.more[0](x)]
        for k, stage in enumerate(self.stages):
            given = stage(given if k == 0 else given + [self.more[k](given[-1])])
        return self.out(given[0])


class Biased(nn.Module):
    """Attention of a picture's places with a bias for each distance, which an index picks."""

    def __init__(self, width, heads, side, size=None, share=1):
        super().__init__()
        self.heads, self.size, self.norm = heads, size or width // heads, nn.LayerNorm(width)
        self.three, self.out = nn.Linear(width, heads * self.size * (2 + share)), nn.Linear(heads * self.size * share, width)
        y, x = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
        y, x = y.flatten(), x.flatten()
        self.register_buffer("index", (y[:, None] - y + side - 1) * (2 * side - 1) + x[:, None] - x + side - 1)
        self.bias, self.share = nn.Parameter(torch.randn(heads, (2 * side - 1) ** 2) * 0.1), share

    def forward(self, rows):
        n, length, _ = rows.shape
        s, h = self.size, self.heads
        q, k, v = self.three(self.norm(rows)).view(n, length, h, -1).split([s, s, s * self.share], -1)
        scores = q.transpose(1, 2) @ k.permute(0, 2, 3, 1) * s ** -0.5 + self.bias[:, self.index]
        return rows + self.out((scores.softmax(-1) @ v.transpose(1, 2)).transpose(1, 2).flatten(2))


class Wide(nn.Module):
    """An inverted bottleneck with excitation, normalized first (CoAtNet)."""

    def __init__(self, a, b, stride):
        super().__init__()
        inner = 4 * b
        self.parts = nn.Sequential(nn.BatchNorm2d(a), conv(a, inner, 1, activation=nn.GELU), conv(inner, inner, 3, stride, inner, nn.GELU),
                                   Excite(inner, b // 4, nn.Sigmoid, nn.SiLU), nn.Conv2d(inner, b, 1))
        self.skip = nn.Identity() if a == b else nn.Sequential(nn.AvgPool2d(2) if stride > 1 else nn.Identity(), nn.Conv2d(a, b, 1))

    def forward(self, x):
        return self.skip(x) + self.parts(x)


class Places(nn.Module):
    """Layers over the places of a picture."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        n, c, h, w = x.shape
        return self.layers(x.flatten(2).transpose(1, 2)).transpose(1, 2).reshape(n, c, h, w)


class Fed(nn.Module):
    def __init__(self, width, activation=nn.GELU, more=4):
        super().__init__()
        self.norm, self.feed = nn.LayerNorm(width), Feed(width, more * width, activation)

    def forward(self, rows):
        return rows + self.feed(self.norm(rows))


def coat(widths, depths, side):
    a, b, c, d, e = widths
    parts = [conv(3, a, 3, 2, activation=nn.GELU), conv(a, a, activation=nn.GELU)]
    for before, width, depth in ((a, b, depths[0]), (b, c, depths[1])):
        parts += [Wide(before if k == 0 else width, width, 2 if k == 0 else 1) for k in range(depth)]
    for before, width, depth, s in ((c, d, depths[2], side // 16), (d, e, depths[3], side // 32)):
        parts += [nn.Conv2d(before, width, 2, 2), Places(*[x for _ in range(depth) for x in (Biased(width, max(1, width // 32), s), Fed(width))])]
    return classes(parts, e)


class PoolBlock(nn.Module):
    """Means of neighbours in place of attention (PoolFormer)."""

    def __init__(self, width):
        super().__init__()
        self.norms, self.scales = nn.ModuleList(nn.GroupNorm(1, width) for _ in range(2)), nn.Parameter(torch.rand(2, width, 1, 1))
        self.feed = nn.Sequential(nn.Conv2d(width, 4 * width, 1), nn.GELU(), nn.Conv2d(4 * width, width, 1))

    def forward(self, x):
        y = self.norms[0](x)
        x = x + self.scales[0] * (F.avg_pool2d(y, 3, 1, 1, count_include_pad=False) - y)
        return x + self.scales[1] * self.feed(self.norms[1](x))


def pools(widths, depths):
    parts, before = [], 3
    for k, (width, depth) in enumerate(zip(widths, depths)):
        parts += [nn.Conv2d(before, width, 7, 4, 2) if k == 0 else nn.Conv2d(before, width, 3, 2, 1), *[PoolBlock(width) for _ in range(depth)]]
        before = width
    return classes(parts, before)


class Crossed(nn.Module):
    """Channels in scales, then attention between channels (EdgeNeXt)."""

    def __init__(self, width, heads, scales):
        super().__init__()
        self.scales, self.heads = scales, heads
        self.convs = nn.ModuleList(nn.Conv2d(width // scales, width // scales, 3, padding=1, groups=width // scales) for _ in range(scales - 1))
        self.norms, self.three, self.out = nn.ModuleList(nn.LayerNorm(width) for _ in range(2)), nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heat, self.feed = nn.Parameter(torch.rand(heads, 1, 1) + 0.5), Feed(width, 4 * width)

    def forward(self, x):
        n, c, h, w = x.shape
        pieces, found = x.chunk(self.scales, 1), []
        for k, part in enumerate(self.convs):
            found.append(part(pieces[k] if k == 0 else pieces[k] + found[-1]))
        rows = torch.cat([*found, pieces[-1]], 1).flatten(2).transpose(1, 2)
        q, k, v = self.three(self.norms[0](rows)).view(n, h * w, 3, self.heads, -1).permute(2, 0, 3, 4, 1).unbind(0)
        scores = F.normalize(q, dim=-1, eps=1e-5) @ F.normalize(k, dim=-1, eps=1e-5).transpose(-1, -2) * self.heat
        rows = rows + self.out((scores.softmax(-1) @ v).permute(0, 3, 1, 2).reshape(n, h * w, c))
        rows = rows + self.feed(self.norms[1](rows))
        return x + rows.transpose(1, 2).reshape(n, c, h, w)


def edges(widths, depths):
    parts, before = [nn.Conv2d(3, widths[0], 4, 4), First(widths[0])], widths[0]
    for k, (width, depth) in enumerate(zip(widths, depths)):
        if k:
            parts += [First(before), nn.Conv2d(before, width, 2, 2)]
        parts += [NextBlock(width) for _ in range(depth - (k > 0))] + ([Crossed(width, 4, k + 1)] if k else [])
        before = width
    return classes(parts, before)


class Levit(nn.Module):
    """Strided convolutions, then attention with biases, hard-swish and normalizations that fold into products."""

    class Rows(nn.Module):
        def __init__(self, a, b):
            super().__init__()
            self.linear, self.norm = nn.Linear(a, b, bias=False), nn.BatchNorm1d(b)

        def forward(self, rows):
            return self.norm(self.linear(rows).flatten(0, 1)).view(*rows.shape[:2], -1)

    class Look(nn.Module):
        def __init__(self, width, heads, size, places):
            super().__init__()
            self.heads, self.size, self.three, self.out = heads, size, Levit.Rows(width, 4 * heads * size), Levit.Rows(2 * heads * size, width)
            self.bias = nn.Parameter(torch.randn(heads, places, places) * 0.1)
            self.wide, self.narrow = Levit.Rows(width, 2 * width), Levit.Rows(2 * width, width)

        def forward(self, rows):
            n, length, _ = rows.shape
            q, k, v = self.three(rows).view(n, length, self.heads, -1).split([self.size, self.size, 2 * self.size], 3)
            scores = q.transpose(1, 2) @ k.permute(0, 2, 3, 1) * self.size ** -0.5 + self.bias
            y = (scores.softmax(-1) @ v.transpose(1, 2)).transpose(1, 2).reshape(n, length, -1)
            rows = rows + self.out(F.hardswish(y))
            return rows + self.narrow(F.hardswish(self.wide(rows)))

    def __init__(self, widths, depth, side):
        super().__init__()
        a, act, side = widths[0], nn.Hardswish, side // 16
        self.begin = nn.Sequential(conv(3, a // 8, 3, 2, activation=act), conv(a // 8, a // 4, 3, 2, activation=act), conv(a // 4, a // 2, 3, 2, activation=act), conv(a // 2, a, 3, 2, activation=None))
        self.stages, self.shrink = nn.ModuleList(), nn.ModuleList()
        for k, width in enumerate(widths):
            self.stages.append(nn.Sequential(*[Levit.Look(width, max(1, width // 32), 16, ((side + 2 ** k - 1) // 2 ** k) ** 2) for _ in range(depth)]))
            self.shrink.append(Levit.Rows(width, widths[k + 1]) if k + 1 < len(widths) else nn.Identity())
        self.side, self.out = side, nn.Linear(widths[-1], 1000)

    def forward(self, picture):
        rows, side = self.begin(picture).flatten(2).transpose(1, 2), self.side
        for k, (stage, shrink) in enumerate(zip(self.stages, self.shrink)):
            rows = stage(rows)
            if k + 1 < len(self.stages):
                n, _, c = rows.shape
                rows = shrink(rows.view(n, side, side, c)[:, ::2, ::2].flatten(1, 2))
                side = (side + 1) // 2
        return self.out(rows.mean(1))


class Standard(nn.Conv2d):
    """A convolution whose filters are normalized (NFNet)."""

    def forward(self, x):
        mean, spread = self.weight.mean((1, 2, 3), keepdim=True), self.weight.var((1, 2, 3), keepdim=True, unbiased=False)
        return self._conv_forward(x, (self.weight - mean) * torch.rsqrt(spread * self.weight[0].numel() + 1e-4), self.bias)


class Free(nn.Module):
    def __init__(self, a, b, stride, beta):
        super().__init__()
        inner = b // 2
        self.convs = nn.ModuleList([Standard(a, inner, 1), Standard(inner, inner, 3, stride, 1, groups=max(1, inner // 64)), Standard(inner, inner, 3, 1, 1, groups=max(1, inner // 64)), Standard(inner, b, 1)])
        self.excite, self.beta = Excite(b, b // 2, nn.Sigmoid), beta
        self.skip = Standard(a, b, 1) if a != b or stride > 1 else None
        self.pool = nn.AvgPool2d(2) if stride > 1 else nn.Identity()

    def forward(self, x):
        y = F.gelu(x) * 1.7 * self.beta
        skip = x if self.skip is None else self.skip(self.pool(y))
        for k, part in enumerate(self.convs):
            y = part(y if k == 0 else F.gelu(y) * 1.7)
        return skip + 0.2 * 2 * self.excite(y)


def free(widths, depths):
    parts, before = [Standard(3, 16, 3, 2, 1), nn.GELU(), Standard(16, 64, 3, 1, 1), nn.GELU(), Standard(64, widths[0] // 2, 3, 2, 1)], widths[0] // 2
    for k, (width, depth) in enumerate(zip(widths, depths)):
        parts += [Free(before if j == 0 else width, width, 2 if j == 0 and k else 1, (1 + 0.04 * j) ** -0.5) for j in range(depth)]
        before = width
    return classes([*parts, nn.GELU()], before)


class Still(nn.Module):
    """Mixing by depthwise convolutions of large windows, feeds with one in front (FastViT)."""

    def __init__(self, width, size=7):
        super().__init__()
        self.mix, self.near = conv(width, width, 3, groups=width, activation=None), conv(width, width, size, groups=width, activation=None)
        self.feed = nn.Sequential(nn.Conv2d(width, 3 * width, 1), nn.GELU(), nn.Conv2d(3 * width, width, 1))
        self.scale = nn.Parameter(torch.rand(width, 1, 1))

    def forward(self, x):
        return (y := self.mix(x)) + self.scale * self.feed(self.near(y))


def still(widths, depths, side):
    act, a = nn.GELU, widths[0]
    parts = [conv(3, a, 3, 2, activation=act), conv(a, a, 3, 2, a, act), conv(a, a, 1, activation=act)]
    for k, (width, depth) in enumerate(zip(widths, depths)):
        if k:
            parts += [conv(widths[k - 1], widths[k - 1], 7, 2, widths[k - 1], act), conv(widths[k - 1], width, 1, activation=act)]
        last = k + 1 == len(widths)
        parts += [Places(*[x for _ in range(depth) for x in (Biased(width, width // 32, side // 32), Fed(width, more=3))])] if last else [Still(width) for _ in range(depth)]
    return classes(parts, widths[-1])


class Probe(nn.Module):
    """A vision transformer whose answer one learned query collects (SigLIP)."""

    def __init__(self, layers, width, heads, patch, side):
        super().__init__()
        self.into, self.places = nn.Conv2d(3, width, patch, patch), nn.Parameter(torch.randn(1, side * side, width) * 0.02)
        self.blocks, self.norm = nn.Sequential(*[Block(width, heads, activation=lambda: nn.GELU("tanh")) for _ in range(layers)]), nn.LayerNorm(width)
        self.query, self.look, self.last = nn.Parameter(torch.randn(1, 1, width)), Attention(width, heads), nn.LayerNorm(width)
        self.feed = Feed(width, 4 * width)

    def forward(self, picture):
        rows = self.norm(self.blocks(self.into(picture).flatten(2).transpose(1, 2) + self.places))
        y = self.look(self.query.expand(rows.shape[0], -1, -1), rows)
        return F.normalize((y + self.feed(self.last(y)))[:, 0], dim=-1)
