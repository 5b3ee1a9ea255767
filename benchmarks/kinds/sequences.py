# SPDX-License-Identifier: Apache-2.0
"""Networks of text and sound."""
import math

import torch
from torch import nn
from torch.nn import functional as F

from .common import Attention, Block, attend


class RootNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, rows):
        wide = rows.float()
        return self.weight * (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(rows.dtype)


def turned(rows, places):
    """Rotary positions: heads n x heads x length x width."""
    half = rows.shape[-1] // 2
    angles = places[:, None].float() * torch.exp(torch.arange(half, device=rows.device) * (-9.21 / half))
    cos, sin = (torch.cat([x, x], -1).to(rows.dtype) for x in (angles.cos(), angles.sin()))
    return rows * cos + torch.cat([-rows[..., half:], rows[..., :half]], -1) * sin


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, key_heads, inner):
        super().__init__()
        self.heads, self.key_heads, size = heads, key_heads, width // heads
        self.norms = nn.ModuleList(RootNorm(width) for _ in range(2))
        self.query, self.out = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.key, self.value = (nn.Linear(width, key_heads * size, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in range(2))
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, rows, places, past=None):
        n, length, width = rows.shape
        x = self.norms[0](rows)
        q = turned(self.query(x).view(n, length, self.heads, -1).transpose(1, 2), places)
        k = turned(self.key(x).view(n, length, self.key_heads, -1).transpose(1, 2), places)
        v = self.value(x).view(n, length, self.key_heads, -1).transpose(1, 2)
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        kept, repeats = (k, v), self.heads // self.key_heads
        k, v = (y[:, :, None].expand(-1, -1, repeats, -1, -1).reshape(n, self.heads, y.shape[2], y.shape[3]) for y in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=past is None)
        rows = rows + self.out(y.transpose(1, 2).reshape(n, length, width))
        x = self.norms[1](rows)
        return rows + self.down(F.silu(self.gate(x)) * self.up(x)), kept


class Llama(nn.Module):
    def __init__(self, layers, width, heads, key_heads, inner, words):
        super().__init__()
        self.words, self.norm = nn.Embedding(words, width), RootNorm(width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, key_heads, inner) for _ in range(layers))
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, ids, *past):
        rows = self.words(ids)
        before = past[0].shape[2] if past else 0
        places = torch.arange(ids.shape[1], device=ids.device) + before
        kept = []
        for k, block in enumerate(self.blocks):
            rows, new = block(rows, places, past[2 * k:2 * k + 2] if past else None)
            kept += new if past else []
        return (self.head(self.norm(rows[:, -1:])), *kept)


