# SPDX-License-Identifier: Apache-2.0
"""Layers that compute: every operation and type, ranks to 8, tensors without elements."""
import math

import numpy as np
import tensorrt as trt

from layers.drawing import ALL, FLOATS, INTEGERS, Case, along, layer, size_of, tolerance

erf = np.vectorize(math.erf, otypes=[float])


def relu_like(name, x, a, b):
    return {"RELU": lambda: np.maximum(x, 0), "SIGMOID": lambda: 1 / (1 + np.exp(-x)), "TANH": lambda: np.tanh(x),
            "LEAKY_RELU": lambda: np.where(x >= 0, x, a * x), "ELU": lambda: np.where(x >= 0, x, a * np.expm1(x)),
            "SELU": lambda: b * np.where(x > 0, x, a * np.expm1(x)), "SOFTSIGN": lambda: x / (1 + abs(x)),
            "SOFTPLUS": lambda: a * np.log1p(np.exp(b * x)), "CLIP": lambda: np.clip(x, a, b),
            "HARD_SIGMOID": lambda: np.clip(a * x + b, 0, 1), "SCALED_TANH": lambda: a * np.tanh(b * x),
            "THRESHOLDED_RELU": lambda: np.where(x > a, x, 0), "GELU_ERF": lambda: 0.5 * x * (1 + erf(x / math.sqrt(2))),
            "GELU_TANH": lambda: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))}[name]()


@layer
def activation(draw):
    kind = draw.one("kind", trt.ActivationType.__members__.values())
    dtype = draw.one("type", FLOATS + INTEGERS if kind in (trt.ActivationType.RELU, trt.ActivationType.CLIP) else FLOATS)
    shape, (a, b) = draw.shape(), (-2.0, 1.0) if np.dtype(dtype).kind == "i" else (0.375, 1.25)
    x = draw.values(shape, dtype)

    def build(network, tensors):
        made = network.add_activation(tensors["x"], kind)
        made.alpha, made.beta = a, b
        return [made.get_output(0)]

    expected = relu_like(kind.name, x.astype(float), a, b) if x.size else x
    return Case({"x": x}, build, [expected.astype(dtype)], tolerance(dtype))


FUNCTIONS = {"EXP": np.exp, "LOG": np.log, "SQRT": np.sqrt, "RECIP": lambda x: 1 / x, "SIN": np.sin, "COS": np.cos, "TAN": np.tan,
             "SINH": np.sinh, "COSH": np.cosh, "ASIN": np.arcsin, "ACOS": np.arccos, "ATAN": np.arctan, "ASINH": np.arcsinh,
             "ACOSH": np.arccosh, "ATANH": np.arctanh, "CEIL": np.ceil, "FLOOR": np.floor, "ERF": erf, "ROUND": np.rint,
             "ISINF": np.isinf, "ISNAN": np.isnan, "ABS": np.abs, "NEG": np.negative, "SIGN": np.sign, "NOT": np.logical_not}
DOMAINS = {"LOG": (0.2, 4), "SQRT": (0.2, 4), "RECIP": (0.2, 4), "ASIN": (-0.9, 0.9), "ACOS": (-0.9, 0.9), "ATANH": (-0.9, 0.9),
           "ACOSH": (1.1, 4), "TAN": (-1, 1)}


@layer
def unary(draw):
    kind = draw.one("kind", trt.UnaryOperation.__members__.values())
    types = (np.bool_,) if kind == trt.UnaryOperation.NOT else FLOATS + INTEGERS if kind.name in ("ABS", "NEG", "SIGN") else FLOATS
    dtype = draw.one("type", types)
    x = draw.values(draw.shape(), dtype, *DOMAINS.get(kind.name, (-3.0, 3.0)))
    if kind.name in ("ROUND", "CEIL", "FLOOR", "SIGN"):
        x = (np.rint(x * 2) / 2).astype(dtype)  # halves, and zero
    y = FUNCTIONS[kind.name](x.astype(float) if x.dtype.kind == "f" else x) if x.size else x
    y = np.asarray(y).astype(np.bool_ if kind.name in ("ISINF", "ISNAN") else dtype)
    return Case({"x": x}, lambda network, tensors: [network.add_unary(tensors["x"], kind).get_output(0)], [y], tolerance(y.dtype))


