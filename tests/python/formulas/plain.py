# SPDX-License-Identifier: Apache-2.0
"""Scalar work, movement, scatters, normalizations of images."""
import numpy as np

from formulas.table import Case, f32, formula, sigmoid, softmax


@formula("Clip_TRT", "1", "y = min(max(x, clipMin), clipMax)", "ONNX Clip")
def clip(draw, _):
    x = draw.real(3, 5, 2, low=-3, high=3)
    yield Case({"clipMin": -1.0, "clipMax": 0.5}, [x], [np.clip(x, -1, 0.5)], 0)


@formula("LReLU_TRT", "1", "y = x for x >= 0, else negSlope * x", "ONNX LeakyRelu")
def leaky_relu(draw, _):
    x = draw.real(3, 5, 2, low=-3, high=3)
    yield Case({"negSlope": 0.3}, [x], [np.where(x >= 0, x, f32(0.3) * x)])


@formula("BatchTilePlugin_TRT", "1", "y[n] = second[0] for each n of the first input's batch", "ONNX Expand of the batch axis")
def batch_tile(draw, _):
    x, y = draw.real(3, 3, 4, 4), draw.real(1, 2, 3, 5)
    yield Case({}, [x, y], [np.repeat(y, 3, 0)], 0)


@formula("CoordConvAC", "1", "x, then two channels: 2 i / (H - 1) - 1 of each row and 2 j / (W - 1) - 1 of each column",
         "Liu et al. 2018, arXiv:1807.03247, 3")
def coord_conv(draw, _):
    x = draw.real(2, 3, 4, 4)
    rows, columns = np.meshgrid(np.linspace(-1, 1, 4), np.linspace(-1, 1, 4), indexing="ij")
    both = np.broadcast_to(np.stack([rows, columns]), (2, 2, 4, 4))
    yield Case({}, [x], [np.concatenate([x, both], 1)], 1e-6)
    yield Case({}, [x[1]], [np.concatenate([x[1], both[1]], 0)], 1e-6)


@formula("FlattenConcat_TRT", "1", "each sample's inputs as rows, one behind the other, along `axis`", "ONNX Flatten, Concat")
def flatten_concat(draw, _):
    inputs = [draw.real(2, 3, 4, 4), draw.real(2, 5, 2, 3), draw.real(2, 1, 1, 1)]
    rows = np.concatenate([x.reshape(2, -1) for x in inputs], 1)
    for axis in (1, 2, 3):
        shape = [2, 1, 1, 1]
        shape[axis] = rows.shape[1]
        yield Case({"axis": axis, "ignoreBatch": 0}, inputs, [rows.reshape(shape)], 0)


@formula("ResizeNearest_TRT", "1", "y[i, j] = x[floor(i / scale), floor(j / scale)]", "ONNX Resize: nearest, asymmetric, floor")
def resize_nearest(draw, _):
    x = draw.real(2, 2, 5, 3)
    for scale in (2.5, 0.5, 3.0):
        rows, columns = (np.floor(np.arange(int(extent * scale)) / scale).astype(int) for extent in x.shape[2:])
        yield Case({"scale": scale}, [x], [x[:, :, rows][..., columns]], 0)


@formula("SpecialSlice_TRT", "1", "y = x[..., :4]", "ONNX Slice")
def special_slice(draw, _):
    x = draw.real(2, 7, 6)
    yield Case({}, [x], [x[..., :4]], 0)


@formula("Reorg_TRT", "1 2", "pixels of s x s cells become channels, with the input's memory read as C / s^2 maps of s H x s W",
         "Redmon, Farhadi 2016, arXiv:1612.08242; Darknet, reorg_cpu")
