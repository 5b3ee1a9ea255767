# SPDX-License-Identifier: Apache-2.0
"""Networks of detection, points, graphs, tables, volumes, generation and time series."""
import torch
from torch import nn
from torch.nn import functional as F

from .common import Block, Feed, conv


class C2f(nn.Module):
    def __init__(self, inputs, outputs, count, add):
        super().__init__()
        half = outputs // 2
        self.begin, self.end, self.add = conv(inputs, outputs, 1), conv((2 + count) * half, outputs, 1), add
        self.parts = nn.ModuleList(nn.Sequential(conv(half, half), conv(half, half)) for _ in range(count))

    def forward(self, x):
        every = list(self.begin(x).chunk(2, 1))
        for part in self.parts:
            y = part(every[-1])
            every.append(every[-1] + y if self.add else y)
        return self.end(torch.cat(every, 1))


class Yolo(nn.Module):
    """A detector without anchors: boxes are means of distributions."""

    def __init__(self, w, classes=80):
        super().__init__()
        self.classes = classes
        self.begin = nn.Sequential(conv(3, w, 3, 2), conv(w, 2 * w, 3, 2), C2f(2 * w, 2 * w, 1, True), conv(2 * w, 4 * w, 3, 2))
        self.third = C2f(4 * w, 4 * w, 2, True)
        self.fourth = nn.Sequential(conv(4 * w, 8 * w, 3, 2), C2f(8 * w, 8 * w, 2, True))
        self.fifth = nn.Sequential(conv(8 * w, 16 * w, 3, 2), C2f(16 * w, 16 * w, 1, True))
        self.pyramid = nn.ModuleList([conv(16 * w, 8 * w, 1), conv(32 * w, 16 * w, 1)])
        self.up4, self.up3 = C2f(24 * w, 8 * w, 1, False), C2f(12 * w, 4 * w, 1, False)
        self.shrink3, self.down4 = conv(4 * w, 4 * w, 3, 2), C2f(12 * w, 8 * w, 1, False)
        self.shrink4, self.down5 = conv(8 * w, 8 * w, 3, 2), C2f(24 * w, 16 * w, 1, False)
        widths = (4 * w, 8 * w, 16 * w)
        self.boxes = nn.ModuleList(nn.Sequential(conv(c, 64), conv(64, 64), nn.Conv2d(64, 64, 1)) for c in widths)
        self.scores = nn.ModuleList(nn.Sequential(conv(c, 4 * w), conv(4 * w, 4 * w), nn.Conv2d(4 * w, classes, 1)) for c in widths)

    def forward(self, picture):
        third = self.third(self.begin(picture))
        fourth = self.fourth(third)
        x = self.pyramid[0](self.fifth(fourth))
        pools = [x]
        for _ in range(3):
            pools.append(F.max_pool2d(pools[-1], 5, 1, 2))
        fifth = self.pyramid[1](torch.cat(pools, 1))
        p4 = self.up4(torch.cat([F.interpolate(fifth, scale_factor=2.0), fourth], 1))
        p3 = self.up3(torch.cat([F.interpolate(p4, scale_factor=2.0), third], 1))
        p4 = self.down4(torch.cat([self.shrink3(p3), p4], 1))
        p5 = self.down5(torch.cat([self.shrink4(p4), fifth], 1))
        found, places = [], []
        for k, x in enumerate((p3, p4, p5)):
            found.append(torch.cat([self.boxes[k](x), self.scores[k](x)], 1).flatten(2))
            y, x = torch.meshgrid(torch.arange(x.shape[2], device=x.device), torch.arange(x.shape[3], device=x.device), indexing="ij")
            places.append((torch.stack([x, y]).flatten(1) + 0.5) * 8 * 2 ** k)
        boxes, scores = torch.cat(found, 2).split([64, self.classes], 1)
        n, _, count = boxes.shape
        bins = torch.arange(16, device=boxes.device, dtype=boxes.dtype)
        sides = (boxes.view(n, 4, 16, count).transpose(1, 2).softmax(1) * bins.view(1, 16, 1, 1)).sum(1)
        near, far = sides.chunk(2, 1)
        places = torch.cat(places, 1).to(boxes.dtype)
        near, far = places - near, places + far
        return torch.cat([(near + far) / 2, far - near, scores.sigmoid()], 1)


