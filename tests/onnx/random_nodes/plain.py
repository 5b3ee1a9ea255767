# SPDX-License-Identifier: Apache-2.0
"""Random nodes of scalar operators, reductions, selections and movements."""
import numpy as np

from draw import Constant, Node

I32, I64, F32 = np.int32, np.int64, np.float32
TYPES = [F32, F32, F32, I32, I64, np.int8, np.uint8, np.bool_]


def ints(values):
    return Constant(np.array(values, I64))


def unary(d):
    x = d.floats(d.shape())
    name = d.choice(["Abs", "Acos", "Asin", "Atan", "Ceil", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "Gelu", "HardSigmoid",
                     "HardSwish", "LeakyRelu", "Log", "Mish", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign", "Sin",
                     "Sinh", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "ThresholdedRelu", "Celu", "Shrink", "Atanh", "Asinh"])
    if name in ("Acos", "Asin", "Atanh"):
        x = x / 2.1
    if name in ("Log", "Sqrt"):
        x = np.abs(x) + 0.1
    attributes = {}
    if name in ("Elu", "LeakyRelu", "HardSigmoid", "ThresholdedRelu", "Celu") and d.chance(0.7):
        attributes["alpha"] = d.uniform(0.05, 1.5)
    if name == "HardSigmoid" and d.chance(0.5):
        attributes["beta"] = d.uniform(-0.5, 1)
    if name == "Shrink":
        attributes = {"lambd": d.uniform(0, 1), "bias": d.uniform(-1, 1)}
    if name == "Gelu" and d.chance(0.5):
        attributes["approximate"] = d.choice(["none", "tanh"])
    return Node(name, [x], attributes, tolerance=1e-3 if name in ("Tan", "Reciprocal") else 1e-4, opset=22)


def integer_unary(d):
    name = d.choice(["Abs", "Neg", "Sign", "Not", "BitwiseNot", "Clip", "Relu"])
    dtype = np.bool_ if name == "Not" else d.choice([I32, I64, np.int8])
    x = d.array(d.shape(), dtype)
    if name == "Clip":
        low, high = sorted([d.randint(-9, 9), d.randint(-9, 9)])
        return Node(name, [x, d.maybe_constant(np.array(low, dtype)), Constant(np.array(high, dtype))])
    return Node(name, [x])


def binary(d):
    name = d.choice(["Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Mod", "And", "Or", "Xor", "Equal", "Less", "LessOrEqual",
                     "Greater", "GreaterOrEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitShift", "PRelu"])
    shape = d.shape()
    shapes = [shape, d.broadcast(shape)]
    if name != "PRelu" and d.chance(0.5):
        shapes = [d.broadcast(shape), d.broadcast(shape)]
    dtype = d.choice([F32, I32, I64])
    attributes = {}
    if name in ("And", "Or", "Xor"):
        dtype = np.bool_
    elif name.startswith("Bitwise"):
        dtype = d.choice([I32, I64, np.int8, np.uint8])
    elif name in ("PRelu", "Pow"):
        dtype = F32
    elif name == "BitShift":
        dtype, attributes = np.uint8, {"direction": d.choice(["LEFT", "RIGHT"])}
    if name == "Mod" and dtype == F32:
        attributes = {"fmod": 1}
    elif name == "Mod":
        attributes = {"fmod": d.choice([0, 1])}
    a, b = (d.array(s, dtype) for s in shapes)
    if name == "Pow":
        a = np.abs(a) + np.float32(0.1)
    if name in ("Div", "Mod") and dtype != F32:
        b = np.where(b == 0, 3, b).astype(dtype)
    elif name in ("Div", "Mod"):
        b = (np.sign(b) + (b == 0)) * (np.abs(b) + np.float32(0.3))
        b = b.astype(F32)
    if name == "BitShift":
        b = b % 8
    operands = [d.maybe_constant(a, 0.2), b]
    if not isinstance(operands[0], Constant):
        operands[1] = d.maybe_constant(b, 0.4)
    return Node(name, operands, attributes, tolerance=1e-3 if name == "Mod" else 1e-4)


def where(d):
    shape = d.shape()
    dtype = d.choice(TYPES)
    return Node("Where", [d.bools(d.broadcast(shape)), d.array(d.broadcast(shape), dtype), d.maybe_constant(d.array(shape, dtype))])


def variadic(d):
    shape = d.shape()
    name = d.choice(["Sum", "Mean", "Max", "Min"])
    return Node(name, [d.floats(d.broadcast(shape)) for _ in range(d.randint(1, 4))])


