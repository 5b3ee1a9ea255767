# SPDX-License-Identifier: Apache-2.0
"""Still more cases of operator_speed.py (--odd): some 3,700 of short rows, few columns, axes of one element, broadcasting in the
middle, five axes, and types that are seldom together with an operator. They have shapes of their own."""

import itertools

import numpy as np

from operator_models import Table, weights
from operator_cases_moves import movement, text


def reductions(table):
    for shape, axes in (
        ((100000, 2), [1]),
        ((100000, 2), [0]),
        ((2, 100000), [0]),
        ((1000, 100, 2), [1]),
        ((1000, 2, 100), [1]),
        ((4, 5, 6, 7, 500), [1, 3]),
        ((64, 7, 7, 64), [1, 2]),
        ((10, 20, 30, 40), [0, 2]),
        ((10, 20, 30, 40), [1, 3]),
        ((10, 20, 30, 40), [0, 3]),
        ((16, 17, 18, 19), [0, 1, 2, 3]),
        ((300000,), [0]),
        ((30, 1, 10000), [1]),
        ((5, 300000), [1]),
        ((50, 3, 7, 11, 13), [2, 3, 4]),
        ((1, 64, 112, 112), [1]),
    ):
        s = f"{text(shape)} {axes}"
        for op, ty in itertools.product(
            ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceL1", "ReduceProd", "ReduceLogSumExp", "ReduceSumSquare", "ReduceLogSum"),
            ("f32", "f16", "i32", "i64", "i8", "u8"),
        ):
            if ty in ("i8", "u8") and op not in ("ReduceMax", "ReduceMin"):
                continue
            table.add(f"{op} {ty} {s}", op, [(ty, shape, 0.9, 1.1) if ty in ("f32", "f16") else (ty, shape)], axes=axes)
        for ty in ("f32", "f16", "i32", "i64"):
            table.add(f"ReduceSum {ty} {s}", "ReduceSum", [(ty, shape)], [np.array(axes)])
        if len(axes) > 1:
            continue
        for op, ty in itertools.product(("Softmax", "LogSoftmax", "Hardmax", "LpNormalization"), ("f32", "f16")):
            table.add(f"{op} {ty} {s}", op, [(ty, shape)], axis=axes[0])
        for op, ty in itertools.product(("ArgMax", "ArgMin"), ("f32", "f16", "i32", "i64", "i8", "u8")):
            table.add(f"{op} {ty} {s}", op, [(ty, shape)], axis=axes[0])
        for ty in ("f32", "i32", "i64", "f16"):
            table.add(f"CumSum {ty} {s}", "CumSum", [(ty, shape)], [np.int64(axes[0])], reverse=1)
        for ty in ("f32", "f16", "i64", "i32", "u8"):
            k = min(5, shape[axes[0]])
            table.add(f"TopK {k} {ty} {s}", "TopK", [(ty, shape)], [np.array([k])], outputs=2, axis=axes[0], largest=0)


