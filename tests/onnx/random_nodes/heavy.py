# SPDX-License-Identifier: Apache-2.0
"""Random nodes of products, convolutions, pooling, normalizations, resizes, recurrent networks and quantized operators."""
import numpy as np

from draw import Constant, Node

I32, I64, F32 = np.int32, np.int64, np.float32
MS = "com.microsoft"


def ints(values):
    return Constant(np.array(values, I64))


def window(d, spatial, extents, kernel=None):
    """Attributes of a window that fits, and its kernel."""
    kernel = [d.choice([1, 2, 3, 3, 4, 5, 7]) for _ in range(spatial)] if kernel is None else kernel
    dilations = [d.choice([1, 1, 1, 2, 3]) for _ in range(spatial)]
    strides = [d.choice([1, 1, 2, 3]) for _ in range(spatial)]
    for i in range(spatial):
        if (kernel[i] - 1) * dilations[i] + 1 > extents[i]:
            dilations[i] = 1
        kernel[i] = min(kernel[i], extents[i])
    attributes = {"kernel_shape": kernel, "strides": strides, "dilations": dilations}
    how = d.choice(["pads", "pads", "none", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if how == "pads":
        attributes["pads"] = [d.randint(0, max(0, kernel[i % spatial] - 1)) for i in range(2 * spatial)]
    elif how != "none":
        attributes["auto_pad"] = how
        if how.startswith("SAME"):
            attributes["dilations"] = [1] * spatial
    return attributes, kernel


def image(d, spatial, channels):
    most = {1: 33, 2: 17, 3: 9}[spatial]
    return [d.choice([1, 1, 2, 3]), channels, *[d.extent(most) for _ in range(spatial)]]


def channels_of(d):
    groups = d.choice([1, 1, 1, 2, 3, 4])
    kind = d.choice(["plain", "plain", "depthwise"])
    if kind == "depthwise":
        channels = d.extent(33)
        return channels, channels * d.choice([1, 1, 2]), channels
    return groups * d.choice([1, 2, 3, 4, 8, 16]), groups * d.choice([1, 2, 3, 4, 5, 8, 16, 17]), groups


def conv(d):
    spatial = d.choice([1, 2, 2, 2, 3])
    inner, outer, groups = channels_of(d)
    shape = image(d, spatial, inner)
    attributes, kernel = window(d, spatial, shape[2:])
    attributes["group"] = groups
    operands = [d.floats(shape), d.maybe_constant(d.floats([outer, inner // groups, *kernel]), 0.8)]
    if d.chance(0.5):
        operands.append(Constant(d.floats([outer])))
    return Node("Conv", operands, attributes, tolerance=1e-3)


def conv_transpose(d):
    spatial = d.choice([1, 2, 2, 3])
    inner, outer, groups = channels_of(d)
    shape = image(d, spatial, inner)
    kernel = [d.choice([1, 2, 3, 4, 5]) for _ in range(spatial)]
    strides = [d.choice([1, 2, 3]) for _ in range(spatial)]
    dilations = [d.choice([1, 1, 2]) for _ in range(spatial)]
    attributes = {"kernel_shape": kernel, "strides": strides, "dilations": dilations, "group": groups}
    if d.chance(0.5):
        attributes["pads"] = [d.randint(0, (k - 1) // 2) for k in kernel] * 2
        if any((e - 1) * s + (k - 1) * l + 1 - 2 * p < 1 for e, s, k, l, p in
               zip(shape[2:], strides, kernel, dilations, attributes["pads"])):
            del attributes["pads"]
    if d.chance(0.3):
        attributes["output_padding"] = [d.randint(0, max(s, l) - 1) for s, l in zip(strides, dilations)]
    operands = [d.floats(shape), d.maybe_constant(d.floats([inner, outer // groups, *kernel]), 0.8)]
    if d.chance(0.5):
        operands.append(Constant(d.floats([outer])))
    return Node("ConvTranspose", operands, attributes, tolerance=1e-3)


def pooling(d):
    spatial = d.choice([1, 2, 2, 2, 3])
    shape = image(d, spatial, d.extent(33))
    name = d.choice(["MaxPool", "MaxPool", "AveragePool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
    if name.startswith("Global"):
        return Node(name, [d.floats(shape)], {"p": d.choice([1, 2])} if name == "GlobalLpPool" else {})
    attributes, _ = window(d, spatial, shape[2:])
    if name == "AveragePool":
        attributes["count_include_pad"] = d.choice([0, 1])
    if name == "LpPool":
        attributes["p"] = d.choice([1, 2])
    elif d.chance(0.3) and "auto_pad" not in attributes:
        attributes["ceil_mode"] = 1
    return Node(name, [d.floats(shape)], attributes, outputs=2 if name == "MaxPool" and d.chance(0.1) else 1)


def matmul(d):
    m, k, n = (d.choice([1, 2, 3, 5, 8, 16, 17, 33, 64]) for _ in range(3))
    batch = d.shape(d.randint(0, 2), 5) if d.chance(0.6) else []
    a, b = d.floats(d.broadcast(batch) + [m, k]), d.floats(d.broadcast(batch) + [k, n])
    if d.chance(0.1):
        a = d.floats([k])
    if d.chance(0.1):
        b = d.floats([k])
    return Node("MatMul", [a, d.maybe_constant(b, 0.6)], tolerance=1e-3)


def gemm(d):
    m, k, n = (d.choice([1, 2, 3, 5, 8, 16, 17, 33, 64]) for _ in range(3))
    ta, tb = d.choice([0, 1]), d.choice([0, 1])
    operands = [d.floats([k, m] if ta else [m, k]), d.maybe_constant(d.floats([n, k] if tb else [k, n]), 0.6)]
    if d.chance(0.7):
        operands.append(d.maybe_constant(d.floats(d.broadcast([m, n])), 0.6))
    return Node("Gemm", operands, {"transA": ta, "transB": tb, "alpha": d.choice([1.0, 0.5, -2.0]), "beta": d.choice([1.0, 0.0, 3.0])},
                tolerance=1e-3)


def normalization(d):
    name = d.choice(["BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization", "LRN",
                     "MeanVarianceNormalization", "RMSNormalization"])
    shape = image(d, d.choice([1, 2, 2, 3]), d.extent(33))
    channels = shape[1]
    vector = lambda: Constant(d.floats([channels]))
    if name == "BatchNormalization":
        return Node(name, [d.floats(shape), vector(), vector(), vector(), Constant(np.abs(d.floats([channels])) + F32(0.2))])
    if name == "InstanceNormalization":
        shape[2:] = [max(e, 3) for e in shape[2:]]
        return Node(name, [d.floats(shape), vector(), vector()], {"epsilon": 1e-2}, tolerance=1e-3)
    if name in ("LayerNormalization", "RMSNormalization"):
        axis = d.axis(len(shape))
        inner = shape[axis:]
        operands = [d.floats(shape), Constant(d.floats(inner))]
        if name == "LayerNormalization" and d.chance(0.6):
            operands.append(Constant(d.floats(inner)))
        return Node(name, operands, {"axis": axis, "epsilon": 1e-2}, opset=23 if name == "RMSNormalization" else 21, tolerance=1e-3)
    if name == "GroupNormalization":
        groups = d.choice([g for g in range(1, channels + 1) if channels % g == 0])
        return Node(name, [d.floats(shape), vector(), vector()], {"num_groups": groups, "epsilon": 1e-2}, tolerance=1e-3)
    if name == "LRN":
        return Node(name, [d.floats(image(d, 2, channels))], {"size": d.choice([1, 3, 5]), "alpha": d.uniform(0.01, 1), "bias": d.uniform(1, 2)})
    return Node(name, [d.floats(image(d, 2, channels))], tolerance=5e-3)


def resize(d):
    spatial = d.choice([1, 2, 2, 3])
    shape = image(d, spatial, d.choice([1, 2, 3, 8, 9, 16]))
    mode = d.choice(["nearest", "linear", "linear", "cubic"])
    if mode == "cubic":
        spatial, shape = 2, image(d, 2, 3)
    attributes = {"mode": mode, "coordinate_transformation_mode": d.choice(["half_pixel", "asymmetric", "align_corners",
                                                                            "pytorch_half_pixel"])}
    if mode == "nearest":
        attributes["nearest_mode"] = d.choice(["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
    if mode == "cubic" and d.chance(0.5):
        attributes["cubic_coeff_a"] = -0.5
    x = d.floats(shape)
    if mode != "nearest" and d.chance(0.5):  # by sizes nearest elements are at ties that depend on rounding
        sizes = shape[:2] + [d.extent(33) for _ in shape[2:]]
        return Node("Resize", [x, None, None, ints(sizes)], attributes, tolerance=1e-3, fixed=True)
    scales = [1.0, 1.0] + [d.choice([0.5, 1.0, 2.0, 4.0] if mode == "nearest" else [0.5, 0.6, 1.0, 1.5, 2.0, 3.0, 2.6])
                           for _ in shape[2:]]
    if any(e * s < 1 for e, s in zip(shape, scales)):
        scales = [1.0, 1.0] + [2.0] * spatial
    return Node("Resize", [x, None, Constant(np.array(scales, F32))], attributes, tolerance=1e-3, fixed=d.chance(0.7))


def sampling(d):
    shape = image(d, 2, d.choice([1, 2, 3, 8, 17]))
    if d.chance(0.6):
        grid = d.floats([shape[0], d.extent(9), d.extent(9), 2], -1.3, 1.3)
        return Node("GridSample", [d.floats(shape), grid], {"mode": d.choice(["linear", "nearest", "cubic"]), "align_corners": d.choice([0, 1]),
                    "padding_mode": d.choice(["zeros", "border", "reflection"])}, tolerance=2e-3, fixed=True)
    count = d.extent(5)
    corners = np.sort(d.floats([count, 2, 2], 0, 15), axis=1).reshape(count, 4)[:, [0, 1, 2, 3]]
    return Node("RoiAlign", [d.floats(shape), corners.astype(F32), d.integers([count], 0, shape[0] - 1)],
                {"output_height": d.extent(5), "output_width": d.extent(5), "sampling_ratio": d.choice([1, 2]), "mode": d.choice(["avg", "max"]),
                 "spatial_scale": d.choice([1.0, 0.5])}, tolerance=1e-3, opset=16, fixed=True)


def recurrent(d):
    name, gates = d.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    steps, batch, width, hidden = d.extent(7), d.extent(5), d.extent(17), d.extent(17)
    direction = d.choice(["forward", "reverse", "bidirectional"])
    both = 2 if direction == "bidirectional" else 1
    operands = [d.floats([steps, batch, width]), Constant(d.floats([both, gates * hidden, width]) / F32(width)),
                Constant(d.floats([both, gates * hidden, hidden]) / F32(hidden))]
    operands.append(Constant(d.floats([both, 2 * gates * hidden])) if d.chance(0.6) else None)
    operands.append(d.integers([batch], 1, steps, I32) if d.chance(0.3) else None)
    operands.append(d.floats([both, batch, hidden]) if d.chance(0.4) else None)
    attributes = {"hidden_size": hidden, "direction": direction}
    if name == "GRU":
        attributes["linear_before_reset"] = d.choice([0, 1])
    if name == "LSTM" and d.chance(0.3):
        operands += [d.floats([both, batch, hidden]) if d.chance(0.5) else None, Constant(d.floats([both, 3 * hidden]))]
    while operands[-1] is None:
        operands.pop()
    return Node(name, operands, attributes, outputs=3 if name == "LSTM" else 2, tolerance=1e-3, fixed=True)


def scale(d):
    return Constant(np.array(d.uniform(0.005, 0.1), F32))


def zero(d, dtype):
    return Constant(np.array(d.randint(-20, 20) if dtype == np.int8 else d.randint(100, 150), dtype))


def quantized(d):
    name = d.choice(["QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul", "MatMulInteger", "ConvInteger",
                     "DynamicQuantizeLinear", "pair"])
    dtype = d.choice([np.int8, np.uint8])
    shape = d.shape(most=33)
    if name == "DynamicQuantizeLinear":
        return Node(name, [d.floats(shape)], outputs=3, tolerance=1)
    if name in ("QuantizeLinear", "DequantizeLinear", "pair"):
        axis = d.axis(len(shape))
        own = [shape[axis]] if d.chance(0.4) else []
        scales = Constant(np.abs(d.floats(own)) * F32(0.05) + F32(0.01))
        zeros = Constant(d.integers(own, 0, 20, dtype))
        x = d.array(shape, dtype) if name == "DequantizeLinear" else d.floats(shape)
        return Node("DequantizeLinear" if name == "DequantizeLinear" else "QuantizeLinear", [x, scales, zeros], {"axis": axis},
                    tolerance=1e-4 if name == "DequantizeLinear" else 1)
    if "MatMul" in name:
        m, k, n = (d.choice([1, 2, 3, 5, 8, 16, 17, 33, 64, 70]) for _ in range(3))
        a, b = d.array(d.shape(d.randint(0, 1), 5) + [m, k], np.uint8 if name == "MatMulInteger" else dtype), d.array([k, n], np.int8 if d.chance(0.5) else dtype)
        az, bz = zero(d, a.dtype.type), zero(d, b.dtype.type)
        if name == "MatMulInteger":
            return Node(name, [a, d.maybe_constant(b, 0.7), az, bz])
        return Node(name, [a, scale(d), az, d.maybe_constant(b, 0.7), scale(d), bz, Constant(np.array(d.uniform(0.05, 2), F32)), zero(d, a.dtype.type)],
                    tolerance=1)
    spatial = d.choice([1, 2, 2])
    inner, outer, groups = channels_of(d)
    shape = image(d, spatial, inner)
    attributes, kernel = window(d, spatial, shape[2:])
    attributes["group"] = groups
    x = d.array(shape, np.uint8 if name == "ConvInteger" else dtype)
    w = Constant(d.array([outer, inner // groups, *kernel], np.uint8 if name == "ConvInteger" else np.int8))
    if name == "ConvInteger":
        return Node(name, [x, w, zero(d, x.dtype.type), zero(d, np.uint8)], attributes)
    operands = [x, scale(d), zero(d, dtype), w, scale(d), Constant(np.array(0, np.int8)), Constant(np.array(d.uniform(0.05, 2), F32)), zero(d, dtype)]
    if d.chance(0.5):
        operands.append(Constant(d.integers([outer], -999, 999, I32)))
    return Node(name, operands, attributes, tolerance=1)


def microsoft(d):
    name = d.choice(["Gelu", "FastGelu", "BiasGelu", "QuickGelu", "FusedMatMul", "SkipLayerNormalization", "QLinearAdd", "QLinearMul",
                     "QLinearSigmoid", "QLinearLeakyRelu", "QLinearGlobalAveragePool", "QLinearConcat", "FusedConv"])
    shape = d.shape(most=33)
    x = d.floats(shape)
    if name in ("Gelu", "QuickGelu"):
        return Node(name, [x], domain=MS, tolerance=1e-3)
    if name in ("FastGelu", "BiasGelu"):
        return Node(name, [x, Constant(d.floats([shape[-1]]))], domain=MS, tolerance=2e-3)
    if name == "FusedMatMul":
        m, k, n = (d.choice([1, 3, 8, 17, 33]) for _ in range(3))
        ta, tb = d.choice([0, 1]), d.choice([0, 1])
        return Node(name, [d.floats([2] + ([k, m] if ta else [m, k])), d.maybe_constant(d.floats([2] + ([n, k] if tb else [k, n])))],
                    {"transA": ta, "transB": tb, "alpha": d.choice([1.0, 0.25])}, domain=MS, tolerance=1e-3)
    if name == "SkipLayerNormalization":
        shape = [d.extent(5), d.extent(9), d.choice([3, 8, 16, 33])]
        operands = [d.floats(shape), d.floats(shape), Constant(d.floats(shape[2:])), Constant(d.floats(shape[2:]))]
        return Node(name, operands + ([Constant(d.floats(shape[2:]))] if d.chance(0.5) else []), {"epsilon": 1e-3}, domain=MS, tolerance=1e-3)
    if name == "FusedConv":
        shape = image(d, 2, d.choice([3, 8, 16]))
        attributes, kernel = window(d, 2, shape[2:])
        outer = d.choice([4, 8, 17])
        return Node(name, [d.floats(shape), Constant(d.floats([outer, shape[1], *kernel])), Constant(d.floats([outer]))],
                    {**attributes, "activation": d.choice(["Relu", "Sigmoid", "Tanh"])}, domain=MS, tolerance=1e-3)
    dtype = d.choice([np.int8, np.uint8])
    one = lambda s: [d.array(s, dtype), scale(d), zero(d, dtype)]
    if name in ("QLinearAdd", "QLinearMul"):
        return Node(name, one(shape) + one(d.broadcast(shape)) + [scale(d), zero(d, dtype)], domain=MS, tolerance=1)
    if name == "QLinearConcat":
        axis = d.axis(len(shape))
        return Node(name, [scale(d), zero(d, dtype)] + one(shape) + one(shape), {"axis": axis}, domain=MS, tolerance=1)
    if name == "QLinearGlobalAveragePool":
        return Node(name, one(image(d, 2, d.extent(33))) + [scale(d), zero(d, dtype)], {"channels_last": 0}, domain=MS, tolerance=1)
    return Node(name, one(shape) + [scale(d), zero(d, dtype)], {"alpha": 0.1} if "Leaky" in name else {}, domain=MS, tolerance=1)


def attention(d):
    if d.chance(0.5):
        batch, heads, rows, keys, width = d.extent(3), d.choice([1, 2, 3, 4]), d.extent(33), d.extent(33), d.choice([8, 16, 17, 32])
        shared = d.choice([h for h in range(1, heads + 1) if heads % h == 0])
        operands = [d.floats([batch, heads, rows, width]), d.floats([batch, shared, keys, width]), d.floats([batch, shared, keys, width])]
        causal = d.choice([0, 1])
        if d.chance(0.4):
            operands.append(d.floats(d.choice([[rows, keys], [1, 1, rows, keys], [batch, heads, rows, keys]])))
        return Node("Attention", operands, {"is_causal": causal, "scale": d.choice([0.2, 1.0])}, opset=23, tolerance=1e-3, fixed=True)
    batch, rows, heads, width = d.extent(3), d.extent(17), d.choice([1, 2, 4]), d.choice([8, 16, 24])
    hidden = heads * width
    return Node("MultiHeadAttention", [d.floats([batch, rows, hidden]) for _ in range(3)] + ([Constant(d.floats([3 * hidden]))] if d.chance(0.5) else []),
                {"num_heads": heads}, domain=MS, tolerance=1e-3, fixed=True)


MAKERS = [conv, conv, conv, conv_transpose, pooling, pooling, matmul, gemm, normalization, normalization, resize, resize, sampling, recurrent,
          quantized, quantized, quantized, microsoft, microsoft, attention]
