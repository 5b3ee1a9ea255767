# SPDX-License-Identifier: Apache-2.0
"""Clouds of points in pillars, and sampling at moved places."""
import numpy as np

from formulas.table import Case, f32, formula, sampled, sigmoid

POINT_PILLARS = "Lang et al. 2018, arXiv:1812.05784"


def pillars_of(cloud, most, points):
    """Of one cloud, cells [row, column] in the order of their first points, with the first points of each."""
    groups = {}
    for point in cloud:
        x, y, z = point[:3]
        if not (-2 <= x < 2 and -2 <= y < 2 and -1 <= z < 2):
            continue
        own = groups.setdefault((int(np.floor(y + 2)), int(np.floor((x + 2) / 2))), [])
        if len(own) < points:
            own.append(point)
    return list(groups.items())[:most]


@formula("VoxelGeneratorPlugin", "1", "of each pillar's points: themselves, their distance from the mean of the pillar's points and "
         "from its middle", f"{POINT_PILLARS}, 2.1; OpenPCDet, PillarVFE")
def voxels(draw, _):
    most, points = 6, 3
    for numbers in (4, 5):
        cloud, counts = draw.real(2, 40, numbers, low=-2.5, high=2.5), np.array([40, 17], np.int32)
        features = np.zeros((2, most, points, numbers + 6))
        cells, found = np.zeros((2, most, 4), np.int32), np.zeros(2, np.int32)
        for n in range(2):
            for p, ((row, column), own) in enumerate(pillars_of(cloud[n, :counts[n]], most, points)):
                middle = np.array([-2 + (column + 0.5) * 2, -2 + row + 0.5, -1 + 1.5])
                own = np.array(own)
                features[n, p, :len(own)] = np.concatenate([own, own[:, :3] - own[:, :3].mean(0), own[:, :3] - middle], 1)
                cells[n, p, 2:], found[n] = (row, column), p + 1
        yield Case({"max_num_points_per_voxel": points, "max_voxels": most, "voxel_feature_num": numbers + 6,
                    "point_cloud_range": np.array([-2, -2, -1, 2, 2, 2], np.float32),
                    "voxel_size": np.array([2, 1, 3], np.float32)}, [cloud, counts], [features, cells, found])


@formula("PillarScatterPlugin", "1", "y[:, row, column] = the features of the pillar of that cell, 0 without one", f"{POINT_PILLARS}, 2.1")
def pillar_scatter(draw, _):
    features, counts = draw.real(2, 5, 3), np.array([5, 3], np.int32)
    cells = np.zeros((2, 5, 4), np.int32)
    y = np.zeros((2, 3, 3, 4))
    for n in range(2):
        places = draw.random.permutation(12)[:5]
        cells[n, :, 2], cells[n, :, 3] = places // 4, places % 4
        for p in range(counts[n]):
            y[n, :, cells[n, p, 2], cells[n, p, 3]] = features[n, p]
    yield Case({"dense_shape": np.array([3, 4], np.int32)}, [features, cells, counts], [y], 0)


@formula("DecodeBbox3DPlugin", "1", "(x, y) = code * diagonal + anchor, z = code * height + middle, sizes = exp(code) * anchor, the "
         "angle in half circles turned by the best direction; those of sigmoid(best class) >= score_thresh",
         f"{POINT_PILLARS}, 2.3; Yan et al. 2018, SECOND (Sensors 18, 3337), 3.2.1; OpenPCDet, ResidualCoder", halves=False)
