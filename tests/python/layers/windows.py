# SPDX-License-Identifier: Apache-2.0
"""Layers of windows and of places between elements: padding modes, strides, dilations, groups, coordinates."""
import math

import numpy as np
import tensorrt as trt

from layers.drawing import FLOATS, Case, layer, tolerance

EXPLICIT = trt.PaddingMode.EXPLICIT_ROUND_DOWN
SAME = (trt.PaddingMode.SAME_UPPER, trt.PaddingMode.SAME_LOWER)


class Window:
    """Extents, strides, dilations and padding of a window in two or three dimensions, as the layers take them."""

    def __init__(self, draw, dilates):
        self.axes = draw.one("axes", (2, 2, 3))
        self.mode = draw.one("mode", trt.PaddingMode.__members__.values())
        self.kernel, self.stride = ([draw.number(1, 3) for _ in range(self.axes)] for _ in range(2))
        self.dilation = [draw.number(1, 2) if dilates and draw.chance(0.4) else 1 for _ in range(self.axes)]
        self.before, self.after = ([draw.number(0, k - 1) for k in self.kernel] for _ in range(2))
        self.extents = [draw.number(1, 8 if self.axes == 2 else 5) for _ in range(self.axes)]
        self.reach = [(k - 1) * d + 1 for k, d in zip(self.kernel, self.dilation)]
        draw.note(**vars(self))

    def output(self):
        """Extents of the result and what is padded before and after each axis."""
        result = []
        for e, reach, stride, before, after in zip(self.extents, self.reach, self.stride, self.before, self.after):
            if self.mode in SAME:
                count = -(-e // stride)
                total = max((count - 1) * stride + reach - e, 0)
                less = total // 2
                result.append((count, *((less, total - less) if self.mode == SAME[0] else (total - less, less))))
            else:
                free = e + before + after - reach
                result.append((free // stride + 1 if self.mode == EXPLICIT else -(-free // stride) + 1 if free >= 0 else 0, before, after))
        return result

    def set(self, made):
        made.stride_nd, made.pre_padding, made.post_padding = tuple(self.stride), tuple(self.before), tuple(self.after)
        made.padding_mode = self.mode


def product(out, x, kernel, groups):
    """Adds the products of one place of the window, group by group: x [.., groups * in], kernel [groups * out, in]."""
    x, kernel = np.split(x, groups, 1), np.split(kernel, groups, 0)
    out += np.concatenate([a @ b.T for a, b in zip(x, kernel)], 1)


@layer
def convolution(draw):
    dtype, window, groups = draw.one("type", FLOATS), Window(draw, True), draw.one("groups", (1, 1, 2, 3))
    channels, maps, fixed = groups * draw.number(1, 4), groups * draw.number(1, 4), draw.chance(0.7)
    out = window.output()
    if min(count for count, _, _ in out) < 1:
        return None
    x = draw.values((2, channels, *window.extents), dtype, -1, 1)
    kernel = draw.values((maps, channels // groups, *window.kernel), dtype, -1, 1)
    bias = draw.values((maps,), dtype, -1, 1)
    y = np.zeros((2, maps, *(count for count, _, _ in out)))
    for place in np.ndindex(*y.shape[2:]):
        for k in np.ndindex(*window.kernel):
            at = tuple(p * s - o[1] + i * d for p, s, o, i, d in zip(place, window.stride, out, k, window.dilation))
            if all(0 <= a < e for a, e in zip(at, window.extents)):
                product(y[(..., *place)], x[(..., *at)].astype(float), kernel[(..., *k)].astype(float), groups)
    y += bias.astype(float).reshape(-1, *(1,) * window.axes)
    draw.note(channels=channels, maps=maps, constant=fixed)

    def build(network, tensors):
        made = network.add_convolution_nd(tensors["x"], maps, tuple(window.kernel), kernel if fixed else trt.Weights(), bias)
        window.set(made)
        made.dilation_nd, made.num_groups = tuple(window.dilation), groups
        if not fixed:
            made.set_input(1, tensors["kernel"])
        return [made.get_output(0)]

    return Case({"x": x} | ({} if fixed else {"kernel": kernel}), build, [y.astype(dtype)], tolerance(dtype, 1e-4, 1e-2),
                fixed=["x", "kernel"])


@layer
def deconvolution(draw):
    dtype, window, groups = draw.one("type", FLOATS), Window(draw, True), draw.one("groups", (1, 1, 2))
    channels, maps = groups * draw.number(1, 3), groups * draw.number(1, 3)
    full = [(e - 1) * s + r for e, s, r in zip(window.extents, window.stride, window.reach)]
    out = [e * s for e, s in zip(window.extents, window.stride)] if window.mode in SAME else [
        f - b - a for f, b, a in zip(full, window.before, window.after)]
    if min(out) < 1 or any(f < o for f, o in zip(full, out)):
        return None
    cut = [(f - o + (window.mode == SAME[1])) // 2 for f, o in zip(full, out)] if window.mode in SAME else window.before
    x = draw.values((2, channels, *window.extents), dtype, -1, 1)
    kernel = draw.values((channels, maps // groups, *window.kernel), dtype, -1, 1)
    y = np.zeros((2, maps, *full))
    turned = np.concatenate([np.swapaxes(part, 0, 1) for part in np.split(kernel.astype(float), groups, 0)], 0)  # [maps, in, ..]
    for place in np.ndindex(*window.extents):
        for k in np.ndindex(*window.kernel):
            at = tuple(p * s + i * d for p, s, i, d in zip(place, window.stride, k, window.dilation))
            product(y[(..., *at)], x[(..., *place)].astype(float), turned[(..., *k)], groups)
    y = y[(..., *(slice(c, c + o) for c, o in zip(cut, out)))]
    draw.note(channels=channels, maps=maps)

    def build(network, tensors):
        made = network.add_deconvolution_nd(tensors["x"], maps, tuple(window.kernel), kernel, trt.Weights())
        window.set(made)
        made.dilation_nd, made.num_groups = tuple(window.dilation), groups
        return [made.get_output(0)]

    return Case({"x": x}, build, [y.astype(dtype)], tolerance(dtype, 1e-4, 1e-2), fixed=["x"])


@layer
def pooling(draw):
    dtype, window, kind = draw.one("type", FLOATS), Window(draw, False), draw.one("kind", trt.PoolingType.__members__.values())
    exclusive, blend, out = draw.chance(), 0.25, window.output()
    if min(count for count, _, _ in out) < 1:
        return None
    x = draw.values((2, draw.one("channels", (1, 3, 17)), *window.extents), dtype)
    y = np.zeros((*x.shape[:2], *(count for count, _, _ in out)))
    for place in np.ndindex(*y.shape[2:]):
        low = [p * s - o[1] for p, s, o in zip(place, window.stride, out)]
        high = [a + k for a, k in zip(low, window.kernel)]
        inside = x[(..., *(slice(max(a, 0), max(b, 0)) for a, b in zip(low, high)))].astype(float).reshape(*x.shape[:2], -1)
        if not inside.shape[-1]:
            return None  # a window of padding alone
        padded = math.prod(min(b, e + o[2]) - a for a, b, e, o in zip(low, high, window.extents, out))
        largest, mean = inside.max(-1), inside.sum(-1) / (inside.shape[-1] if exclusive else padded)
        y[(..., *place)] = {"MAX": largest, "AVERAGE": mean, "MAX_AVERAGE_BLEND": (1 - blend) * largest + blend * mean}[kind.name]
    draw.note(exclusive=exclusive)

    def build(network, tensors):
        made = network.add_pooling_nd(tensors["x"], kind, tuple(window.kernel))
        window.set(made)
        made.average_count_excludes_padding, made.blend_factor = exclusive, blend
        return [made.get_output(0)]

    return Case({"x": x}, build, [y.astype(dtype)], tolerance(dtype), fixed=["x"])


def cubic(t, a):
    """Weights of the elements one before to two behind a place t behind the second one (Keys 1981)."""
    near = lambda d: ((a + 2) * d - (a + 3)) * d * d + 1
    far = lambda d: ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def interpolation(length, count, ratio, made):
    """The matrix [count, length] of one axis."""
    matrix = np.zeros((count, length))
    for i in range(count):
        at = {"ALIGN_CORNERS": i * (length - 1) / max(count - 1, 1), "ASYMMETRIC": i / ratio,
              "HALF_PIXEL": (i + 0.5) / ratio - 0.5}[made["coordinates"].name]
        first = math.floor(at)
        if made["mode"].name == "NEAREST":
            weights = {{"HALF_UP": math.floor(at + 0.5), "HALF_DOWN": math.ceil(at - 0.5), "FLOOR": first,
                        "CEIL": math.ceil(at)}[made["rounding"].name]: 1}
        elif made["mode"].name == "LINEAR":
            weights = {first: 1 - at + first, first + 1: at - first}
        else:
            weights = dict(zip(range(first - 1, first + 3), cubic(at - first, -0.5)))
            if made["exclude"]:
                weights = {k: w for k, w in weights.items() if 0 <= k < length}
                weights = {k: w / sum(weights.values()) for k, w in weights.items()}
        for k, weight in weights.items():
            matrix[i, min(max(k, 0), length - 1)] += weight
    return matrix


@layer
def resize(draw):
    made = {"mode": draw.one("mode", trt.InterpolationMode.__members__.values()),
            "coordinates": draw.one("coordinates", trt.ResizeCoordinateTransformation.__members__.values()),
            "rounding": draw.one("rounding", trt.ResizeRoundMode.__members__.values()), "exclude": draw.one("exclude", (False, True))}
    axes = 2 if made["mode"].name == "CUBIC" else draw.number(1, 3)
    x = draw.values([draw.number(1, 6) for _ in range(draw.number(axes + 1, 5))], np.float32)
    kept, by_scale = x.ndim - axes, draw.chance()
    ratios = [1.0] * kept + [draw.one("ratio", (0.5, 1.0, 2.0, 1.5, 3.0, 0.75)) for _ in range(axes)]
    target = [int(e * r) for e, r in zip(x.shape, ratios)] if by_scale else [*x.shape[:kept], *(draw.number(1, 12) for _ in range(axes))]
    if min(target) < 1:
        return None
    y = x.astype(float)
    for a in range(kept, x.ndim):
        matrix = interpolation(x.shape[a], target[a], ratios[a] if by_scale else target[a] / x.shape[a], made)
        y = np.moveaxis(np.tensordot(matrix, y, (1, a)), 0, a)
    draw.note(shape=x.shape, target=target, by_scale=by_scale)

    def build(network, tensors):
        layer_ = network.add_resize(tensors["x"])
        layer_.resize_mode, layer_.coordinate_transformation = made["mode"], made["coordinates"]
        layer_.nearest_rounding, layer_.cubic_coeff, layer_.exclude_outside = made["rounding"], -0.5, int(made["exclude"])
        if by_scale:
            layer_.scales = ratios
        else:
            layer_.shape = tuple(target)
        return [layer_.get_output(0)]

    return Case({"x": x}, build, [y.astype(np.float32)], 5e-5, fixed=["x"])
