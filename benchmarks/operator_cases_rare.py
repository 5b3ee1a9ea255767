# SPDX-License-Identifier: Apache-2.0
"""More cases of operator_speed.py (--rare): some 2,000 of types, ranks and axes that are seldom together with an operator: halves,
bytes and truth values of one, two and five axes, negative strides and indices, axes of one element and empty tensors."""

import itertools

import numpy as np

from operator_models import KINDS, Table

TYPES = ("f32", "f16", "bf16", "i32", "i64", "i8", "u8", "bool")
FLOATS = ("f32", "f16", "bf16")
SHAPES = ((30011,), (173, 181), (5, 7, 11, 6, 13))


def text(*shapes):
    return " ".join("x".join(map(str, s)) for s in shapes)


def of(kind, *values):
    return np.array(values, KINDS[kind][1])


def elementwise(table):
    for ty in ("bf16", "f16", "i8", "u8", "i32", "i64", "bool"):
        for op in ("Abs", "Neg", "Sign", "Relu", "Sqrt", "Exp", "Log", "Tanh", "Sigmoid", "Erf", "Gelu", "Floor", "Round", "Reciprocal", "Softplus", "HardSwish",
                   "Elu", "LeakyRelu", "Sin", "Not", "BitwiseNot", "IsNaN", "IsInf", "Mish"):
            if ty in FLOATS and op in ("Not", "BitwiseNot") or ty not in FLOATS and op in ("IsNaN", "IsInf", "Mish", "Softplus", "Exp", "Log"):
                continue
            table.add(f"{op} {ty} 5x7x11x6x13", op, [(ty, SHAPES[2], *((-3, 4) if ty not in ("u8", "bool") and op not in ("Sqrt", "Log", "Reciprocal") else ()))], opset=20)
        for x, y in (((30011,), (1,)), ((1,), (30011,)), ((173, 1), (1, 181)), ((5, 1, 11, 1, 13), (1, 7, 1, 6, 1)), ((5, 7, 11, 6, 13), (5, 1, 11, 1, 13)),
                     ((5, 7, 11, 6, 13), (7, 1, 6, 1)), ((173, 0), (173, 1))):
            for op in ("Add", "Sub", "Mul", "Div", "Min", "Max", "Pow", "Mod", "Less", "GreaterOrEqual", "Equal", "Or", "Xor", "BitwiseXor"):
                logic = op in ("Or", "Xor")
                if logic != (ty == "bool") and not (op == "Equal" and ty == "bool") or op == "BitwiseXor" and (ty in FLOATS or ty == "bool"):
                    continue
                table.add(f"{op} {ty} {text(x, y)}", op, [(ty, x), (ty, y, 1, 4)], opset=18, **({"fmod": 1} if op == "Mod" and ty in FLOATS else {}))
            table.add(f"Where {ty} {text(x, y)}", "Where", [("bool", x), (ty, y), (ty, x)])
        if ty != "bool":
            table.add(f"Clip {ty}", "Clip", [(ty, SHAPES[2])], [of(ty, 2)[0], of(ty, 5)[0]])
            table.add(f"Mean {ty} four" if ty in FLOATS else f"Max {ty} four", "Mean" if ty in FLOATS else "Max", [(ty, (37, 1, 53)), (ty, (1, 29, 1)), (ty, (53,)), (ty, (37, 29, 53))])
    for ty, way in itertools.product(("u8",), ("LEFT", "RIGHT")):
        table.add(f"BitShift {ty} {way}", "BitShift", [(ty, (173, 181)), (ty, (173, 1), 0, 8)], direction=way)
    for a, b in itertools.product(TYPES, repeat=2):
        if "bf16" in (a, b) and a != b:
            table.add(f"Cast {a} {b}", "Cast", [(a, (5, 7, 11, 6, 13))], to=int(KINDS[b][0]))


