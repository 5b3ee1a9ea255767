# SPDX-License-Identifier: Apache-2.0
"""The cases of operator_speed.py: every ONNX operator that computes on data, in the types and along the axes that kernels
tell apart."""
import itertools

import numpy as np

from operator_models import KINDS, RANDOM, Table, weights


def elementwise(table, n):
    a, b, c = n
    for op in ("Abs", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "HardSwish", "LeakyRelu", "Log", "Neg", "Reciprocal",
               "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin", "Sinh", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "ThresholdedRelu",
               "Atan", "Asinh", "IsNaN", "Celu"):
        table.add(f"{op} f32", op, [("f32", n)])
    for op in ("Acos", "Asin", "Atanh"):
        table.add(f"{op} f32", op, [("f32", n, -1, 1)])
    table.add("Acosh f32", "Acosh", [("f32", n)])
    table.add("IsInf f32", "IsInf", [("f32", n)])
    table.add("Gelu f32", "Gelu", [("f32", n)], opset=20)
    table.add("Gelu tanh f32", "Gelu", [("f32", n)], opset=20, approximate="tanh")
    table.add("Mish f32", "Mish", [("f32", n)], opset=18)
    table.add("Shrink f32", "Shrink", [("f32", n)], lambd=3.0)
    for op in ("Sigmoid", "Tanh", "Exp", "Sqrt", "Relu", "Abs", "Erf"):
        table.add(f"{op} f16", op, [("f16", n)])
    for op in ("Abs", "Neg", "Sign"):
        for t in ("i32", "i64", "i8"):
            table.add(f"{op} {t}", op, [(t, n, -8, 8)])
    table.add("Relu i32", "Relu", [("i32", n, -8, 8)])
    table.add("Clip f32", "Clip", [("f32", n)], [np.float32(2), np.float32(5)])
    table.add("Clip i64", "Clip", [("i64", n)], [np.int64(2), np.int64(5)])
    table.add("Clip u8", "Clip", [("u8", n)], [np.uint8(2), np.uint8(5)])
    table.add("PRelu f32 per channel", "PRelu", [("f32", n, -4, 4)], [weights(b, 1)])
    table.add("Not bool", "Not", [("bool", n)])
    table.add("BitwiseNot i32", "BitwiseNot", [("i32", n)], opset=18)
    for t in ("f32", "f16", "i32", "i64", "u8", "i8"):
        ops = ("Add", "Mul", "Sub", "Div", "Max") if t not in ("u8", "i8") else ("Add", "Max")
        for op in ops:
            table.add(f"{op} {t}", op, [(t, n), (t, n)])
    shapes = {"row": (c,), "column": (b, 1), "plane": (b, c), "outer": (a, 1, 1), "scalar": (1,), "ends": (a, 1, c)}
    for key, shape in shapes.items():
        table.add(f"Add f32 {key}", "Add", [("f32", n), ("f32", shape)])
        table.add(f"Greater f32 {key}", "Greater", [("f32", n), ("f32", shape)])
        table.add(f"Mul i64 {key}", "Mul", [("i64", n), ("i64", shape)])
    for t in ("f32", "i32", "i64", "f16"):
        table.add(f"Equal {t} outer product", "Equal", [(t, (a, b, 1)), (t, (1, 1, c))])
        table.add(f"Add {t} outer product", "Add", [(t, (a, b, 1)), (t, (1, 1, c))])
        table.add(f"Less {t}", "Less", [(t, n), (t, n)])
    table.add("LessOrEqual f32", "LessOrEqual", [("f32", n), ("f32", n)])
    table.add("GreaterOrEqual i64 scalar", "GreaterOrEqual", [("i64", n), ("i64", (1,))])
    table.add("Equal u8", "Equal", [("u8", n), ("u8", n)])
    table.add("Equal bool", "Equal", [("bool", n), ("bool", n)])
    for op in ("And", "Or", "Xor"):
        table.add(f"{op} bool", op, [("bool", n), ("bool", n)])
    table.add("And bool outer product", "And", [("bool", (a, b, 1)), ("bool", (1, 1, c))])
    table.add("And bool row", "And", [("bool", n), ("bool", (c,))])
    table.add("Pow f32", "Pow", [("f32", n), ("f32", n)])
    table.add("Pow f32 square", "Pow", [("f32", n)], [np.float32(2)])
    table.add("Pow f32 cube", "Pow", [("f32", n)], [np.float32(3)])
    table.add("Pow f32 half", "Pow", [("f32", n)], [np.float32(0.5)])
    table.add("Pow f32 2.2", "Pow", [("f32", n)], [np.float32(2.2)])
    table.add("Pow i32", "Pow", [("i32", n), ("i32", n)])
    table.add("Pow i64 square", "Pow", [("i64", n)], [np.int64(2)])
    for t in ("i32", "i64", "u8", "i8"):
        table.add(f"Mod {t}", "Mod", [(t, n), (t, n)])
    table.add("Mod i64 scalar", "Mod", [("i64", n), ("i64", (1,))])
    table.add("Div i64 scalar", "Div", [("i64", n), ("i64", (1,))])
    table.add("Mod f32", "Mod", [("f32", n), ("f32", n)], fmod=1)
    for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        table.add(f"{op} i32", op, [("i32", n), ("i32", n)], opset=18)
    table.add("BitShift u8 left", "BitShift", [("u8", n), ("u8", n)], direction="LEFT")
    for t in ("f32", "i32", "i64", "u8", "f16"):
        table.add(f"Where {t}", "Where", [("bool", n), (t, n), (t, n)])
    table.add("Where f32 row condition", "Where", [("bool", (c,)), ("f32", n), ("f32", n)])
    table.add("Where f32 column condition", "Where", [("bool", (b, 1)), ("f32", n), ("f32", n)])
    table.add("Where f32 scalar else", "Where", [("bool", n), ("f32", n)], [np.float32(0)])
    table.add("Where i64 scalars", "Where", [("bool", n)], [np.int64(3), np.int64(5)])
    table.add("Sum of 3 f32", "Sum", [("f32", n)] * 3)
    table.add("Mean of 3 f32", "Mean", [("f32", n)] * 3)
    table.add("Max of 3 i64", "Max", [("i64", n)] * 3)
    kinds = ("f32", "f16", "i32", "i64", "u8", "i8", "bool")
    for x, y in itertools.permutations(kinds, 2):
        table.add(f"Cast {x} to {y}", "Cast", [(x, n)], to=KINDS[y][0])
    table.add("Cast f32 to bf16", "Cast", [("f32", n)], to=KINDS["bf16"][0])
    table.add("Cast bf16 to f32", "Cast", [("bf16", n)], to=KINDS["f32"][0])