def reorg(draw, _):
    for stride, shape in ((2, (2, 8, 4, 6)), (3, (1, 9, 3, 6))):
        x = draw.real(*shape)
        images, channels, height, width = shape
        wide = x.reshape(images, channels // stride**2, height * stride, width * stride)
        phases = [wide[:, :, i::stride, j::stride] for i in range(stride) for j in range(stride)]
        y = np.concatenate(phases, 1).reshape(images, channels * stride**2, height // stride, width // stride)
        yield Case({"stride": stride}, [x], [y], 0)


@formula("Region_TRT", "1", "of each anchor: sigmoid of x, y and objectness, w and h as they are, softmax over the classes",
         "Redmon, Farhadi 2016, arXiv:1612.08242, 2; Darknet, forward_region_layer")
def region(draw, _):
    x = draw.real(2, 2 * 8, 3, 2, low=-4, high=4)
    parts = x.reshape(2, 2, 8, 3, 2)
    y = np.concatenate([sigmoid(parts[:, :, :2]), parts[:, :, 2:4], sigmoid(parts[:, :, 4:5]), softmax(parts[:, :, 5:], 2)], 2)
    yield Case({"num": 2, "coords": 4, "classes": 3}, [x], [y.reshape(x.shape)])


@formula("Normalize_TRT", "1", "y = w x / sqrt(eps + sum x^2), the sum over channels or the whole sample, w by channel or one",
         "Liu et al. 2015, arXiv:1506.04579, 3.3")
def normalize(draw, _):
    x = draw.real(2, 4, 3, 5, low=-2, high=2)
    for across in (0, 1):
        for shared in (0, 1):
            weights = np.array([1.5] if shared else [1, 2, -1, 0.5], np.float32)
            sums = (x * x).sum((1, 2, 3) if across else 1, keepdims=True)
            y = x / np.sqrt(sums + f32(1e-3)) * weights.reshape(1, -1, 1, 1)
            yield Case({"weights": weights, "acrossSpatial": across, "channelShared": shared, "nbWeights": weights.size,
                        "eps": 1e-3}, [x], [y])


def moments(x, axes, epsilon):
    return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + f32(epsilon))


SCALES, BIAS = np.array([1, -2, 0.5, 3], np.float32), np.array([0, 1, -1, 0.25], np.float32)


@formula("InstanceNormalization_TRT", "1 2 3", "(x - mean) / sqrt(variance + epsilon) * scale + bias over each channel of a "
         "sample, then leaky ReLU of slope alpha with `relu`", "Ulyanov et al. 2016, arXiv:1607.08022; ONNX InstanceNormalization")
def instance_normalization(draw, _):
    for shape in ((2, 4, 3, 5), (2, 4, 3, 2, 5)):
        x = draw.real(*shape, low=-2, high=2)
        wide = (1, 4) + (1,) * (len(shape) - 2)
        y = moments(x, tuple(range(2, len(shape))), 1e-3) * SCALES.reshape(wide) + BIAS.reshape(wide)
        for relu in (0, 1):
            yield Case({"epsilon": 1e-3, "scales": SCALES, "bias": BIAS, "relu": relu, "alpha": 0.125}, [x],
                       [np.where(y < 0, y / 8, y) if relu else y])


@formula("GroupNormalizationPlugin", "1", "(x - mean) / sqrt(variance + eps) * scale + bias over the channels of a group",
         "Wu, He 2018, arXiv:1803.08494, 3; ONNX GroupNormalization")
def group_normalization(draw, _):
    x, scale, bias = draw.real(2, 4, 3, 5, low=-2, high=2), draw.real(4), draw.real(4)
    for groups in (1, 2, 4):
        y = moments(x.reshape(2, groups, -1), 2, 1e-3).reshape(x.shape) * scale.reshape(4, 1, 1) + bias.reshape(4, 1, 1)
        yield Case({"eps": 1e-3, "num_groups": groups}, [x, scale, bias], [y])


@formula("ScatterElements", "1 2", "y = data, and y[.., index, ..] joined with the update by `reduction`, each update in turn",
         "ONNX ScatterElements")
def scatter_elements(draw, _):
    joins = {"add": np.add, "mul": np.multiply, "max": np.maximum, "min": np.minimum}
    for reduction, join in joins.items():
        for axis in (0, 1):
            data, updates = draw.real(5, 4), draw.real(3, 4)
            places = draw.whole(3, 4, low=-data.shape[axis], high=data.shape[axis] - 1, dtype=np.int64)
            y = data.copy()
            for at in np.ndindex(3, 4):
                place = [*at]
                place[axis] = places[at]
                y[tuple(place)] = join(y[tuple(place)], updates[at])
            yield Case({"reduction": reduction, "axis": axis}, [data, places, updates], [y])


@formula("ScatterND", "1", "y = data, and y[indices[i]] = updates[i]", "ONNX ScatterND")
def scatter_nd(draw, _):
    data = draw.real(5, 4, 3)
    rows, cells = np.array([[3], [0]], np.int32), np.array([[1, 2], [4, 0], [0, 3]], np.int32)
    for indices, width in ((rows, (4, 3)), (cells, (3,))):
        updates = draw.real(len(indices), *width)
        y = data.copy()
        y[tuple(indices.T)] = updates
        yield Case({}, [data, indices, updates], [y], 0)