BINARY = {"SUM": np.add, "PROD": np.multiply, "MAX": np.maximum, "MIN": np.minimum, "SUB": np.subtract, "POW": np.power,
          "AND": np.logical_and, "OR": np.logical_or, "XOR": np.logical_xor, "EQUAL": np.equal, "GREATER": np.greater,
          "LESS": np.less, "FLOOR_DIV": np.floor_divide, "DIV": np.divide}


@layer
def elementwise(draw):
    kind = draw.one("kind", trt.ElementWiseOperation.__members__.values())
    logical = kind.name in ("AND", "OR", "XOR")
    dtype = np.dtype(draw.one("type", (np.bool_,) if logical else (np.float32, *INTEGERS, np.float16)[:3 if kind.name == "FLOOR_DIV" else 4]))
    shape = draw.shape(empty=0.1)
    a, b = (draw.values(draw.thinned(shape), dtype) for _ in range(2))
    if kind.name in ("DIV", "FLOOR_DIV"):
        b = np.where(abs(b) < 1, 1, b).astype(dtype)
    if kind.name == "POW":
        a, b = (np.abs(a) + 1).astype(dtype), b if dtype.kind == "f" else abs(b) % 4
    x, y = (v.astype(float) if dtype.kind == "f" else v for v in (a, b))
    z = np.trunc(x.astype(float) / y) if kind.name == "DIV" and dtype.kind == "i" else BINARY[kind.name](x, y)
    z = np.asarray(z) if np.asarray(z).dtype == np.bool_ else np.asarray(z).astype(dtype)
    return Case({"a": a, "b": b}, lambda network, tensors: [network.add_elementwise(tensors["a"], tensors["b"], kind).get_output(0)],
                [z], tolerance(z.dtype))


@layer
def reduce(draw):
    kind = draw.one("kind", [k for k in trt.ReduceOperation.__members__.values() if k.name != "NONE"])
    dtype = draw.one("type", FLOATS if kind.name in ("AVG", "PROD") else FLOATS + INTEGERS)
    shape = draw.shape(1, 8, empty=0 if kind.name in ("AVG", "MAX", "MIN") else 0.15)
    axes, keep = [a for a in range(len(shape)) if draw.chance()] or [0], draw.chance()
    x = draw.values(shape, dtype, *((0.8, 1.25) if kind.name == "PROD" else (-2.0, 2.0)))
    draw.note(axes=axes, keep=keep)
    wide = x.astype(float if x.dtype.kind == "f" else np.int64)
    function = {"SUM": np.sum, "PROD": np.prod, "MAX": np.max, "MIN": np.min, "AVG": np.mean}[kind.name]
    y = np.asarray(function(wide, axis=tuple(axes), keepdims=keep)).astype(dtype)
    mask = sum(1 << a for a in axes)
    return Case({"x": x}, lambda network, tensors: [network.add_reduce(tensors["x"], kind, mask, keep).get_output(0)], [y],
                tolerance(dtype, 1e-4, 1e-2))


@layer
def top_k(draw):
    kind, dtype = draw.one("kind", trt.TopKOperation.__members__.values()), draw.one("type", (np.float32, *INTEGERS))
    index, shape = draw.one("index", INTEGERS), draw.shape(1, 8, empty=0)
    axis = draw.number(0, len(shape) - 1)
    k, x = draw.number(1, shape[axis]), draw.random.permutation(size_of(shape)).reshape(shape).astype(dtype)
    at = np.take(np.argsort(-x if kind == trt.TopKOperation.MAX else x, axis), range(k), axis)
    as_input = draw.chance(0.3)
    draw.note(axis=axis, k=k, as_input=as_input)

    def build(network, tensors):
        made = network.add_topk(tensors["x"], kind, k, 1 << axis)
        if as_input:
            made.set_input(1, network.add_constant((), np.array(k, np.int32)).get_output(0))
        made.indices_type = trt.int32 if index == np.int32 else trt.int64
        return [made.get_output(0), made.get_output(1)]

    return Case({"x": x}, build, [np.take_along_axis(x, at, axis), at.astype(index)])