class WhisperEncoder(nn.Module):
    def __init__(self, layers, width, heads, frames):
        super().__init__()
        self.first, self.second = nn.Conv1d(80, width, 3, padding=1), nn.Conv1d(width, width, 3, 2, 1)
        self.places = nn.Parameter(torch.randn(frames // 2, width) * 0.02)
        self.blocks, self.norm = nn.ModuleList(Block(width, heads) for _ in range(layers)), nn.LayerNorm(width)

    def forward(self, bands):
        rows = F.gelu(self.second(F.gelu(self.first(bands)))).transpose(1, 2) + self.places
        for block in self.blocks:
            rows = block(rows)
        return self.norm(rows)


class TextDecoder(nn.Module):
    """Words that attend to those before and to what an encoder made."""

    def __init__(self, layers, width, heads, words, longest):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(torch.randn(longest, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, heads, other=width, causal=True) for _ in range(layers))
        for block in self.blocks:
            block.cross.causal = False
        self.norm = nn.LayerNorm(width)

    def forward(self, ids, encoded):
        rows = self.words(ids) + self.places[:ids.shape[1]]
        for block in self.blocks:
            rows = block(rows, encoded)
        return self.norm(rows) @ self.words.weight.T


class QuickGelu(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class ClipText(nn.Module):
    def __init__(self, layers, width, heads, words=49408, length=77):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(torch.randn(length, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, heads, activation=QuickGelu) for _ in range(layers))
        self.norm, self.out = nn.LayerNorm(width), nn.Linear(width, width, bias=False)
        self.register_buffer("mask", torch.full((length, length), -10000.0).triu(1))

    def forward(self, ids):
        rows = self.words(ids) + self.places
        for block in self.blocks:
            rows = block(rows, mask=self.mask)
        rows = self.norm(rows)
        last = rows[torch.arange(ids.shape[0], device=ids.device), ids.argmax(-1)]
        return rows, self.out(last)


class Relative(nn.Module):
    """An encoder of T5's kind: root mean square norms, no scale, a bias by distance."""

    def __init__(self, layers, width, heads, length, words=32000):
        super().__init__()
        self.heads, self.words = heads, nn.Embedding(words, width)
        self.norms = nn.ModuleList(RootNorm(width) for _ in range(2 * layers + 1))
        self.projections = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(4 * layers))
        self.wide = nn.ModuleList(nn.Linear(width, 4 * width, bias=False) for _ in range(layers))
        self.narrow = nn.ModuleList(nn.Linear(4 * width, width, bias=False) for _ in range(layers))
        self.bias = nn.Embedding(32, heads)
        distance = torch.arange(length)[None] - torch.arange(length)[:, None]
        self.register_buffer("buckets", distance.clamp(-16, 15) + 16)

    def forward(self, ids):
        rows = self.words(ids)
        n, length, width = rows.shape
        bias = self.bias(self.buckets).permute(2, 0, 1)[None]
        for k in range(len(self.wide)):
            q, key, v = (self.projections[4 * k + j](self.norms[2 * k](rows)).view(n, length, self.heads, -1).transpose(1, 2) for j in range(3))
            scores = q @ key.transpose(-1, -2) + bias
            y = (F.softmax(scores.float(), -1).to(rows.dtype) @ v).transpose(1, 2).reshape(n, length, width)
            rows = rows + self.projections[4 * k + 3](y)
            rows = rows + self.narrow[k](F.relu(self.wide[k](self.norms[2 * k + 1](rows))))
        return self.norms[-1](rows)


class ConformerBlock(nn.Module):
    def __init__(self, width, heads, size=31):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(5))
        self.feeds = nn.ModuleList(nn.Sequential(nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width)) for _ in range(2))
        self.attention = Attention(width, heads)
        self.wide, self.deep = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, size, padding=size // 2, groups=width)
        self.batch, self.narrow = nn.BatchNorm1d(width), nn.Conv1d(width, width, 1)

    def forward(self, rows):
        rows = rows + 0.5 * self.feeds[0](self.norms[0](rows))
        rows = rows + self.attention(self.norms[1](rows))
        y = F.glu(self.wide(self.norms[2](rows).transpose(1, 2)), 1)
        rows = rows + self.narrow(F.silu(self.batch(self.deep(y)))).transpose(1, 2)
        return self.norms[4](rows + 0.5 * self.feeds[1](self.norms[3](rows)))