def decode_boxes(draw, _):
    rows, columns, classes = 3, 4, 2
    anchors = (1 + 0.25 * np.arange(16)).reshape(4, 4)  # length, width, height, angle
    bottoms = np.array([-1.5, -0.5])
    scores = draw.real(2, rows, columns, 4, classes, low=-2, high=2)
    code, ways = draw.real(2, rows, columns, 4, 7), draw.real(2, rows, columns, 4, 2)
    lengths, widths, heights, angles = anchors.T
    diagonal = np.hypot(lengths, widths)
    period, offset, limit = np.pi, 0.75, 0.25
    angle = code[..., 6] + angles - offset
    draw.above(np.abs(angle / period + limit - np.round(angle / period + limit)), 0)
    best = sigmoid(scores.max(-1))
    boxes = np.stack([
        code[..., 0] * diagonal + np.linspace(0, 16, columns)[:, None],
        code[..., 1] * diagonal + np.linspace(-8, 8, rows)[:, None, None],
        code[..., 2] * heights + heights / 2 + np.repeat(bottoms, 2),
        np.exp(code[..., 3]) * lengths, np.exp(code[..., 4]) * widths, np.exp(code[..., 5]) * heights,
        angle - np.floor(angle / period + limit) * period + offset + period * ways.argmax(-1),
        scores.argmax(-1), best], -1).reshape(2, -1, 9)
    kept = draw.above(best, f32(0.6), inclusive=True).reshape(2, -1)
    y = np.zeros_like(boxes)
    for n in range(2):
        y[n, :kept[n].sum()] = boxes[n][kept[n]]
    yield Case({"point_cloud_range": np.array([0, -8, -3, 16, 8, 1], np.float32), "anchors": anchors.astype(np.float32).ravel(),
                "anchor_bottom_height": bottoms.astype(np.float32), "dir_offset": offset, "dir_limit_offset": limit,
                "num_dir_bins": 2, "score_thresh": 0.6},
               [scores.reshape(2, rows, columns, -1), code.reshape(2, rows, columns, -1), ways.reshape(2, rows, columns, -1)],
               [y, kept.sum(1).astype(np.int32)])


@formula("ModulatedDeformConv2d", "1 2", "y(p) = bias + sum over taps k of w_k m_k(p) x(p + p_k + offset_k(p)), x linear between pixels "
         "and 0 outside", "Zhu et al. 2018, arXiv:1811.11168, (1)")
def deformable_convolution(draw, _):
    group, parts, kernel, stride, padding, dilation = 2, 2, (3, 2), (2, 1), (1, 0), (2, 1)
    taps = kernel[0] * kernel[1]
    x = draw.real(2, 4, 6, 7)
    out = [(x.shape[2 + i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)]
    offset, mask = draw.real(2, parts * 2 * taps, *out, low=-3, high=3), draw.real(2, parts * taps, *out, low=0, high=1)
    weight, bias = draw.real(6, 4 // group, *kernel), draw.real(6)
    row, column = np.indices(out)
    y = np.zeros((2, 6, *out))
    for n, channel, tap in np.ndindex(2, 4, taps):
        place = channel // (4 // parts) * taps + tap
        values = mask[n, place] * sampled(
            x[n, channel:channel + 1], row * stride[0] - padding[0] + tap // kernel[1] * dilation[0] + offset[n, 2 * place],
            column * stride[1] - padding[1] + tap % kernel[1] * dilation[1] + offset[n, 2 * place + 1])[0]
        first = channel // (4 // group) * 3
        y[n, first:first + 3] += weight[first:first + 3, channel % (4 // group)].reshape(3, taps)[:, tap, None, None] * values
    fields = {"stride": np.array(stride, np.int32), "padding": np.array(padding, np.int32),
              "dilation": np.array(dilation, np.int32), "group": group, "deformable_group": parts}
    yield Case(fields, [x, offset, mask, weight], [y])
    yield Case(fields, [x, offset, mask, weight, bias], [y + bias[:, None, None]])


@formula("MultiscaleDeformableAttnPlugin_TRT", "1 2", "sum over levels and points of weight * value at the place in its map, linear "
         "between pixels and 0 outside", "Zhu et al. 2020, arXiv:2010.04159, (3)")
def deformable_attention(draw, _):
    heads, width, queries, points = 2, 3, 4, 3
    shapes, starts = np.array([[4, 5], [2, 3]], np.int32), np.array([0, 20], np.int32)
    value = draw.real(2, 26, heads, width)
    places, weights = draw.real(2, queries, heads, 2, points, 2, low=-0.2, high=1.2), draw.real(2, queries, heads, 2, points, low=0)
    y = np.zeros((2, queries, heads, width))
    for n, q, m, level in np.ndindex(2, queries, heads, 2):
        height, long = shapes[level]
        image = value[n, starts[level]:starts[level] + height * long, m].T.reshape(width, height, long)
        x, row = places[n, q, m, level].T * np.array([[long], [height]]) - 0.5
        y[n, q, m] += (sampled(image, row, x) * weights[n, q, m, level]).sum(-1)
    yield Case({}, [value, shapes, starts, places, weights], [y])
