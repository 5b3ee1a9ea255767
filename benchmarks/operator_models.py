# SPDX-License-Identifier: Apache-2.0
"""A case of operator_speed.py as an ONNX model of one node, with random inputs."""
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto
from onnx import helper

KINDS = {"f32": (TensorProto.FLOAT, np.float32), "f16": (TensorProto.FLOAT16, np.float16), "i32": (TensorProto.INT32, np.int32),
         "i64": (TensorProto.INT64, np.int64), "bool": (TensorProto.BOOL, np.bool_), "u8": (TensorProto.UINT8, np.uint8),
         "i8": (TensorProto.INT8, np.int8), "bf16": (TensorProto.BFLOAT16, ml_dtypes.bfloat16)}
RANDOM = np.random.default_rng(0)


@dataclass
class Case:
    model: onnx.ModelProto
    inputs: dict
    types: set


def values(kind, shape, low=1, high=8):
    """Random elements in [low, high)."""
    if kind == "bool":
        return RANDOM.random(shape) < 0.5
    if kind in ("f32", "f16", "bf16"):
        return (RANDOM.random(shape) * (high - low) + low).astype(KINDS[kind][1])
    return RANDOM.integers(low, high, shape).astype(KINDS[kind][1])


def weights(*shape):
    return (RANDOM.standard_normal(shape) / 8).astype(np.float32)


def model(op, inputs, constants, outputs, opset, attributes):
    """`inputs`: (type, shape, low, high) each; `constants`: arrays, or None for an input that is left out."""
    names, data = [], {}
    for i, (kind, shape, *bounds) in enumerate(inputs):
        names.append(f"x{i}")
        data[names[-1]] = values(kind, shape, *bounds)
    initializers = []
    for i, value in enumerate(constants):
        names.append("" if value is None else f"c{i}")
        if value is not None:
            initializers.append(onnx.numpy_helper.from_array(np.asarray(value), names[-1]))
    results = [f"y{i}" for i in range(outputs)]
    infos = [helper.make_tensor_value_info(f"x{i}", KINDS[kind][0], shape) for i, (kind, shape, *_) in enumerate(inputs)]
    graph = helper.make_graph([helper.make_node(op, names, results, **attributes)], "operator", infos,
                              [onnx.ValueInfoProto(name=name) for name in results], initializers)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)] +
                             [helper.make_opsetid(attributes[key], 1) for key in attributes if key == "domain"], ir_version=10)
    return Case(onnx.shape_inference.infer_shapes(made, data_prop=True), data, {kind for kind, *_ in inputs})


class Table(dict):
    def add(self, name, op, inputs, constants=(), outputs=1, opset=17, **attributes):
        assert name not in self, name
        self[name] = lambda: model(op, inputs, constants, outputs, opset, attributes)