def images(table):
    for ty in ("f32", "f16", "i32", "u8", "i8"):
        for s, k in (((4, 32, 200), 1), ((2, 8, 16, 20, 24), 3), ((1, 32, 56, 56), 2), ((1, 3, 224, 224), 2), ((2, 512, 7, 7), 2)):
            for w, st in ((2, 2), (3, 1), (3, 2)):
                for op in ("MaxPool", "AveragePool", "LpPool"):
                    if ty not in ("f32", "f16") and op != "MaxPool":
                        continue
                    table.add(
                        f"{op} {ty} {w} {st} {text(s)}",
                        op,
                        [(ty, s)],
                        kernel_shape=[w] * k,
                        strides=[st] * k,
                        pads=[w // 2] * (2 * k) if w == 3 else [0] * (2 * k),
                        opset=18,
                    )
            for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
                if ty in ("f32", "f16"):
                    table.add(f"{op} {ty} {text(s)}", op, [(ty, s)])
            for mode in ("nearest", "linear", "cubic"):
                if mode == "cubic" and k != 2:
                    continue
                for sc in (2, 0.5, 1.7):
                    for pl in ("half_pixel", "asymmetric"):
                        table.add(
                            f"Resize {ty} {mode} {pl} {sc} {text(s)}",
                            "Resize",
                            [(ty, s)],
                            [None, np.array([1, 1] + [sc] * k, np.float32)],
                            mode=mode,
                            coordinate_transformation_mode=pl,
                        )
            if k == 2:
                table.add(
                    f"Resize nhwc {ty} {text(s)}",
                    "Resize",
                    [(ty, (s[0], s[2], s[3], s[1]))],
                    [None, np.array([1, 2, 2, 1], np.float32)],
                    mode="linear",
                )
                table.add(
                    f"Resize nhwc nearest {ty} {text(s)}",
                    "Resize",
                    [(ty, (s[0], s[2], s[3], s[1]))],
                    [None, np.array([1, 2, 2, 1], np.float32)],
                    mode="nearest",
                )
        if ty in ("f32", "f16"):
            for s in ((1, 32, 56, 56), (8, 64, 14, 14), (2, 512, 7, 7), (4, 32, 200), (2, 8, 16, 20, 24), (64, 100)):
                c = s[1]
                w = lambda *a: weights(*a).astype(np.float16 if ty == "f16" else np.float32)
                table.add(f"BatchNormalization {ty} {text(s)}", "BatchNormalization", [(ty, s)], [w(c), w(c), w(c), np.abs(w(c)) + w(1) * 0 + 1])
                if len(s) > 2:
                    table.add(f"InstanceNormalization {ty} {text(s)}", "InstanceNormalization", [(ty, s)], [w(c), w(c)])
                    table.add(f"GroupNormalization {ty} {text(s)}", "GroupNormalization", [(ty, s)], [w(c), w(c)], opset=21, num_groups=4)
                for ax in (-1, 1):
                    n = s[ax:] if ax == -1 else s[1:]
                    table.add(f"LayerNormalization {ty} {text(s)} {ax}", "LayerNormalization", [(ty, s)], [w(*n), w(*n)], axis=ax)
                table.add(f"RMSNormalization {ty} {text(s)}", "RMSNormalization", [(ty, s)], [w(s[-1])], axis=-1, opset=23)
                if len(s) == 4:
                    table.add(f"LRN {ty} {text(s)}", "LRN", [(ty, s)], size=5)
                table.add(f"MeanVarianceNormalization {ty} {text(s)}", "MeanVarianceNormalization", [(ty, s)], axes=[0] + list(range(2, len(s))))
                table.add(f"PRelu {ty} {text(s)}", "PRelu", [(ty, s)], [w(c, *([1] * (len(s) - 2))) if len(s) > 2 else w(c)])
                table.add(f"Dropout {ty} {text(s)}", "Dropout", [(ty, s)])


def products(table):
    for ty in ("f32", "f16", "i32", "i64"):
        for x, y in (
            ((100, 3), (3, 100)),
            ((10000, 1), (1, 3)),
            ((1, 10000), (10000, 1)),
            ((1, 3), (3, 100000)),
            ((500, 500), (500,)),
            ((500,), (500, 500)),
            ((50, 40, 30), (30, 20)),
            ((20, 1, 64), (20, 64, 64)),
            ((2000, 8, 8), (2000, 8, 8)),
            ((4, 1, 16, 32), (1, 6, 32, 16)),
            ((300, 7), (7, 300)),
            ((30000, 16), (16, 16)),
            ((5, 6, 1, 100), (5, 6, 100, 1)),
            ((100000, 2), (2, 2)),
            ((100000, 3), (3, 3)),
            ((1000, 4, 4), (4, 4)),
        ):
            table.add(f"MatMul {ty} {text(x,y)}", "MatMul", [(ty, x, -2, 3), (ty, y, -2, 3)])
        for eq, *sh in (
            ("ij,jk->ik", (100, 60), (60, 80)),
            ("bij,bjk->bik", (8, 30, 40), (8, 40, 20)),
            ("i,j->ij", (500,), (400,)),
            ("ij->ji", (300, 400)),
            ("ij->i", (300, 400)),
            ("ij->", (300, 400)),
            ("bhij,bhjd->bihd", (2, 4, 50, 50), (2, 4, 50, 16)),
            ("ijk,ijk->ik", (20, 30, 40), (20, 30, 40)),
            ("...ij,...jk->...ik", (3, 4, 20, 20), (3, 4, 20, 20)),
            ("abc,abd->acd", (10, 50, 20), (10, 50, 30)),
            ("i,ij,j->", (100,), (100, 100), (100,)),
        ):
            table.add(f"Einsum {ty} {eq}", "Einsum", [(ty, s, -2, 3) for s in sh], equation=eq)
        if ty in ("f32", "f16"):
            for ta, tb in ((0, 0), (1, 0), (0, 1), (1, 1)):
                for m, k, n in ((64, 64, 64), (1, 256, 512), (512, 3, 64), (300, 1, 300), (7, 1000, 5), (1000, 1000, 1)):
                    table.add(
                        f"Gemm {ty} {ta}{tb} {m}x{k}x{n}",
                        "Gemm",
                        [(ty, (k, m) if ta else (m, k), -1, 1), (ty, (n, k) if tb else (k, n), -1, 1), (ty, (n,), -1, 1)],
                        transA=ta,
                        transB=tb,
                        alpha=0.5,
                        beta=2.0,
                    )
            kind = np.float16 if ty == "f16" else np.float32
            for name, x, w, form in (
                ("1d stride 2", (2, 64, 400), (64, 64, 4), dict(strides=[2], pads=[1, 1])),
                ("1d dil", (1, 32, 1000), (32, 32, 3), dict(dilations=[4], pads=[4, 4])),
                ("1d k1", (1, 256, 200), (256, 256, 1), {}),
                ("1d depthwise 31", (1, 144, 500), (144, 1, 31), dict(group=144, pads=[15, 15])),
                ("3d", (1, 16, 16, 28, 28), (16, 16, 3, 3, 3), dict(pads=[1] * 6)),
                ("3d dw", (1, 32, 8, 28, 28), (32, 1, 3, 3, 3), dict(pads=[1] * 6, group=32)),
                ("3d 1x1", (1, 64, 8, 14, 14), (64, 64, 1, 1, 1), {}),
                ("1x7", (1, 64, 17, 17), (64, 64, 1, 7), dict(pads=[0, 3, 0, 3])),
                ("7x1", (1, 64, 17, 17), (64, 64, 7, 1), dict(pads=[3, 0, 3, 0])),
                ("11x11 4", (1, 3, 224, 224), (64, 3, 11, 11), dict(strides=[4, 4], pads=[2] * 4)),
                ("group 2", (1, 96, 27, 27), (256, 48, 5, 5), dict(pads=[2] * 4, group=2)),
                ("dw mult 2", (1, 32, 56, 56), (64, 1, 3, 3), dict(pads=[1] * 4, group=32)),
                ("1x1 s2", (1, 256, 56, 56), (512, 256, 1, 1), dict(strides=[2, 2])),
                ("odd", (1, 7, 31, 33), (11, 7, 3, 3), dict(pads=[1] * 4)),
                ("1 ch", (1, 1, 128, 128), (8, 1, 3, 3), dict(pads=[1] * 4)),
                ("to 1", (1, 32, 128, 128), (1, 32, 3, 3), dict(pads=[1] * 4)),
                ("to 1 1x1", (1, 64, 128, 128), (1, 64, 1, 1), {}),
                ("dil 12", (1, 64, 33, 33), (32, 64, 3, 3), dict(pads=[12] * 4, dilations=[12, 12])),
                ("patch 16", (1, 3, 224, 224), (192, 3, 16, 16), dict(strides=[16, 16])),
                ("asym", (1, 16, 30, 30), (16, 16, 3, 3), dict(pads=[0, 0, 1, 1], strides=[2, 2])),
            ):
                table.add(f"Conv {ty} {name}", "Conv", [(ty, x, -1, 1)], [weights(*w).astype(kind)], **form)
            for name, x, w, form in (
                ("3 2", (1, 64, 28, 28), (64, 32, 3, 3), dict(strides=[2, 2], pads=[1] * 4, output_padding=[1, 1])),
                ("4 2 small", (1, 256, 4, 4), (256, 128, 4, 4), dict(strides=[2, 2], pads=[1] * 4)),
                ("group", (1, 32, 28, 28), (32, 4, 3, 3), dict(group=8, pads=[1] * 4)),
                ("dw 4 2", (1, 32, 28, 28), (32, 1, 4, 4), dict(group=32, strides=[2, 2], pads=[1] * 4)),
                ("1d 16 8", (1, 64, 100), (64, 32, 16), dict(strides=[8], pads=[4, 4])),
                ("3d", (1, 16, 8, 14, 14), (16, 8, 2, 2, 2), dict(strides=[2] * 3)),
                ("1x1", (1, 64, 28, 28), (64, 32, 1, 1), {}),
                ("to 1", (1, 32, 28, 28), (32, 1, 4, 4), dict(strides=[2, 2], pads=[1] * 4)),
                ("dilated", (1, 16, 28, 28), (16, 16, 3, 3), dict(dilations=[2, 2], pads=[2] * 4)),
            ):
                table.add(f"ConvTranspose {ty} {name}", "ConvTranspose", [(ty, x, -1, 1)], [weights(*w).astype(kind)], **form)
    for op, g in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for ty in ("f32", "f16"):
            k = np.float16 if ty == "f16" else np.float32
            table.add(
                f"{op} {ty} seq",
                "%s" % op,
                [(ty, (20, 3, 32), -1, 1)],
                [weights(1, g * 48, 32).astype(k), weights(1, g * 48, 48).astype(k), weights(1, 2 * g * 48).astype(k)],
                outputs=2,
                hidden_size=48,
            )
    table.add("Det 4", "Det", [("f32", (1000, 4, 4))])
    table.add("Det 2", "Det", [("f32", (10000, 2, 2))])
    table.add("Range", "Range", [], [np.float32(0), np.float32(100000), np.float32(1)])
    table.add("CumProd", "CumProd", [("f32", (100, 100))], [np.int64(1)], opset=26)
    table.add("Swish", "Swish", [("f32", (100, 100))], opset=24)
    for ty in ("f32", "f16"):
        for nm, x, g in (("a", (2, 16, 32, 32), (2, 40, 40, 2)), ("b", (1, 3, 224, 224), (1, 224, 224, 2))):
            for mode, pad in itertools.product(("linear", "nearest", "cubic"), ("zeros", "border", "reflection")):
                table.add(f"GridSample {ty} {mode} {pad} {nm}", "GridSample", [(ty, x), (ty, g, -1.2, 1.2)], mode=mode, padding_mode=pad, opset=20)
    for mode in ("avg", "max"):
        table.add(
            f"RoiAlign {mode}",
            "RoiAlign",
            [("f32", (1, 64, 50, 50)), ("f32", (100, 4), 0, 50)],
            [np.zeros(100, np.int64)],
            mode=mode,
            output_height=7,
            output_width=7,
            sampling_ratio=2,
            spatial_scale=1.0,
            opset=16,
        )


def elementwise(table):
    for x, y in (
        ((32, 1, 100), (32, 50, 100)),
        ((32, 50, 100), (1, 50, 1)),
        ((100, 3), (1, 3)),
        ((100000, 2), (100000, 1)),
        ((100000, 3), (3,)),
        ((2, 3, 4, 5, 600), (1, 3, 1, 5, 1)),
        ((64, 1, 64, 1), (1, 64, 1, 64)),
        ((50, 50, 50), (50, 1, 50)),
        ((1, 3, 224, 224), (1, 3, 1, 1)),
        ((8, 197, 768), (1, 197, 768)),
        ((1000, 1), (1000, 7)),
        ((16, 16, 16, 16), (16, 1, 16, 1)),
    ):
        for op, ty in itertools.product(
            ("Add", "Mul", "Div", "Pow", "Max", "Less", "Equal", "Mod", "PRelu", "And", "BitwiseAnd"),
            ("f32", "f16", "i32", "i64", "u8", "i8", "bool"),
        ):
            if (
                op == "And"
                and ty != "bool"
                or ty == "bool"
                and op not in ("And", "Equal")
                or op == "BitwiseAnd"
                and ty[0] == "f"
                or op in ("PRelu",)
                and (ty[0] != "f" or len(y) != len(x))
            ):
                continue
            table.add(f"{op} {ty} {text(x,y)}", op, [(ty, x), (ty, y)], opset=18, **({"fmod": 1} if op == "Mod" and ty[0] == "f" else {}))
    for op in (
        "Abs",
        "Neg",
        "Sign",
        "Sqrt",
        "Exp",
        "Log",
        "Sin",
        "Cos",
        "Tan",
        "Atan",
        "Sinh",
        "Cosh",
        "Asinh",
        "Erf",
        "Sigmoid",
        "Tanh",
        "Relu",
        "LeakyRelu",
        "Elu",
        "Selu",
        "Celu",
        "Softplus",
        "Softsign",
        "HardSigmoid",
        "HardSwish",
        "Mish",
        "Gelu",
        "Floor",
        "Ceil",
        "Round",
        "Reciprocal",
        "IsNaN",
        "IsInf",
        "Not",
        "BitwiseNot",
        "ThresholdedRelu",
        "Shrink",
    ):
        for ty in ("f32", "f16", "i32", "i64", "u8", "i8", "bool"):
            table.add(f"{op} {ty} 333x77", op, [(ty, (333, 77))], opset=20)
    for a, b in itertools.product(("f32", "f16", "i32", "i64", "u8", "i8", "bool"), repeat=2):
        if a != b:
            table.add(f"Cast {a} {b} 99999", "Cast", [(a, (99999,))], to={"f32": 1, "f16": 10, "i32": 6, "i64": 7, "u8": 2, "i8": 3, "bool": 9}[b])
    for op in ("Sum", "Mean", "Max", "Min"):
        for ty in ("f32", "f16", "i32", "i64"):
            table.add(f"{op} {ty} three", "%s" % op, [(ty, (100, 1, 100)), (ty, (1, 30, 100)), (ty, (100, 30, 1))])
    for ty in ("f32", "f16", "i32", "i64", "i8", "u8"):
        table.add(
            f"Clip {ty} 300x301",
            "Clip",
            [(ty, (300, 301))],
            [
                np.array(2).astype({"f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32, "u8": np.uint8, "i8": np.int8}[ty]),
                np.array(5).astype({"f32": np.float32, "f16": np.float16, "i64": np.int64, "i32": np.int32, "u8": np.uint8, "i8": np.int8}[ty]),
            ],
        )


def cases(_):
    """Functions that make the cases, by name."""
    table = Table()
    for family in (reductions, images, products, elementwise, movement):
        family(table)
    return table
