# SPDX-License-Identifier: Apache-2.0
"""Names that TensorRT 8 and 9 had and 10 dropped: what programs for those releases still call, by the means of 10.

Each warns once per place with a DeprecationWarning that says what stands for it. What a network needs an implicit batch
for (max_batch_size, execute with a batch) is refused by name: networks have explicit batches.
"""
import functools
import warnings
import weakref

from . import tensorrt as trt

_INPUT = trt.TensorIOMode.INPUT


def _warn(name, instead):
    warnings.warn(f"{name} is deprecated: use {instead}", DeprecationWarning, stacklevel=3)


def _older(owner, name, instead):
    """Marks a function as the older one of this name of a class."""
    def mark(function):
        @functools.wraps(function)
        def called(*arguments, **named):
            _warn(f"{owner.__name__}.{name}", instead)
            return function(*arguments, **named)
        called.__name__ = name
        called.__doc__ = f"Deprecated: use {instead}."
        setattr(owner, name, called)
        return function
    return mark


def _older_property(owner, name, instead, read, write=None):
    def get(self):
        _warn(f"{owner.__name__}.{name}", instead)
        return read(self)

    def put(self, value):
        _warn(f"{owner.__name__}.{name}", instead)
        write(self, value)

    setattr(owner, name, property(get, put if write else None, doc=f"Deprecated: use {instead}."))


# --- building --------------------------------------------------------------------------------------------------------

@_older(trt.Builder, "build_engine", "build_serialized_network")
def _build_engine(self, network, config):
    return self.build_engine_with_config(network, config)


def _refuse_batch(self, value):  # pylint: disable=unused-argument
    if value != 1:
        raise ValueError(f"max_batch_size = {value}: networks have no implicit batch; expected 1. "
                         "Give inputs a first axis of -1, and an optimization profile")


_older_property(trt.Builder, "max_batch_size", "an input whose first axis is -1", lambda self: 1, _refuse_batch)
_older_property(trt.ICudaEngine, "max_batch_size", "get_tensor_shape", lambda self: 1)
_WORKSPACE = trt.MemoryPoolType.WORKSPACE
_older_property(trt.IBuilderConfig, "max_workspace_size", "set_memory_pool_limit",
                lambda self: self.get_memory_pool_limit(_WORKSPACE),
                lambda self, size: self.set_memory_pool_limit(_WORKSPACE, size))
_older_property(trt.IBuilderConfig, "min_timing_iterations", "avg_timing_iterations",
                lambda self: self.avg_timing_iterations, lambda self, n: setattr(self, "avg_timing_iterations", n))
_older_property(trt.INetworkDefinition, "has_explicit_precision", "Q/DQ layers", lambda self: True)


@_older(trt.INetworkDefinition, "add_convolution", "add_convolution_nd")
def _add_convolution(self, input, num_output_maps, kernel_shape, kernel, bias=None):  # pylint: disable=redefined-builtin
    return self.add_convolution_nd(input, num_output_maps, kernel_shape, kernel, bias)


@_older(trt.INetworkDefinition, "add_deconvolution", "add_deconvolution_nd")
def _add_deconvolution(self, input, num_output_maps, kernel_shape, kernel, bias=None):  # pylint: disable=redefined-builtin
    return self.add_deconvolution_nd(input, num_output_maps, kernel_shape, kernel, bias)


@_older(trt.INetworkDefinition, "add_pooling", "add_pooling_nd")
def _add_pooling(self, input, type, window_size):  # pylint: disable=redefined-builtin
    return self.add_pooling_nd(input, type, window_size)


@_older(trt.INetworkDefinition, "add_padding", "add_padding_nd")
def _add_padding(self, input, pre_padding, post_padding):  # pylint: disable=redefined-builtin
    return self.add_padding_nd(input, pre_padding, post_padding)


for _layer, _names in ((trt.IConvolutionLayer, ("kernel_size", "stride", "padding", "dilation")),
                       (trt.IDeconvolutionLayer, ("kernel_size", "stride", "padding")),
                       (trt.IPoolingLayer, ("window_size", "stride", "padding")),
                       (trt.IPaddingLayer, ("pre_padding", "post_padding"))):
    for _name in _names:
        _older_property(_layer, _name, f"{_name}_nd",
                        lambda self, n=f"{_name}_nd": trt.DimsHW(tuple(getattr(self, n))),
                        lambda self, value, n=f"{_name}_nd": setattr(self, n, value))

