# SPDX-License-Identifier: Apache-2.0
"""Networks that answer for each place of a picture: masks, boxes, depth, flow."""
import torch
from torch import nn
from torch.nn import functional as F

from .common import Attention, Block, Feed, conv


class Places(nn.Module):
    """Attention of Segment Anything's encoder: scores by differences of rows and columns."""

    def __init__(self, width, heads, side):
        super().__init__()
        self.heads, self.side, depth = heads, side, width // heads
        self.three, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.rows, self.columns = (nn.Parameter(torch.randn(2 * side - 1, depth) * 0.02) for _ in range(2))
        far = torch.arange(side)
        self.register_buffer("far", far[:, None] - far[None] + side - 1)

    def forward(self, x):
        n, side, _, width = x.shape
        q, k, v = self.three(x).reshape(n, side * side, 3, self.heads, -1).permute(2, 0, 3, 1, 4).reshape(3, n * self.heads, side * side, -1).unbind(0)
        scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
        q = q.reshape(n * self.heads, side, side, -1)
        rows = torch.einsum("bhwc,hkc->bhwk", q, self.rows[self.far])
        columns = torch.einsum("bhwc,wkc->bhwk", q, self.columns[self.far])
        scores = scores.view(-1, side, side, side, side) + rows[..., None] + columns[:, :, :, None]
        y = (scores.view(-1, side * side, side * side).softmax(-1) @ v).view(n, self.heads, side, side, -1)
        return self.out(y.permute(0, 2, 3, 1, 4).reshape(n, side, side, -1))


class PlacesBlock(nn.Module):
    def __init__(self, width, heads, side, window):
        super().__init__()
        self.norms, self.window = nn.ModuleList(nn.LayerNorm(width) for _ in range(2)), window
        self.own, self.feed = Places(width, heads, window or side), Feed(width, 4 * width)

    def forward(self, x):
        n, side, _, c = x.shape
        y, w = self.norms[0](x), self.window
        if w:
            more = -side % w
            y = F.pad(y, (0, 0, 0, more, 0, more))
            count = (side + more) // w
            y = y.view(n, count, w, count, w, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, w, w, c)
        y = self.own(y)
        if w:
            y = y.view(n, count, count, w, w, c).permute(0, 1, 3, 2, 4, 5).reshape(n, side + more, side + more, c)[:, :side, :side]
        x = x + y
        return x + self.feed(self.norms[1](x))


class ChannelNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        x = x - x.mean(1, keepdim=True)
        return x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-5) * self.weight[:, None, None] + self.bias[:, None, None]


class SamEncoder(nn.Module):
    def __init__(self, width, heads, side, window, layers, wide):
        super().__init__()
        self.into, self.places = nn.Conv2d(3, width, 16, 16), nn.Parameter(torch.randn(1, side, side, width) * 0.02)
        self.blocks = nn.Sequential(*[PlacesBlock(width, heads, side, 0 if k in wide else window) for k in range(layers)])
        self.neck = nn.Sequential(nn.Conv2d(width, 256, 1, bias=False), ChannelNorm(256), nn.Conv2d(256, 256, 3, padding=1, bias=False), ChannelNorm(256))

    def forward(self, picture):
        return self.neck(self.blocks(self.into(picture).permute(0, 2, 3, 1) + self.places).permute(0, 3, 1, 2))