def cast(d):
    types = {F32: 1, np.uint8: 2, np.int8: 3, I32: 6, I64: 7, np.bool_: 9, np.float16: 10}
    source, target = d.choice(list(types)), d.choice(list(types))
    x = d.array(d.shape(), source)
    if source != np.bool_ and (target == np.uint8 or source in (np.int8, np.uint8)):
        x = np.abs(x.astype(F32)).clip(0, 100).astype(source)  # within the range of every type
    return Node("Cast", [x], {"to": types[target]})


def reduction(d):
    name = d.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceLogSum",
                     "ReduceLogSumExp", "ReduceSumSquare"])
    shape = d.shape()
    dtype = d.choice([F32, F32, I32, I64]) if name in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceProd") else F32
    x = d.array(shape, dtype)
    if name == "ReduceLogSum":
        x = np.abs(x) + np.float32(0.1)
    if name == "ReduceProd" and dtype != F32:
        x = np.where(x % 3 == 0, 1, -1).astype(dtype)
    attributes = {"keepdims": d.choice([0, 1])}
    operands = [x]
    if d.chance(0.85):
        operands.append(ints(d.axes(len(shape))))
    elif d.chance(0.4):
        attributes["noop_with_empty_axes"] = 1
    return Node(name, operands, attributes, tolerance=1e-3)


def along_axis(d):
    shape = d.shape()
    name = d.choice(["Softmax", "LogSoftmax", "Hardmax", "ArgMax", "ArgMin", "CumSum", "LpNormalization", "Flatten"])
    x = d.floats(shape)
    axis = d.axis(len(shape))
    if name == "CumSum":
        x = d.array(shape, d.choice([F32, I32, I64]))
        return Node(name, [x, Constant(np.array(axis, d.choice([I32, I64])))],
                    {"exclusive": d.choice([0, 1]), "reverse": d.choice([0, 1])})
    attributes = {"axis": axis}
    if name.startswith("Arg"):
        x = d.array(shape, d.choice([F32, I32, np.int8, np.uint8]))
        attributes.update(keepdims=d.choice([0, 1]), select_last_index=d.choice([0, 1]))
    if name == "LpNormalization":
        attributes["p"] = d.choice([1, 2])
    return Node(name, [x], attributes, fixed=name == "Flatten" and d.chance(0.5))


def topk(d):
    shape = d.shape(most=33)
    axis = d.axis(len(shape))
    x = d.floats(shape)
    if d.chance(0.3):
        x = d.array(shape, d.choice([I32, I64]))
    k = d.randint(0 if d.chance(0.1) else 1, shape[axis])
    return Node("TopK", [x, ints([k])], {"axis": axis, "largest": d.choice([0, 1])}, outputs=2, fixed=True)


def gather(d):
    dtype = d.choice(TYPES)
    shape = d.shape()
    axis = d.axis(len(shape))
    extent = shape[axis]
    indices = d.integers(d.shape(d.randint(0, 3), 9), -extent, extent - 1, d.choice([I32, I64]))
    return Node("Gather", [d.array(shape, dtype), d.maybe_constant(indices)], {"axis": axis}, fixed=True)


def gather_elements(d):
    dtype = d.choice(TYPES)
    shape = d.shape(most=33)
    axis = d.axis(len(shape))
    extent = shape[axis]
    places = [d.randint(1, e) for e in shape] if d.chance(0.4) else list(shape)
    places[axis] = d.extent()
    if np.prod(places) > 50000:
        places[axis] = 1
    indices = d.integers(places, -extent, extent - 1, d.choice([I32, I64]))
    return Node("GatherElements", [d.array(shape, dtype), d.maybe_constant(indices, 0.2)], {"axis": axis}, fixed=True)


def indices_nd(d, shape, batch, places):
    length = d.randint(1, len(shape) - batch)
    columns = [d.integers(places, -shape[batch + k], shape[batch + k] - 1) for k in range(length)]
    return np.stack(columns, -1), length


def gather_nd(d):
    shape = d.shape(d.randint(1, 4))
    batch = d.randint(0, len(shape) - 1) if d.chance(0.4) else 0
    indices, _ = indices_nd(d, shape, batch, shape[:batch] + d.shape(d.randint(0, 2), 7))
    return Node("GatherND", [d.array(shape, d.choice(TYPES)), d.maybe_constant(indices, 0.3)], {"batch_dims": batch}, fixed=True)


def scatter_elements(d):
    shape = d.shape(most=17, elements=4000)
    axis = d.axis(len(shape))
    reduction = d.choice(["none", "add", "mul", "max", "min"])
    dtype = F32 if reduction != "none" else d.choice([F32, I32, I64])
    places = [d.randint(1, e) for e in shape]
    indices = d.integers(places, -shape[axis], shape[axis] - 1)
    if reduction == "none":  # no index twice
        order = np.argsort(np.random.default_rng(d.getrandbits(32)).random(shape), axis=axis)
        indices = order[tuple(slice(0, p) for p in places)].astype(I64)
    return Node("ScatterElements", [d.array(shape, dtype), d.maybe_constant(indices), d.array(places, dtype)],
                {"axis": axis, "reduction": reduction}, fixed=True)


