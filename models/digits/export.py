# SPDX-License-Identifier: Apache-2.0
"""Turns the trained layers into a list of named steps, and the list into an ONNX file.

The list is what any format is written from: `steps(network)` yields (kind, name, input names, output name,
arrays, attributes) with arrays in the [C_out, C_in, kernel, kernel] order that ONNX and Caffe share.
"""
import numpy as np

import network as net

INPUT, OUTPUT, SIDE, CLASSES = "input", "probabilities", 28, 10


class Steps:
    """Walks the layers in order and gives every step and every tensor a name."""

    def __init__(self):
        self.steps, self.counts = [], {}

    def name(self, kind):
        self.counts[kind] = self.counts.get(kind, 0) + 1
        return f"{kind}{self.counts[kind]}"

    def add(self, kind, inputs, arrays=None, **attributes):
        name = self.name(kind)
        self.steps.append((kind, name, inputs, name + "_out", arrays or {}, attributes))
        return name + "_out"

    def walk(self, layer, x):
        if isinstance(layer, net.Sequence):
            for inner in layer.layers:
                x = self.walk(inner, x)
            return x
        if isinstance(layer, net.Residual):
            return self.add("relu", [self.add("add", [x, self.walk(layer.body, x)])])
        if isinstance(layer, net.Convolution):
            kernel, weight = layer.kernel, layer.weight.value
            weight = weight.reshape(kernel, kernel, -1, weight.shape[1]).transpose(3, 2, 0, 1)
            return self.add("conv", [x], {"weight": weight}, kernel=kernel, pad=kernel // 2)
        if isinstance(layer, net.BatchNorm):
            return self.add("bn", [x], {"scale": layer.scale.value, "shift": layer.shift.value,
                                        "mean": layer.running_mean, "variance": layer.running_variance},
                            epsilon=layer.EPSILON)
        if isinstance(layer, net.MaxPool):
            return self.add("pool", [x], kernel=2, stride=2)
        if isinstance(layer, net.GlobalAveragePool):
            return self.add("average", [x])
        if isinstance(layer, net.Dense):
            return self.add("dense", [x], {"weight": layer.weight.value.T, "bias": layer.bias.value})
        return self.add("relu", [x])


def steps(network):
    walker = Steps()
    logits = walker.walk(network, INPUT)
    walker.add("softmax", [logits])
    kind, name, inputs, _, arrays, attributes = walker.steps[-1]
    walker.steps[-1] = (kind, name, inputs, OUTPUT, arrays, attributes)
    return walker.steps


def onnx_nodes(kind, name, inputs, output, arrays, attributes):
    """The nodes of one step; its arrays are initializers called <name>_<array>."""
    from onnx import helper
    stored = [f"{name}_{array}" for array in arrays]
    if kind == "conv":
        size, pad = attributes["kernel"], attributes["pad"]
        return [helper.make_node("Conv", inputs + stored, [output], name, kernel_shape=[size, size],
                                 pads=[pad] * 4, strides=[1, 1])]
    if kind == "bn":
        return [helper.make_node("BatchNormalization", inputs + stored, [output], name,
                                 epsilon=attributes["epsilon"])]
    if kind == "pool":
        return [helper.make_node("MaxPool", inputs, [output], name, kernel_shape=[attributes["kernel"]] * 2,
                                 strides=[attributes["stride"]] * 2)]
    if kind == "average":
        flat = name + "_flat"
        return [helper.make_node("GlobalAveragePool", inputs, [flat], name),
                helper.make_node("Flatten", [flat], [output], name + "_flatten", axis=1)]
    if kind == "dense":
        return [helper.make_node("Gemm", inputs + stored, [output], name, transB=1)]
    if kind == "softmax":
        return [helper.make_node("Softmax", inputs, [output], name, axis=1)]
    return [helper.make_node({"relu": "Relu", "add": "Add"}[kind], inputs, [output], name)]


def write_onnx(network, path):
    import onnx
    from onnx import TensorProto, helper, numpy_helper
    nodes, initializers = [], []
    for kind, name, inputs, output, arrays, attributes in steps(network):
        nodes += onnx_nodes(kind, name, inputs, output, arrays, attributes)
        initializers += [numpy_helper.from_array(np.ascontiguousarray(value, np.float32), f"{name}_{array}")
                         for array, value in arrays.items()]
    graph = helper.make_graph(
        nodes, "digits",
        [helper.make_tensor_value_info(INPUT, TensorProto.FLOAT, ["N", 1, SIDE, SIDE])],
        [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, ["N", CLASSES])], initializers)
    model = helper.make_model(graph, producer_name="tenon", opset_imports=[helper.make_opsetid("", 17)],
                              ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString(deterministic=True))