class SamDecoder(nn.Module):
    """Segment Anything's masks: tokens and places ask each other."""

    def __init__(self, width, heads, layers=2):
        super().__init__()
        self.tokens = nn.Parameter(torch.randn(5, width))
        self.own, self.ask, self.answer = (nn.ModuleList(Attention(width, heads) for _ in range(layers)) for _ in range(3))
        self.feeds = nn.ModuleList(Feed(width, 8 * width, nn.ReLU) for _ in range(layers))
        self.norms, self.last = nn.ModuleList(nn.LayerNorm(width) for _ in range(4 * layers + 1)), Attention(width, heads)
        self.up = nn.Sequential(nn.ConvTranspose2d(width, width // 4, 2, 2), ChannelNorm(width // 4), nn.GELU(), nn.ConvTranspose2d(width // 4, width // 8, 2, 2), nn.GELU())
        self.masks = nn.ModuleList(nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width // 8)) for _ in range(4))
        self.quality = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))

    def forward(self, image, places, points):
        n, c, h, w = image.shape
        asked = torch.cat([self.tokens.expand(n, -1, -1), points], 1)
        first, rows, places = asked, image.flatten(2).transpose(1, 2), places.flatten(2).transpose(1, 2)
        for k, feed in enumerate(self.feeds):
            norms = self.norms[4 * k:4 * k + 4]
            asked = norms[0](asked + self.own[k](asked + first))
            asked = norms[1](asked + self.ask[k](asked + first, rows + places))
            asked = norms[2](asked + feed(asked))
            rows = norms[3](rows + self.answer[k](rows + places, asked + first))
        asked = self.norms[-1](asked + self.last(asked + first, rows + places))
        wide = self.up(rows.transpose(1, 2).view(n, c, h, w))
        weights = torch.stack([mask(asked[:, 1 + k]) for k, mask in enumerate(self.masks)], 1)
        return (weights @ wide.flatten(2)).view(n, 4, 4 * h, 4 * w), self.quality(asked[:, 0])


class Deformable(nn.Module):
    """Attention at a few places that are computed, on several levels."""

    def __init__(self, width, heads, levels, points):
        super().__init__()
        self.shape = heads, levels, points
        self.value, self.out = (nn.Linear(width, width) for _ in range(2))
        self.shifts, self.weights = nn.Linear(width, heads * levels * points * 2), nn.Linear(width, heads * levels * points)

    def forward(self, asked, where, rows, sides):
        (n, many, width), (heads, levels, points) = asked.shape, self.shape
        values = self.value(rows).view(n, -1, heads, width // heads).split([h * w for h, w in sides], 1)
        shifts = self.shifts(asked).view(n, many, heads, levels, points, 2)
        weights = self.weights(asked).view(n, many, heads, levels * points).softmax(-1).transpose(1, 2).reshape(n * heads, 1, many, levels * points)
        size = torch.tensor([[w, h] for h, w in sides], device=asked.device, dtype=asked.dtype)
        grids = 2 * (where[:, :, None, None, None] + shifts / size[:, None]) - 1
        found = []
        for k, (h, w) in enumerate(sides):
            value = values[k].flatten(2).transpose(1, 2).reshape(n * heads, width // heads, h, w)
            found.append(F.grid_sample(value, grids[:, :, :, k].transpose(1, 2).flatten(0, 1), align_corners=False))
        return self.out((torch.cat(found, -1) * weights).sum(-1).view(n, width, many).transpose(1, 2))


class DeformableDetr(nn.Module):
    def __init__(self, width, heads, layers, queries, inputs):
        super().__init__()
        self.into = nn.ModuleList(nn.Sequential(nn.Conv2d(c, width, 1), nn.GroupNorm(8, width)) for c in inputs)
        self.encoder, self.cross = (nn.ModuleList(Deformable(width, heads, len(inputs), 4) for _ in range(layers)) for _ in range(2))
        self.own, self.feeds = nn.ModuleList(Attention(width, heads) for _ in range(layers)), nn.ModuleList(Feed(width, 4 * width, nn.ReLU) for _ in range(2 * layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(5 * layers))
        self.queries, self.where = nn.Parameter(torch.randn(queries, width)), nn.Parameter(torch.rand(queries, 2))
        self.kinds, self.boxes = nn.Linear(width, 91), nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))

    def forward(self, *levels):
        sides = [x.shape[2:] for x in levels]
        rows = torch.cat([into(x).flatten(2).transpose(1, 2) for into, x in zip(self.into, levels)], 1)
        n, dtype, device = rows.shape[0], rows.dtype, rows.device
        where = torch.cat([torch.stack(torch.meshgrid((torch.arange(w, device=device) + 0.5) / w, (torch.arange(h, device=device) + 0.5) / h, indexing="xy"), -1).flatten(0, 1)
                           for h, w in sides]).to(dtype).expand(n, -1, -1)
        for k, layer in enumerate(self.encoder):
            rows = self.norms[5 * k](rows + layer(rows, where, rows, sides))
            rows = self.norms[5 * k + 1](rows + self.feeds[2 * k](rows))
        asked, where = self.queries.expand(n, -1, -1), self.where.expand(n, -1, -1)
        for k, layer in enumerate(self.cross):
            asked = self.norms[5 * k + 2](asked + self.own[k](asked))
            asked = self.norms[5 * k + 3](asked + layer(asked, where, rows, sides))
            asked = self.norms[5 * k + 4](asked + self.feeds[2 * k + 1](asked))
        return self.kinds(asked), (self.boxes(asked) + torch.cat([where, where], -1)).sigmoid()


class Reduced(nn.Module):
    """Segformer's layer: keys of a smaller picture, a depthwise convolution between the products."""

    def __init__(self, width, heads, ratio):
        super().__init__()
        self.norms, self.own = nn.ModuleList(nn.LayerNorm(width) for _ in range(3)), Attention(width, heads)
        self.reduce = nn.Conv2d(width, width, ratio, ratio) if ratio > 1 else None
        self.wide, self.deep, self.narrow = nn.Linear(width, 4 * width), nn.Conv2d(4 * width, 4 * width, 3, padding=1, groups=4 * width), nn.Linear(4 * width, width)

    def forward(self, rows, h, w):
        n, _, c = rows.shape
        y = self.norms[0](rows)
        keys = y if self.reduce is None else self.norms[1](self.reduce(y.transpose(1, 2).reshape(n, c, h, w)).flatten(2).transpose(1, 2))
        rows = rows + self.own(y, keys)
        y = self.wide(self.norms[2](rows))
        y = self.deep(y.transpose(1, 2).reshape(n, -1, h, w)).flatten(2).transpose(1, 2)
        return rows + self.narrow(F.gelu(y))


class Segformer(nn.Module):
    def __init__(self, widths, heads, layers, ratios=(8, 4, 2, 1), inner=256, kinds=150):
        super().__init__()
        self.into = nn.ModuleList(nn.Conv2d(a, b, *((7, 4, 3) if k == 0 else (3, 2, 1))) for k, (a, b) in enumerate(zip([3, *widths], widths)))
        self.begin, self.end = (nn.ModuleList(nn.LayerNorm(w) for w in widths) for _ in range(2))
        self.blocks = nn.ModuleList(nn.ModuleList(Reduced(w, h, r) for _ in range(layers)) for w, h, r in zip(widths, heads, ratios))
        self.heads, self.fuse, self.out = nn.ModuleList(nn.Linear(w, inner) for w in widths), conv(4 * inner, inner, 1, activation=nn.ReLU), nn.Conv2d(inner, kinds, 1)

    def forward(self, x):
        found = []
        for k, blocks in enumerate(self.blocks):
            x = self.into[k](x)
            n, c, h, w = x.shape
            rows = self.begin[k](x.flatten(2).transpose(1, 2))
            for block in blocks:
                rows = block(rows, h, w)
            x = self.end[k](rows).transpose(1, 2).reshape(n, c, h, w)
            y = self.heads[k](x.flatten(2).transpose(1, 2)).transpose(1, 2).reshape(n, -1, h, w)
            found.append(y if k == 0 else F.interpolate(y, size=found[0].shape[2:], mode="bilinear", align_corners=False))
        return self.out(self.fuse(torch.cat(found[::-1], 1)))


class MaskHead(nn.Module):
    """Mask2Former's decoder: each layer looks only where the last one saw its mask."""

    def __init__(self, width, heads, layers, queries):
        super().__init__()
        self.queries, self.places, self.heads = nn.Parameter(torch.randn(queries, width)), nn.Parameter(torch.randn(queries, width)), heads
        self.cross, self.own = (nn.ModuleList(Attention(width, heads) for _ in range(layers)) for _ in range(2))
        self.feeds, self.norms = nn.ModuleList(Feed(width, 8 * width, nn.ReLU) for _ in range(layers)), nn.ModuleList(nn.LayerNorm(width) for _ in range(3 * layers))
        self.last, self.mask, self.kinds = nn.LayerNorm(width), Feed(width, width, nn.ReLU), nn.Linear(width, 134)

    def forward(self, wide, *levels):
        asked = self.queries.expand(wide.shape[0], -1, -1)
        for k in range(len(self.cross)):
            level = levels[k % len(levels)]
            masks = torch.einsum("bqc,bchw->bqhw", self.mask(self.last(asked)), wide)
            small = F.interpolate(masks, size=level.shape[2:], mode="bilinear", align_corners=False).flatten(2)
            hidden = small.sigmoid() < 0.5
            hidden = hidden & ~hidden.all(-1, keepdim=True)
            mask = torch.zeros_like(small).masked_fill(hidden, -30000.0)[:, None]
            asked = self.norms[3 * k](asked + self.cross[k](asked + self.places, level.flatten(2).transpose(1, 2), mask))
            asked = self.norms[3 * k + 1](asked + self.own[k](asked + self.places))
            asked = self.norms[3 * k + 2](asked + self.feeds[k](asked))
        return self.kinds(self.last(asked)), torch.einsum("bqc,bchw->bqhw", self.mask(self.last(asked)), wide)


class Pillars(nn.Module):
    """Points in columns, their features scattered to a picture (PointPillars)."""

    def __init__(self, width, side):
        super().__init__()
        self.side, self.points = side, nn.Sequential(nn.Linear(9, width, bias=False), nn.LayerNorm(width), nn.ReLU())
        widths = (width, 2 * width, 4 * width)
        self.down = nn.ModuleList(nn.Sequential(conv(a, b, 3, 2, activation=nn.ReLU), *[conv(b, b, activation=nn.ReLU) for _ in range(3)])
                                  for a, b in zip((width, *widths), widths))
        self.up = nn.ModuleList(nn.Sequential(nn.ConvTranspose2d(w, 2 * width, 2 ** k, 2 ** k, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU()) for k, w in enumerate(widths))
        self.heads = nn.ModuleList(nn.Conv2d(6 * width, c, 1) for c in (18, 42, 12))

    def forward(self, points, cells):
        features = self.points(points).max(1)[0]
        flat = torch.zeros(self.side * self.side, features.shape[1], device=points.device, dtype=features.dtype)
        flat = flat.index_put((cells,), features)
        x, found = flat.t().reshape(1, -1, self.side, self.side), []
        for down, up in zip(self.down, self.up):
            x = down(x)
            found.append(up(x))
        x = torch.cat(found, 1)
        return tuple(head(x) for head in self.heads)


class Flow(nn.Module):
    """Optical flow by volumes of cost (PWC-Net): the second picture is moved by the flow so far."""

    def __init__(self, widths, reach=4):
        super().__init__()
        self.reach, costs = reach, (2 * reach + 1) ** 2
        self.down = nn.ModuleList(nn.Sequential(*[part for i, o, s in ((a, b, 2), (b, b, 1)) for part in (nn.Conv2d(i, o, 3, s, 1), nn.LeakyReLU(0.1))])
                                  for a, b in zip([3, *widths], widths))
        self.guess = nn.ModuleList(nn.Sequential(nn.Conv2d(costs + w + 2, 128, 3, padding=1), nn.LeakyReLU(0.1), nn.Conv2d(128, 96, 3, padding=1), nn.LeakyReLU(0.1),
                                                 nn.Conv2d(96, 64, 3, padding=1), nn.LeakyReLU(0.1), nn.Conv2d(64, 2, 3, padding=1)) for w in widths[2:])

    def features(self, x):
        found = []
        for down in self.down:
            x = down(x)
            found.append(x)
        return found[2:]

    def forward(self, first, second):
        firsts, seconds, flow = self.features(first), self.features(second), None
        for a, b, guess in reversed(list(zip(firsts, seconds, self.guess))):
            n, _, h, w = a.shape
            if flow is None:
                flow = torch.zeros(n, 2, h, w, device=a.device, dtype=a.dtype)
            else:
                flow = 2 * F.interpolate(flow, size=(h, w), mode="bilinear", align_corners=False)
            y, x = torch.meshgrid(torch.arange(h, device=a.device), torch.arange(w, device=a.device), indexing="ij")
            grid = torch.stack([(2 * (x + flow[:, 0]) + 1) / w - 1, (2 * (y + flow[:, 1]) + 1) / h - 1], -1).to(a.dtype)
            b = F.grid_sample(b, grid, align_corners=False)
            r, wide = self.reach, F.pad(b, (self.reach,) * 4)
            costs = torch.stack([(a * wide[:, :, i:i + h, j:j + w]).mean(1) for i in range(2 * r + 1) for j in range(2 * r + 1)], 1)
            flow = flow + guess(torch.cat([F.leaky_relu(costs, 0.1), a, flow], 1))
        return flow


class Depth(nn.Module):
    """A transformer's layers put together as a pyramid (DPT, Depth Anything)."""

    def __init__(self, width, heads, layers, inner, side):
        super().__init__()
        self.into, self.places = nn.Conv2d(3, width, 14, 14), nn.Parameter(torch.randn(1, side * side + 1, width) * 0.02)
        self.token, self.side, self.every = nn.Parameter(torch.randn(1, 1, width) * 0.02), side, layers // 4
        self.blocks, self.norm = nn.ModuleList(Block(width, heads) for _ in range(layers)), nn.LayerNorm(width)
        widths = (inner, 2 * inner, 4 * inner, 4 * inner)
        sizes = (nn.ConvTranspose2d(inner, inner, 4, 4), nn.ConvTranspose2d(2 * inner, 2 * inner, 2, 2), nn.Identity(), nn.Conv2d(4 * inner, 4 * inner, 3, 2, 1))
        self.project = nn.ModuleList(nn.Sequential(nn.Conv2d(width, w, 1), size, nn.Conv2d(w, inner, 3, padding=1, bias=False)) for w, size in zip(widths, sizes))
        self.units = nn.ModuleList(nn.Sequential(nn.ReLU(), nn.Conv2d(inner, inner, 3, padding=1), nn.ReLU(), nn.Conv2d(inner, inner, 3, padding=1)) for _ in range(8))
        self.outs, self.end = nn.ModuleList(nn.Conv2d(inner, inner, 1) for _ in range(4)), nn.ModuleList([nn.Conv2d(inner, inner // 2, 3, padding=1), nn.Conv2d(inner // 2, 32, 3, padding=1), nn.Conv2d(32, 1, 1)])

    def forward(self, picture):
        x = self.into(picture)
        n, c, h, w = x.shape
        rows = torch.cat([self.token.expand(n, -1, -1), x.flatten(2).transpose(1, 2)], 1) + self.places
        kept = []
        for k, block in enumerate(self.blocks):
            rows = block(rows)
            if (k + 1) % self.every == 0:
                kept.append(self.norm(rows)[:, 1:].transpose(1, 2).reshape(n, c, h, w))
        levels, x = [project(y) for project, y in zip(self.project, kept)], None
        for k in range(3, -1, -1):
            y = levels[k]
            y = y + self.units[2 * k](y)
            y = y if x is None else x + y
            y = y + self.units[2 * k + 1](y)
            more = {"scale_factor": 2.0} if k == 0 else {"size": levels[k - 1].shape[2:]}
            x = self.outs[k](F.interpolate(y, mode="bilinear", align_corners=True, **more))
        x = F.interpolate(self.end[0](x), size=picture.shape[2:], mode="bilinear", align_corners=True)
        return self.end[2](F.relu(self.end[1](x)))