def scatter_nd(d):
    shape = d.shape(d.randint(1, 4), elements=4000)
    reduction = d.choice(["none", "add", "mul", "max", "min"])
    dtype = F32 if reduction != "none" else d.choice([F32, I32, I64, np.bool_])
    if reduction == "none":
        length = d.randint(1, len(shape))
        all_places = np.stack([g.ravel() for g in np.meshgrid(*[np.arange(e) for e in shape[:length]], indexing="ij")], -1)
        count = d.randint(1, len(all_places))
        rows = d.sample(range(len(all_places)), count) if d.chance(0.5) else range(count)
        indices = all_places[list(rows)].astype(I64)
    else:
        indices, length = indices_nd(d, shape, 0, d.shape(d.randint(1, 2), 9))
    updates = list(indices.shape[:-1]) + shape[length:]
    return Node("ScatterND", [d.array(shape, dtype), d.maybe_constant(indices), d.array(updates, dtype)],
                {"reduction": reduction}, fixed=True)


def box_scatter(d):
    """An assignment to a slice, as exporters write it."""
    shape = d.shape(d.randint(1, 4), elements=4000)
    length = d.randint(1, len(shape))
    ranges = []
    for extent in shape[:length]:
        size = d.randint(1, extent)
        start = d.randint(0, extent - size)
        ranges.append(np.arange(start, start + size) - (extent if d.chance(0.3) else 0))
    indices = np.stack(np.meshgrid(*ranges, indexing="ij"), -1).astype(I64)
    updates = list(indices.shape[:-1]) + shape[length:]
    return Node("ScatterND", [d.floats(shape), Constant(indices), d.floats(updates)], {}, fixed=True)


def slicing(d):
    shape = d.shape(most=33)
    axes = d.axes(len(shape))
    starts, ends, steps = [], [], []
    for axis in axes:
        extent = shape[axis]
        steps.append(d.choice([1, 1, 1, 2, 3, -1, -2]))
        starts.append(d.choice([0, d.randint(-extent - 3, extent + 3), d.randint(0, extent), 2 ** 63 - 1 if steps[-1] < 0 else 0]))
        ends.append(d.choice([d.randint(-extent - 3, extent + 3), 2 ** 63 - 1 if steps[-1] > 0 else -2 ** 63 + 1, extent]))
    return Node("Slice", [d.array(shape, d.choice(TYPES)), ints(starts), ints(ends), ints(axes), ints(steps)], fixed=d.chance(0.7))


def pad(d):
    shape = d.shape(d.randint(1, 5), most=13, elements=4000)
    mode = d.choice(["constant", "constant", "reflect", "edge", "wrap"])
    low = -min(shape) // 3 if mode == "constant" else 0
    pads = [d.randint(low, 4 if mode == "constant" else max(0, min(e - 1, 4))) if d.chance(0.6) else 0 for e in shape * 2]
    if any(e + pads[i] + pads[i + len(shape)] < 1 for i, e in enumerate(shape)):
        pads = [0] * len(pads)
    dtype = d.choice([F32, F32, I32, I64, np.int8]) if mode != "wrap" else F32
    operands = [d.array(shape, dtype), ints(pads)]
    if mode == "constant" and d.chance(0.5):
        operands.append(Constant(np.array(3, dtype)))
    return Node("Pad", operands, {"mode": mode}, fixed=True)


def concat(d):
    shape = d.shape()
    axis = d.axis(len(shape))
    dtype = d.choice(TYPES)
    parts = []
    for _ in range(d.randint(1, 5)):
        own = list(shape)
        own[axis] = d.extent(9) if not d.chance(0.1) else 0
        parts.append(d.maybe_constant(d.array(own, dtype), 0.2))
    parts[0] = d.array(shape, dtype)
    return Node("Concat", parts, {"axis": axis}, fixed=True)


def split(d):
    shape = d.shape()
    axis = d.axis(len(shape))
    parts = d.randint(1, min(4, shape[axis]))
    cuts = sorted(d.sample(range(1, shape[axis]), parts - 1)) if shape[axis] > 1 else []
    sizes = np.diff([0, *cuts, shape[axis]])
    return Node("Split", [d.array(shape, d.choice(TYPES)), ints(sizes)], {"axis": axis}, outputs=len(sizes), fixed=True)