def reductions(table, n):
    a, b, c = n
    sets = ([0], [1], [2], [0, 1], [1, 2], [0, 2], [0, 1, 2])
    for axes in sets:
        name = "axes " + " ".join(map(str, axes))
        table.add(f"ReduceSum f32 {name}", "ReduceSum", [("f32", n)], [np.array(axes)])
        for op in ("ReduceMean", "ReduceMax", "ReduceL2"):
            table.add(f"{op} f32 {name}", op, [("f32", n)], axes=axes)
        for t in ("i32", "i64"):
            table.add(f"ReduceMax {t} {name}", "ReduceMax", [(t, n)], axes=axes)
            table.add(f"ReduceSum {t} {name}", "ReduceSum", [(t, n)], [np.array(axes)])
    for op in ("ReduceL1", "ReduceLogSum", "ReduceLogSumExp", "ReduceMin", "ReduceProd", "ReduceSumSquare"):
        for axes in ([0], [1], [2], [0, 2]):
            table.add(f"{op} f32 axes {' '.join(map(str, axes))}", op, [("f32", n, 0.9, 1.1)], axes=axes)
    table.add("ReduceMean f16 axes 2", "ReduceMean", [("f16", n)], axes=[2])
    table.add("ReduceMax u8 axes 2", "ReduceMax", [("u8", n)], axes=[2])
    table.add("ReduceMax i8 axes 1", "ReduceMax", [("i8", n)], axes=[1])
    table.add("ReduceMean f32 no dims", "ReduceMean", [("f32", n)], axes=[1], keepdims=0)
    table.add("ReduceMean f32 rank 4 axes 2 3", "ReduceMean", [("f32", (4, 256, 16, 16))], axes=[2, 3])
    table.add("ReduceMean f32 rank 4 axes 1 3", "ReduceMean", [("f32", (4, 256, 16, 16))], axes=[1, 3])
    table.add("ReduceSum f32 rows of 3", "ReduceSum", [("f32", (a * b, c // 3, 3))], [np.array([2])])
    for axis in (0, 1, 2):
        for op in ("Softmax", "LogSoftmax", "Hardmax"):
            table.add(f"{op} f32 axis {axis}", op, [("f32", n)], axis=axis)
        for op, t in itertools.product(("ArgMax", "ArgMin"), ("f32", "i32")):
            table.add(f"{op} {t} axis {axis}", op, [(t, n)], axis=axis)
        for t in ("f32", "i64", "i32"):
            table.add(f"CumSum {t} axis {axis}", "CumSum", [(t, n)], [np.int64(axis)])
        for k in (1, 5, 50):
            if k <= n[axis]:
                table.add(f"TopK f32 axis {axis} k {k}", "TopK", [("f32", n)], [np.array([k])], outputs=2, axis=axis)
        table.add(f"LpNormalization f32 axis {axis}", "LpNormalization", [("f32", n)], axis=axis)
    table.add("Softmax f16 axis 2", "Softmax", [("f16", n)], axis=2)
    table.add("Softmax f32 rows of 32", "Softmax", [("f32", (1024, 32, 32))], axis=2)
    table.add("Softmax f32 rows of 3", "Softmax", [("f32", (4096, 32, 3))], axis=2)
    table.add("CumSum f32 reverse exclusive", "CumSum", [("f32", n)], [np.int64(2)], reverse=1, exclusive=1)
    table.add("TopK i64 k 3", "TopK", [("i64", n)], [np.array([3])], outputs=2, axis=2)
    table.add("TopK f32 smallest k 3", "TopK", [("f32", n)], [np.array([3])], outputs=2, axis=2, largest=0)
    table.add("TopK f32 whole line", "TopK", [("f32", n)], [np.array([c])], outputs=2, axis=2)
    table.add("ArgMax u8 axis 2", "ArgMax", [("u8", n)], axis=2)


def normalizations(table, n):
    a, b, c = n
    table.add("LayerNormalization last", "LayerNormalization", [("f32", n)], [weights(c), weights(c)], axis=-1)
    table.add("LayerNormalization two axes", "LayerNormalization", [("f32", n)], [weights(b, c), weights(b, c)], axis=1)
    table.add("LayerNormalization f16", "LayerNormalization", [("f16", n)], [weights(c).astype(np.float16), weights(c).astype(np.float16)], axis=-1)
    table.add("LayerNormalization rows of 32", "LayerNormalization", [("f32", (4096, 4, 32))], [weights(32), weights(32)], axis=-1)
    table.add("RMSNormalization last", "RMSNormalization", [("f32", n)], [weights(c)], axis=-1, opset=23)
    table.add("InstanceNormalization", "InstanceNormalization", [("f32", (8, 32, 64, 64))], [weights(32), weights(32)])
    table.add("InstanceNormalization 1d", "InstanceNormalization", [("f32", n)], [weights(b), weights(b)])
    table.add("GroupNormalization", "GroupNormalization", [("f32", (2, 64, 64, 64))], [weights(64), weights(64)], num_groups=8, opset=21)
    table.add("BatchNormalization", "BatchNormalization", [("f32", (2, 64, 64, 64))], [weights(64), weights(64), weights(64), np.abs(weights(64)) + 0.5])
    table.add("BatchNormalization 1d", "BatchNormalization", [("f32", n)], [weights(b), weights(b), weights(b), np.abs(weights(b)) + 0.5])
    table.add("LRN", "LRN", [("f32", (1, 64, 56, 56))], size=5)
    table.add("MeanVarianceNormalization", "MeanVarianceNormalization", [("f32", (2, 64, 64, 64))])


def movement(table, n):
    a, b, c = n
    for t in ("f32", "f16", "i64", "u8"):
        for order in ((2, 1, 0), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1)):
            table.add(f"Transpose {t} {' '.join(map(str, order))}", "Transpose", [(t, n)], perm=order)
        for axis in (0, 1, 2):
            table.add(f"Concat {t} axis {axis}", "Concat", [(t, n), (t, n)], axis=axis)
        table.add(f"Gather {t} rows", "Gather", [(t, (30000, 64)), ("i64", (a, b), 0, 30000)])
        table.add(f"Gather {t} axis 1", "Gather", [(t, n), ("i64", (b,), 0, b)], axis=1)
        table.add(f"Gather {t} axis 2", "Gather", [(t, n), ("i64", (c,), 0, c)], axis=2)
        table.add(f"Slice {t} step 2", "Slice", [(t, n)], [np.array([0]), np.array([2**40]), np.array([2]), np.array([2])])
        table.add(f"Slice {t} reversed", "Slice", [(t, n)], [np.array([-1]), np.array([-2**40]), np.array([2]), np.array([-1])])
        table.add(f"Tile {t}", "Tile", [(t, n)], [np.array([1, 2, 2])])
        table.add(f"Expand {t} row", "Expand", [(t, (1, 1, c))], [np.array(n)])
        table.add(f"Expand {t} column", "Expand", [(t, (a, b, 1))], [np.array(n)])
        table.add(f"Pad {t} constant", "Pad", [(t, n)], [np.array([0, 2, 3, 1, 2, 5])])
    for axis in (0, 1, 2):
        table.add(f"GatherElements f32 axis {axis}", "GatherElements", [("f32", n), ("i64", n, 0, n[axis])], axis=axis)
        table.add(f"ScatterElements f32 axis {axis}", "ScatterElements", [("f32", n), ("i64", n, 0, n[axis]), ("f32", n)], axis=axis)
        table.add(f"Slice f32 half of axis {axis}", "Slice", [("f32", n)], [np.array([n[axis] // 4]), np.array([n[axis] * 3 // 4]), np.array([axis])])
        if n[axis] > 1:
            table.add(f"Split f32 axis {axis}", "Split", [("f32", n)], [np.array([n[axis] // 2, n[axis] - n[axis] // 2])], outputs=2, axis=axis)
    table.add("GatherElements i64 axis 2", "GatherElements", [("i64", n), ("i64", n, 0, c)], axis=2)
    table.add("GatherElements u8 axis 2", "GatherElements", [("u8", n), ("i32", n, 0, c)], axis=2)
    table.add("Gather f32 scalar index", "Gather", [("f32", n)], [np.int64(1)], axis=1)
    table.add("Gather f32 i32 rows of 1", "Gather", [("f32", (30000,)), ("i32", n, 0, 30000)])
    table.add("GatherND f32", "GatherND", [("f32", n), ("i64", (a * b, 2), 0, min(a, b))])
    table.add("GatherND f32 elements", "GatherND", [("f32", n), ("i64", (a * b * 16, 3), 0, min(n))])
    table.add("GatherND f32 batch", "GatherND", [("f32", n), ("i64", (a, b, 1), 0, b)], batch_dims=1)
    table.add("ScatterND f32 rows", "ScatterND", [("f32", n), ("i64", (b, 2), 0, min(a, b)), ("f32", (b, c))])
    table.add("ScatterND f32 elements", "ScatterND", [("f32", n), ("i64", (a * b * 16, 3), 0, min(n)), ("f32", (a * b * 16,))])
    table.add("ScatterND f32 add", "ScatterND", [("f32", n), ("i64", (b, 2), 0, min(a, b)), ("f32", (b, c))], reduction="add")
    table.add("ScatterElements f32 add", "ScatterElements", [("f32", (64, 64)), ("i64", (64, 64), 0, 64), ("f32", (64, 64))], axis=1, reduction="add")
    table.add("Compress f32", "Compress", [("f32", n)], [np.arange(b) % 2 == 0], axis=1)
    for mode in ("reflect", "edge"):
        for t in ("f32", "u8"):
            table.add(f"Pad {t} {mode}", "Pad", [(t, (1, 16, 256, 256))], [np.array([0, 0, 4, 4, 0, 0, 4, 4])], mode=mode)
    table.add("Pad f32 wrap", "Pad", [("f32", (1, 16, 256, 256))], [np.array([0, 0, 4, 4, 0, 0, 4, 4])], mode="wrap", opset=19)
    table.add("Pad f32 value", "Pad", [("f32", (1, 16, 256, 256))], [np.array([0, 0, 4, 4, 0, 0, 4, 4]), np.float32(3)])
    table.add("Slice f32 steps 2 2", "Slice", [("f32", n)], [np.array([0, 1]), np.array([2**40] * 2), np.array([1, 2]), np.array([2, 2])])
    table.add("Slice f32 step 3", "Slice", [("f32", n)], [np.array([0]), np.array([2**40]), np.array([2]), np.array([3])])
    table.add("Transpose f32 rank 4 to channels last", "Transpose", [("f32", (4, 64, 64, 64))], perm=(0, 2, 3, 1))
    table.add("Transpose f32 rank 4 to channels first", "Transpose", [("f32", (4, 64, 64, 64))], perm=(0, 3, 1, 2))
    table.add("Transpose f32 rank 4 heads", "Transpose", [("f32", (4, 128, 12, 64))], perm=(0, 2, 1, 3))
    table.add("Transpose f32 rank 4 reversed", "Transpose", [("f32", (16, 16, 64, 64))], perm=(3, 2, 1, 0))
    table.add("Transpose f32 rank 5", "Transpose", [("f32", (8, 16, 16, 16, 32))], perm=(0, 3, 1, 4, 2))
    table.add("Transpose f32 rank 6", "Transpose", [("f32", (2, 8, 16, 8, 16, 32))], perm=(0, 1, 3, 2, 4, 5))
    table.add("Transpose bool rank 4", "Transpose", [("bool", (4, 64, 64, 64))], perm=(0, 2, 3, 1))
    table.add("Concat f32 8 parts axis 1", "Concat", [("f32", (a, 16, 32, 32))] * 8, axis=1)
    table.add("DepthToSpace", "DepthToSpace", [("f32", (2, 64, 64, 64))], blocksize=2)
    table.add("DepthToSpace CRD", "DepthToSpace", [("f32", (2, 64, 64, 64))], blocksize=2, mode="CRD")
    table.add("SpaceToDepth", "SpaceToDepth", [("f32", (2, 16, 128, 128))], blocksize=2)
    table.add("ReverseSequence", "ReverseSequence", [("f32", n), ("i64", (b,), 1, a)])
    table.add("Trilu upper", "Trilu", [("f32", (16, 256, 256))])
    table.add("Trilu lower k 3", "Trilu", [("f32", (16, 256, 256))], [np.int64(3)], upper=0)
    table.add("OneHot f32", "OneHot", [("i64", (a, b), 0, 1000)], [np.int64(1000), np.array([0, 1], np.float32)])
    table.add("OneHot i64 axis 0", "OneHot", [("i64", (a, b), 0, 1000)], [np.int64(1000), np.array([0, 1], np.int64)], axis=0)
    table.add("NonZero f32", "NonZero", [("f32", n, 0, 4)])
    table.add("NonZero bool", "NonZero", [("bool", n)])
    table.add("Col2Im", "Col2Im", [("f32", (1, 16 * 9, 64 * 64))], [np.array([64, 64]), np.array([3, 3])], opset=18, pads=[1, 1, 1, 1])


def images(table, n):
    picture = (1, 16, 128, 128)
    for mode, scale, transform in itertools.product(("nearest", "linear", "cubic"), (2.0, 0.5, 1.7), ("half_pixel", "asymmetric", "align_corners")):
        if (mode, transform) in (("nearest", "half_pixel"), ("cubic", "asymmetric")) and scale == 1.7:
            continue
        extra = {"cubic_coeff_a": -0.5} if mode == "cubic" else {}
        table.add(f"Resize {mode} {scale} {transform}", "Resize", [("f32", picture)], [None, np.array([1, 1, scale, scale], np.float32)], mode=mode,
                  coordinate_transformation_mode=transform, **extra)
    table.add("Resize nearest 2 u8", "Resize", [("u8", picture)], [None, np.array([1, 1, 2, 2], np.float32)], mode="nearest", coordinate_transformation_mode="asymmetric")
    table.add("Resize linear 2 channels last", "Resize", [("f32", (1, 128, 128, 16))], [None, np.array([1, 2, 2, 1], np.float32)], mode="linear")
    table.add("Resize linear 1d", "Resize", [("f32", (1, 64, 8000))], [None, np.array([1, 1, 2], np.float32)], mode="linear")
    table.add("Resize linear 3d", "Resize", [("f32", (1, 8, 16, 32, 32))], [None, np.array([1, 1, 2, 2, 2], np.float32)], mode="linear")
    for mode in ("linear", "nearest", "cubic"):
        table.add(f"GridSample {mode}", "GridSample", [("f32", (1, 16, 96, 96)), ("f32", (1, 96, 96, 2), -1, 1)], mode=mode, opset=20)
    table.add("GridSample border", "GridSample", [("f32", (1, 16, 96, 96)), ("f32", (1, 96, 96, 2), -1.2, 1.2)], mode="linear", padding_mode="border", opset=20)
    table.add("RoiAlign", "RoiAlign", [("f32", (1, 32, 50, 50)), ("f32", (64, 4), 1, 40)], [np.zeros(64, np.int64)], output_height=7, output_width=7, sampling_ratio=2)
    for window, stride, pad in ((2, 2, 0), (3, 1, 1), (3, 2, 1), (5, 1, 2), (2, 1, 0), (7, 3, 3)):
        shape = dict(kernel_shape=[window] * 2, strides=[stride] * 2, pads=[pad] * 4)
        table.add(f"MaxPool {window} by {stride}", "MaxPool", [("f32", (1, 64, 112, 112))], **shape)
        table.add(f"AveragePool {window} by {stride}", "AveragePool", [("f32", (1, 64, 112, 112))], **shape)
    table.add("AveragePool padded", "AveragePool", [("f32", (1, 64, 112, 112))], kernel_shape=[3, 3], pads=[1] * 4, count_include_pad=1)
    table.add("MaxPool 13 by 1 small", "MaxPool", [("f32", (1, 256, 13, 13))], kernel_shape=[13, 13], pads=[6] * 4)
    table.add("MaxPool dilated", "MaxPool", [("f32", (1, 64, 112, 112))], kernel_shape=[3, 3], dilations=[2, 2])
    table.add("MaxPool indices", "MaxPool", [("f32", (1, 64, 112, 112))], outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    table.add("MaxPool u8", "MaxPool", [("u8", (1, 64, 112, 112))], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    table.add("MaxPool 1d", "MaxPool", [("f32", (4, 64, 4000))], kernel_shape=[3], strides=[2])
    table.add("AveragePool 1d", "AveragePool", [("f32", (4, 64, 4000))], kernel_shape=[4], strides=[4])
    table.add("MaxPool 3d", "MaxPool", [("f32", (1, 16, 16, 48, 48))], kernel_shape=[3] * 3, strides=[2] * 3, pads=[1] * 6)
    table.add("AveragePool 3d", "AveragePool", [("f32", (1, 16, 16, 48, 48))], kernel_shape=[2] * 3, strides=[2] * 3)
    table.add("AveragePool ceil", "AveragePool", [("f32", (1, 64, 111, 111))], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    table.add("LpPool", "LpPool", [("f32", (1, 64, 112, 112))], kernel_shape=[3, 3], strides=[2, 2])
    for op in ("GlobalAveragePool", "GlobalMaxPool"):
        table.add(op, op, [("f32", (4, 256, 28, 28))])
        table.add(f"{op} 7x7", op, [("f32", (16, 512, 7, 7))])


def contractions(table, n):
    def product(name, left, right, constant=True, kind="f32"):
        table.add(f"MatMul {name}", "MatMul", [(kind, left)] + ([] if constant else [(kind, right)]), [weights(*right)] if constant else [])

    for rows, depth, columns in ((1, 1024, 1024), (16, 1024, 4096), (197, 768, 768), (512, 512, 512), (2049, 33, 17), (2049, 512, 33), (7, 131, 9),
                                 (1, 33, 2049), (3, 3000, 3), (64, 2048, 1), (128, 128, 128), (100, 1000, 10)):
        product(f"{rows}x{depth}x{columns}", (rows, depth), (depth, columns))
    for rows, depth, columns in ((512, 512, 512), (1, 1024, 1024), (197, 64, 197), (2049, 33, 17)):
        product(f"{rows}x{depth}x{columns} both computed", (rows, depth), (depth, columns), False)
    product("batched 48x96x64x96", (48, 96, 64), (48, 64, 96), False)
    product("batched heads", (4, 12, 128, 64), (4, 12, 64, 128), False)
    product("batched 1000x8x8x8", (1000, 8, 8), (1000, 8, 8), False)
    product("batched 256x1x64x64", (256, 1, 64), (256, 64, 64), False)
    product("batch with weights", (8, 128, 256), (256, 256))
    product("broadcast batch", (8, 64, 64), (1, 64, 128), False)
    product("matrix by vector", (512, 1024), (1024,), False)
    product("vector by matrix", (1024,), (1024, 512), False)
    product("batched i32", (8, 64, 64), (8, 64, 64), False, "i32")
    for a, b in itertools.product((0, 1), repeat=2):
        left, right = (256, 200) if not a else (200, 256), (200, 300) if not b else (300, 200)
        table.add(f"Gemm transA {a} transB {b}", "Gemm", [("f32", left)], [weights(*right), weights(300)], transA=a, transB=b)
        table.add(f"Gemm transA {a} transB {b} both computed", "Gemm", [("f32", left), ("f32", right)], transA=a, transB=b)
    table.add("Gemm one row", "Gemm", [("f32", (1, 2048))], [weights(1000, 2048), weights(1000)], transB=1)
    table.add("Gemm alpha beta", "Gemm", [("f32", (64, 256)), ("f32", (256, 128)), ("f32", (64, 128))], alpha=0.5, beta=2.0)
    for equation, left, right in (("bij,bjk->bik", (16, 64, 64), (16, 64, 64)), ("bhid,bhjd->bhij", (4, 8, 64, 64), (4, 8, 64, 64)),
                                  ("bhij,bhjd->bhid", (4, 8, 64, 64), (4, 8, 64, 64)), ("ij,ij->i", (512, 512), (512, 512)), ("i,j->ij", (1000,), (1000,)),
                                  ("bid,dhe->bhie", (4, 128, 64), (64, 8, 16)), ("ijk,jil->kl", (16, 32, 64), (32, 16, 64))):
        table.add(f"Einsum {equation}", "Einsum", [("f32", left), ("f32", right)], equation=equation)
    table.add("Einsum ij->ji", "Einsum", [("f32", (512, 768))], equation="ij->ji")
    table.add("Einsum bij->bi", "Einsum", [("f32", (16, 256, 256))], equation="bij->bi")

    def convolution(name, x, w, op="Conv", **attributes):
        table.add(f"{op} {name}", op, [("f32", x)], [weights(*w)], **attributes)

    convolution("1d 1 to 1 of 256 by 2", (1, 1, 44098), (1, 1, 256), strides=[2])
    convolution("1d 1 to 32 of 512 by 160", (1, 1, 16000), (32, 1, 512), strides=[160])
    convolution("1d 64 to 64 of 3", (1, 64, 2000), (64, 64, 3))
    convolution("1d depthwise of 31", (1, 144, 500), (144, 1, 31), group=144, pads=[15, 15])
    convolution("1d depthwise of 4 causal", (1, 256, 1000), (256, 1, 4), group=256, pads=[3, 0])
    convolution("1d 80 to 384 of 3", (1, 80, 3000), (384, 80, 3), pads=[1, 1])
    convolution("2d 3 to 8 of 3", (1, 3, 256, 256), (8, 3, 3, 3), pads=[1] * 4)
    convolution("2d 8 to 1 of 5", (1, 8, 200, 200), (1, 8, 5, 5), pads=[2] * 4)
    convolution("2d 1 to 8 of 5", (1, 1, 200, 200), (8, 1, 5, 5), pads=[2] * 4)
    convolution("2d 1 to 1 of 3", (1, 1, 512, 512), (1, 1, 3, 3), pads=[1] * 4)
    convolution("2d 2 to 3 of 3 by 2", (1, 2, 256, 256), (3, 2, 3, 3), strides=[2, 2])
    convolution("2d 64 to 3 of 1", (1, 64, 128, 128), (3, 64, 1, 1))
    convolution("2d 3 to 64 of 7 by 2", (1, 3, 224, 224), (64, 3, 7, 7), strides=[2, 2], pads=[3] * 4)
    convolution("2d 64 to 64 of 3", (1, 64, 56, 56), (64, 64, 3, 3), pads=[1] * 4)
    convolution("2d 64 to 128 of 3 by 2", (1, 64, 56, 56), (128, 64, 3, 3), pads=[1] * 4, strides=[2, 2])
    convolution("2d 256 to 256 of 1", (1, 256, 28, 28), (256, 256, 1, 1))
    convolution("2d 256 to 64 of 1 batch 8", (8, 256, 14, 14), (64, 256, 1, 1))
    convolution("2d 32 to 32 of 1x7", (1, 32, 64, 64), (32, 32, 1, 7), pads=[0, 3, 0, 3])
    convolution("2d 32 to 32 of 7x1", (1, 32, 64, 64), (32, 32, 7, 1), pads=[3, 0, 3, 0])
    convolution("2d dilated 32", (1, 32, 64, 64), (32, 32, 3, 3), dilations=[4, 4], pads=[4] * 4)
    convolution("2d groups of 8", (1, 64, 64, 64), (64, 8, 3, 3), group=8, pads=[1] * 4)
    convolution("2d groups of 4 by 2", (1, 128, 56, 56), (128, 4, 3, 3), group=32, pads=[1] * 4, strides=[2, 2])
    convolution("2d patches of 16", (1, 3, 224, 224), (192, 3, 16, 16), strides=[16, 16])
    convolution("2d 13 to 29 of 3", (1, 13, 61, 47), (29, 13, 3, 3), pads=[1] * 4)
    for window, stride in ((3, 1), (3, 2), (5, 1), (7, 1), (9, 1)):
        convolution(f"2d depthwise {window} by {stride}", (1, 64, 64, 64), (64, 1, window, window), group=64, pads=[window // 2] * 4, strides=[stride] * 2)
    convolution("2d depthwise 3 of 37 channels", (1, 37, 61, 47), (37, 1, 3, 3), group=37, pads=[1] * 4)
    convolution("2d depthwise 3x5", (1, 64, 64, 64), (64, 1, 3, 5), group=64, pads=[1, 2, 1, 2])
    convolution("2d depthwise times 2", (1, 32, 64, 64), (64, 1, 3, 3), group=32, pads=[1] * 4)
    convolution("3d 8 to 16 of 3", (1, 8, 16, 48, 48), (16, 8, 3, 3, 3), pads=[1] * 6)
    convolution("3d 3 to 16 of 3 by 2", (1, 3, 16, 64, 64), (16, 3, 3, 3, 3), pads=[1] * 6, strides=[2] * 3)
    convolution("3d depthwise", (1, 16, 16, 32, 32), (16, 1, 3, 3, 3), pads=[1] * 6, group=16)
    for name, x, w, attributes in (("16 to 8 of 4 by 2", (1, 16, 64, 64), (16, 8, 4, 4), dict(strides=[2, 2], pads=[1] * 4)),
                                   ("64 to 32 of 2 by 2", (1, 64, 64, 64), (64, 32, 2, 2), dict(strides=[2, 2])),
                                   ("32 to 32 of 3 by 2", (1, 32, 56, 56), (32, 32, 3, 3), dict(strides=[2, 2], pads=[1] * 4, output_padding=[1, 1])),
                                   ("depthwise 4 by 2", (1, 32, 56, 56), (32, 1, 4, 4), dict(strides=[2, 2], pads=[1] * 4, group=32)),
                                   ("32 to 32 of 3 by 1", (1, 32, 56, 56), (32, 32, 3, 3), dict(pads=[1] * 4)),
                                   ("1d 64 to 32 of 16 by 8", (1, 64, 500), (64, 32, 16), dict(strides=[8], pads=[4, 4])),
                                   ("3d 8 to 8 of 2 by 2", (1, 8, 8, 32, 32), (8, 8, 2, 2, 2), dict(strides=[2] * 3))):
        convolution(name, x, w, "ConvTranspose", **attributes)
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for steps, hidden in ((32, 128), (100, 32), (1, 256)):
            table.add(f"{op} {steps} steps of {hidden}", op, [("f32", (steps, 1, hidden), -1, 1)],
                      [weights(1, gates * hidden, hidden), weights(1, gates * hidden, hidden)], hidden_size=hidden)
        table.add(f"{op} bidirectional batch 8", op, [("f32", (20, 8, 64), -1, 1)],
                  [weights(2, gates * 64, 64), weights(2, gates * 64, 64), weights(2, gates * 128)], hidden_size=64, direction="bidirectional")


def quantized(table, n):
    a, b, c = n
    for t in ("i8", "u8"):
        zero = KINDS[t][1](0 if t == "i8" else 3)
        table.add(f"QuantizeLinear {t}", "QuantizeLinear", [("f32", n)], [np.float32(0.05), zero])
        table.add(f"DequantizeLinear {t}", "DequantizeLinear", [(t, n)], [np.float32(0.05), zero])
        table.add(f"QuantizeLinear {t} per channel", "QuantizeLinear", [("f32", n)], [np.abs(weights(b)) + 0.01, np.full(b, zero)], axis=1)
    table.add("DynamicQuantizeLinear", "DynamicQuantizeLinear", [("f32", n)], outputs=3)
    table.add("MatMulInteger", "MatMulInteger", [("u8", (128, 256))], [RANDOM.integers(-8, 8, (256, 128)).astype(np.int8)])
    table.add("ConvInteger", "ConvInteger", [("u8", (1, 16, 32, 32))], [RANDOM.integers(-8, 8, (16, 16, 3, 3)).astype(np.int8)])


def halves(table, n):
    """What networks of halves hold besides elementwise operators and movement."""
    a, b, c = n
    half = lambda *s: weights(*s).astype(np.float16)
    table.add("MatMul f16 197x768x768", "MatMul", [("f16", (197, 768), -1, 1)], [half(768, 768)])
    table.add("MatMul f16 batched", "MatMul", [("f16", (12, 128, 64), -1, 1), ("f16", (12, 64, 128), -1, 1)])
    table.add("Gemm f16", "Gemm", [("f16", (64, 512), -1, 1)], [half(256, 512), half(256)], transB=1)
    table.add("Conv f16 2d 64 to 64 of 3", "Conv", [("f16", (1, 64, 56, 56), -1, 1)], [half(64, 64, 3, 3)], pads=[1] * 4)
    table.add("Conv f16 2d depthwise 3", "Conv", [("f16", (1, 64, 56, 56), -1, 1)], [half(64, 1, 3, 3)], pads=[1] * 4, group=64)
    table.add("MaxPool f16", "MaxPool", [("f16", (1, 64, 112, 112))], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    table.add("AveragePool f16", "AveragePool", [("f16", (1, 64, 112, 112))], kernel_shape=[2, 2], strides=[2, 2])
    table.add("GlobalAveragePool f16", "GlobalAveragePool", [("f16", (4, 256, 28, 28))])
    table.add("Resize f16 linear", "Resize", [("f16", (1, 16, 128, 128))], [None, np.array([1, 1, 2, 2], np.float32)], mode="linear")
    table.add("BatchNormalization f16", "BatchNormalization", [("f16", (2, 64, 64, 64))], [half(64), half(64), half(64), np.abs(half(64)) + np.float16(0.5)])
    table.add("InstanceNormalization f16", "InstanceNormalization", [("f16", (2, 32, 64, 64))], [half(32), half(32)])
    for axis in (0, 1, 2):
        table.add(f"ReduceSum f16 axis {axis}", "ReduceSum", [("f16", n)], [np.array([axis])])
        table.add(f"ReduceMax f16 axis {axis}", "ReduceMax", [("f16", n)], axes=[axis])
        table.add(f"Softmax f16 columns {axis}", "Softmax", [("f16", n)], axis=axis)
        table.add(f"ArgMax f16 axis {axis}", "ArgMax", [("f16", n)], axis=axis)
    table.add("TopK f16 k 5", "TopK", [("f16", n)], [np.array([min(5, c)])], outputs=2, axis=2)
    table.add("Clip f16", "Clip", [("f16", n)], [np.float16(2), np.float16(5)])
    table.add("Where f16 row condition", "Where", [("bool", (c,)), ("f16", n), ("f16", n)])
    table.add("Pow f16 square", "Pow", [("f16", n)], [np.float16(2)])


def cases(shape):
    """Functions that make the cases, by name."""
    table = Table()
    for family in (elementwise, reductions, normalizations, movement, images, contractions, quantized, halves):
        family(table, shape)
    return table
