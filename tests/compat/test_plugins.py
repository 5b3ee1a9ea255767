# SPDX-License-Identifier: Apache-2.0
"""Plugins that are written in Python, and the registry."""
import numpy as np
import tensorrt_bindings as trt

import support
from support import LOGGER, close, compiled, cuda, execute, loaded, random

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


def test_standard_plugins_are_registered():
    assert trt.init_libnvinfer_plugins(LOGGER, "")
    names = {c.name for c in registry().all_creators}
    assert "InstanceNormalization_TRT" in names, "the plugin library registers nothing"


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


def wrapped(x, pads):
    """x with its last axes padded by what stands at their other ends; pads: before the last axis, after it, and so on."""
    width = [(0, 0)] * x.ndim
    for pair in range(len(pads) // 2):
        width[-1 - pair] = (int(pads[2 * pair]), int(pads[2 * pair + 1]))
    return np.pad(x, width, "wrap")


def read(address, desc):
    array = np.empty(tuple(desc.dims), support.TO_NUMPY[desc.type])
    cuda().copy(array.ctypes.data, address, array.nbytes)
    return array


def write(address, array):
    array = np.ascontiguousarray(array)
    cuda().copy(address, array.ctypes.data, array.nbytes)


def padded_shape(shape, pads, expr_builder):
    result = trt.DimsExprs(shape)
    for pair in range(len(pads) // 2):
        axis = len(result) - 1 - pair
        more = expr_builder.constant(int(pads[2 * pair] + pads[2 * pair + 1]))
        result[axis] = expr_builder.operation(trt.DimensionOperation.SUM, result[axis], more)
    return result


PADS = np.array([1, 2, 0, 3], np.int32)
IMAGE = random(2, 3, 5, 4)
TYPES = (trt.float32, trt.float16)


class CircularPad(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    """Circular padding with the newer interface: two tactics, a timing cache id, FP32 and FP16."""

    def __init__(self, pads):
        for base in (trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
            base.__init__(self)
        self.plugin_name, self.plugin_version, self.plugin_namespace = "CircularPad", "1", "tests"
        self.num_outputs, self.timing_cache_id = 1, "CircularPad"
        self.pads, self.tactic, self.seen = np.array(pads, np.int32), 0, []

    def get_capability_interface(self, kind):
        return self

    def clone(self):
        other = CircularPad(self.pads)
        other.__dict__.update(self.__dict__)
        return other

    def get_output_data_types(self, input_types):
        return [input_types[0]]

    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        return [padded_shape(inputs[0], self.pads, expr_builder)]

    def configure_plugin(self, inputs, outputs):
        assert tuple(outputs[0].max)[-1] == tuple(inputs[0].max)[-1] + self.pads[0] + self.pads[1]

    def supports_format_combination(self, pos, in_out, num_inputs):
        desc = in_out[pos].desc
        return desc.format == trt.TensorFormat.LINEAR and desc.type in TYPES and desc.type == in_out[0].desc.type

    def get_valid_tactics(self):
        return [1, 2]

    def set_tactic(self, tactic):
        self.tactic = tactic

    def get_fields_to_serialize(self):
        return trt.PluginFieldCollection([trt.PluginField("pads", self.pads, trt.PluginFieldType.INT32)])

    def attach_to_context(self, context):
        assert context is not None
        return self.clone()

    def on_shape_change(self, inputs, outputs):
        self.seen = [tuple(inputs[0].dims), tuple(outputs[0].dims)]

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        assert self.tactic in (1, 2) and self.seen == [tuple(input_desc[0].dims), tuple(output_desc[0].dims)]
        cuda().wait(stream)
        write(outputs[0], wrapped(read(inputs[0], input_desc[0]), self.pads))


class CircularPadCreator(trt.IPluginCreatorV3One):
    def __init__(self):
        trt.IPluginCreatorV3One.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "CircularPad", "1", "tests"
        self.field_names = trt.PluginFieldCollection([trt.PluginField("pads", np.array([]), trt.PluginFieldType.INT32)])

    def create_plugin(self, name, field_collection, phase):
        return CircularPad(next(field.data for field in field_collection if field.name == "pads"))


def circular_pad(network, tensor):
    fields = trt.PluginFieldCollection([trt.PluginField("pads", PADS, trt.PluginFieldType.INT32)])
    creator = registry().get_creator("CircularPad", "1", "tests")
    plugin = creator.create_plugin("pad", fields, trt.TensorRTPhase.BUILD)
    return network.add_plugin_v3([tensor], [], plugin).get_output(0)


def test_circular_padding():
    creator = CircularPadCreator()
    assert registry().register_creator(creator, "tests")
    close([execute(loaded(compiled(circular_pad, {"x": IMAGE})), {"x": IMAGE})["output0"]], [wrapped(IMAGE, PADS)])


def test_circular_padding_of_dynamic_shapes():
    creator = CircularPadCreator()
    assert registry().register_creator(creator, "tests")
    engine = loaded(compiled(circular_pad, {"x": IMAGE}, dynamic=["x"]))
    context = engine.create_execution_context()
    for shape in ((2, 3, 5, 4), (1, 6, 3, 8), (4, 1, 10, 2)):
        x = random(*shape)
        close([execute(engine, {"x": x}, context)["output0"]], [wrapped(x, PADS)])


def test_circular_padding_in_half_precision():
    creator = CircularPadCreator()
    assert registry().register_creator(creator, "tests")
    half = IMAGE.astype(np.float16)
    flags = 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
    close([execute(loaded(compiled(circular_pad, {"x": half}, flags=flags)), {"x": half})["output0"]], [wrapped(half, PADS)])


class OldCircularPad(trt.IPluginV2DynamicExt):
    """Circular padding with the older interface."""

    def __init__(self, pads):
        trt.IPluginV2DynamicExt.__init__(self)
        self.num_outputs, self.plugin_namespace, self.plugin_type, self.plugin_version = 1, "", "OldCircularPad", "1"
        self.pads = np.array(pads, np.int32)

    def get_output_datatype(self, index, input_types):
        return input_types[0]

    def get_output_dimensions(self, output_index, inputs, expr_builder):
        return padded_shape(inputs[0], self.pads, expr_builder)

    def serialize(self):
        return self.pads.tobytes()

    def get_serialization_size(self):
        return self.pads.nbytes

    def configure_plugin(self, inputs, outputs):
        pass

    def supports_format_combination(self, pos, in_out, num_inputs):
        desc = in_out[pos]
        return desc.format == trt.TensorFormat.LINEAR and desc.type in TYPES and desc.type == in_out[0].type

    def get_workspace_size(self, inputs, outputs):
        return 64

    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        assert workspace
        cuda().wait(stream)
        write(outputs[0], wrapped(read(inputs[0], input_desc[0]), self.pads))

    def clone(self):
        other = OldCircularPad(self.pads)
        other.__dict__.update(self.__dict__)
        return other


class OldCircularPadCreator(trt.IPluginCreator):
    def __init__(self):
        trt.IPluginCreator.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "OldCircularPad", "1", ""
        self.field_names = trt.PluginFieldCollection([trt.PluginField("pads", np.array([]), trt.PluginFieldType.INT32)])

    def create_plugin(self, name, field_collection):
        return OldCircularPad(field_collection[0].data)

    def deserialize_plugin(self, name, data):
        return OldCircularPad(np.frombuffer(data, np.int32))


def test_old_circular_padding():
    creator = OldCircularPadCreator()
    assert registry().register_creator(creator, "")

    def build(network, tensor):
        return network.add_plugin_v2([tensor], OldCircularPad(PADS)).get_output(0)

    for dynamic in ((), ("x",)):
        close([execute(loaded(compiled(build, {"x": IMAGE}, dynamic=dynamic)), {"x": IMAGE})["output0"]], [wrapped(IMAGE, PADS)])


def test_fields():
    """What a field shows of its data."""
    for kind, values in ((trt.PluginFieldType.FLOAT32, np.array([1.5, -2], np.float32)), (trt.PluginFieldType.INT32, PADS),
                         (trt.PluginFieldType.FLOAT64, np.array([0.25])), (trt.PluginFieldType.INT8, np.array([-3], np.int8)),
                         (trt.PluginFieldType.INT16, np.array([7, 8, 9], np.int16)),
                         (trt.PluginFieldType.INT64, np.array([2**40], np.int64))):
        field = trt.PluginField("f", values, kind)
        assert field.name == "f" and field.type == kind and field.size == values.size
        assert field.data.dtype == values.dtype and np.array_equal(field.data, values), (kind, field.data)
    fields = trt.PluginFieldCollection([trt.PluginField("a"), trt.PluginField("b")])
    fields.append(trt.PluginField("c"))
    assert [f.name for f in fields] == ["a", "b", "c"] and fields.pop().name == "c" and len(fields) == 2
    view = trt.PluginFieldCollection_(fields)
    assert len(view) == 2 and view[1].name == "b"


class Counter(trt.IPluginResource):
    """A resource whose copies are counted."""
    released = []

    def __init__(self, number=0):
        trt.IPluginResource.__init__(self)
        self.number = number

    def clone(self):
        return Counter(self.number + 1)

    def release(self):
        Counter.released.append(self.number)
        return 0


def test_resources():
    first = registry().acquire_plugin_resource("counter", Counter())
    second = registry().acquire_plugin_resource("counter", Counter(7))
    assert first.number == second.number == 1, "the second is the first one's copy"
    assert registry().release_plugin_resource("counter") == 0 and not Counter.released
    registry().release_plugin_resource("counter")
    assert Counter.released == [1]
