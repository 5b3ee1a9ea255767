# SPDX-License-Identifier: Apache-2.0
"""Plugins written in Python, with their creators and a network around one: what tests of plugins share."""
import weakref

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position
from tensorrt._runner import _Cuda  # noqa: E402  pylint: disable=wrong-import-position

CUDA = _Cuda()
X = np.arange(6, dtype=np.float32).reshape(2, 3)
ALIVE = weakref.WeakSet()


class Oops(Exception):
    pass


class Logger(trt.ILogger):
    def __init__(self):
        trt.ILogger.__init__(self)
        self.errors = []

    def log(self, severity, msg):
        if int(severity) <= int(trt.ILogger.ERROR):
            self.errors.append(msg)


class Settings:
    """What a plugin does otherwise in a test."""
    raises = None   # the name of the function that raises
    answers = {}    # functions that answer something else


def told(function):
    """Marks a function of a plugin: it raises, or answers otherwise, where the settings say so."""
    def called(self, *arguments):
        if Settings.raises == function.__name__:
            raise Oops(function.__name__)
        if function.__name__ in Settings.answers:
            return Settings.answers[function.__name__]
        return function(self, *arguments)
    called.__name__ = function.__name__
    return called


class Shift(trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
    def __init__(self, amount):
        for base in (trt.IPluginV3, trt.IPluginV3OneCore, trt.IPluginV3OneBuild, trt.IPluginV3OneRuntime):
            base.__init__(self)
        self.plugin_name, self.plugin_version, self.plugin_namespace, self.num_outputs = "Shift", "1", "", 1
        self.amount = np.float32(amount)
        ALIVE.add(self)

    @told
    def get_capability_interface(self, kind):
        return self

    @told
    def clone(self):
        return Shift(self.amount)

    @told
    def get_output_data_types(self, input_types):
        return [input_types[0]]

    @told
    def get_output_shapes(self, inputs, shape_inputs, expr_builder):
        return [trt.DimsExprs(inputs[0])]

    @told
    def configure_plugin(self, inputs, outputs):
        pass

    @told
    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].desc.type == trt.float32 and in_out[pos].desc.format == trt.TensorFormat.LINEAR

    @told
    def get_workspace_size(self, inputs, outputs):
        return 16

    @told
    def get_valid_tactics(self):
        return [3]

    @told
    def set_tactic(self, tactic):
        pass

    @told
    def get_fields_to_serialize(self):
        return trt.PluginFieldCollection([trt.PluginField("amount", self.amount, trt.PluginFieldType.FLOAT32)])

    @told
    def attach_to_context(self, context):
        return Shift(self.amount)

    @told
    def on_shape_change(self, inputs, outputs):
        pass

    @told
    def enqueue(self, input_desc, output_desc, inputs, outputs, workspace, stream):
        CUDA.wait(stream)
        array = np.empty(tuple(input_desc[0].dims), np.float32)
        CUDA.copy(array.ctypes.data, inputs[0], array.nbytes)
        array += self.amount
        CUDA.copy(outputs[0], array.ctypes.data, array.nbytes)


class ShiftCreator(trt.IPluginCreatorV3One):
    def __init__(self):
        trt.IPluginCreatorV3One.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "Shift", "1", ""
        self.field_names = trt.PluginFieldCollection([trt.PluginField("amount", None, trt.PluginFieldType.FLOAT32)])

    @told
    def create_plugin(self, name, field_collection, phase):
        return Shift(field_collection[0].data[0])


class OldShift(trt.IPluginV2DynamicExt):
    def __init__(self, amount):
        trt.IPluginV2DynamicExt.__init__(self)
        self.plugin_type, self.plugin_version, self.plugin_namespace, self.num_outputs = "OldShift", "1", "", 1
        self.amount = np.float32(amount)
        ALIVE.add(self)

    @told
    def clone(self):
        return OldShift(self.amount)

    @told
    def initialize(self):
        return 0

    @told
    def get_output_datatype(self, index, input_types):
        return input_types[0]

    @told
    def get_output_dimensions(self, output_index, inputs, expr_builder):
        return trt.DimsExprs(inputs[0])

    @told
    def configure_plugin(self, inputs, outputs):
        pass

    @told
    def supports_format_combination(self, pos, in_out, num_inputs):
        return in_out[pos].type == trt.float32 and in_out[pos].format == trt.TensorFormat.LINEAR

    @told
    def get_workspace_size(self, inputs, outputs):
        return 0

    @told
    def serialize(self):
        return self.amount.tobytes()

    enqueue = Shift.enqueue


class OldShiftCreator(trt.IPluginCreator):
    def __init__(self):
        trt.IPluginCreator.__init__(self)
        self.name, self.plugin_version, self.plugin_namespace = "OldShift", "1", ""
        self.field_names = trt.PluginFieldCollection([])

    @told
    def deserialize_plugin(self, name, data):
        return OldShift(np.frombuffer(data, np.float32)[0])


def register():
    creators = [ShiftCreator(), OldShiftCreator()]
    for creator in creators:
        assert trt.get_plugin_registry().register_creator(creator)


def network_of(logger, plugin):
    builder = trt.Builder(logger)
    network = builder.create_network()
    x = network.add_input("x", trt.float32, X.shape)
    add = network.add_plugin_v3 if isinstance(plugin, trt.IPluginV3) else None
    layer = add([x], [], plugin) if add else network.add_plugin_v2([x], plugin)
    if layer is None:
        return builder, None
    layer.name = "the layer"
    output = layer.get_output(0)
    output.name = "y"
    network.mark_output(output)
    return builder, network


def plan_with(logger, plugin):
    builder, network = network_of(logger, plugin)
    return network and support.plan_of(trt, builder, network)


def run(engine, x=X):
    return trt.Runner(engine)(x=x)["y"]


PLUGINS = {"v3": lambda: Shift(2.5), "v2": lambda: OldShift(2.5)}
