# SPDX-License-Identifier: Apache-2.0
"""A program in Python with NVIDIA's module: a network by hand with numpy weights, and one through the ONNX parser.

python_scene.py MODEL PREFIX
"""
import sys

import numpy as np
import tensorrt_bindings as trt


class Monitor(trt.IProgressMonitor):
    """Only counts."""

    def __init__(self):
        trt.IProgressMonitor.__init__(self)
        self.steps = 0

    def phase_start(self, phase_name, parent_phase, num_steps):
        pass

    def phase_finish(self, phase_name):
        pass

    def step_complete(self, phase_name, step):
        self.steps += 1
        return True


def build(builder, network, file, monitor=None):
    config = builder.create_builder_config()
    config.builder_optimization_level = 0
    if monitor is not None:
        config.progress_monitor = monitor
    profile = builder.create_optimization_profile()
    for i in range(network.num_inputs):
        shape = list(network.get_input(i).shape)
        profile.set_shape(network.get_input(i).name, *[[n if e < 0 else e for e in shape] for n in (1, 2, 4)])
    config.add_optimization_profile(profile)
    with open(file, "wb") as out:
        out.write(bytes(builder.build_serialized_network(network, config)))


def by_hand(builder, file):
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (4, 8))
    weights = np.linspace(-1, 1, 64, dtype=np.float32)
    constant = network.add_constant((8, 8), weights)
    product = network.add_matrix_multiply(x, trt.MatrixOperation.NONE, constant.get_output(0), trt.MatrixOperation.TRANSPOSE)
    product.name = "product"
    top = network.add_topk(product.get_output(0), trt.TopKOperation.MAX, 2, 2)
    assert network.get_layer(1).name == "product" and network.get_layer(2).type == trt.LayerType.TOPK
    network.mark_output(top.get_output(0))
    build(builder, network, file, Monitor())


def parsed(builder, logger, model, file):
    network = builder.create_network()
    parser = trt.OnnxParser(network, logger)
    assert parser.parse_from_file(model)
    build(builder, network, file)


def main():
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    by_hand(builder, sys.argv[2] + "0")
    parsed(builder, logger, sys.argv[1], sys.argv[2] + "1")


if __name__ == "__main__":
    main()
