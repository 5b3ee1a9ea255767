#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Steps of a decoder whose past grows, so that each execution has other shapes, beside ONNX Runtime.

    PYTHONPATH=build/release/python python3 benchmarks/growing_lengths.py [--layers N] [--rounds N]

Needs the Python packages numpy, onnx and onnxruntime. Prints, with one thread, the least processor time of a step over the
rounds: with a past that grows by one from step to step (1 to 100), the same with a past of 64 throughout, and ONNX Runtime's
with the growing one; and the greatest difference of the results, relative to the greatest value.
"""
import argparse
import os
import sys
import time

os.environ.setdefault("TENON_THREADS", "1")
os.environ.setdefault("TENON_DEVICE", "cpu")
import numpy as np
import onnx
import onnxruntime
import tensorrt as trt
from onnx import TensorProto, helper, numpy_helper

WIDTH, HEADS, HIDDEN, MOST = 256, 8, 688, 128
HEAD = WIDTH // HEADS


def decoder(layers):
    """One token [1, 1, WIDTH], and for each layer keys and values [1, HEADS, past, HEAD] that grow by one."""
    random = np.random.default_rng(0)
    nodes, weights, outputs = [], [], ["y"]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 1, WIDTH])]

    def constant(name, values):
        weights.append(numpy_helper.from_array(values, name))
        return name

    def node(operator, *operands, output=None, **attributes):
        output = output or f"v{len(nodes)}"
        nodes.append(helper.make_node(operator, list(operands), [output], **attributes))
        return output

    def product(x, rows, columns):
        return node("MatMul", x, constant(f"w{len(weights)}", (random.standard_normal((rows, columns)) / rows**0.5).astype(np.float32)))

    def norm(x):
        return node("LayerNormalization", x, constant(f"w{len(weights)}", np.ones(WIDTH, np.float32)), axis=-1)

    split = constant("split", np.array([1, 1, HEADS, HEAD], np.int64))
    join = constant("join", np.array([1, 1, WIDTH], np.int64))
    scale = constant("scale", np.float32(HEAD**-0.5))
    x = "x"
    for layer in range(layers):
        y = norm(x)
        q, k, v = (node("Transpose", node("Reshape", product(y, WIDTH, WIDTH), split), perm=[0, 2, 1, 3]) for _ in range(3))
        whole = []
        for name, new in ((f"k{layer}", k), (f"v_{layer}", v)):
            inputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, HEADS, "past", HEAD]))
            outputs.append(node("Concat", name, new, output=f"{name}_whole", axis=2))
            whole.append(outputs[-1])
        scores = node("Mul", node("MatMul", q, node("Transpose", whole[0], perm=[0, 1, 3, 2])), scale)
        seen = node("MatMul", node("Softmax", scores, axis=-1), whole[1])
        x = node("Add", x, product(node("Reshape", node("Transpose", seen, perm=[0, 2, 1, 3]), join), WIDTH, WIDTH))
        x = node("Add", x, product(node("Relu", product(norm(x), WIDTH, HIDDEN)), HIDDEN, WIDTH))
    node("Identity", x, output="y")
    graph = helper.make_graph(nodes, "decoder", inputs, [onnx.ValueInfoProto(name=name) for name in outputs], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


class Engine:
    def __init__(self, model, x, past):
        logger = trt.Logger(trt.Logger.ERROR)
        builder = trt.Builder(logger)
        network = builder.create_network(0)
        parser = trt.OnnxParser(network, logger)
        if not parser.parse(model):
            sys.exit(parser.get_error(0).desc())
        profile = builder.create_optimization_profile()
        for name in past:
            profile.set_shape(name, (1, HEADS, 1, HEAD), (1, HEADS, 64, HEAD), (1, HEADS, MOST, HEAD))
        config = builder.create_builder_config()
        config.add_optimization_profile(profile)
        plan = builder.build_serialized_network(network, config)
        self.engine = trt.Runtime(logger).deserialize_cuda_engine(plan)
        self.context = self.engine.create_execution_context()
        self.past = list(past)
        self.outputs = {}
        for i in range(network.num_outputs):
            self.outputs[network.get_output(i).name] = np.empty(HEADS * (MOST + 1) * HEAD, np.float32)
        names = [self.engine.get_tensor_name(i) for i in range(self.engine.num_io_tensors)]
        self.addresses = [{"x": x, **past, **self.outputs}[name].ctypes.data for name in names]

    def step(self, length):
        for name in self.past:
            self.context.set_input_shape(name, (1, HEADS, length, HEAD))
        if not self.context.execute_v2(self.addresses):
            sys.exit("an execution failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=12)
    options = parser.parse_args()
    random = np.random.default_rng(1)
    model = decoder(options.layers)
    x = random.standard_normal((1, 1, WIDTH)).astype(np.float32)
    names = [name for layer in range(options.layers) for name in (f"k{layer}", f"v_{layer}")]
    past = {name: random.standard_normal(HEADS * MOST * HEAD).astype(np.float32) for name in names}
    engine = Engine(model, x, past)
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, session_options, providers=["CPUExecutionProvider"])

    def peer(length):
        size = HEADS * length * HEAD
        return session.run(None, {"x": x, **{n: v[:size].reshape(1, HEADS, length, HEAD) for n, v in past.items()}})

    worst = 0.0
    for length in (1, 64, 7, 100, 64, 2):
        engine.step(length)
        for output, wanted in zip(session.get_outputs(), peer(length)):
            got = engine.outputs[output.name][:wanted.size].reshape(wanted.shape)
            worst = max(worst, float(np.abs(got - wanted).max() / np.abs(wanted).max()))
    least = {}
    for _ in range(options.rounds):
        for name, call in (("growing", lambda k: engine.step(1 + k)), ("same", lambda k: engine.step(64)), ("onnxruntime", lambda k: peer(1 + k))):
            begin = time.process_time()
            for k in range(100):
                call(k)
            least[name] = min(least.get(name, 1e9), (time.process_time() - begin) * 1e4)
    print("  ".join(f"{name} {time_:.0f} us" for name, time_ in least.items()), f" difference {worst:.1e}")


if __name__ == "__main__":
    main()