class Detr(nn.Module):
    def __init__(self, backbone, width, heads, layers, queries, side):
        super().__init__()
        self.backbone, self.into = backbone, nn.Conv2d(2048 if hasattr(backbone, "layer4") else backbone.width, width, 1)
        self.places, self.queries = nn.Parameter(torch.randn(side * side, width) * 0.1), nn.Parameter(torch.randn(queries, width))
        self.encoder = nn.ModuleList(nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True) for _ in range(layers))
        self.decoder = nn.ModuleList(nn.TransformerDecoderLayer(width, heads, 4 * width, batch_first=True) for _ in range(layers))
        self.kinds, self.boxes = nn.Linear(width, 92), nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))

    def forward(self, picture):
        x = self.backbone(picture)
        rows = self.into(x).flatten(2).transpose(1, 2) + self.places
        for layer in self.encoder:
            rows = layer(rows)
        asked = self.queries.expand(rows.shape[0], -1, -1)
        for layer in self.decoder:
            asked = layer(asked, rows)
        return self.kinds(asked), self.boxes(asked).sigmoid()


def trunk(name):
    """A classifier of torchvision without its last layers."""
    import torchvision
    module = torchvision.models.get_model(name, weights=None)
    trunk = nn.Sequential(*list(module.children())[:-2])
    trunk.width = module.fc.in_features
    return trunk


class PointNet(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.turn = nn.ModuleList([self.points(3, w), nn.Sequential(nn.Linear(16 * w, 4 * w), nn.ReLU(), nn.Linear(4 * w, 9))])
        self.begin, self.more = nn.Sequential(nn.Conv1d(3, w, 1), nn.BatchNorm1d(w), nn.ReLU()), self.points(w, w)
        self.parts = nn.Sequential(nn.Conv1d(17 * w, 8 * w, 1), nn.BatchNorm1d(8 * w), nn.ReLU(), nn.Conv1d(8 * w, 2 * w, 1),
                                   nn.BatchNorm1d(2 * w), nn.ReLU(), nn.Conv1d(2 * w, 50, 1))

    @staticmethod
    def points(inputs, w):
        parts = []
        for outputs in (w, 2 * w, 16 * w):
            parts += [nn.Conv1d(inputs, outputs, 1), nn.BatchNorm1d(outputs), nn.ReLU()]
            inputs = outputs
        return nn.Sequential(*parts)

    def forward(self, points):
        matrix = self.turn[1](self.turn[0](points).max(2)[0]).view(-1, 3, 3)
        x = self.begin(torch.bmm(points.transpose(1, 2), matrix).transpose(1, 2))
        whole = self.more(x).max(2, keepdim=True)[0]
        return self.parts(torch.cat([x, whole.expand(-1, -1, x.shape[2])], 1))


class EdgeConv(nn.Module):
    """DGCNN: each point's nearest others, by features."""

    def __init__(self, widths, near):
        super().__init__()
        self.near = near
        self.parts = nn.ModuleList(conv(2 * a, b, 1, activation=lambda: nn.LeakyReLU(0.2)) for a, b in zip([3, *widths], widths))
        self.end = nn.Sequential(nn.Conv1d(sum(widths), 512, 1), nn.BatchNorm1d(512), nn.LeakyReLU(0.2))
        self.out = nn.Linear(512, 40)

    def forward(self, x):
        every = []
        for part in self.parts:
            n, c, count = x.shape
            squares = (x * x).sum(1)
            far = squares[:, :, None] + squares[:, None] - 2 * x.transpose(1, 2) @ x
            found = far.topk(self.near, -1, largest=False)[1]
            rows = x.transpose(1, 2)
            near = torch.gather(rows, 1, found.reshape(n, -1, 1).expand(-1, -1, c)).view(n, count, self.near, c)
            own = rows[:, :, None].expand(-1, -1, self.near, -1)
            x = part(torch.cat([near - own, own], -1).permute(0, 3, 1, 2)).max(-1)[0]
            every.append(x)
        return self.out(self.end(torch.cat(every, 1)).max(-1)[0])


class Dlrm(nn.Module):
    def __init__(self, tables, rows, width):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, width), nn.ReLU())
        pairs = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer("pairs", pairs[0] * (tables + 1) + pairs[1])
        self.top = nn.Sequential(nn.Linear(width + self.pairs.numel(), 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 256),
                                 nn.ReLU(), nn.Linear(256, 1))

    def forward(self, numbers, kinds):
        first = self.bottom(numbers)
        every = torch.stack([first] + [table(kinds[:, k]) for k, table in enumerate(self.tables)], 1)
        products = torch.bmm(every, every.transpose(1, 2)).flatten(1)[:, self.pairs]
        return self.top(torch.cat([first, products], 1)).sigmoid()