# --- bindings: tensors of an engine by their number, profile after profile -------------------------------------------


def _place(engine, binding):
    """(name, profile) of a binding, by its number or name."""
    if isinstance(binding, str):
        return binding, 0
    count = engine.num_io_tensors
    if not 0 <= binding < count * engine.num_optimization_profiles:
        raise IndexError(f"binding {binding}; expected 0 to {count * engine.num_optimization_profiles - 1}")
    return engine.get_tensor_name(binding % count), binding // count


_older_property(trt.ICudaEngine, "num_bindings", "num_io_tensors",
                lambda self: self.num_io_tensors * self.num_optimization_profiles)


@_older(trt.ICudaEngine, "__len__", "num_io_tensors")
def _length(self):
    return self.num_io_tensors * self.num_optimization_profiles


trt.ICudaEngine.__bool__ = lambda self: True  # an engine is not None, whatever its length

_item = trt.ICudaEngine.__getitem__


def _binding_or_name(self, key):
    """The name of a tensor by its number; since 10 without, before with a name: its number."""
    return _index(self, key) if isinstance(key, str) else _item(self, key)


trt.ICudaEngine.__getitem__ = _binding_or_name


@_older(trt.ICudaEngine, "get_binding_index", "get_tensor_name")
def _index(self, name):
    names = [self.get_tensor_name(i) for i in range(self.num_io_tensors)]
    return names.index(name) if name in names else -1


@_older(trt.ICudaEngine, "get_binding_name", "get_tensor_name")
def _binding_name(self, index):
    return _place(self, index)[0]


@_older(trt.ICudaEngine, "binding_is_input", "get_tensor_mode")
def _is_input(self, binding):
    return self.get_tensor_mode(_place(self, binding)[0]) == _INPUT


def _by_binding(older, newer, profiled=False):
    @_older(trt.ICudaEngine, older, newer)
    def _of_binding(self, binding):
        name, profile = _place(self, binding)
        return getattr(self, newer)(name, profile) if profiled else getattr(self, newer)(name)
    return _of_binding


_by_binding("get_binding_shape", "get_tensor_shape")
_by_binding("get_binding_dtype", "get_tensor_dtype")
_by_binding("get_location", "get_tensor_location")
_by_binding("is_shape_binding", "is_shape_inference_io")
for _name in ("bytes_per_component", "components_per_element", "format", "format_desc", "vectorized_dim"):
    _by_binding(f"get_binding_{_name}", f"get_tensor_{_name}", profiled=True)


@_older(trt.ICudaEngine, "is_execution_binding", "get_tensor_location")
def _is_execution(self, binding):
    return self.get_tensor_location(_place(self, binding)[0]) == trt.TensorLocation.DEVICE


@_older(trt.ICudaEngine, "get_profile_shape", "get_tensor_profile_shape")
def _profile_shape(self, profile_index, binding):
    return self.get_tensor_profile_shape(_place(self, binding)[0], profile_index)


@_older(trt.ICudaEngine, "get_profile_shape_input", "get_tensor_profile_values")
def _profile_values(self, profile_index, binding):
    return self.get_tensor_profile_values(_place(self, binding)[0], profile_index)


# --- execution -------------------------------------------------------------------------------------------------------

@_older(trt.IExecutionContext, "set_binding_shape", "set_input_shape")
def _set_binding_shape(self, binding, shape):
    return self.set_input_shape(_place(self.engine, binding)[0], shape)


@_older(trt.IExecutionContext, "get_binding_shape", "get_tensor_shape")
def _get_binding_shape(self, binding):
    return self.get_tensor_shape(_place(self.engine, binding)[0])


@_older(trt.IExecutionContext, "get_strides", "get_tensor_strides")
def _get_strides(self, binding):
    return self.get_tensor_strides(_place(self.engine, binding)[0])