@layer
def softmax(draw):
    dtype, shape = draw.one("type", FLOATS), draw.shape(1, 8, empty=0)
    axis, x = draw.number(0, len(shape) - 1), draw.values(shape, dtype)
    weights = np.exp(x.astype(float))
    draw.note(axis=axis)

    def build(network, tensors):
        made = network.add_softmax(tensors["x"])
        made.axes = 1 << axis
        return [made.get_output(0)]

    return Case({"x": x}, build, [(weights / weights.sum(axis, keepdims=True)).astype(dtype)], tolerance(dtype))


@layer
def matrix_multiply(draw):
    dtype, kinds = draw.one("type", FLOATS), trt.MatrixOperation.__members__.values()
    batch = tuple(draw.number(1, 3) for _ in range(draw.number(0, 4)))
    rows, inner, columns = (draw.number(0 if draw.chance(0.05) else 1, 30) for _ in range(3))
    left, right = draw.one("left", kinds), draw.one("right", kinds)

    def operand(kind, height, width, vector):
        shape = (vector,) if kind == trt.MatrixOperation.VECTOR else (width, height) if kind == trt.MatrixOperation.TRANSPOSE else (height, width)
        return draw.values(draw.thinned(batch) + shape, dtype, -1, 1)

    def matrix(x, kind, column):
        x = x.astype(float)
        if kind == trt.MatrixOperation.VECTOR:
            return x[..., None] if column else x[..., None, :]
        return np.swapaxes(x, -1, -2) if kind == trt.MatrixOperation.TRANSPOSE else x

    a, b = operand(left, rows, inner, inner), operand(right, inner, columns, inner)
    y = matrix(a, left, False) @ matrix(b, right, True)
    y = y[..., 0] if right == trt.MatrixOperation.VECTOR else y
    if left == trt.MatrixOperation.VECTOR:
        y = y[..., 0] if right == trt.MatrixOperation.VECTOR else y[..., 0, :]
    draw.note(a=a.shape, b=b.shape)
    return Case({"a": a, "b": b}, lambda network, tensors: [
        network.add_matrix_multiply(tensors["a"], left, tensors["b"], right).get_output(0)], [y.astype(dtype)],
                tolerance(dtype, 1e-4, 1e-2))


@layer
def einsum(draw):
    extents = {label: draw.number(1, 4) for label in "abcde"}
    terms = ["".join(draw.random.permutation(list(extents))[:draw.number(1, 3)]) for _ in range(draw.number(1, 3))]
    kept = [label for label in draw.random.permutation(sorted(set("".join(terms)))) if draw.chance(0.6)]
    equation = ",".join(terms) + ("->" + "".join(kept) if draw.chance(0.8) else "")
    inputs = {f"x{i}": draw.values([extents[label] for label in term], np.float32, -1, 1) for i, term in enumerate(terms)}
    draw.note(equation=equation)
    y = np.asarray(np.einsum(equation, *(x.astype(float) for x in inputs.values()))).astype(np.float32)
    return Case(inputs, lambda network, tensors: [network.add_einsum([tensors[n] for n in inputs], equation).get_output(0)], [y], 1e-4)


