# SPDX-License-Identifier: Apache-2.0
"""Movement in the cases of operator_cases_odd.py: transposes, slices, gathers, scatters, padding and what is like them."""

import numpy as np


def text(*shapes):
    return " ".join("x".join(map(str, s)) for s in shapes)


def movement(table):
    for ty in ("f32", "f16", "i64", "u8", "bool"):
        for shape, perm in (
            ((100, 200, 3), (0, 2, 1)),
            ((100, 3, 2000), (0, 2, 1)),
            ((2, 3, 4, 5000), (1, 0, 2, 3)),
            ((20, 30, 40, 5), (2, 1, 0, 3)),
            ((20, 30, 40, 5), (1, 0, 3, 2)),
            ((8, 9, 10, 11, 12), (4, 3, 2, 1, 0)),
            ((8, 9, 10, 11, 12), (0, 4, 1, 2, 3)),
            ((8, 16, 24, 32), (0, 1, 3, 2)),
            ((1, 16, 64, 64, 4), (0, 4, 1, 2, 3)),
            ((64, 1, 4096), (2, 1, 0)),
            ((5, 2, 7, 2, 9, 2), (0, 2, 4, 1, 3, 5)),
            ((300, 2, 301), (2, 1, 0)),
            ((2, 300, 300), (2, 1, 0)),
            ((3, 333, 334), (1, 2, 0)),
        ):
            table.add(f"Transpose {ty} {text(shape)} {perm}", "Transpose", [(ty, shape)], perm=perm)
        for shapes, axis in (
            ([(100, 1, 50)] * 3, 1),
            ([(1000, 1), (1000, 2), (1000, 3)], 1),
            ([(50, 20, 1)] * 4, 2),
            ([(10, 10, 10, 7), (10, 10, 10, 9)], 3),
            ([(3, 224, 224)] * 8, 0),
            ([(5000, 1)] * 16, 1),
            ([(1, 1, 30, 40, 50), (1, 2, 30, 40, 50)], 1),
        ):
            table.add(f"Concat {ty} {text(*shapes[:3])} n{len(shapes)} {axis}", "Concat", [(ty, s) for s in shapes], axis=axis)
        for shape, st, en, ax, sp in (
            ((1000, 1000), [-1], [-(2**40)], [1], [-1]),
            ((100, 100, 100), [0], [2**40], [1], [2]),
            ((100, 100, 100), [0], [2**40], [2], [2]),
            ((100, 100, 100), [-1, -1], [-(2**40)] * 2, [0, 2], [-1, -2]),
            ((64, 50, 50, 3), [1, 1], [49, 49], [1, 2], [1, 1]),
            ((1000000,), [0], [2**40], [0], [2]),
            ((100000, 3), [2], [-(2**40)], [1], [-1]),
            ((100000, 4), [0], [2], [1], [1]),
            ((100000, 4), [1], [4], [1], [2]),
        ):
            table.add(f"Slice {ty} {text(shape)} {st} {ax} {sp}", "Slice", [(ty, shape)], [np.array(st), np.array(en), np.array(ax), np.array(sp)])
        for name, shape, picks, axis in (
            ("a", (100000, 1), (50000,), 0),
            ("b", (100000, 2), (50000,), 0),
            ("c", (100000, 3), (50000,), 0),
            ("d", (1000, 50, 2), (30,), 1),
            ("e", (1000, 50, 1), (70,), 1),
            ("f", (3, 1000000), (2,), 0),
            ("g", (10, 3, 100, 100), (3,), 1),
            ("h", (1000, 3), (1000,), 1),
            ("i", (20, 30, 40, 50), (7,), 2),
        ):
            table.add(f"Gather {ty} {name} {text(shape)} {axis}", "Gather", [(ty, shape), ("i64", picks, 0, shape[axis])], axis=axis)
            table.add(f"Gather {ty} i32 {name} {text(shape)} {axis}", "Gather", [(ty, shape), ("i32", picks, -shape[axis], shape[axis])], axis=axis)
        for shape, ind, axis in (
            ((1000, 100), (1000, 50), 1),
            ((1000, 100), (500, 100), 0),
            ((100, 50, 3), (100, 70, 3), 1),
            ((100000, 3), (100000, 2), 1),
            ((30, 40, 50, 6), (30, 40, 20, 6), 2),
        ):
            table.add(f"GatherElements {ty} {text(shape)} {axis}", "GatherElements", [(ty, shape), ("i64", ind, 0, shape[axis])], axis=axis)
            for rd in ("none", "add", "mul", "max", "min"):
                if rd != "none" and ty == "bool":
                    continue
                table.add(
                    f"ScatterElements {ty} {rd} {text(shape)} {axis}",
                    "ScatterElements",
                    [(ty, shape), ("i64", ind, 0, shape[axis]), (ty, ind)],
                    axis=axis,
                    reduction=rd,
                    opset=18,
                )
        for shape, ind, up in (
            ((1000, 64), (300, 1), (300, 64)),
            ((100, 100), (5000, 2), (5000,)),
            ((64, 64, 3), (2000, 2), (2000, 3)),
            ((100000,), (30000, 1), (30000,)),
            ((10000, 2), (3000, 1), (3000, 2)),
        ):
            table.add(f"GatherND {ty} {text(shape,ind)}", "GatherND", [(ty, shape), ("i64", ind, 0, min(shape[: ind[1]]))])
            for rd in ("none", "add", "mul", "max", "min"):
                if rd != "none" and ty == "bool":
                    continue
                table.add(
                    f"ScatterND {ty} {rd} {text(shape,ind)}",
                    "ScatterND",
                    [(ty, shape), ("i64", ind, 0, min(shape[: ind[1]])), (ty, up)],
                    reduction=rd,
                    opset=18,
                )
        for shape, times in (
            ((1000, 2), [1, 30]),
            ((1000, 3), [4, 5]),
            ((100, 1, 3), [1, 100, 1]),
            ((5, 6, 7, 8), [2, 2, 2, 2]),
            ((1, 1000000), [4, 1]),
            ((100000, 1), [1, 3]),
            ((100, 3, 1), [1, 1, 100]),
        ):
            table.add(f"Tile {ty} {text(shape)} {times}", "Tile", [(ty, shape)], [np.array(times)])
        for shape, to in (
            ((100, 1, 3), [100, 100, 3]),
            ((1, 1, 1000), [100, 10, 1000]),
            ((100000, 1), [100000, 3]),
            ((50, 1, 50, 1), [50, 20, 50, 20]),
            ((1,), [1000000]),
            ((3, 1, 1, 1), [3, 10, 100, 100]),
        ):
            table.add(f"Expand {ty} {text(shape)} {to}", "Expand", [(ty, shape)], [np.array(to)])
        for mode in ("constant", "edge", "reflect", "wrap"):
            for shape, pads in (
                ((100000,), [3, 3]),
                ((100, 100, 3), [1, 1, 0, 1, 1, 0]),
                ((8, 8, 8, 8, 8), [1] * 10),
                ((1, 3, 224, 224), [0, 0, 3, 3, 0, 0, 3, 3]),
                ((1000, 5), [0, 2, 0, 2]),
                ((64, 64, 14, 14), [0, 0, 1, 1, 0, 0, 1, 1]),
                ((1, 64, 64, 32), [0, 1, 1, 0, 0, 1, 1, 0]),
            ):
                table.add(f"Pad {ty} {mode} {text(shape)}", "Pad", [(ty, shape)], [np.array(pads)], mode=mode, opset=19)
        table.add(f"Where {ty} middle", "Where", [("bool", (64, 1, 100)), (ty, (64, 50, 1)), (ty, (1, 50, 100))])
        table.add(f"Where {ty} last", "Where", [("bool", (1000, 1)), (ty, (1000, 300)), (ty, (1000, 300))])
        table.add(f"Where {ty} channel", "Where", [("bool", (1, 64, 1, 1)), (ty, (4, 64, 28, 28)), (ty, (4, 64, 28, 28))])
        table.add(
            f"OneHot {ty} last",
            "OneHot",
            [("i64", (1000,), 0, 50)],
            [np.int64(50), np.array([0, 1], {"f32": np.float32, "f16": np.float16, "i64": np.int64, "u8": np.uint8, "bool": np.bool_}[ty])],
        )
        table.add(
            f"OneHot {ty} first",
            "OneHot",
            [("i64", (1000,), 0, 50)],
            [np.int64(50), np.array([0, 1], {"f32": np.float32, "f16": np.float16, "i64": np.int64, "u8": np.uint8, "bool": np.bool_}[ty])],
            axis=0,
        )
        table.add(f"ReverseSequence {ty}", "ReverseSequence", [(ty, (100, 16, 64)), ("i64", (16,), 1, 100)], batch_axis=1, time_axis=0)
        table.add(f"ReverseSequence {ty} b", "ReverseSequence", [(ty, (16, 1000, 3)), ("i64", (16,), 1, 1000)], batch_axis=0, time_axis=1)
        table.add(f"NonZero {ty} 4d", "NonZero", [(ty, (20, 30, 20, 30), 0, 2)])
        table.add(f"Unique {ty}", "Unique", [(ty, (10000,), 0, 100)], outputs=4)
        table.add(f"Unique {ty} unsorted", "Unique", [(ty, (10000,), 0, 100)], outputs=1, sorted=0)
        table.add(f"Trilu {ty} up", "Trilu", [(ty, (64, 50, 70))], upper=1)
        table.add(f"EyeLike {ty}", "EyeLike", [(ty, (500, 500))])
        table.add(f"DepthToSpace {ty} CRD", "DepthToSpace", [(ty, (2, 36, 30, 30))], blocksize=3, mode="CRD")
        table.add(f"SpaceToDepth {ty} 4", "SpaceToDepth", [(ty, (2, 3, 128, 128))], blocksize=4)
        table.add(f"Compress {ty} flat", "Compress", [(ty, (100, 100))], [np.arange(10000) % 2 == 0])
        table.add(f"Compress {ty} last", "Compress", [(ty, (1000, 100))], [np.arange(100) % 3 == 0], axis=1)
        table.add(f"Split {ty} last", "Split", [(ty, (1000, 30))], outputs=3, axis=1)
        table.add(f"Split {ty} middle", "Split", [(ty, (10, 30, 100))], outputs=3, axis=1)
        table.add(f"CenterCropPad {ty}", "CenterCropPad", [(ty, (100, 100, 3))], [np.array([90, 110])], axes=[0, 1], opset=18)
        table.add(f"Identity {ty}", "Identity", [(ty, (300000,))])