class Mixer(nn.Module):
    def __init__(self, layers, width, patch, places):
        super().__init__()
        self.into = nn.Conv2d(3, width, patch, patch)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2 * layers + 1))
        self.mixes, self.feeds = nn.ModuleList(Feed(places, 2 * width // 4) for _ in range(layers)), nn.ModuleList(Feed(width, 4 * width) for _ in range(layers))
        self.out = nn.Linear(width, 1000)

    def forward(self, picture):
        rows = self.into(picture).flatten(2).transpose(1, 2)
        for k, (mix, feed) in enumerate(zip(self.mixes, self.feeds)):
            rows = rows + mix(self.norms[2 * k](rows).transpose(1, 2)).transpose(1, 2)
            rows = rows + feed(self.norms[2 * k + 1](rows))
        return self.out(self.norms[-1](rows).mean(1))


class GraphNet(nn.Module):
    """Means over neighbours (GraphSAGE)."""

    def __init__(self, inputs, width, layers):
        super().__init__()
        widths = [inputs] + [width] * layers
        self.own, self.near = (nn.ModuleList(nn.Linear(a, b) for a, b in zip(widths, widths[1:])) for _ in range(2))

    def forward(self, x, edges):
        source, target = edges[0], edges[1]
        ones = torch.ones(edges.shape[1], 1, device=x.device, dtype=x.dtype)
        count = torch.zeros(x.shape[0], 1, device=x.device, dtype=x.dtype).scatter_add(0, target[:, None], ones).clamp(min=1)
        for own, near in zip(self.own, self.near):
            given = x[source]
            total = torch.zeros_like(x).scatter_add(0, target[:, None].expand_as(given), given)
            x = F.relu(own(x) + near(total / count))
        return x


class Radiance(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.again = nn.Linear(63, width), nn.Linear(width + 63, width)
        self.middle, self.last = (nn.ModuleList(nn.Linear(width, width) for _ in range(3)) for _ in range(2))
        self.density, self.features = nn.Linear(width, 1), nn.Linear(width, width)
        self.color = nn.Sequential(nn.Linear(width + 27, width // 2), nn.ReLU(), nn.Linear(width // 2, 3))

    @staticmethod
    def waves(x, count):
        every = [x]
        for k in range(count):
            every += [torch.sin(2.0 ** k * x), torch.cos(2.0 ** k * x)]
        return torch.cat(every, -1)

    def forward(self, points, directions):
        given = self.waves(points, 10)
        x = F.relu(self.first(given))
        for layer in self.middle:
            x = F.relu(layer(x))
        x = F.relu(self.again(torch.cat([given, x], -1)))
        for layer in self.last:
            x = F.relu(layer(x))
        color = self.color(torch.cat([self.features(x), self.waves(directions, 4)], -1))
        return torch.cat([color.sigmoid(), F.relu(self.density(x))], -1)


class Modulated(nn.Module):
    """StyleGAN2's convolution: weights are scaled for each picture, pictures are groups."""

    def __init__(self, inputs, outputs, style, size, up):
        super().__init__()
        self.weight, self.scale = nn.Parameter(torch.randn(outputs, inputs, size, size)), nn.Linear(style, inputs)
        self.bias, self.noise, self.up, self.size = nn.Parameter(torch.zeros(outputs)), nn.Parameter(torch.tensor(0.1)), up, size

    def forward(self, x, style, noise=None):
        n, c, h, w = x.shape
        weight = self.weight[None] * (self.scale(style) + 1)[:, None, :, None, None] * (c * self.size ** 2) ** -0.5
        if self.size > 1:
            weight = weight * torch.rsqrt(weight.pow(2).sum((2, 3, 4), keepdim=True) + 1e-6)
        if self.up:
            x = F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)
            h, w = 2 * h, 2 * w
        x = F.conv2d(x.reshape(1, n * c, h, w), weight.reshape(-1, c, self.size, self.size), padding=self.size // 2, groups=n)
        x = x.view(n, -1, h, w) + self.bias[:, None, None]
        return x if noise is None else F.leaky_relu(x + self.noise * noise, 0.2) * 1.4


class Generator(nn.Module):
    def __init__(self, widths, style):
        super().__init__()
        self.mapping = nn.Sequential(*[part for _ in range(4) for part in (nn.Linear(style, style), nn.LeakyReLU(0.2))])
        self.begin = nn.Parameter(torch.randn(1, widths[0], 4, 4))
        self.parts = nn.ModuleList(Modulated(a, b, style, 3, up) for a, b, up in
                                   [(widths[0], widths[0], False)] + [x for a, b in zip(widths, widths[1:]) for x in ((a, b, True), (b, b, False))])
        self.colors = nn.ModuleList(Modulated(w, 3, style, 1, False) for w in widths)
        for k in range(len(widths)):
            self.register_buffer(f"noise{k}", torch.randn(1, 1, 4 * 2 ** k, 4 * 2 ** k))

    def forward(self, z):
        style = self.mapping(z * torch.rsqrt(z.pow(2).mean(1, keepdim=True) + 1e-6))
        x = self.parts[0](self.begin.expand(z.shape[0], -1, -1, -1), style, self.noise0)
        picture = self.colors[0](x, style)
        for k in range(1, len(self.colors)):
            noise = getattr(self, f"noise{k}")
            x = self.parts[2 * k](self.parts[2 * k - 1](x, style, noise), style, noise)
            picture = F.interpolate(picture, scale_factor=2.0, mode="bilinear", align_corners=False) + self.colors[k](x, style)
        return picture


class VolumeUNet(nn.Module):
    def __init__(self, widths, inputs=1, outputs=3):
        super().__init__()
        def double(a, b):
            return nn.Sequential(*[part for i, o in ((a, b), (b, b)) for part in
                                   (nn.Conv3d(i, o, 3, padding=1), nn.InstanceNorm3d(o, affine=True), nn.LeakyReLU(0.01))])
        self.down = nn.ModuleList(double(a, b) for a, b in zip([inputs, *widths], widths))
        self.grow = nn.ModuleList(nn.ConvTranspose3d(b, a, 2, 2) for a, b in reversed(list(zip(widths, widths[1:]))))
        self.up = nn.ModuleList(double(2 * a, a) for a in reversed(widths[:-1]))
        self.end = nn.Conv3d(widths[0], outputs, 1)

    def forward(self, x):
        kept = []
        for level in self.down:
            x = level(F.max_pool3d(x, 2) if kept else x)
            kept.append(x)
        kept.pop()
        for grow, level in zip(self.grow, self.up):
            x = level(torch.cat([grow(x), kept.pop()], 1))
        return self.end(x).softmax(1)


class BiFpn(nn.Module):
    def __init__(self, width, layers, inputs=(40, 112, 320)):
        super().__init__()
        self.into = nn.ModuleList(conv(c, width, 1, activation=None) for c in inputs)
        self.six = conv(inputs[-1], width, 1, activation=None)
        self.nodes = nn.ModuleList(nn.ModuleList(nn.Sequential(nn.Conv2d(width, width, 3, padding=1, groups=width, bias=False),
                                                               conv(width, width, 1, activation=None)) for _ in range(8)) for _ in range(layers))
        self.weights = nn.Parameter(torch.ones(layers, 8, 3))

    def forward(self, third, fourth, fifth):
        six = F.max_pool2d(self.six(fifth), 3, 2, 1)
        levels = [into(x) for into, x in zip(self.into, (third, fourth, fifth))] + [six, F.max_pool2d(six, 3, 2, 1)]
        for nodes, weights in zip(self.nodes, self.weights):
            def node(k, *parts):
                share = F.relu(weights[k, :len(parts)])
                share = share / (share.sum() + 1e-4)
                return nodes[k](F.silu(sum(share[j] * part for j, part in enumerate(parts))))
            tops = [levels[4]]
            for k in range(3, -1, -1):
                tops.insert(0, node(3 - k, levels[k], F.interpolate(tops[0], scale_factor=2.0)))
            ends = [tops[0]]
            for k in range(1, 4):
                ends.append(node(3 + k, levels[k], tops[k], F.max_pool2d(ends[-1], 3, 2, 1)))
            ends.append(node(7, levels[4], F.max_pool2d(ends[-1], 3, 2, 1)))
            levels = ends
        return tuple(levels)


class ConvLstm(nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.gates, self.width, self.end = nn.Conv2d(inputs + width, 4 * width, 3, padding=1), width, nn.Conv2d(width, 1, 1)

    def forward(self, frames):
        n, steps, _, h, w = frames.shape
        state = cell = torch.zeros(n, self.width, h, w, device=frames.device, dtype=frames.dtype)
        for k in range(steps):
            i, f, o, g = self.gates(torch.cat([frames[:, k], state], 1)).chunk(4, 1)
            cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
            state = o.sigmoid() * cell.tanh()
        return self.end(state)


class Dcgan(nn.Module):
    def __init__(self, widths):
        super().__init__()
        parts = [nn.ConvTranspose2d(100, widths[0], 4, 1, 0, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU()]
        for a, b in zip(widths, widths[1:]):
            parts += [nn.ConvTranspose2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
        self.parts = nn.Sequential(*parts, nn.ConvTranspose2d(widths[-1], 3, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, z):
        return self.parts(z)


class Patches(nn.Module):
    """Time series in patches, each variable for itself (PatchTST)."""

    def __init__(self, layers, width, heads, length, patch, ahead):
        super().__init__()
        self.patch, count = patch, length // patch
        self.into, self.places = nn.Linear(patch, width), nn.Parameter(torch.randn(count, width) * 0.02)
        self.blocks, self.out = nn.ModuleList(Block(width, heads) for _ in range(layers)), nn.Linear(count * width, ahead)

    def forward(self, series):
        n, variables, _ = series.shape
        mean, deviation = series.mean(-1, keepdim=True), series.std(-1, keepdim=True, unbiased=False) + 1e-3
        rows = ((series - mean) / deviation).view(n * variables, -1, self.patch)
        rows = self.into(rows) + self.places
        for block in self.blocks:
            rows = block(rows)
        return self.out(rows.flatten(1)).view(n, variables, -1) * deviation + mean