def reductions(table):
    for ty in TYPES[:-1]:
        for shape in SHAPES + ((1, 211, 1), (0, 7)):
            for axes in ([0], [len(shape) // 2], [len(shape) - 1], [0, -1], list(range(len(shape)))):
                axes = sorted({a % len(shape) for a in axes})
                if shape == (0, 7) and axes != [1]:
                    continue
                s = f"{ty} {text(shape)} {axes}"
                if f"ReduceMax {s}" in table:
                    continue
                for op in ("ReduceMax", "ReduceMin", "ReduceMean", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd", "ReduceLogSumExp", "ReduceSum"):
                    if ty in ("i8", "u8") and op not in ("ReduceMax", "ReduceMin"):
                        continue
                    bounds = (0.9, 1.1) if ty in FLOATS else (1, 3) if op == "ReduceProd" else (-3, 4) if ty != "u8" else (1, 8)
                    table.add(f"{op} {s}", op, [(ty, shape, *bounds)], [np.array(axes)], opset=18, keepdims=len(axes) % 2)
                if len(axes) > 1:
                    continue
                a = axes[0]
                for op in ("ArgMax", "ArgMin"):
                    table.add(f"{op} {s}", op, [(ty, shape)], axis=a, select_last_index=a % 2, keepdims=0)
                if ty in FLOATS:
                    for op in ("Softmax", "LogSoftmax", "Hardmax", "LpNormalization"):
                        table.add(f"{op} {s}", op, [(ty, shape)], axis=a)
                if ty in ("f32", "f16", "i32", "i64"):
                    table.add(f"CumSum exclusive {s}", "CumSum", [(ty, shape, *((0, 0.1) if ty in FLOATS else ()))], [np.int64(a)], exclusive=1)
                if shape[a]:
                    for k in sorted({1, min(3, shape[a]), shape[a]}):
                        table.add(f"TopK {k} {s}", "TopK", [(ty, shape, -100, 100) if ty != "u8" else (ty, shape, 0, 200)], [np.array([k])], outputs=2, axis=a, largest=a % 2)
    for ty in ("bool",):
        for shape in SHAPES:
            for op in ("ReduceMax", "ReduceMin"):
                table.add(f"{op} {ty} {text(shape)}", op, [(ty, shape)], [np.array([len(shape) - 1])], opset=20)


def movement(table):
    for ty in ("bf16", "f16", "i8", "u8", "bool", "i64"):
        for shape in SHAPES + ((1, 211, 1), (7, 0)):
            rank = len(shape)
            s = f"{ty} {text(shape)}"
            table.add(f"Transpose {s}", "Transpose", [(ty, shape)], perm=list(range(rank))[::-1])
            if rank == 5:
                table.add(f"Transpose last {s}", "Transpose", [(ty, shape)], perm=[0, 1, 2, 4, 3])
                table.add(f"Transpose middle {s}", "Transpose", [(ty, shape)], perm=[0, 2, 1, 3, 4])
                table.add(f"Transpose first {s}", "Transpose", [(ty, shape)], perm=[1, 0, 2, 3, 4])
            table.add(f"Slice backwards {s}", "Slice", [(ty, shape)], [np.full(rank, -1), np.full(rank, -(2**62)), np.arange(rank), np.full(rank, -1)])
            table.add(f"Slice by -3 last {s}", "Slice", [(ty, shape)], [np.array([-2]), np.array([-(2**62)]), np.array([-1]), np.array([-3])])
            table.add(f"Slice by 2 first {s}", "Slice", [(ty, shape)], [np.array([1]), np.array([2**62]), np.array([0]), np.array([2])])
            table.add(f"Slice to nothing {s}", "Slice", [(ty, shape)], [np.array([3]), np.array([3]), np.array([0])])
            for a in sorted({0, rank // 2, rank - 1}):
                table.add(f"Concat {s} {a}", "Concat", [(ty, shape), (ty, shape), (ty, shape[:a] + (1,) + shape[a + 1 :])], axis=a)
                if shape[a] == 0:
                    continue
                table.add(f"Gather {s} {a}", "Gather", [(ty, shape), ("i64", (3, 5), -shape[a], shape[a])], axis=a)
                table.add(f"Gather one {s} {a}", "Gather", [(ty, shape), ("i32", (), 0, shape[a])], axis=a)
                some = shape[:a] + (9,) + shape[a + 1 :]
                table.add(f"GatherElements {s} {a}", "GatherElements", [(ty, shape), ("i32", some, -shape[a], shape[a])], axis=a)
                for rd in ("add", "mul", "max", "min") if ty != "bool" else ("none",):
                    table.add(f"ScatterElements {rd} {s} {a}", "ScatterElements", [(ty, shape), ("i64", some, 0, shape[a]), (ty, some)], axis=a, reduction=rd, opset=18)
                parts = [shape[a] // 3, 0, shape[a] - shape[a] // 3]
                table.add(f"Split {s} {a}", "Split", [(ty, shape)], [np.array(parts)], outputs=3, axis=a)
            if 0 not in shape:
                index = [min(shape[: min(rank, 2)])] * 1
                table.add(f"GatherND {s}", "GatherND", [(ty, shape), ("i64", (50, min(rank, 2)), -index[0], index[0])])
                n = min(rank, 2)
                table.add(f"ScatterND max {s}" if ty != "bool" else f"ScatterND {s}", "ScatterND", [(ty, shape), ("i64", (50, n), 0, index[0]), (ty, (50, *shape[n:]))],
                          reduction="max" if ty != "bool" else "none", opset=18)
            for mode in ("constant", "edge", "reflect", "wrap"):
                if 0 in shape and mode != "constant":
                    continue
                pads = [1 if n > 1 else 0 for n in shape]
                table.add(f"Pad {mode} {s}", "Pad", [(ty, shape)], [np.array(pads + pads)], mode=mode, opset=21)
            if max(shape) > 2 and 0 not in shape:
                table.add(f"Pad negative {s}", "Pad", [(ty, shape)], [np.array([-1 if n > 2 else 0 for n in shape] + [2] * rank)], opset=21)
            table.add(f"Tile {s}", "Tile", [(ty, shape)], [np.array([2] * (rank - 1) + [3])])
            table.add(f"Expand {s}", "Expand", [(ty, shape)], [np.array([3, *shape])])
            table.add(f"NonZero {s}", "NonZero", [(ty, shape, 0, 2)])
            table.add(f"Flatten {s}", "Flatten", [(ty, shape)], axis=rank // 2)
            if rank == 2:
                table.add(f"Trilu {s}", "Trilu", [(ty, shape)], [np.int64(-3)], upper=0)
                table.add(f"EyeLike {s}", "EyeLike", [(ty, shape)], k=-2)
                table.add(f"Compress {s}", "Compress", [(ty, shape)], [np.arange(shape[0]) % 3 == 1], axis=0)
                if 0 not in shape:
                    table.add(f"Unique {s}", "Unique", [(ty, shape, 0, 2)], outputs=4)
                    table.add(f"Unique rows {s}", "Unique", [(ty, (50, 4), 0, 2)], outputs=4, axis=0)
        table.add(f"ConstantOfShape {ty}", "OneHot", [("i64", (51,), -40, 40)], [np.int64(40), of(ty, 0, 1)], axis=1)
        table.add(f"OneHot first {ty}", "OneHot", [("i32", (51, 7), -40, 40)], [np.int64(40), of(ty, 0, 1)], axis=0)
        table.add(f"ReverseSequence {ty}", "ReverseSequence", [(ty, (31, 17, 5)), ("i64", (17,), 1, 31)], batch_axis=1, time_axis=0)
        table.add(f"DepthToSpace {ty}", "DepthToSpace", [(ty, (2, 16, 13, 11))], blocksize=2, mode="DCR")
        table.add(f"SpaceToDepth {ty}", "SpaceToDepth", [(ty, (2, 3, 26, 22))], blocksize=2)
        table.add(f"CenterCropPad {ty}", "CenterCropPad", [(ty, (31, 17, 5))], [np.array([20, 30])], axes=[0, 1], opset=18)


def images(table):
    for ty in ("f32", "f16", "bf16", "u8", "i8"):
        for shape, k in (((3, 5, 101), 1), ((2, 3, 37, 41), 2), ((1, 2, 11, 13, 17), 3)):
            s = f"{ty} {text(shape)}"
            table.add(f"MaxPool {s}", "MaxPool", [(ty, shape)], kernel_shape=[3] * k, strides=[2] * k, pads=[1] * (2 * k), ceil_mode=1)
            table.add(f"MaxPool indices {s}", "MaxPool", [(ty, shape)], outputs=2, kernel_shape=[2] * k, strides=[2] * k)
            table.add(f"MaxPool dilated {s}", "MaxPool", [(ty, shape)], kernel_shape=[2] * k, dilations=[3] * k)
            for mode, way in (("nearest", "asymmetric"), ("linear", "align_corners"), ("linear", "pytorch_half_pixel")):
                table.add(f"Resize {mode} {way} {s}", "Resize", [(ty, shape)], [None, None, np.array([*shape[:2], *(n * 3 // 2 for n in shape[2:])])], mode=mode,
                          coordinate_transformation_mode=way, opset=19)
            if ty not in FLOATS:
                continue
            table.add(f"AveragePool {s}", "AveragePool", [(ty, shape)], kernel_shape=[3] * k, strides=[2] * k, pads=[1] * (2 * k), count_include_pad=1, opset=19)
            table.add(f"AveragePool dilated {s}", "AveragePool", [(ty, shape)], kernel_shape=[2] * k, dilations=[2] * k, opset=19)
            table.add(f"GlobalAveragePool {s}", "GlobalAveragePool", [(ty, shape)])
            table.add(f"GlobalMaxPool {s}", "GlobalMaxPool", [(ty, shape)])
            table.add(f"LpPool {s}", "LpPool", [(ty, shape, -2, 2)], kernel_shape=[2] * k, opset=18)
            c = shape[1]
            table.add(f"InstanceNormalization {s}", "InstanceNormalization", [(ty, shape)], [of(ty, *range(1, c + 1)), of(ty, *range(c))])
            table.add(f"BatchNormalization {s}", "BatchNormalization", [(ty, shape)], [of(ty, *range(1, c + 1)), of(ty, *range(c)), of(ty, *range(c)), of(ty, *range(1, c + 1))])
            table.add(f"LayerNormalization {s}", "LayerNormalization", [(ty, shape)], [of(ty, *range(shape[-1])) / of(ty, 64)])
            table.add(f"PRelu {s}", "PRelu", [(ty, shape, -3, 3), (ty, (c,) + (1,) * k)])
            table.add(f"MeanVarianceNormalization {s}", "MeanVarianceNormalization", [(ty, shape)], axes=[0, 2])
            if k == 2:
                table.add(f"LRN {s}", "LRN", [(ty, shape)], size=3)
            if k > 1:
                table.add(f"GridSample {s}", "GridSample", [(ty, shape), (ty, (shape[0], *(7,) * k, k), -1.2, 1.2)], opset=20)


def cases(_):
    """Functions that make the cases, by name."""
    table = Table()
    for family in (elementwise, reductions, movement, images):
        family(table)
    return table
