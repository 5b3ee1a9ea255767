# SPDX-License-Identifier: Apache-2.0
"""Layers that compute numbers, each added by its own call and compared with NumPy."""
import math

import numpy as np
import tensorrt_bindings as trt

from support import Skip, close, complaint, constant, random, run

X = random(1, 3, 4, 5)


def np_convolution(x, kernel, bias, stride, padding):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    maps, _, kh, kw = kernel.shape
    height, width = (x.shape[2] - kh) // stride + 1, (x.shape[3] - kw) // stride + 1
    out = np.zeros((x.shape[0], maps, height, width), np.float32)
    for i in range(height):
        for j in range(width):
            window = x[:, :, i * stride:i * stride + kh, j * stride:j * stride + kw]
            out[:, :, i, j] = np.einsum("nchw,mchw->nm", window, kernel) + bias
    return out


def test_convolution():
    x, kernel, bias = random(1, 2, 5, 5), random(3, 2, 3, 3, seed=2), random(3, seed=3)

    def build(network, t):
        layer = network.add_convolution_nd(t, 3, (3, 3), kernel, bias)
        layer.stride_nd, layer.padding_nd = (2, 2), (1, 1)
        assert layer.type == trt.LayerType.CONVOLUTION and tuple(layer.stride_nd) == (2, 2)
        assert layer.num_output_maps == 3 and np.array_equal(layer.kernel.ravel(), kernel.ravel())
        return layer.get_output(0)

    close(run(build, {"x": x}), [np_convolution(x, kernel, bias, 2, 1)])


def test_deconvolution():
    x, kernel = random(1, 2, 3, 3), random(2, 3, 2, 2, seed=2)
    expected = np.zeros((1, 3, 6, 6), np.float32)
    for i in range(3):
        for j in range(3):
            expected[:, :, 2 * i:2 * i + 2, 2 * j:2 * j + 2] += np.einsum("nc,cmhw->nmhw", x[:, :, i, j], kernel)

    def build(network, t):
        layer = network.add_deconvolution_nd(t, 3, (2, 2), kernel)
        layer.stride_nd = (2, 2)
        assert layer.type == trt.LayerType.DECONVOLUTION
        return layer.get_output(0)

    close(run(build, {"x": x}), [expected])


def np_activations(x):
    a, b = 0.5, 1.5
    erf = np.vectorize(math.erf)
    kinds = trt.ActivationType
    return {
        kinds.RELU: np.maximum(x, 0), kinds.SIGMOID: 1 / (1 + np.exp(-x)), kinds.TANH: np.tanh(x),
        kinds.LEAKY_RELU: np.where(x >= 0, x, a * x), kinds.ELU: np.where(x >= 0, x, a * (np.exp(x) - 1)),
        kinds.SELU: b * np.where(x > 0, x, a * np.exp(x) - a), kinds.SOFTSIGN: x / (1 + np.abs(x)),
        kinds.SOFTPLUS: a * np.log(np.exp(b * x) + 1), kinds.CLIP: np.clip(x, -0.25, 0.25),
        kinds.HARD_SIGMOID: np.clip(a * x + b, 0, 1), kinds.SCALED_TANH: a * np.tanh(b * x),
        kinds.THRESHOLDED_RELU: np.where(x > a, x, 0), kinds.GELU_ERF: x * (1 + erf(x / math.sqrt(2))) / 2,
        kinds.GELU_TANH: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2}


def test_activation():
    expected = np_activations(X.astype(np.float64))
    assert set(expected) == set(trt.ActivationType.__members__.values())

    def build(network, t):
        outputs = []
        for kind in expected:
            layer = network.add_activation(t, kind)
            layer.alpha, layer.beta = (-0.25, 0.25) if kind == trt.ActivationType.CLIP else (0.5, 1.5)
            assert layer.type == kind or layer.type == trt.LayerType.ACTIVATION
            outputs.append(layer.get_output(0))
        return outputs

    close(run(build, {"x": X}), [v.astype(np.float32) for v in expected.values()])


