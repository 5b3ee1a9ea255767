# SPDX-License-Identifier: Apache-2.0
"""Layers that move elements: every type, ranks to 8, axes and extents as numbers, constants or inputs."""
import numpy as np
import tensorrt as trt

from layers.drawing import ALL, INTEGERS, Case, along, layer, size_of

HOW = ("dimensions", "constant", "input")


def given(draw, network, tensors, how, name, values, dtype):
    """The layer's input for values that are given as a constant or an input, None for those that are set."""
    if how == "dimensions":
        return None
    return tensors[name] if how == "input" else network.add_constant((len(values),), np.array(values, dtype)).get_output(0)


@layer
def shuffle(draw):
    dtype, x_shape = draw.one("type", ALL), draw.shape()
    x = draw.values(x_shape, dtype)
    first, second = (draw.chance(0.6) for _ in range(2))
    before = [int(a) for a in draw.random.permutation(x.ndim)] if first else list(range(x.ndim))
    turned = x.transpose(before)
    target = list(turned.shape)  # neighbours join, axes of 1 come in between
    while len(target) > 1 and draw.chance(0.4):
        at = draw.number(0, len(target) - 2)
        target[at:at + 2] = [target[at] * target[at + 1]]
    while len(target) < 8 and draw.chance(0.3):
        target.insert(draw.number(0, len(target)), 1)
    after = [int(a) for a in draw.random.permutation(len(target))] if second else list(range(len(target)))
    written, copies = list(target), 0 not in target and draw.chance()
    if copies:
        written = [0 if i < turned.ndim and turned.shape[i] == e and draw.chance() else e for i, e in enumerate(target)]
    if size_of(target) and target and draw.chance():
        written[draw.number(0, len(target) - 1)] = -1
    how = draw.one("how", HOW if target else HOW[:2])
    index = draw.one("index", INTEGERS)
    draw.note(before=before, target=written, after=after, zero_copies=copies)

    def build(network, tensors):
        made = network.add_shuffle(tensors["x"])
        made.first_transpose, made.second_transpose = trt.Permutation(before), trt.Permutation(after)
        made.zero_is_placeholder = copies  # the name that TensorRT gives it
        made.reshape_dims = tuple(written)
        values = given(draw, network, tensors, how, "target", written, index)
        if values is not None:
            made.set_input(1, values)
        return [made.get_output(0)]

    inputs = {"x": x} | ({"target": np.array(written, index)} if how == "input" else {})
    return Case(inputs, build, [turned.reshape(target).transpose(after)], shapes=["target"])


def sliced(x, begin, size, step, mode, fill):
    """Each axis by its own indices; what is outside by the mode."""
    inside, result = np.ones(size, bool), x
    for axis, extent in enumerate(x.shape):
        at = begin[axis] + np.arange(size[axis]) * step[axis]
        if mode == trt.SampleMode.WRAP:
            at = at % extent
        elif mode == trt.SampleMode.REFLECT:
            at = np.abs((at + extent - 1) % max(2 * extent - 2, 1) - (extent - 1)) if extent > 1 else 0 * at
        elif mode == trt.SampleMode.FILL:
            inside &= along((at >= 0) & (at < extent), axis, x.ndim)
        result = np.take(result, np.clip(at, 0, extent - 1), axis)
    return np.where(inside, result, np.asarray(fill, x.dtype))


