# SPDX-License-Identifier: Apache-2.0
"""Networks that make or change pictures: diffusion, decoders of latents, super resolution, restoration, segmentation."""
import torch
from torch import nn
from torch.nn import functional as F

from .common import Attention, Block, Feed, conv


class Residual(nn.Module):
    def __init__(self, inputs, outputs, time=None):
        super().__init__()
        self.norms = nn.ModuleList([nn.GroupNorm(min(32, inputs), inputs, 1e-6), nn.GroupNorm(min(32, outputs), outputs, 1e-6)])
        self.first, self.second = nn.Conv2d(inputs, outputs, 3, padding=1), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.time = nn.Linear(time, outputs) if time else None
        self.skip = nn.Conv2d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x, time=None):
        y = self.first(F.silu(self.norms[0](x)))
        if self.time is not None:
            y = y + self.time(F.silu(time))[:, :, None, None]
        return self.skip(x) + self.second(F.silu(self.norms[1](y)))


class Gated(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.both, self.out = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, rows):
        value, gate = self.both(rows).chunk(2, -1)
        return self.out(value * F.gelu(gate))


class Words(nn.Module):
    """A picture's pixels attend to each other and to the words of a text."""

    def __init__(self, width, heads, words):
        super().__init__()
        self.norm, self.into, self.out = nn.GroupNorm(32, width, 1e-6), nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.own, self.cross = Attention(width, heads, bias=False), Attention(width, heads, words, bias=False)
        self.feed = Gated(width)

    def forward(self, x, words):
        n, c, h, w = x.shape
        rows = self.into(self.norm(x)).permute(0, 2, 3, 1).reshape(n, h * w, c)
        rows = rows + self.own(self.norms[0](rows))
        rows = rows + self.cross(self.norms[1](rows), words)
        rows = rows + self.feed(self.norms[2](rows))
        return x + self.out(rows.reshape(n, h, w, c).permute(0, 3, 1, 2))


class DiffusionUNet(nn.Module):
    def __init__(self, widths, words=768, heads=8):
        super().__init__()
        first, time = widths[0], 4 * widths[0]
        self.first = first
        self.time = nn.Sequential(nn.Linear(first, time), nn.SiLU(), nn.Linear(time, time))
        self.begin = nn.Conv2d(4, first, 3, padding=1)
        self.down, self.up, self.shrink, self.grow = (nn.ModuleList() for _ in range(4))
        before = first
        for width in widths:
            self.down.append(nn.ModuleList([Residual(before, width, time), Words(width, heads, words)]))
            self.shrink.append(nn.Conv2d(width, width, 3, 2, 1))
            before = width
        self.middle = nn.ModuleList([Residual(before, before, time), Words(before, heads, words), Residual(before, before, time)])
        for width in reversed(widths):
            self.grow.append(nn.Conv2d(before, before, 3, padding=1))
            self.up.append(nn.ModuleList([Residual(before + width, width, time), Words(width, heads, words)]))
            before = width
        self.norm, self.end = nn.GroupNorm(32, first), nn.Conv2d(first, 4, 3, padding=1)

    def forward(self, x, step, words):
        half = self.first // 2
        angles = step[:, None] * torch.exp(torch.arange(half, device=x.device, dtype=x.dtype) * (-9.21 / half))
        time = self.time(torch.cat([angles.cos(), angles.sin()], -1))
        x, kept = self.begin(x), []
        for (residual, attention), shrink in zip(self.down, self.shrink):
            x = attention(residual(x, time), words)
            kept.append(x)
            x = shrink(x)
        x = self.middle[2](self.middle[1](self.middle[0](x, time), words), time)
        for (residual, attention), grow in zip(self.up, self.grow):
            x = grow(F.interpolate(x, scale_factor=2.0, mode="nearest"))
            x = attention(residual(torch.cat([x, kept.pop()], 1), time), words)
        return self.end(F.silu(self.norm(x)))


class PictureDecoder(nn.Module):
    """Latents to a picture, as the decoder of an autoencoder for diffusion."""

    def __init__(self, widths):
        super().__init__()
        first = widths[0]
        self.begin = nn.Conv2d(4, first, 3, padding=1)
        self.middle = nn.ModuleList([Residual(first, first), Residual(first, first)])
        self.norm_rows, self.attention = nn.GroupNorm(32, first), Attention(first, 1)
        self.levels, self.grow, before = nn.ModuleList(), nn.ModuleList(), first
        for k, width in enumerate(widths):
            self.levels.append(nn.Sequential(Residual(before, width), Residual(width, width)))
            self.grow.append(nn.Conv2d(width, width, 3, padding=1) if k + 1 < len(widths) else nn.Identity())
            before = width
        self.norm, self.end = nn.GroupNorm(32, before), nn.Conv2d(before, 3, 3, padding=1)

    def forward(self, x):
        x = self.middle[0](self.begin(x))
        n, c, h, w = x.shape
        x = x + self.attention(self.norm_rows(x).flatten(2).transpose(1, 2)).transpose(1, 2).reshape(n, c, h, w)
        x = self.middle[1](x)
        for k, (level, grow) in enumerate(zip(self.levels, self.grow)):
            x = level(x)
            if k + 1 < len(self.levels):
                x = grow(F.interpolate(x, scale_factor=2.0, mode="nearest"))
        return self.end(F.silu(self.norm(x)))