def test_unary():
    x = random(2, 7, low=0.1, high=0.9)
    kinds = trt.UnaryOperation
    functions = {
        kinds.EXP: np.exp, kinds.LOG: np.log, kinds.SQRT: np.sqrt, kinds.RECIP: np.reciprocal, kinds.ABS: np.abs,
        kinds.NEG: np.negative, kinds.SIN: np.sin, kinds.COS: np.cos, kinds.TAN: np.tan, kinds.SINH: np.sinh,
        kinds.COSH: np.cosh, kinds.ASIN: np.arcsin, kinds.ACOS: np.arccos, kinds.ATAN: np.arctan,
        kinds.ASINH: np.arcsinh, kinds.ATANH: np.arctanh, kinds.CEIL: np.ceil, kinds.FLOOR: np.floor,
        kinds.ERF: np.vectorize(math.erf), kinds.SIGN: np.sign, kinds.ROUND: np.round}
    on_big = {kinds.ACOSH: np.arccosh, kinds.ISINF: np.isinf, kinds.ISNAN: np.isnan}
    assert set(functions) | set(on_big) | {kinds.NOT} == set(kinds.__members__.values())
    big = np.array([[1.5, 2.5, np.inf, np.nan]], np.float32)
    bits = np.array([True, False, True])

    def build(network, t, u, b):
        outputs = [network.add_unary(t, k).get_output(0) for k in functions]
        outputs += [network.add_unary(u, k).get_output(0) for k in on_big]
        return outputs + [network.add_unary(b, kinds.NOT).get_output(0)]

    expected = [f(x.astype(np.float64)).astype(np.float32) for f in functions.values()]
    expected += [np.arccosh(big), np.isinf(big), np.isnan(big), ~bits]
    close(run(build, {"x": x, "big": big, "bits": bits}), expected)


def test_elementwise():
    a, b = random(2, 3, low=0.5, high=2), random(1, 3, seed=2, low=0.5, high=2)
    p, q = np.array([True, True, False, False]), np.array([True, False, True, False])
    kinds = trt.ElementWiseOperation
    numbers = {kinds.SUM: a + b, kinds.PROD: a * b, kinds.MAX: np.maximum(a, b), kinds.MIN: np.minimum(a, b),
               kinds.SUB: a - b, kinds.DIV: a / b, kinds.POW: a**b, kinds.FLOOR_DIV: np.floor(a / b),
               kinds.EQUAL: np.zeros((2, 3), bool), kinds.GREATER: a > b, kinds.LESS: a < b}
    bits = {kinds.AND: p & q, kinds.OR: p | q, kinds.XOR: p ^ q}
    assert set(numbers) | set(bits) == set(kinds.__members__.values())

    def build(network, ta, tb, tp, tq):
        outputs = [network.add_elementwise(ta, tb, k).get_output(0) for k in numbers]
        return outputs + [network.add_elementwise(tp, tq, k).get_output(0) for k in bits]

    close(run(build, {"a": a, "b": b, "p": p, "q": q}), [*numbers.values(), *bits.values()])


def test_pooling():
    def build(network, t):
        outputs = []
        for kind in (trt.PoolingType.MAX, trt.PoolingType.AVERAGE):
            layer = network.add_pooling_nd(t, kind, (2, 2))
            layer.stride_nd = (2, 1)
            outputs.append(layer.get_output(0))
        return outputs

    windows = np.lib.stride_tricks.sliding_window_view(X, (2, 2), (2, 3))[:, :, ::2]
    close(run(build, {"x": X}), [windows.max((4, 5)), windows.mean((4, 5))])


def test_lrn():
    x = random(1, 7, 2, 2)
    alpha, beta, k, size = 0.5, 0.75, 2.0, 3
    squares = np.pad(x**2, ((0, 0), (1, 1), (0, 0), (0, 0)))
    total = sum(squares[:, i:i + 7] for i in range(size))

    def build(network, t):
        layer = network.add_lrn(t, size, alpha, beta, k)
        assert layer.window_size == size and abs(layer.beta - beta) < 1e-6
        return layer.get_output(0)

    close(run(build, {"x": x}), [x / (k + alpha / size * total)**beta])


def test_scale():
    x = random(1, 3, 2, 2, low=0.5, high=1.5)
    shift, scale, power = random(3, low=0.1, high=0.5), random(3, seed=2, low=0.5, high=1), np.full(3, 2, np.float32)
    column = (1, 3, 1, 1)
    expected = (x * scale.reshape(column) + shift.reshape(column))**2

    def build(network, t):
        return [network.add_scale(t, trt.ScaleMode.CHANNEL, shift, scale, power).get_output(0),
                network.add_scale_nd(t, trt.ScaleMode.CHANNEL, shift, scale, power, 1).get_output(0)]

    close(run(build, {"x": x}), [expected, expected])


