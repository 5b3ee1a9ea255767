# SPDX-License-Identifier: Apache-2.0
"""Quantized convolutions, products and the operators between them, for operator_speed.py --apart."""
import functools

import numpy as np
import onnx
from onnx import helper

from operator_models import KINDS, RANDOM, Case, values

SMALL = np.float32(0.02)


def zero(kind, value):
    return KINDS[kind][1](value)


def signed(*shape):
    return RANDOM.integers(-100, 100, shape).astype(np.int8)


def microsoft(op, inputs, attributes):
    """`inputs`: (type, shape) is an input, an array a constant, in their order."""
    names, data, infos, initializers = [], {}, [], []
    for i, value in enumerate(inputs):
        if isinstance(value, tuple):
            names.append(f"x{i}")
            data[names[-1]] = values(value[0], value[1])
            infos.append(helper.make_tensor_value_info(names[-1], KINDS[value[0]][0], value[1]))
        else:
            names.append(f"c{i}")
            initializers.append(onnx.numpy_helper.from_array(np.asarray(value), names[-1]))
    node = helper.make_node(op, names, ["y0"], domain="com.microsoft", **attributes)
    kind = next(value[0] for value in inputs if isinstance(value, tuple))
    graph = helper.make_graph([node], "operator", infos, [helper.make_tensor_value_info("y0", KINDS[kind][0], None)], initializers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return Case(helper.make_model(graph, opset_imports=opsets, ir_version=10), data, {value[0] for value in inputs if isinstance(value, tuple)})


def convolutions(table):
    for name, channels, filters, size, window, attributes in (
            ("3x3 64 to 64", 64, 64, 56, 3, {"pads": [1, 1, 1, 1]}), ("1x1 32 to 64", 32, 64, 56, 1, {}), ("1x1 256 to 64", 256, 64, 28, 1, {}),
            ("3x3 stride 2", 64, 128, 56, 3, {"pads": [1, 1, 1, 1], "strides": [2, 2]}), ("7x7 image", 3, 64, 112, 7, {"pads": [3, 3, 3, 3], "strides": [2, 2]}),
            ("3x3 512", 512, 512, 7, 3, {"pads": [1, 1, 1, 1]}), ("dilated", 32, 32, 40, 3, {"pads": [2, 2, 2, 2], "dilations": [2, 2]}),
            ("groups", 64, 64, 28, 3, {"pads": [1, 1, 1, 1], "group": 4}), ("odd", 13, 17, 31, 3, {})):
        weights = signed(filters, channels // attributes.get("group", 1), window, window)
        x = (1, channels, size, size)
        for kind in ("u8", "i8"):
            constants = [SMALL, zero(kind, 3), weights, np.full(filters, 0.01, np.float32), np.zeros(filters, np.int8), np.float32(0.5), zero(kind, 5),
                         np.arange(filters, dtype=np.int32)]
            table.add(f"QLinearConv {kind} {name}", "QLinearConv", [(kind, x)], constants, **attributes)
        table.add(f"ConvInteger {name}", "ConvInteger", [("u8", x)], [weights, np.uint8(3)], **attributes)
    for name, channels, size, window, attributes in (("3x3", 32, 56, 3, {"pads": [1, 1, 1, 1]}), ("3x3 stride 2", 96, 56, 3, {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
                                                     ("5x5", 48, 28, 5, {"pads": [2, 2, 2, 2]})):
        constants = [SMALL, np.uint8(3), signed(channels, 1, window, window), np.full(channels, 0.01, np.float32), np.zeros(channels, np.int8), np.float32(0.5), np.uint8(5)]
        table.add(f"QLinearConv depthwise {name}", "QLinearConv", [("u8", (1, channels, size, size))], constants, group=channels, **attributes)


def products(table):
    for m, k, n in ((197, 768, 768), (1, 768, 768), (16, 256, 64), (97, 101, 103)):
        b = signed(k, n)
        table.add(f"QLinearMatMul {m}x{k}x{n}", "QLinearMatMul", [("u8", (m, k))], [SMALL, np.uint8(3), b, SMALL, np.int8(0), np.float32(1), np.uint8(9)])
        table.add(f"QLinearMatMul per column {m}x{k}x{n}", "QLinearMatMul", [("u8", (m, k))],
                  [SMALL, np.uint8(3), b, np.full(n, 0.02, np.float32), np.zeros(n, np.int8), np.float32(1), np.uint8(9)])
        table.add(f"MatMulInteger {m}x{k}x{n}", "MatMulInteger", [("u8", (m, k))], [b, np.uint8(3)])
        table.add(f"MatMulInteger u8 u8 {m}x{k}x{n}", "MatMulInteger", [("u8", (m, k))], [b.view(np.uint8), np.uint8(3), np.uint8(120)])


def between(table, n):
    image = (1, 64, 56, 56)

    def add(name, op, inputs, **attributes):
        table[name] = functools.partial(microsoft, op, inputs, attributes)

    for kind in ("u8", "i8"):
        q, r = (SMALL, zero(kind, 3)), (np.float32(0.03), zero(kind, 5))
        for op in ("QLinearAdd", "QLinearMul"):
            add(f"{op} {kind}", op, [(kind, n), *q, (kind, n), *r, np.float32(0.05), zero(kind, 1)])
        for op in ("QLinearSigmoid", "QLinearLeakyRelu"):
            add(f"{op} {kind}", op, [(kind, n), *q, *r])
        add(f"QLinearSoftmax {kind}", "QLinearSoftmax", [(kind, n), *q, np.float32(1 / 256), zero(kind, 0)], opset=13, axis=-1)
        add(f"QLinearGlobalAveragePool {kind}", "QLinearGlobalAveragePool", [(kind, image), *q, *r])
        add(f"QLinearAveragePool {kind} 3x3", "QLinearAveragePool", [(kind, image), *q, *r], kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2])
        add(f"QLinearAveragePool {kind} 2x2", "QLinearAveragePool", [(kind, image), *q, *r], kernel_shape=[2, 2], strides=[2, 2])
        add(f"QLinearReduceMean {kind}", "QLinearReduceMean", [(kind, n), *q, *r], axes=[-1], keepdims=1)
    add("QLinearConcat u8", "QLinearConcat", [np.float32(0.05), np.uint8(1), ("u8", n), SMALL, np.uint8(3), ("u8", n), np.float32(0.03), np.uint8(5)], axis=1)


def add_cases(table, n):
    convolutions(table)
    products(table)
    between(table, n)
