# SPDX-License-Identifier: Apache-2.0
"""A program in Python with NVIDIA's module: a network by hand with numpy weights, one through the ONNX parser, and one with
plugins that are written in Python.

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


class Factor(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    """Multiplies by a number; the test has a library with a plugin of the same name, version and fields."""

    def __init__(self, factor):
        for part in (trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
            part.__init__(self)
        self.plugin_name, self.plugin_version, self.plugin_namespace = "TimesThree", "3", ""
        self.num_outputs = 1
        self.factor = np.array([factor], np.float32)

    def get_capability_interface(self, kind):
        return self

    def clone(self):
        other = Factor(float(self.factor[0]))
        other.__dict__.update(self.__dict__)
        return other

    def get_output_data_types(self, input_types):
        return [input_types[0]]

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        return [trt.DimsExprs(inputs[0])]

    def configure_plugin(self, inputs, outputs):
        pass

    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].desc.type == trt.float32 and in_out[pos].desc.format == trt.TensorFormat.LINEAR

    def get_fields_to_serialize(self):
        return trt.PluginFieldCollection([trt.PluginField("factor", self.factor, trt.PluginFieldType.FLOAT32)])

    def attach_to_context(self, context):
        return self.clone()

    def on_shape_change(self, inputs, outputs):
        pass

    def set_tactic(self, tactic):
        pass

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        pass


class FactorCreator(trt.IPluginCreatorV3One):
    def __init__(self):
        trt.IPluginCreatorV3One.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "TimesThree", "3", ""
        self.field_names = trt.PluginFieldCollection(
            [trt.PluginField("factor", np.array([], np.float32), trt.PluginFieldType.FLOAT32)])

    def create_plugin(self, name, field_collection, phase):
        return Factor(float(np.asarray(field_collection[0].data).view(np.float32)[0]))


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
    product = network.add_matrix_multiply(x, trt.MatrixOperation.NONE, constant.get_output(0),
                                          trt.MatrixOperation.TRANSPOSE)
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


def with_plugins(builder, file):
    registry = trt.get_plugin_registry()
    creator = FactorCreator()
    assert registry.register_creator(creator, "")
    field = trt.PluginField("factor", np.array([4.5], np.float32), trt.PluginFieldType.FLOAT32)
    made = registry.get_creator("TimesThree", "3", "").create_plugin(
        "made", trt.PluginFieldCollection([field]), trt.TensorRTPhase.BUILD)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, (2, 2))
    for plugin in (made, Factor(5.5)):
        layer = network.add_plugin_v3([x], [], plugin)
        network.mark_output((layer or network.add_identity(x)).get_output(0))
    build(builder, network, file)
    registry.deregister_creator(creator)


def main():
    logger = trt.Logger(trt.Logger.WARNING)
    builder = trt.Builder(logger)
    by_hand(builder, sys.argv[2] + "0")
    parsed(builder, logger, sys.argv[1], sys.argv[2] + "1")
    with_plugins(builder, sys.argv[2] + "2")


if __name__ == "__main__":
    main()