def softmax(x, axis):
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def test_softmax():
    def build(network, t):
        layer = network.add_softmax(t)
        assert layer.axes == 1 << 1
        layer.axes = 1 << 3
        return layer.get_output(0)

    close(run(build, {"x": X}), [softmax(X, 3)])


def test_ragged_softmax():
    x, lengths = random(3, 4), np.array([[1], [3], [4]], np.int32)
    expected = np.zeros_like(x)
    for row, (length,) in enumerate(lengths):
        expected[row, :length] = softmax(x[row, :length], 0)
    close(run(lambda n, t, b: n.add_ragged_softmax(t, b).get_output(0), {"x": x, "lengths": lengths}), [expected])


def test_reduce():
    kinds = trt.ReduceOperation
    functions = {kinds.SUM: np.sum, kinds.PROD: np.prod, kinds.MAX: np.max, kinds.MIN: np.min, kinds.AVG: np.mean}

    def build(network, t):
        return [network.add_reduce(t, k, 1 << 1 | 1 << 3, keep).get_output(0)
                for k in functions for keep in (True, False)]

    expected = [f(X, (1, 3), keepdims=keep) for f in functions.values() for keep in (True, False)]
    close(run(build, {"x": X}), expected)


def test_topk():
    def build(network, t):
        outputs = []
        for kind in (trt.TopKOperation.MAX, trt.TopKOperation.MIN):
            layer = network.add_topk(t, kind, 2, 1 << 3)
            assert layer.k == 2
            outputs += [layer.get_output(0), layer.get_output(1)]
        return outputs

    down, up = np.argsort(-X, 3)[..., :2].astype(np.int32), np.argsort(X, 3)[..., :2].astype(np.int32)
    close(run(build, {"x": X}), [np.take_along_axis(X, down, 3), down, np.take_along_axis(X, up, 3), up])


def test_matrix_multiply():
    a, b, v = random(2, 3, 4), random(2, 5, 4, seed=2), random(2, 4, seed=3)
    kinds = trt.MatrixOperation

    def build(network, ta, tb, tv):
        return [network.add_matrix_multiply(ta, kinds.NONE, tb, kinds.TRANSPOSE).get_output(0),
                network.add_matrix_multiply(ta, kinds.NONE, tv, kinds.VECTOR).get_output(0)]

    expected = [a @ b.transpose(0, 2, 1), np.einsum("bij,bj->bi", a, v)]
    close(run(build, {"a": a, "b": b, "v": v}), expected)


def test_einsum():
    a, b = random(2, 3, 4), random(4, 5, seed=2)
    build = lambda n, ta, tb: n.add_einsum([ta, tb], "ijk,kl->jil").get_output(0)
    close(run(build, {"a": a, "b": b}), [np.einsum("ijk,kl->jil", a, b)])


def test_parametric_relu():
    slopes = random(1, 3, 1, 1, seed=2)
    build = lambda n, t, s: n.add_parametric_relu(t, s).get_output(0)
    close(run(build, {"x": X, "slopes": slopes}), [np.where(X >= 0, X, X * slopes)])


def test_normalization():
    scale, bias = random(1, 3, 1, 1, seed=2), random(1, 3, 1, 1, seed=3)
    mean, deviation = X.mean((2, 3), keepdims=True), np.sqrt(X.var((2, 3), keepdims=True) + 1e-3)

    def build(network, t, s, b):
        layer = network.add_normalization_v2(t, s, b, 1 << 2 | 1 << 3)
        layer.epsilon = 1e-3
        assert layer.num_groups == 1 and layer.is_v2
        return layer.get_output(0)

    close(run(build, {"x": X, "scale": scale, "bias": bias}), [(X - mean) / deviation * scale + bias])