class Dense(nn.Module):
    def __init__(self, width, growth):
        super().__init__()
        self.parts = nn.ModuleList(nn.Conv2d(width + k * growth, growth if k < 4 else width, 3, padding=1) for k in range(5))

    def forward(self, x):
        every = [x]
        for part in self.parts[:-1]:
            every.append(F.leaky_relu(part(torch.cat(every, 1)), 0.2))
        return x + 0.2 * self.parts[-1](torch.cat(every, 1))


class Esrgan(nn.Module):
    def __init__(self, blocks, width=64, growth=32):
        super().__init__()
        self.begin, self.body = nn.Conv2d(3, width, 3, padding=1), nn.ModuleList()
        for _ in range(blocks):
            self.body.append(nn.Sequential(*[Dense(width, growth) for _ in range(3)]))
        self.join = nn.Conv2d(width, width, 3, padding=1)
        self.grow = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(2))
        self.high, self.end = nn.Conv2d(width, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, x):
        x = y = self.begin(x)
        for block in self.body:
            y = y + 0.2 * block(y)
        x = x + self.join(y)
        for grow in self.grow:
            x = F.leaky_relu(grow(F.interpolate(x, scale_factor=2.0, mode="nearest")), 0.2)
        return self.end(F.leaky_relu(self.high(x), 0.2))


class Edsr(nn.Module):
    def __init__(self, blocks, width=64):
        super().__init__()
        self.begin = nn.Conv2d(3, width, 3, padding=1)
        self.body = nn.ModuleList(nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1))
                                  for _ in range(blocks))
        self.end = nn.Sequential(nn.Conv2d(width, 4 * width, 3, padding=1), nn.PixelShuffle(2), nn.Conv2d(width, 3, 3, padding=1))

    def forward(self, x):
        x = y = self.begin(x)
        for block in self.body:
            y = y + block(y)
        return self.end(x + y)


def windows(x, size):
    n, h, w, c = x.shape
    return x.view(n, h // size, size, w // size, size, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, size * size, c)


def joined(rows, size, h, w):
    c = rows.shape[-1]
    return rows.view(-1, h // size, w // size, size, size, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, h, w, c)


class WindowBlock(nn.Module):
    def __init__(self, width, heads, size, shift):
        super().__init__()
        self.heads, self.size, self.shift = heads, size, shift
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.three, self.out, self.feed = nn.Linear(width, 3 * width), nn.Linear(width, width), Feed(width, 2 * width)
        self.bias = nn.Parameter(torch.randn(heads, size * size, size * size) * 0.1)

    def forward(self, x):
        n, h, w, c = x.shape
        y = self.norms[0](x)
        if self.shift:
            y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
        rows = windows(y, self.size)
        q, k, v = self.three(rows).view(rows.shape[0], -1, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        scores = (q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1) + self.bias
        rows = self.out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
        y = joined(rows, self.size, h, w)
        if self.shift:
            y = torch.roll(y, (self.shift, self.shift), (1, 2))
        x = x + y
        return x + self.feed(self.norms[1](x))


class SwinIr(nn.Module):
    def __init__(self, width, heads, groups, blocks=4):
        super().__init__()
        self.begin = nn.Conv2d(3, width, 3, padding=1)
        self.groups = nn.ModuleList(nn.Sequential(*[WindowBlock(width, heads, 8, 4 * (k % 2)) for k in range(blocks)]) for _ in range(groups))
        self.convs = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1) for _ in range(groups + 1))
        self.norm = nn.LayerNorm(width)
        self.end = nn.Sequential(nn.Conv2d(width, 64, 3, padding=1), nn.LeakyReLU(), nn.Conv2d(64, 256, 3, padding=1), nn.PixelShuffle(2),
                                 nn.Conv2d(64, 3, 3, padding=1))

    def forward(self, x):
        x = y = self.begin(x)
        for group, join in zip(self.groups, self.convs):
            y = y + join(group(y.permute(0, 2, 3, 1)).permute(0, 3, 1, 2))
        return self.end(x + self.convs[-1](self.norm(y.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)))


class ChannelNorm(nn.Module):
    """Layer normalization of each pixel's channels."""

    def __init__(self, width):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(1, width, 1, 1)), nn.Parameter(torch.zeros(1, width, 1, 1))

    def forward(self, x):
        mean = x.mean(1, keepdim=True)
        variance = (x - mean).pow(2).mean(1, keepdim=True)
        return self.weight * ((x - mean) / torch.sqrt(variance + 1e-6)) + self.bias


class NafBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norms = nn.ModuleList(ChannelNorm(width) for _ in range(2))
        self.wide, self.deep = nn.Conv2d(width, 2 * width, 1), nn.Conv2d(2 * width, 2 * width, 3, padding=1, groups=2 * width)
        self.attention, self.out = nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.feed, self.narrow = nn.Conv2d(width, 2 * width, 1), nn.Conv2d(width, width, 1)
        self.scales = nn.Parameter(torch.full((2, 1, width, 1, 1), 0.5))

    def forward(self, x):
        a, b = self.deep(self.wide(self.norms[0](x))).chunk(2, 1)
        y = a * b
        y = self.out(y * self.attention(F.adaptive_avg_pool2d(y, 1)))
        x = x + y * self.scales[0]
        a, b = self.feed(self.norms[1](x)).chunk(2, 1)
        return x + self.narrow(a * b) * self.scales[1]


class Nafnet(nn.Module):
    def __init__(self, width, levels):
        super().__init__()
        self.begin, self.end = nn.Conv2d(3, width, 3, padding=1), nn.Conv2d(width, 3, 3, padding=1)
        self.down, self.up, self.encoders, self.decoders = (nn.ModuleList() for _ in range(4))
        for _ in range(levels):
            self.encoders.append(NafBlock(width))
            self.down.append(nn.Conv2d(width, 2 * width, 2, 2))
            width *= 2
        self.middle = NafBlock(width)
        for _ in range(levels):
            self.up.append(nn.Sequential(nn.Conv2d(width, 2 * width, 1, bias=False), nn.PixelShuffle(2)))
            width //= 2
            self.decoders.append(NafBlock(width))

    def forward(self, picture):
        x, kept = self.begin(picture), []
        for encoder, down in zip(self.encoders, self.down):
            x = encoder(x)
            kept.append(x)
            x = down(x)
        x = self.middle(x)
        for up, decoder in zip(self.up, self.decoders):
            x = decoder(up(x) + kept.pop())
        return self.end(x) + picture


class Transposed(nn.Module):
    """Attention between channels, as Restormer has it, and its gated feed-forward part."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.norms = heads, nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.scale = nn.Parameter(torch.ones(heads, 1, 1))
        self.three, self.deep = nn.Conv2d(width, 3 * width, 1), nn.Conv2d(3 * width, 3 * width, 3, padding=1, groups=3 * width)
        self.out, inner = nn.Conv2d(width, width, 1), int(2.66 * width)
        self.into, self.wide = nn.Conv2d(width, 2 * inner, 1), nn.Conv2d(2 * inner, 2 * inner, 3, padding=1, groups=2 * inner)
        self.narrow = nn.Conv2d(inner, width, 1)

    def normalized(self, x, k):
        return self.norms[k](x.flatten(2).transpose(1, 2)).transpose(1, 2).view(x.shape)

    def forward(self, x):
        n, c, h, w = x.shape
        q, k, v = (y.reshape(n, self.heads, -1, h * w) for y in self.deep(self.three(self.normalized(x, 0))).chunk(3, 1))
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        x = x + self.out(((q @ k.transpose(-2, -1) * self.scale).softmax(-1) @ v).reshape(n, c, h, w))
        a, b = self.wide(self.into(self.normalized(x, 1))).chunk(2, 1)
        return x + self.narrow(F.gelu(a) * b)


class Restormer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.begin, self.end = nn.Conv2d(3, width, 3, padding=1, bias=False), nn.Conv2d(width, 3, 3, padding=1, bias=False)
        self.first, self.last = nn.Sequential(*[Transposed(width, 1) for _ in range(2)]), Transposed(width, 1)
        self.down = nn.Sequential(nn.Conv2d(width, width // 2, 3, padding=1, bias=False), nn.PixelUnshuffle(2))
        self.middle = nn.Sequential(*[Transposed(2 * width, 2) for _ in range(2)])
        self.up = nn.Sequential(nn.Conv2d(2 * width, 4 * width, 3, padding=1, bias=False), nn.PixelShuffle(2))
        self.join = nn.Conv2d(2 * width, width, 1, bias=False)

    def forward(self, picture):
        x = self.first(self.begin(picture))
        y = self.up(self.middle(self.down(x)))
        return self.end(self.last(self.join(torch.cat([y, x], 1)))) + picture


class SegmentationUNet(nn.Module):
    def __init__(self, widths):
        super().__init__()
        def double(inputs, outputs):
            return nn.Sequential(conv(inputs, outputs, activation=nn.ReLU), conv(outputs, outputs, activation=nn.ReLU))
        self.down = nn.ModuleList(double(a, b) for a, b in zip([3, *widths], widths))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in reversed(list(zip(widths, widths[1:]))))
        self.up = nn.ModuleList(double(2 * a, a) for a in reversed(widths[:-1]))
        self.end = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x):
        kept = []
        for level in self.down:
            x = level(x if not kept else F.max_pool2d(x, 2))
            kept.append(x)
        kept.pop()
        for grow, level in zip(self.grow, self.up):
            x = level(torch.cat([kept.pop(), grow(x)], 1))
        return self.end(x)