@layer
def normalization(draw):
    dtype, newer = draw.one("type", FLOATS), draw.chance()
    shape = tuple(draw.number(2, 5) for _ in range(draw.number(3, 5)))
    groups = draw.one("groups", (1, 1, 2, 3))
    shape = shape if groups == 1 else (shape[0], groups * shape[1]) + shape[2:]
    axes = list(range(2, len(shape))) if groups > 1 or draw.chance() else sorted({len(shape) - 1, draw.number(1, len(shape) - 1)})
    parameters = (1, shape[1] if newer or groups == 1 else groups) + (1,) * (len(shape) - 2) if axes[0] == 2 and len(axes) == len(shape) - 2 \
        else tuple(e if a in axes else 1 for a, e in enumerate(shape))
    x, scale, bias = draw.values(shape, dtype), draw.values(parameters, dtype, 0.5, 1.5), draw.values(parameters, dtype)
    draw.note(shape=shape, axes=axes, parameters=parameters, newer=newer)
    grouped = x.astype(float).reshape(shape[0], groups, -1) if groups > 1 else x.astype(float)
    over = 2 if groups > 1 else tuple(axes)
    y = (grouped - grouped.mean(over, keepdims=True)) / np.sqrt(grouped.var(over, keepdims=True) + 1e-3)
    wide = [np.repeat(p.astype(float), shape[1] // p.shape[1], 1) if groups > 1 else p.astype(float) for p in (scale, bias)]

    def build(network, tensors):
        add = network.add_normalization_v2 if newer else network.add_normalization
        made = add(tensors["x"], tensors["scale"], tensors["bias"], sum(1 << a for a in axes))
        made.epsilon = 1e-3
        if groups > 1:
            made.num_groups = groups
        return [made.get_output(0)]

    return Case({"x": x, "scale": scale, "bias": bias}, build, [(y.reshape(shape) * wide[0] + wide[1]).astype(dtype)],
                tolerance(dtype, 1e-3, 1e-2), fixed=["x", "scale", "bias"])


@layer
def cumulative(draw):
    dtype, shape = draw.one("type", FLOATS + INTEGERS), draw.shape(1, 6)
    axis, exclusive, backwards = draw.number(0, len(shape) - 1), draw.chance(), draw.chance()
    x = draw.values(shape, dtype, -1, 1)
    turned = np.flip(x.astype(float), axis) if backwards else x.astype(float)
    y = np.cumsum(turned, axis) - (turned if exclusive else 0)
    draw.note(axis=axis, exclusive=exclusive, backwards=backwards)

    def build(network, tensors):
        which = network.add_constant((), np.array(axis, np.int32)).get_output(0)
        return [network.add_cumulative(tensors["x"], which, trt.CumulativeOperation.SUM, exclusive, backwards).get_output(0)]

    return Case({"x": x}, build, [(np.flip(y, axis) if backwards else y).astype(dtype)], tolerance(dtype, 2e-5, 1e-2))


@layer
def cast(draw):
    source, target = draw.one("source", ALL), draw.one("target", ALL)
    if np.uint8 in (source, target) and not {source, target} & set(FLOATS):
        return None  # bytes without a sign come from floats and become floats
    x = draw.values(draw.shape(), source, 0 if target == np.uint8 else -3, 3)
    types = {np.float32: trt.float32, np.float16: trt.float16, np.int32: trt.int32, np.int64: trt.int64, np.int8: trt.int8,
             np.uint8: trt.uint8, np.bool_: trt.bool}
    return Case({"x": x}, lambda network, tensors: [network.add_cast(tensors["x"], types[target]).get_output(0)],
                [x.astype(target)], tolerance(target, 1e-3))


@layer
def quantized(draw):
    dtype, shape = draw.one("type", FLOATS), draw.shape(1, 6, empty=0.03)
    axis, by_axis = draw.number(0, len(shape) - 1), draw.chance()
    scale = draw.values((shape[axis],) if by_axis else (), np.float32, 0.01, 0.1)
    x, step = draw.values(shape, dtype), along(scale, axis, len(shape)).astype(float) if by_axis else float(scale)
    if np.any(np.abs(np.abs(x / step) % 1 - 0.5) < 1e-3):
        return None  # in the middle of two steps
    draw.note(axis=axis, by_axis=by_axis)

    def build(network, tensors):
        steps = network.add_constant(scale.shape, scale).get_output(0)
        one = network.add_quantize(tensors["x"], steps, trt.int8)
        two = network.add_dequantize(one.get_output(0), steps, trt.float16 if dtype == np.float16 else trt.float32)
        one.axis = two.axis = axis
        return [two.get_output(0)]

    y = np.clip(np.rint(x.astype(float) / step), -128, 127) * step
    return Case({"x": x}, build, [y.astype(dtype)], tolerance(dtype), fixed=["x"])
