# SPDX-License-Identifier: Apache-2.0
"""Parts that networks of several kinds share."""
import torch
from torch import nn
from torch.nn import functional as F


def attend(query, key, value, heads, mask=None, causal=False, key_heads=None):
    """Rows of n x length x width, as heads, through attention and back."""
    def split(rows, count):
        return rows.view(rows.shape[0], rows.shape[1], count, -1).transpose(1, 2)
    query, key, value = split(query, heads), split(key, key_heads or heads), split(value, key_heads or heads)
    if key_heads and key_heads != heads:
        key, value = (x.repeat_interleave(heads // key_heads, 1) for x in (key, value))
    rows = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal)
    return rows.transpose(1, 2).flatten(2)


class Attention(nn.Module):
    def __init__(self, width, heads, other=None, causal=False, bias=True):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.query = nn.Linear(width, width, bias=bias)
        self.key, self.value = (nn.Linear(other or width, width, bias=bias) for _ in range(2))
        self.out = nn.Linear(width, width)

    def forward(self, rows, other=None, mask=None):
        other = rows if other is None else other
        return self.out(attend(self.query(rows), self.key(other), self.value(other), self.heads, mask, self.causal))


class Feed(nn.Sequential):
    def __init__(self, width, inner, activation=nn.GELU):
        super().__init__(nn.Linear(width, inner), activation(), nn.Linear(inner, width))


class Block(nn.Module):
    """A layer of a transformer that normalizes first."""

    def __init__(self, width, heads, inner=None, other=None, causal=False, activation=nn.GELU):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 if other else 2))
        self.own, self.cross = Attention(width, heads, causal=causal), Attention(width, heads, other) if other else None
        self.feed = Feed(width, inner or 4 * width, activation)

    def forward(self, rows, other=None, mask=None):
        rows = rows + self.own(self.norms[0](rows), mask=mask)
        if self.cross is not None:
            rows = rows + self.cross(self.norms[1](rows), other)
        return rows + self.feed(self.norms[-1](rows))


def conv(inputs, outputs, size=3, stride=1, groups=1, activation=nn.SiLU, dilation=1):
    """A convolution, its batch normalization and an activation."""
    parts = [nn.Conv2d(inputs, outputs, size, stride, dilation * (size // 2), dilation, groups, bias=False), nn.BatchNorm2d(outputs)]
    return nn.Sequential(*parts, *([activation()] if activation else []))


def settle(module):
    """Statistics of batch normalization unlike those of the beginning, and no matrix of zeros, which hides what is before it."""
    with torch.no_grad():
        for part in module.modules():
            if isinstance(part, nn.modules.batchnorm._BatchNorm):
                part.running_mean.uniform_(-0.1, 0.1)
                part.running_var.uniform_(0.8, 1.2)
        for weight in module.parameters():
            if weight.dim() > 1 and not weight.any():
                nn.init.normal_(weight, std=0.02)
    return module.eval()