def _addresses(context, bindings):
    """The addresses of the active profile among those of all."""
    count = context.engine.num_io_tensors
    first = count * max(context.active_optimization_profile, 0)
    chosen = list(bindings[first:first + count]) if len(bindings) > count else list(bindings)
    if len(chosen) != count:
        raise ValueError(f"{len(bindings)} addresses; expected {count} for each optimization profile")
    return chosen


def _enqueue(context, bindings, stream_handle, input_consumed):
    for place, address in enumerate(_addresses(context, bindings)):
        if not context.set_tensor_address(context.engine.get_tensor_name(place), int(address)):
            return False
    if input_consumed is not None:
        context.set_input_consumed_event(int(input_consumed))
    return context.execute_async_v3(stream_handle)


@_older(trt.IExecutionContext, "execute_async_v2", "execute_async_v3")
def _execute_async_v2(self, bindings, stream_handle, input_consumed=None):
    return _enqueue(self, bindings, stream_handle, input_consumed)


def _check_batch(batch_size):
    if batch_size != 1:
        raise ValueError(f"batch_size = {batch_size}: networks have no implicit batch; expected 1. Use set_input_shape")


@_older(trt.IExecutionContext, "execute_async", "execute_async_v3")
def _execute_async(self, batch_size=1, bindings=(), stream_handle=0, input_consumed=None):
    _check_batch(batch_size)
    return _enqueue(self, bindings, stream_handle, input_consumed)


@_older(trt.IExecutionContext, "execute", "execute_v2")
def _execute(self, batch_size=1, bindings=()):
    _check_batch(batch_size)
    return self.execute_v2(_addresses(self, bindings))


# --- members of enums that other names replaced ----------------------------------------------------------------------

for _enum, _rows in ((trt.EngineCapability, {"DEFAULT": "STANDARD", "SAFE_GPU": "SAFETY", "SAFE_DLA": "DLA_STANDALONE"}),
                     (trt.ProfilingVerbosity, {"DEFAULT": "LAYER_NAMES_ONLY", "VERBOSE": "DETAILED"}),
                     (trt.SampleMode, {"DEFAULT": "STRICT_BOUNDS"})):
    for _name, _newer in _rows.items():
        setattr(_enum, _name, getattr(_enum, _newer))
ResizeMode, SliceMode = trt.InterpolationMode, trt.SampleMode


# --- what 7.x set on the builder, for build_cuda_engine --------------------------------------------------------------

_SETTINGS = weakref.WeakKeyDictionary()  # of builders


def _set_flag(flag):
    return lambda config, value: config.set_flag(flag) if value else config.clear_flag(flag)


def _builder_setting(name, default, instead, apply):
    def write(self, value):
        _SETTINGS.setdefault(self, {})[name] = (apply, value)
    _older_property(trt.Builder, name, instead, lambda self: _SETTINGS.get(self, {}).get(name, (None, default))[1], write)


_builder_setting("max_workspace_size", 0, "IBuilderConfig.set_memory_pool_limit",
                 lambda config, size: config.set_memory_pool_limit(_WORKSPACE, size))
_builder_setting("fp16_mode", False, "IBuilderConfig.set_flag(BuilderFlag.FP16)", _set_flag(trt.BuilderFlag.FP16))
_builder_setting("int8_mode", False, "IBuilderConfig.set_flag(BuilderFlag.INT8)", _set_flag(trt.BuilderFlag.INT8))
_builder_setting("strict_type_constraints", False, "IBuilderConfig.set_flag(BuilderFlag.OBEY_PRECISION_CONSTRAINTS)",
                 _set_flag(trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS))


@_older(trt.Builder, "build_cuda_engine", "build_serialized_network")
def _build_cuda_engine(self, network):
    config = self.create_builder_config()
    for apply, value in _SETTINGS.get(self, {}).values():
        apply(config, value)
    return self.build_engine_with_config(network, config)


# --- layers ----------------------------------------------------------------------------------------------------------

