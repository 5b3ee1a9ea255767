# SPDX-License-Identifier: Apache-2.0
"""Plugins that are written in Python, and the registry."""
import numpy as np
import tensorrt_bindings as trt

import support
from support import LOGGER, close, compiled, cuda, execute, loaded, random, unsupported

X = random(3, 5)


class Shift(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    """Adds a number to each element."""

    def __init__(self, amount=1.0):
        trt.IPluginV3.__init__(self)
        trt.IPluginV3OneCore.__init__(self)
        trt.IPluginV3OneBuild.__init__(self)
        trt.IPluginV3OneRuntime.__init__(self)
        self.plugin_name, self.plugin_version, self.plugin_namespace = "Shift", "1", ""
        self.num_outputs = 1
        self.amount = np.array([amount], np.float32)

    def get_capability_interface(self, kind):
        return self

    def clone(self):
        other = Shift(float(self.amount[0]))
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
        return trt.PluginFieldCollection([trt.PluginField("amount", self.amount, trt.PluginFieldType.FLOAT32)])

    def attach_to_context(self, context):
        return self.clone()

    def on_shape_change(self, inputs, outputs):
        pass

    def set_tactic(self, tactic):
        pass

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        cuda().wait(stream)
        array = np.empty(tuple(input_desc[0].dims), np.float32)
        cuda().copy(array.ctypes.data, inputs[0], array.nbytes)
        array += self.amount[0]
        cuda().copy(outputs[0], array.ctypes.data, array.nbytes)


class ShiftCreator(trt.IPluginCreatorV3One):
    def __init__(self):
        trt.IPluginCreatorV3One.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "Shift", "1", ""
        self.field_names = trt.PluginFieldCollection(
            [trt.PluginField("amount", np.array([], np.float32), trt.PluginFieldType.FLOAT32)])

    def create_plugin(self, name, field_collection, phase):
        return Shift(float(np.asarray(field_collection[0].data).view(np.float32)[0]))


def registry():
    return trt.get_plugin_registry()


def test_registry_keeps_creators():
    creator = ShiftCreator()
    assert registry().register_creator(creator, "")
    assert not registry().register_creator(creator, ""), "registered twice"
    assert registry().get_creator("Shift", "1", "") is not None
    assert "Shift" in [c.name for c in registry().all_creators]
    assert registry().get_creator("Shift", "2", "") is None
    assert registry().deregister_creator(creator) and registry().get_creator("Shift", "1", "") is None


@unsupported("the standard plugin library holds no plugins yet")
def test_standard_plugins_are_registered():
    assert trt.init_libnvinfer_plugins(LOGGER, "")
    names = {c.name for c in registry().all_creators}
    assert names, "the plugin library registers nothing"


def test_python_plugin_runs():
    registry().register_creator(ShiftCreator(), "")
    plugin = Shift(2.5)

    def build(network, tensor):
        layer = network.add_plugin_v3([tensor], [], plugin)
        assert layer.type == trt.LayerType.PLUGIN_V3 and layer.num_outputs == 1
        assert tuple(layer.get_output(0).shape) == (3, 5)
        return network.add_unary(layer.get_output(0), trt.UnaryOperation.NEG).get_output(0)

    close([execute(loaded(compiled(build, {"x": X})), {"x": X})["output0"]], [-(X + 2.5)])


class OldShift(trt.IPluginV2DynamicExt):
    """The same with the older interface."""

    def __init__(self, amount=1.0):
        trt.IPluginV2DynamicExt.__init__(self)
        self.num_outputs, self.plugin_namespace = 1, ""
        self.plugin_type, self.plugin_version = "OldShift", "1"
        self.amount = amount

    def clone(self):
        return OldShift(self.amount)

    def get_output_datatype(self, index, input_types):
        return input_types[0]

    def get_output_dimensions(self, output_index, inputs, expr_builder):
        return trt.DimsExprs(inputs[0])

    def configure_plugin(self, inputs, outputs):
        pass

    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].type == trt.float32 and in_out[pos].format == trt.TensorFormat.LINEAR

    def get_serialization_size(self):
        return len(self.serialize())

    def serialize(self):
        return np.float32(self.amount).tobytes()

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        Shift(self.amount).enqueue(input_desc, output_desc, inputs, outputs, workspace, stream)


class OldShiftCreator(trt.IPluginCreator):
    def __init__(self):
        trt.IPluginCreator.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "OldShift", "1", ""
        self.field_names = trt.PluginFieldCollection([])

    def create_plugin(self, name, field_collection):
        return OldShift()

    def deserialize_plugin(self, name, data):
        return OldShift(float(np.frombuffer(data, np.float32)[0]))


def test_old_python_plugin_runs():
    registry().register_creator(OldShiftCreator(), "")
    plugin = OldShift(-1.5)

    def build(network, tensor):
        layer = network.add_plugin_v2([tensor], plugin)
        assert layer.type == trt.LayerType.PLUGIN_V2
        return layer.get_output(0)

    close([execute(loaded(compiled(build, {"x": X})), {"x": X})["output0"]], [X - 1.5])