def movement(d):
    shape = d.shape()
    x = d.array(shape, d.choice(TYPES))
    name = d.choice(["Transpose", "Expand", "Tile", "Unsqueeze", "Identity", "Reshape", "Squeeze"])
    if name == "Transpose":
        return Node(name, [x], {"perm": d.sample(range(len(shape)), len(shape))})
    if name == "Expand":
        x = d.array(d.broadcast(shape), x.dtype.type)
        return Node(name, [x, ints(shape)], fixed=True)
    if name == "Tile":
        return Node(name, [x, ints([d.randint(1, 3) for _ in shape])])
    if name == "Unsqueeze":
        rank = len(shape) + 1
        return Node(name, [x, ints([d.axis(rank)])])
    if name == "Reshape":
        order = d.sample(shape, len(shape))
        order[d.randrange(len(order))] = -1
        return Node(name, [x, ints(order)], fixed=True)
    if name == "Squeeze":
        axes = [i for i, e in enumerate(shape) if e == 1]
        return Node(name, [x, ints(axes)], fixed=True) if axes else Node("Identity", [x])
    return Node(name, [x])


def depth(d):
    block = d.randint(1, 3)
    if d.chance(0.5):
        x = d.floats([d.extent(4), d.extent(5) * block * block, d.extent(9), d.extent(9)])
        return Node("DepthToSpace", [x], {"blocksize": block, "mode": d.choice(["DCR", "CRD"])}, fixed=d.chance(0.5))
    return Node("SpaceToDepth", [d.floats([d.extent(4), d.extent(5), d.extent(9) * block, d.extent(9) * block])],
                {"blocksize": block}, fixed=True)


def rare(d):
    name = d.choice(["Trilu", "EyeLike", "OneHot", "NonZero", "Compress", "ReverseSequence", "IsNaN", "IsInf", "Einsum"])
    if name == "Trilu":
        shape = d.shape(d.randint(2, 4))
        return Node(name, [d.array(shape, d.choice([F32, I64, np.bool_])), Constant(np.array(d.randint(-9, 9), I64))],
                    {"upper": d.choice([0, 1])})
    if name == "EyeLike":
        return Node(name, [d.floats(d.shape(2))], {"k": d.randint(-5, 5), "dtype": d.choice([1, 7])}, fixed=True)
    if name == "OneHot":
        depth_ = d.extent(9)
        indices = d.integers(d.shape(d.randint(1, 3), 7), -depth_ - 1, depth_ + 1)
        return Node(name, [indices, Constant(np.array(depth_, I64)), Constant(d.floats([2]))], {"axis": d.choice([-1, 0, 1])})
    if name == "NonZero":
        return Node(name, [d.integers(d.shape(d.randint(1, 3)), 0, 1, d.choice([F32, I32, I64]))])
    if name == "Compress":
        shape = d.shape()
        axis = d.axis(len(shape))
        return Node(name, [d.floats(shape), d.maybe_constant(d.bools([d.randint(1, shape[axis])]))], {"axis": axis}, fixed=True)
    if name == "ReverseSequence":
        shape = d.shape(d.randint(2, 4))
        return Node(name, [d.floats(shape), d.integers([shape[1]], 1, shape[0])], {"time_axis": 0, "batch_axis": 1}, fixed=True)
    if name in ("IsNaN", "IsInf"):
        x = d.floats(d.shape())
        x[x > 1] = np.nan
        x[x < -1] = d.choice([-np.inf, np.inf])
        attributes = {"detect_negative": d.choice([0, 1]), "detect_positive": d.choice([0, 1])} if name == "IsInf" else {}
        return Node(name, [x], attributes)
    a, b, c, e = (d.extent(9) for _ in range(4))
    text, shapes = d.choice([("ij,jk->ik", [[a, b], [b, c]]), ("bij,bjk->bik", [[a, b, c], [a, c, e]]), ("ij->ji", [[a, b]]),
                             ("ii->i", [[a, a]]), ("bij,bkj->bik", [[a, b, c], [a, e, c]]), ("i,j->ij", [[a], [b]]),
                             ("...ij,...j->...i", [[a, b, c], [a, c]]), ("bhid,bhjd->bhij", [[a, b, c, e], [a, b, 5, e]]),
                             ("abc,cd,ae->bde", [[a, b, c], [c, e], [a, 3]]), ("ij->", [[a, b]])])
    return Node(name, [d.floats(s) for s in shapes], {"equation": text}, fixed=True)


MAKERS = [unary, integer_unary, binary, binary, where, variadic, cast, reduction, reduction, along_axis, topk, gather, gather_elements,
          gather_nd, scatter_elements, scatter_nd, box_scatter, slicing, pad, concat, split, movement, depth, rare]