@_older(trt.INetworkDefinition, "add_fully_connected", "add_matrix_multiply")
def _add_fully_connected(self, input, num_outputs, kernel, bias=None):  # pylint: disable=redefined-builtin
    """The product with a matrix as the convolution that it is: its window is the whole image."""
    shape = tuple(input.shape)
    if len(shape) != 4 or min(shape[1:]) < 1:
        raise ValueError(f"add_fully_connected: an input of the shape {shape}; expected four axes, the last three known. "
                         "Use add_matrix_multiply")
    return self.add_convolution_nd(input, num_outputs, shape[2:], kernel, bias)


_older_property(trt.IConvolutionLayer, "num_output_channels", "num_output_maps", lambda self: self.num_output_maps,
                lambda self, count: setattr(self, "num_output_maps", count))


def _refuse_rnn(self, *arguments, **named):  # pylint: disable=unused-argument
    raise NotImplementedError("INetworkDefinition.add_rnn_v2 is gone since release 10: use add_loop, or the operators LSTM, GRU and RNN of ONNX")


trt.INetworkDefinition.add_rnn_v2 = _refuse_rnn

# --- shape inputs and the profile of a context -----------------------------------------------------------------------

_VALUES = weakref.WeakKeyDictionary()  # of shape inputs, by context


@_older(trt.IExecutionContext, "set_shape_input", "set_tensor_address")
def _set_shape_input(self, binding, shape):
    import numpy  # pylint: disable=import-outside-toplevel
    from . import nptype  # pylint: disable=import-outside-toplevel
    name = _place(self.engine, binding)[0]
    if not self.engine.is_shape_inference_io(name):
        raise ValueError(f"set_shape_input: '{name}' is no shape input")
    values = numpy.ascontiguousarray(shape, nptype(self.engine.get_tensor_dtype(name)))
    _VALUES.setdefault(self, {})[name] = values  # read when shapes are bound and when it runs
    return self.set_tensor_address(name, values.ctypes.data)


@_older(trt.IExecutionContext, "get_shape", "get_tensor_address")
def _get_shape(self, binding):
    name = _place(self.engine, binding)[0]
    if name not in _VALUES.get(self, {}):
        raise ValueError(f"get_shape: '{name}' has no values of set_shape_input")
    return _VALUES[self][name].reshape(-1).tolist()


_profile = trt.IExecutionContext.active_optimization_profile


def _set_profile(self, index):
    _warn("IExecutionContext.active_optimization_profile", "set_optimization_profile_async to set it")
    try:
        self.set_optimization_profile_async(index, 0)
    except RuntimeError as error:
        raise ValueError(f"active_optimization_profile = {index}: refused; expected 0 to {self.engine.num_optimization_profiles - 1}, "
                         "and one that no other context of the engine has") from error


trt.IExecutionContext.active_optimization_profile = property(_profile.fget, _set_profile, doc=_profile.__doc__)

# --- functions and enums ---------------------------------------------------------------------------------------------

trt.IDimensionExpr.isConstant = trt.IDimensionExpr.is_constant
trt.IDimensionExpr.getConstantValue = trt.IDimensionExpr.get_constant_value
trt.BuilderFlag.STRICT_TYPES = trt.BuilderFlag.OBEY_PRECISION_CONSTRAINTS

GONE = {"CaffeParser": "models of Caffe are converted to ONNX", "UffParser": "models of TensorFlow are converted to ONNX (tf2onnx)",
        "UffInputOrder": "UFF went with its parser", "ICaffePluginFactoryV2": "Caffe went with its parser",
        "IBlobNameToTensor": "Caffe went with its parser", "IRNNv2Layer": "use add_loop, or the operators LSTM, GRU and RNN of ONNX",
        "RNNOperation": "use add_loop, or ONNX", "RNNDirection": "use add_loop, or ONNX", "RNNInputMode": "use add_loop, or ONNX",
        "RNNGateType": "use add_loop, or ONNX", "IFullyConnectedLayer": "use add_matrix_multiply",
        "FieldCollection": "use PluginFieldCollection", "FieldMap": "use PluginField", "FieldType": "use PluginFieldType"}


def shutdown_protobuf_library():
    """Deprecated: does nothing; the parser's libraries are released with the process."""
    _warn("shutdown_protobuf_library", "nothing")