def test_cumulative():
    def build(network, t):
        axis = constant(network, 3, np.int32)
        if network.add_cumulative(t, axis, trt.CumulativeOperation.SUM, False, False) is None:
            raise Skip(complaint("no cumulative layer"))
        return [network.add_cumulative(t, axis, trt.CumulativeOperation.SUM, exclusive, reverse).get_output(0)
                for exclusive in (False, True) for reverse in (False, True)]

    forward, backward = np.cumsum(X, 3), np.flip(np.cumsum(np.flip(X, 3), 3), 3)
    close(run(build, {"x": X}), [forward, backward, forward - X, backward - X])


def test_quantize_and_dequantize():
    def build(network, t):
        scale = constant(network, 0.01)
        quantized = network.add_quantize(t, scale)
        back = network.add_dequantize(quantized.get_output(0), scale)
        assert quantized.type == trt.LayerType.QUANTIZE and back.type == trt.LayerType.DEQUANTIZE
        return back.get_output(0)

    close(run(build, {"x": X}), [np.clip(np.round(X / np.float32(0.01)), -128, 127).astype(np.float32) * 0.01], 1e-3)


def test_dynamic_quantize():
    x = random(2, 32)

    def build(network, t):
        scale = constant(network, 0.01)
        layer = network.add_dynamic_quantize(t, 1, 16, trt.fp4, trt.fp8)
        layer.set_input(1, scale)
        assert layer.type == trt.LayerType.DYNAMIC_QUANTIZE and layer.num_outputs == 2
        scales = network.add_dequantize(layer.get_output(1), scale, trt.float32).get_output(0)
        return network.add_dequantize(layer.get_output(0), scales, trt.float32).get_output(0)

    (found,) = run(build, {"x": x}, flags=1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    largest = np.abs(x.reshape(2, 2, 16)).max(2)[:, :, None]  # steps of 4-bit floats are at most a third of it apart
    assert (np.abs(found - x).reshape(2, 2, 16) <= largest * 0.2).all(), found


def test_attention():
    q, k, v = random(1, 2, 3, 8), random(1, 2, 5, 8, seed=2), random(1, 2, 5, 8, seed=3)

    def build(network, tq, tk, tv):
        attention = network.add_attention(tq, tk, tv, trt.AttentionNormalizationOp.SOFTMAX, False)
        attention.decomposable = True
        assert attention.num_inputs >= 3 and attention.decomposable
        types = {network.get_layer(i).type for i in range(network.num_layers)}
        assert {trt.LayerType.ATTENTION_INPUT, trt.LayerType.ATTENTION_OUTPUT} <= types
        return attention.get_output(0)

    expected = softmax(np.einsum("bhid,bhjd->bhij", q, k), 3) @ v
    close(run(build, {"q": q, "k": k, "v": v}), [expected])


def test_rotary_embedding():
    x, angles = random(1, 2, 3, 4), random(1, 3, 2, seed=2)
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = x[..., :2], x[..., 2:]
    expected = np.concatenate([first * cos[:, None] - second * sin[:, None],
                               second * cos[:, None] + first * sin[:, None]], 3)
    build = lambda n, t, c, s: n.add_rotary_embedding(t, c, s, False, 0).get_output(0)
    close(run(build, {"x": x, "cos": cos, "sin": sin}), [expected])


def test_mixture_of_experts():
    hidden, inner, experts = 8, 16, 3
    x = random(1, 4, hidden)
    chosen = np.array([[[0, 1], [1, 2], [2, 0], [0, 2]]], np.int32)
    scores = random(1, 4, 2, seed=2, low=0.1, high=0.9)
    gate, up = random(experts, hidden, inner, seed=3), random(experts, hidden, inner, seed=4)
    down = random(experts, inner, hidden, seed=5)
    expected = np.zeros_like(x)
    for token in range(4):
        for expert, score in zip(chosen[0, token], scores[0, token]):
            g = x[0, token] @ gate[expert]
            expected[0, token] += score * ((g / (1 + np.exp(-g)) * (x[0, token] @ up[expert])) @ down[expert])

    def build(network, t, c, s):
        layer = network.add_moe(t, c, s)
        weights = [constant(network, w) for w in (gate, up, down)]
        layer.set_gated_weights(*weights, trt.MoEActType.SILU)
        assert layer.type == trt.LayerType.MOE and layer.activation_type == trt.MoEActType.SILU
        return layer.get_output(0)

    close(run(build, {"x": x, "chosen": chosen, "scores": scores}), [expected])
