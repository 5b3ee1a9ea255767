# SPDX-License-Identifier: Apache-2.0
"""Detectors, segmentation, tracking, diffusion transformers and sound of forms that the other files do not have."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from .common import Attention, Block, Feed, attend, conv
from .dense import Deformable
from .sequences import RootNorm


class PlaceAttention(nn.Module):
    """Attention of a detector's smallest picture: products as convolutions, keys of half the size, a depthwise convolution of the values for places."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.size = heads, width // heads // 2
        self.three, self.out = conv(width, 2 * width, 1, activation=None), conv(width, width, 1, activation=None)
        self.places, self.feed = conv(width, width, 3, groups=width, activation=None), nn.Sequential(conv(width, 2 * width, 1), conv(2 * width, width, 1, activation=None))

    def forward(self, x):
        n, c, h, w = x.shape
        q, k, v = self.three(x).view(n, self.heads, -1, h * w).split([self.size, self.size, 2 * self.size], 2)
        y = v @ (q.transpose(-2, -1) @ k * self.size ** -0.5).softmax(-1).transpose(-2, -1)
        x = x + self.out(y.reshape(n, c, h, w) + self.places(v.reshape(n, c, h, w)))
        return x + self.feed(x)


class Split(nn.Module):
    """Half of the channels through bottlenecks, all results joined."""

    def __init__(self, a, b, depth, inner=None):
        super().__init__()
        w = b // 2
        self.begin, self.end = conv(a, 2 * w, 1), conv((2 + depth) * w, b, 1)
        self.parts = nn.ModuleList(inner(w) if inner else nn.Sequential(conv(w, w // 2), conv(w // 2, w)) for _ in range(depth))

    def forward(self, x):
        found = list(self.begin(x).chunk(2, 1))
        for part in self.parts:
            found.append(found[-1] + part(found[-1]))
        return self.end(torch.cat(found, 1))


class Modern(nn.Module):
    """A detector without suppression: attention in the trunk, depthwise heads, the best places picked in the network."""

    def __init__(self, w, kinds=80, kept=300):
        super().__init__()
        self.kinds, self.kept = kinds, kept
        self.begin = nn.Sequential(conv(3, w, 3, 2), conv(w, 2 * w, 3, 2), Split(2 * w, 4 * w, 1), conv(4 * w, 4 * w, 3, 2), Split(4 * w, 8 * w, 1))
        self.fourth, self.fifth = nn.Sequential(conv(8 * w, 8 * w, 3, 2), Split(8 * w, 8 * w, 2)), nn.Sequential(conv(8 * w, 16 * w, 3, 2), Split(16 * w, 16 * w, 2))
        self.pool, self.look = nn.ModuleList([conv(16 * w, 8 * w, 1), conv(32 * w, 16 * w, 1)]), Split(16 * w, 16 * w, 1, lambda c: PlaceAttention(c, max(1, c // 64)))
        self.up4, self.up3, self.down4, self.down5 = Split(24 * w, 8 * w, 1), Split(16 * w, 4 * w, 1), Split(12 * w, 8 * w, 1), Split(24 * w, 16 * w, 1)
        self.small, self.smaller = conv(4 * w, 4 * w, 3, 2), conv(8 * w, 8 * w, 3, 2)
        widths, d = (4 * w, 8 * w, 16 * w), 5 * w
        self.boxes = nn.ModuleList(nn.Sequential(conv(c, 64), conv(64, 64), nn.Conv2d(64, 64, 1)) for c in widths)
        self.scores = nn.ModuleList(nn.Sequential(conv(c, c, 3, groups=c), conv(c, d, 1), conv(d, d, 3, groups=d), conv(d, d, 1), nn.Conv2d(d, kinds, 1)) for c in widths)

    def forward(self, picture):
        p3 = self.begin(picture)
        p4 = self.fourth(p3)
        x = self.pool[0](self.fifth(p4))
        pools = [x]
        for _ in range(3):
            pools.append(F.max_pool2d(pools[-1], 5, 1, 2))
        p5 = self.look(self.pool[1](torch.cat(pools, 1)))
        p4 = self.up4(torch.cat([F.interpolate(p5, scale_factor=2.0), p4], 1))
        p3 = self.up3(torch.cat([F.interpolate(p4, scale_factor=2.0), p3], 1))
        p4 = self.down4(torch.cat([self.small(p3), p4], 1))
        p5 = self.down5(torch.cat([self.smaller(p4), p5], 1))
        found = torch.cat([torch.cat([box(x), score(x)], 1).flatten(2) for x, box, score in zip((p3, p4, p5), self.boxes, self.scores)], 2)
        sides, scores = found.split([64, self.kinds], 1)
        n, _, count = sides.shape
        bins = torch.arange(16, device=sides.device, dtype=sides.dtype).view(1, 16, 1, 1)
        sides = (sides.view(n, 4, 16, count).transpose(1, 2).softmax(1) * bins).sum(1).transpose(1, 2)
        scores = scores.sigmoid().transpose(1, 2)
        best = scores.amax(-1).topk(self.kept, 1).indices[..., None]
        sides, scores = sides.gather(1, best.expand(-1, -1, 4)), scores.gather(1, best.expand(-1, -1, self.kinds))
        values, index = scores.flatten(1).topk(self.kept, 1)
        return values, sides.gather(1, (index // self.kinds)[..., None].expand(-1, -1, 4))


class Regions(nn.Module):
    """The second stage of a detector: regions of a pyramid's pictures, two products, kinds and boxes."""

    def __init__(self, width, inner, kinds, size=7):
        super().__init__()
        self.size, self.feed = size, nn.Sequential(nn.Flatten(), nn.Linear(width * size * size, inner), nn.ReLU(), nn.Linear(inner, inner), nn.ReLU())
        self.kinds, self.boxes = nn.Linear(inner, kinds), nn.Linear(inner, 4 * kinds)

    def forward(self, picture, boxes):
        from torchvision.ops import roi_align
        rows = self.feed(roi_align(picture, [boxes], self.size, 0.25, 2, True))
        return self.kinds(rows).softmax(-1), self.boxes(rows)


class Queries(nn.Module):
    """A detector of real time by queries (RT-DETR): one layer of attention, a pyramid, the best places as queries, deformable attention."""

    def __init__(self, width, heads, layers, queries, inputs, kinds=80):
        super().__init__()
        self.into = nn.ModuleList(conv(c, width, 1, activation=None) for c in inputs)
        self.first, self.queries = Block(width, heads, activation=nn.GELU), queries
        self.sides, self.ups, self.downs = (nn.ModuleList(conv(width, width, k, s) for _ in range(2)) for k, s in ((1, 1), (3, 1), (3, 2)))
        self.joins = nn.ModuleList(Split(2 * width, width, 1) for _ in range(4))
        self.norm, self.kinds, self.boxes = nn.Sequential(nn.Linear(width, width), nn.LayerNorm(width)), nn.Linear(width, kinds), nn.Sequential(Feed(width, width, nn.ReLU), nn.ReLU(), nn.Linear(width, 4))
        self.places, self.own = Feed(4, 2 * width, nn.ReLU), nn.ModuleList(Attention(width, heads) for _ in range(layers))
        self.places[2] = nn.Linear(2 * width, width)
        self.looks, self.feeds = nn.ModuleList(Deformable(width, heads, len(inputs), 4) for _ in range(layers)), nn.ModuleList(Feed(width, 4 * width, nn.ReLU) for _ in range(layers))
        self.norms, self.ends = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 * layers)), nn.Linear(width, kinds)

    def forward(self, *given):
        p3, p4, p5 = (into(x) for into, x in zip(self.into, given))
        n, c, h, w = p5.shape
        p5 = self.sides[0](self.first(p5.flatten(2).transpose(1, 2)).transpose(1, 2).reshape(n, c, h, w))
        p4 = self.sides[1](self.ups[0](self.joins[0](torch.cat([F.interpolate(p5, scale_factor=2.0), p4], 1))))
        p3 = self.ups[1](self.joins[1](torch.cat([F.interpolate(p4, scale_factor=2.0), p3], 1)))
        p4 = self.joins[2](torch.cat([self.downs[0](p3), p4], 1))
        p5 = self.joins[3](torch.cat([self.downs[1](p4), p5], 1))
        pictures = (p3, p4, p5)
        memory = torch.cat([x.flatten(2).transpose(1, 2) for x in pictures], 1)
        rows = self.norm(memory)
        best = self.kinds(rows).amax(-1).topk(self.queries, 1).indices[..., None].expand(-1, -1, c)
        rows = rows.gather(1, best)
        boxes = self.boxes(rows)
        for k, (own, look, feed) in enumerate(zip(self.own, self.looks, self.feeds)):
            given = rows + self.places(boxes.sigmoid())
            rows = self.norms[3 * k](rows + attend(own.query(given), own.key(given), own.value(rows), own.heads))
            rows = self.norms[3 * k + 1](rows + look(rows, boxes[..., :2].sigmoid(), memory, [x.shape[2:] for x in pictures]))
            rows = self.norms[3 * k + 2](rows + feed(rows))
        return self.ends(rows), boxes.sigmoid()


class Centers(nn.Module):
    """Objects as peaks of heat maps: convolutions that double the size, peaks by a maximum of neighbours, the best of all."""

    def __init__(self, inputs, widths, kinds, kept):
        super().__init__()
        parts, before = [], inputs
        for width in widths:
            parts += [conv(before, width, activation=nn.ReLU), nn.ConvTranspose2d(width, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
            before = width
        self.up, self.kept = nn.Sequential(*parts), kept
        self.heads = nn.ModuleList(nn.Sequential(conv(before, 64, activation=nn.ReLU), nn.Conv2d(64, c, 1)) for c in (kinds, 2, 2))

    def forward(self, x):
        x = self.up(x)
        heat, size, shift = (head(x) for head in self.heads)
        heat = heat.sigmoid()
        heat = heat * (F.max_pool2d(heat, 3, 1, 1) == heat)
        n, _, h, w = heat.shape
        values, index = heat.flatten(1).topk(self.kept)
        place = (index % (h * w))[:, None].expand(-1, 2, -1)
        return values, index // (h * w), size.flatten(2).gather(2, place), shift.flatten(2).gather(2, place)


class Nested(nn.Module):
    """UNet++: every step of the way up from all before."""

    def __init__(self, widths, kinds=1):
        super().__init__()
        def two(a, b):
            return nn.Sequential(conv(a, b, activation=nn.ReLU), conv(b, b, activation=nn.ReLU))
        count = len(widths)
        self.down = nn.ModuleList(two(3 if k == 0 else widths[k - 1], w) for k, w in enumerate(widths))
        self.up = nn.ModuleDict({f"{k}_{j}": two(j * widths[k] + widths[k + 1], widths[k]) for j in range(1, count) for k in range(count - j)})
        self.out, self.count = nn.Conv2d(widths[0], kinds, 1), count

    def forward(self, x):
        rows = []
        for k, down in enumerate(self.down):
            x = down(x if k == 0 else F.max_pool2d(x, 2))
            rows.append([x])
        for j in range(1, self.count):
            for k in range(self.count - j):
                more = F.interpolate(rows[k + 1][j - 1], scale_factor=2.0, mode="bilinear", align_corners=True)
                rows[k].append(self.up[f"{k}_{j}"](torch.cat([*rows[k], more], 1)))
        return self.out(rows[0][-1])


class Tracked(nn.Module):
    """A picture searched for another: the features of one are the filters of the other, channel by channel (SiamRPN)."""

    def __init__(self, widths, anchors=5):
        super().__init__()
        pairs = list(zip([3, *widths], widths))
        self.trunk = nn.Sequential(*[x for k, (a, b) in enumerate(pairs) for x in (nn.Conv2d(a, b, 3, 2 if k < 3 else 1), nn.BatchNorm2d(b), nn.ReLU())])
        w = widths[-1]
        self.one, self.other = (nn.ModuleList(nn.Sequential(nn.Conv2d(w, w, 3), nn.BatchNorm2d(w), nn.ReLU()) for _ in range(2)) for _ in range(2))
        self.heads = nn.ModuleList(nn.Sequential(nn.Conv2d(w, w, 1), nn.BatchNorm2d(w), nn.ReLU(), nn.Conv2d(w, c * anchors, 1)) for c in (2, 4))

    def forward(self, known, searched):
        known, searched, found = self.trunk(known), self.trunk(searched), []
        for one, other, head in zip(self.one, self.other, self.heads):
            k, x = one(known), other(searched)
            n, c = k.shape[:2]
            y = F.conv2d(x.reshape(1, n * c, *x.shape[2:]), k.reshape(n * c, 1, *k.shape[2:]), groups=n * c)
            found.append(head(y.view(n, c, *y.shape[2:])))
        return tuple(found)


class Streams(nn.Module):
    """A diffusion transformer of two streams, then one (Flux): rotary places, queries and keys normalized, scales by the time."""

    def __init__(self, doubles, singles, width, heads, channels, words, length, side):
        super().__init__()
        self.heads, self.width, size = heads, width, width // heads
        self.into, self.text, self.time = nn.Linear(4 * channels, width), nn.Linear(words, width), nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, width))
        self.six = nn.ModuleList(nn.Linear(width, 6 * width) for _ in range(2 * doubles))
        self.threes, self.outs = (nn.ModuleList(nn.Linear(width, k * width) for _ in range(2 * doubles)) for k in (3, 1))
        self.feeds = nn.ModuleList(Feed(width, 4 * width, lambda: nn.GELU("tanh")) for _ in range(2 * doubles))
        self.three, self.wide, self.narrow = (nn.ModuleList(nn.Linear(width * a, width * b) for _ in range(singles)) for a, b in ((1, 3), (1, 7), (5, 1)))
        self.norms = nn.ModuleList(RootNorm(size) for _ in range(4 * doubles + 2 * singles))
        self.out, self.two = nn.Linear(width, 4 * channels), nn.Linear(width, 2 * width)
        places = torch.cat([torch.zeros(length, 2), torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij"), -1).view(-1, 2)])
        angles = (places[:, :, None] * torch.exp(torch.arange(size // 4) * (-9.21 * 4 / size))).flatten(1)
        self.register_buffer("cos", angles.cos()[None, None]), self.register_buffer("sin", angles.sin()[None, None])

    def looked(self, q, k, v):
        def turned(x):
            a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
            return torch.stack([a * self.cos - b * self.sin, a * self.sin + b * self.cos], -1).flatten(-2)
        return F.scaled_dot_product_attention(turned(q), turned(k), v).transpose(1, 2).flatten(2)

    def split(self, rows, norms):
        q, k, v = rows.unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4).unbind(0)
        return norms[0](q), norms[1](k), v

    def forward(self, picture, text, time):
        angles = time[:, None] * torch.exp(torch.arange(128, device=time.device) * (-math.log(10000.0) / 128)).to(time.dtype)
        given = F.silu(self.time(torch.cat([angles.cos(), angles.sin()], -1)))[:, None]
        rows, length = [self.text(text), self.into(picture)], text.shape[1]
        def norm(x, shift, scale):
            return F.layer_norm(x, (self.width,), eps=1e-6) * (1 + scale) + shift
        for k in range(0, len(self.six), 2):
            parts = [self.six[k + j](given).chunk(6, -1) for j in range(2)]
            three = [self.split(self.threes[k + j](norm(rows[j], *parts[j][:2])), self.norms[2 * (k + j):]) for j in range(2)]
            y = self.looked(*(torch.cat(pair, 2) for pair in zip(*three))).split([length, rows[1].shape[1]], 1)
            for j in range(2):
                rows[j] = rows[j] + parts[j][2] * self.outs[k + j](y[j])
                rows[j] = rows[j] + parts[j][5] * self.feeds[k + j](norm(rows[j], *parts[j][3:5]))
        x = torch.cat(rows, 1)
        for k, (three, wide, narrow) in enumerate(zip(self.three, self.wide, self.narrow)):
            shift, scale, gate = three(given).chunk(3, -1)
            own, more = wide(norm(x, shift, scale)).split([3 * self.width, 4 * self.width], -1)
            y = self.looked(*self.split(own, self.norms[2 * (len(self.six) + k):]))
            x = x + gate * narrow(torch.cat([y, F.gelu(more, approximate="tanh")], -1))
        return self.out(norm(x[:, length:], *self.two(given).chunk(2, -1)))


class Waveform(nn.Module):
    """A vocoder that makes spectra and turns them back (Vocos): lines of ConvNeXt, sums of waves, windows added where they overlap."""

    def __init__(self, bands, width, layers, size, hop):
        super().__init__()
        self.into, self.norm, self.hop = nn.Conv1d(bands, width, 7, padding=3), nn.LayerNorm(width), hop
        self.near, self.norms = nn.ModuleList(nn.Conv1d(width, width, 7, padding=3, groups=width) for _ in range(layers)), nn.ModuleList(nn.LayerNorm(width) for _ in range(layers + 1))
        self.feeds, self.scales, self.out = nn.ModuleList(Feed(width, 3 * width) for _ in range(layers)), nn.Parameter(torch.rand(layers, width)), nn.Linear(width, size + 2)
        waves = torch.arange(size)[None] * torch.arange(size // 2 + 1)[:, None] * (2 * math.pi / size)
        weight = torch.full((size // 2 + 1, 1), 2.0 / size)
        weight[0], weight[-1] = 1.0 / size, 1.0 / size
        self.register_buffer("waves", (torch.cat([waves.cos() * weight, -waves.sin() * weight]) * torch.hann_window(size))[:, None])

    def forward(self, bands):
        rows = self.norm(self.into(bands).transpose(1, 2))
        for near, norm, feed, scale in zip(self.near, self.norms, self.feeds, self.scales):
            rows = rows + scale * feed(norm(near(rows.transpose(1, 2)).transpose(1, 2)))
        size, phase = self.out(self.norms[-1](rows)).transpose(1, 2).chunk(2, 1)
        size = size.exp().clamp(max=100.0)
        return F.conv_transpose1d(torch.cat([size * phase.cos(), size * phase.sin()], 1), self.waves, stride=self.hop)


class Spoken(nn.Module):
    """Letters to frames of sound (FastSpeech): attention and convolutions as feeds, letters repeated as long as the length says."""

    def __init__(self, layers, width, heads, words, frames, bands=80):
        super().__init__()
        self.words, self.places, self.frames = nn.Embedding(words, width), nn.Parameter(torch.randn(2048, width) * 0.02), frames
        self.own, self.norms = nn.ModuleList(Attention(width, heads) for _ in range(2 * layers)), nn.ModuleList(nn.LayerNorm(width) for _ in range(4 * layers))
        self.feeds = nn.ModuleList(nn.Sequential(nn.Conv1d(width, 4 * width, 9, padding=4), nn.ReLU(), nn.Conv1d(4 * width, width, 1)) for _ in range(2 * layers))
        self.lengths, self.layers = nn.Sequential(nn.Conv1d(width, width, 3, padding=1), nn.ReLU(), nn.Conv1d(width, 1, 1)), layers
        self.pitch, self.out = nn.Conv1d(1, width, 3, padding=1), nn.Linear(width, bands)
        self.post = nn.Sequential(*[x for k in range(4) for x in (nn.Conv1d(bands if k == 0 else width, bands if k == 3 else width, 5, padding=2), nn.Tanh() if k < 3 else nn.Identity())])

    def run(self, rows, first):
        for k in range(first, first + self.layers):
            rows = self.norms[2 * k](rows + self.own[k](rows))
            rows = self.norms[2 * k + 1](rows + self.feeds[k](rows.transpose(1, 2)).transpose(1, 2))
        return rows

    def forward(self, ids):
        rows = self.run(self.words(ids) + self.places[:ids.shape[1]], 0)
        guess = self.lengths(rows.transpose(1, 2))
        rows = rows + self.pitch(guess).transpose(1, 2)
        ends = (F.softplus(guess[:, 0]) + 0.5).cumsum(-1)
        ends = ends / ends[:, -1:] * self.frames
        middle = torch.arange(self.frames, device=ids.device, dtype=ends.dtype) + 0.5
        index = (middle[None, :, None] > ends[:, None]).sum(-1).clamp(max=ids.shape[1] - 1)
        rows = rows.gather(1, index[..., None].expand(-1, -1, rows.shape[2])) + self.places[:self.frames]
        bands = self.out(self.run(rows, self.layers))
        return bands + self.post(bands.transpose(1, 2)).transpose(1, 2)