class Conformer(nn.Module):
    def __init__(self, layers, width, heads, bands=80):
        super().__init__()
        self.first, self.second = nn.Conv2d(1, width, 3, 2), nn.Conv2d(width, width, 3, 2)
        self.into = nn.Linear(width * (((bands - 1) // 2 - 1) // 2), width)
        self.blocks = nn.Sequential(*[ConformerBlock(width, heads) for _ in range(layers)])
        self.out = nn.Linear(width, 128)

    def forward(self, sound):
        x = F.relu(self.second(F.relu(self.first(sound[:, None]))))
        rows = self.into(x.transpose(1, 2).flatten(2))
        return F.log_softmax(self.out(self.blocks(rows)), -1)


class StateSpace(nn.Module):
    """A block of Mamba's second kind, its scan as products within and between chunks."""

    def __init__(self, width, state=64, size=64, chunk=64):
        super().__init__()
        self.inner, self.state, self.size, self.chunk = 2 * width, state, size, chunk
        self.heads = self.inner // size
        self.norm, self.last = RootNorm(width), RootNorm(self.inner)
        self.into = nn.Linear(width, 2 * self.inner + 2 * state + self.heads, bias=False)
        self.conv = nn.Conv1d(self.inner + 2 * state, self.inner + 2 * state, 4, padding=3, groups=self.inner + 2 * state)
        self.decay, self.through = nn.Parameter(torch.rand(self.heads)), nn.Parameter(torch.ones(self.heads))
        self.shift, self.out = nn.Parameter(torch.full((self.heads,), -2.0)), nn.Linear(self.inner, width, bias=False)

    def sums(self, x):
        ends = torch.cumsum(x, -1)
        length = x.shape[-1]
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        return (ends[..., :, None] - ends[..., None, :]).masked_fill(later, -30000.0)

    def forward(self, rows):
        n, length, _ = rows.shape
        gate, x, step = self.into(self.norm(rows)).split([self.inner, self.inner + 2 * self.state, self.heads], -1)
        x = F.silu(self.conv(x.transpose(1, 2))[..., :length]).transpose(1, 2)
        x, b, c = x.split([self.inner, self.state, self.state], -1)
        step = F.softplus(step + self.shift)
        count = length // self.chunk
        x = x.reshape(n, count, self.chunk, self.heads, self.size)
        b, c = (y.reshape(n, count, self.chunk, self.state) for y in (b, c))
        step = step.reshape(n, count, self.chunk, self.heads)
        a = (-torch.exp(self.decay) * step).permute(0, 3, 1, 2)
        given = x * step[..., None]
        ends = torch.cumsum(a, -1)
        near = torch.einsum("bcls,bcms,bhclm,bcmhp->bclhp", c, b, torch.exp(self.sums(a)), given)
        states = torch.einsum("bcls,bhcl,bclhp->bchps", b, torch.exp(ends[..., -1:] - ends), given)
        states = torch.cat([torch.zeros_like(states[:, :1]), states], 1)
        between = torch.exp(self.sums(F.pad(ends[..., -1], (1, 0))))
        states = torch.einsum("bhzc,bchps->bzhps", between, states)[:, :-1]
        far = torch.einsum("bcls,bchps,bhcl->bclhp", c, states, torch.exp(ends))
        y = (near + far + x * self.through[:, None]).reshape(n, length, self.inner)
        return rows + self.out(self.last(y * F.silu(gate)))


class Demucs(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.down, self.up, inputs = nn.ModuleList(), nn.ModuleList(), 2
        for k in range(depth):
            self.down.append(nn.Sequential(nn.Conv1d(inputs, width, 8, 4), nn.ReLU(), nn.Conv1d(width, 2 * width, 1), nn.GLU(1)))
            up = [nn.Conv1d(width, 2 * width, 3, padding=1), nn.GLU(1), nn.ConvTranspose1d(width, inputs, 8, 4)]
            self.up.insert(0, nn.Sequential(*up, *([nn.ReLU()] if k else [])))
            inputs, width = width, 2 * width
        self.rows, self.join = nn.LSTM(inputs, inputs, 2, bidirectional=True, batch_first=True), nn.Linear(2 * inputs, inputs)

    def forward(self, sound):
        x, kept = sound, []
        for level in self.down:
            x = level(x)
            kept.append(x)
        x = self.join(self.rows(x.transpose(1, 2))[0]).transpose(1, 2)
        for level in self.up:
            skip = kept.pop()
            x = level(x + skip[..., :x.shape[-1]])
        return x


class Tasnet(nn.Module):
    def __init__(self, width, bottle, inner, layers, repeats):
        super().__init__()
        self.encode, self.decode = nn.Conv1d(1, width, 16, 8, bias=False), nn.ConvTranspose1d(width, 1, 16, 8, bias=False)
        self.norm, self.into = nn.GroupNorm(1, width), nn.Conv1d(width, bottle, 1)
        self.blocks, self.skips, self.outs = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for k in range(layers * repeats):
            far = 2 ** (k % layers)
            self.blocks.append(nn.Sequential(nn.Conv1d(bottle, inner, 1), nn.PReLU(), nn.GroupNorm(1, inner),
                                             nn.Conv1d(inner, inner, 3, padding=far, dilation=far, groups=inner), nn.PReLU(), nn.GroupNorm(1, inner)))
            self.skips.append(nn.Conv1d(inner, bottle, 1))
            self.outs.append(nn.Conv1d(inner, bottle, 1))
        self.mask, self.width = nn.Sequential(nn.PReLU(), nn.Conv1d(bottle, 2 * width, 1), nn.Sigmoid()), width

    def forward(self, sound):
        encoded = F.relu(self.encode(sound))
        x, total = self.into(self.norm(encoded)), 0
        for block, skip, out in zip(self.blocks, self.skips, self.outs):
            y = block(x)
            total, x = total + skip(y), x + out(y)
        masks = self.mask(total).view(sound.shape[0] * 2, self.width, -1)
        both = encoded.repeat_interleave(2, 0) * masks
        return self.decode(both).view(sound.shape[0], 2, -1)


class Wavenet(nn.Module):
    def __init__(self, width, skip, layers):
        super().__init__()
        self.begin = nn.Conv1d(1, width, 1)
        self.both = nn.ModuleList(nn.Conv1d(width, 2 * width, 2, dilation=2 ** (k % 10)) for k in range(layers))
        self.given = nn.ModuleList(nn.Conv1d(80, 2 * width, 1) for _ in range(layers))
        self.outs = nn.ModuleList(nn.Conv1d(width, width + skip, 1) for _ in range(layers))
        self.end, self.width = nn.Sequential(nn.ReLU(), nn.Conv1d(skip, skip, 1), nn.ReLU(), nn.Conv1d(skip, 256, 1)), width

    def forward(self, sound, bands):
        x, total = self.begin(sound), 0
        for k, (both, given, out) in enumerate(zip(self.both, self.given, self.outs)):
            y = both(F.pad(x, (2 ** (k % 10), 0))) + given(bands)
            y = out(torch.tanh(y[:, :self.width]) * torch.sigmoid(y[:, self.width:]))
            x, total = x + y[:, :self.width], total + y[:, self.width:]
        return self.end(total)


class Vocoder(nn.Module):
    """HiFi-GAN's generator."""

    def __init__(self, width, rates=(8, 8, 2, 2), sizes=(3, 7, 11)):
        super().__init__()
        self.begin, self.up, self.blocks, self.sizes = nn.Conv1d(80, width, 7, padding=3), nn.ModuleList(), nn.ModuleList(), sizes
        for rate in rates:
            self.up.append(nn.ConvTranspose1d(width, width // 2, 2 * rate, rate, rate // 2))
            width //= 2
            for size in sizes:
                self.blocks.append(nn.ModuleList(nn.ModuleList([nn.Conv1d(width, width, size, padding=far * (size // 2), dilation=far),
                                                                nn.Conv1d(width, width, size, padding=size // 2)]) for far in (1, 3, 5)))
        self.end = nn.Conv1d(width, 1, 7, padding=3)

    def forward(self, bands):
        x = self.begin(bands)
        for k, up in enumerate(self.up):
            x = up(F.leaky_relu(x, 0.1))
            total = 0
            for block in self.blocks[k * len(self.sizes):(k + 1) * len(self.sizes)]:
                y = x
                for first, second in block:
                    y = y + second(F.leaky_relu(first(F.leaky_relu(y, 0.1)), 0.1))
                total = total + y
            x = total / len(self.sizes)
        return torch.tanh(self.end(F.leaky_relu(x)))


class Rows(nn.Module):
    """Layers of a recurrent network and a product."""

    def __init__(self, kind, inputs, width, layers, both, outputs):
        super().__init__()
        self.rows = kind(inputs, width, layers, bidirectional=both, batch_first=True)
        self.out = nn.Linear(width * (1 + both), outputs)

    def forward(self, x):
        return self.out(self.rows(x)[0])


class Tcn(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.begin, self.out = nn.Conv1d(8, width, 1), nn.Linear(width, 10)
        self.convs = nn.ModuleList(nn.Conv1d(width, width, 3, dilation=2 ** (k // 2)) for k in range(2 * layers))

    def forward(self, x):
        x = self.begin(x)
        for k in range(0, len(self.convs), 2):
            y = x
            for j in (k, k + 1):
                y = F.relu(self.convs[j](F.pad(y, (2 * 2 ** (j // 2), 0))))
            x = F.relu(x + y)
        return self.out(x[:, :, -1])


class Joiner(nn.Module):
    """The joint network of a transducer."""

    def __init__(self, width, words):
        super().__init__()
        self.sound, self.text, self.out = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, words)

    def forward(self, sound, text):
        return F.log_softmax(self.out(torch.tanh(self.sound(sound)[:, :, None] + self.text(text)[:, None])), -1)


class Retention(nn.Module):
    def __init__(self, width, heads, length, layers):
        super().__init__()
        self.heads = heads
        decay = 1 - torch.exp(torch.linspace(math.log(1 / 32), math.log(1 / 512), heads))
        place = torch.arange(length)
        far = (place[:, None] - place[None]).float()
        self.register_buffer("decay", torch.where(far >= 0, decay[:, None, None] ** far.clamp(min=0), 0.0))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers))
        self.groups = nn.ModuleList(nn.GroupNorm(heads, width) for _ in range(layers))
        self.four, self.outs = (nn.ModuleList(nn.Linear(width, count * width, bias=False) for _ in range(layers)) for count in (4, 1))
        self.feeds = nn.ModuleList(nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)) for _ in range(layers))

    def forward(self, rows):
        n, length, width = rows.shape
        for k, (four, out, feed) in enumerate(zip(self.four, self.outs, self.feeds)):
            q, key, v, gate = four(self.norms[2 * k](rows)).chunk(4, -1)
            q, key, v = (x.view(n, length, self.heads, -1).transpose(1, 2) for x in (q, key, v))
            y = ((q @ key.transpose(-1, -2)) * (q.shape[-1] ** -0.5) * self.decay) @ v
            y = self.groups[k](y.transpose(1, 2).reshape(n * length, width)).view(n, length, width)
            rows = rows + out(F.silu(gate) * y)
            rows = rows + feed(self.norms[2 * k + 1](rows))
        return rows