@layer
def slice_(draw):
    dtype, shape = draw.one("type", ALL), draw.shape(1, 8, empty=0)
    x = draw.values(shape, dtype)
    mode = draw.one("mode", trt.SampleMode.__members__.values())
    begin, size, step = [], [], []
    for extent in shape:
        step.append(draw.number(-3, 3))
        if mode == trt.SampleMode.STRICT_BOUNDS:
            begin.append(draw.number(0, extent - 1))
            room = extent - 1 - begin[-1] if step[-1] > 0 else begin[-1]
            size.append(draw.number(0 if draw.chance(0.05) else 1, room // abs(step[-1]) + 1 if step[-1] else 3))
        else:
            begin.append(draw.number(-2 * extent, 2 * extent))
            size.append(draw.number(0 if draw.chance(0.05) else 1, extent + 2))
    fill = draw.values((), dtype) if mode == trt.SampleMode.FILL and draw.chance() else None
    axes = [int(a) for a in draw.random.permutation(x.ndim)][:draw.number(1, x.ndim)] if draw.chance(0.4) else None
    if axes is not None:
        for a in set(range(x.ndim)) - set(axes):
            begin[a], size[a], step[a] = 0, shape[a], 1
    parts = {n: [v[a] for a in axes] if axes is not None else v for n, v in (("begin", begin), ("size", size), ("step", step))}
    how, index = {n: draw.one(n, HOW) for n in parts}, draw.one("index", INTEGERS)
    signed = None if axes is None else [a - x.ndim if draw.chance() else a for a in axes]
    draw.note(**{f"{n}s": v for n, v in parts.items()}, axes=signed, fill=fill)

    def build(network, tensors):
        made = network.add_slice(tensors["x"], *(tuple(v) for v in parts.values()))
        made.mode = mode
        for i, (name, values) in enumerate(parts.items()):
            tensor = given(draw, network, tensors, how[name], name, values, index)
            if tensor is not None:
                made.set_input(i + 1, tensor)
        if fill is not None:
            made.set_input(4, network.add_constant((), fill).get_output(0))
        if signed is not None:
            made.axes = tuple(signed)
        return [made.get_output(0)]

    inputs = {"x": x} | {n: np.array(v, index) for n, v in parts.items() if how[n] == "input"}
    return Case(inputs, build, [sliced(x, begin, size, step, mode, 0 if fill is None else fill)], shapes=parts)


@layer
def gather(draw):
    dtype, index, shape = draw.one("type", ALL), draw.one("index", INTEGERS), draw.shape(1, 5, empty=0)
    axis, x = draw.number(0, len(shape) - 1), draw.values(shape, dtype)
    batched = draw.number(0, axis)
    at_shape = shape[:batched] + tuple(draw.number(1, 4) for _ in range(draw.number(0, 3)))
    at = np.asarray(draw.random.integers(0, shape[axis], at_shape)).astype(index)
    expected = np.zeros(shape[:axis] + at_shape[batched:] + shape[axis + 1:], x.dtype)
    for place in np.ndindex(*shape[:batched]):
        expected[place] = np.take(x[place], at[place], axis - batched)
    draw.note(axis=axis, batched=batched, indices=at_shape)

    def build(network, tensors):
        made = network.add_gather(tensors["x"], tensors["at"], axis)
        made.num_elementwise_dims = batched
        return [made.get_output(0)]

    return Case({"x": x, "at": at}, build, [expected])


@layer
def elements(draw):
    """Gather and scatter of single elements along an axis."""
    dtype, index, shape = draw.one("type", ALL[:5]), draw.one("index", INTEGERS), draw.shape(1, 8, empty=0)
    axis, x = draw.number(0, len(shape) - 1), draw.values(shape, dtype)
    part = tuple(draw.number(1, extent) for extent in shape)
    order = np.argsort(draw.random.random(part[:axis] + (shape[axis],) + part[axis + 1:]), axis)
    at = np.take(order, range(part[axis]), axis).astype(index)  # none twice
    updates, scattered, gathered = draw.values(part, dtype), x.copy(), np.zeros(part, x.dtype)
    for place in np.ndindex(*part):
        there = place[:axis] + (int(at[place]),) + place[axis + 1:]
        scattered[there], gathered[place] = updates[place], x[there]
    draw.note(axis=axis, part=part)

    def build(network, tensors):
        one = network.add_gather_v2(tensors["x"], tensors["at"], trt.GatherMode.ELEMENT)
        two = network.add_scatter(tensors["x"], tensors["at"], tensors["updates"], trt.ScatterMode.ELEMENT)
        one.axis = two.axis = axis
        return [one.get_output(0), two.get_output(0)]

    return Case({"x": x, "at": at, "updates": updates}, build, [gathered, scattered])


@layer
def concatenation(draw):
    dtype, shape = draw.one("type", ALL), draw.shape(1, 8)
    axis = draw.number(0, len(shape) - 1)
    parts = {f"x{i}": draw.values(shape[:axis] + (draw.number(0, 4),) + shape[axis + 1:], dtype) for i in range(draw.number(1, 4))}
    draw.note(axis=axis, parts=[p.shape for p in parts.values()])

    def build(network, tensors):
        made = network.add_concatenation([tensors[name] for name in parts])
        made.axis = axis
        return [made.get_output(0)]

    return Case(parts, build, [np.concatenate(list(parts.values()), axis)])


@layer
def squeeze(draw):
    dtype, index, wide = draw.one("type", ALL), draw.one("index", INTEGERS), draw.shape(1, 8)
    axes = sorted(int(a) for a in draw.random.permutation(len(wide))[:draw.number(1, min(3, len(wide)))])
    wide = [1 if a in axes else e for a, e in enumerate(wide)]
    narrow = [e for a, e in enumerate(wide) if a not in axes]
    signed = [a - len(wide) if draw.chance() else a for a in axes]
    x = draw.values(wide, dtype)
    draw.note(axes=signed)

    def build(network, tensors):
        which = network.add_constant((len(signed),), np.array(signed, index)).get_output(0)
        less = network.add_squeeze(tensors["x"], which).get_output(0)
        return [less, network.add_unsqueeze(less, which).get_output(0)]

    return Case({"x": x}, build, [x.reshape(narrow), x])


@layer
def select(draw):
    dtype, shape = draw.one("type", ALL), draw.shape()
    inputs = {n: draw.values(draw.thinned(shape), t) for n, t in (("condition", np.bool_), ("then", dtype), ("else", dtype))}
    return Case(inputs, lambda network, tensors: [network.add_select(*(tensors[n] for n in inputs)).get_output(0)],
                [np.where(*inputs.values())])


@layer
def one_hot(draw):
    dtype, index, shape = draw.one("type", ALL[:5]), draw.one("index", INTEGERS), draw.shape(0, 6)
    depth, axis = draw.number(1, 6), draw.number(-len(shape) - 1, len(shape))
    at, values = np.asarray(draw.random.integers(0, depth, shape)).astype(index), draw.values((2,), dtype)
    hot = np.expand_dims(at, axis) == along(np.arange(depth), axis % (len(shape) + 1), len(shape) + 1)
    draw.note(depth=depth, axis=axis)

    def build(network, tensors):
        count = network.add_constant((), np.array(depth, np.int32)).get_output(0)
        return [network.add_one_hot(tensors["at"], tensors["values"], count, axis).get_output(0)]

    return Case({"at": at, "values": values}, build, [np.where(hot, values[1], values[0])], fixed=["values"])


@layer
def reverse_sequence(draw):
    dtype, index, shape = draw.one("type", ALL[:5]), draw.one("index", INTEGERS), draw.shape(2, 6, empty=0)
    batch, sequence = (int(a) for a in draw.random.permutation(len(shape))[:2])
    x, lengths = draw.values(shape, dtype), draw.random.integers(1, shape[sequence] + 1, shape[batch]).astype(index)
    at = along(np.arange(shape[sequence]), sequence, x.ndim)
    many = along(lengths, batch, x.ndim)
    expected = np.take_along_axis(x, np.broadcast_to(np.where(at < many, many - 1 - at, at), shape), sequence)
    draw.note(batch=batch, sequence=sequence)

    def build(network, tensors):
        made = network.add_reverse_sequence(tensors["x"], tensors["lengths"])
        made.batch_axis, made.sequence_axis = batch, sequence
        return [made.get_output(0)]

    return Case({"x": x, "lengths": lengths}, build, [expected])


@layer
def nonzero(draw):
    dtype, shape = draw.one("type", ALL[:5]), draw.shape(0, 6)
    x = (draw.values(shape, dtype) * draw.values(shape, np.bool_)).astype(dtype)
    where = np.array(np.nonzero(x), np.int32).reshape(x.ndim, -1) if x.ndim else np.zeros((0, int(x != 0)), np.int32)
    return Case({"x": x}, lambda network, tensors: [network.add_non_zero(tensors["x"]).get_output(0)], [where])
