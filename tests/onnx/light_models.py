# SPDX-License-Identifier: Apache-2.0
"""ONNX models without their weights, for machines that a large file cannot reach, and the weights made anew there.

lighten() takes the numbers out of large real and 8-bit tensors and leaves a line about them in the tensor's doc_string: the
seed, the distribution and its two parameters, so that sums and scales stay of the size they had. filled() draws them again, the
same on every machine. Tensors of few different values, unless all are one, and of values that are not finite stay: they are masks and
tables.
"""
import zlib

import numpy as np

LARGE = 256  # elements
MARK = "drawn "


def tensors_of(graph):
    """Every constant tensor of a graph and of those within it."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for inner in [attribute.g] if attribute.HasField("g") else attribute.graphs:
                yield from tensors_of(inner)


def all_tensors(model):
    yield from tensors_of(model.graph)
    for function in model.functions:
        yield from tensors_of(type(model.graph)(node=function.node))


def description(name, values):
    """How to draw such numbers, or None for those that stay."""
    seed = zlib.crc32(name.encode())
    if values.dtype in (np.int8, np.uint8):
        return f"{MARK}{seed} whole {int(values.min())} {int(values.max())}"
    if values.dtype not in (np.float32, np.float16):
        return None
    wide = values.astype(np.float64)
    if (wide == wide.flat[0]).all():
        return f"{MARK}{seed} uniform {wide.flat[0]:.9g} {wide.flat[0]:.9g}"
    if not np.isfinite(wide).all() or len(np.unique(wide[:4096] if wide.ndim == 1 else wide.ravel()[:4096])) <= 16:
        return None
    if wide.min() > 0:
        return f"{MARK}{seed} uniform {wide.min():.9g} {wide.max():.9g}"
    return f"{MARK}{seed} normal {wide.mean():.9g} {wide.std():.9g}"


def lighten(model):
    """The model with its large tensors emptied; changes it. Returns how many were."""
    import onnx
    count = 0
    for index, tensor in enumerate(all_tensors(model)):
        if int(np.prod(tensor.dims)) < LARGE:
            continue
        text = description(f"{index} {tensor.name}", onnx.numpy_helper.to_array(tensor))
        if text:
            kept = (list(tensor.dims), tensor.data_type, tensor.name)
            tensor.Clear()
            tensor.dims.extend(kept[0])
            tensor.data_type, tensor.name = kept[1:]
            tensor.doc_string = text
            count += 1
    return count


def filled(model):
    """The model with numbers where lighten() took them; changes it."""
    import onnx
    for tensor in all_tensors(model):
        if not tensor.doc_string.startswith(MARK):
            continue
        seed, kind, a, b = tensor.doc_string[len(MARK):].split()
        random, shape = np.random.default_rng(int(seed)), tuple(tensor.dims)
        if kind == "whole":
            values = random.integers(int(a), int(b) + 1, shape)
        elif kind == "uniform":
            values = random.uniform(float(a), float(b), shape)
        else:
            values = random.normal(float(a), float(b), shape)
        tensor.raw_data = values.astype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type)).tobytes()
        tensor.doc_string = ""
    return model
