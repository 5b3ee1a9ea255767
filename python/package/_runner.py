# SPDX-License-Identifier: Apache-2.0
"""An engine as a function: arrays in, arrays out."""
import ctypes
import pathlib

from . import tensorrt as trt

_COPY_ANY = 4  # cudaMemcpyDefault


# Where the libnvinfer lies that this process has loaded; asked at once, as the loader may know it by a relative path.
LIBRARIES = pathlib.Path(trt._file_of_library()).resolve().parent  # pylint: disable=protected-access


def open_cudart(*releases):
    """The CUDA runtime library beside libnvinfer, or the system's. OSError where there is none."""
    names = [f"libcudart.so.{release}" for release in releases or (13, 12)]
    beside = [str(LIBRARIES / name) for name in names if (LIBRARIES / name).exists()]
    errors = []
    for name in [*beside, *names]:
        try:
            return ctypes.CDLL(name)
        except OSError as error:
            errors.append(str(error))
    raise OSError(f"no CUDA runtime library: {'; '.join(errors)}")


class _Cuda:
    """The few functions of the CUDA runtime that a run needs. Without a GPU they are those of hostcuda."""

    def __init__(self):
        self._library = open_cudart()

    def call(self, name, *arguments):
        status = getattr(self._library, name)(*arguments)
        if status != 0:
            text = self._library.cudaGetErrorString
            text.restype = ctypes.c_char_p
            raise RuntimeError(f"{name}: {text(status).decode()} ({status})")

    def allocate(self, size):
        pointer = ctypes.c_void_p()
        self.call("cudaMalloc", ctypes.byref(pointer), ctypes.c_size_t(max(size, 1)))
        return pointer.value

    def free(self, pointer):
        self.call("cudaFree", ctypes.c_void_p(pointer))

    def copy(self, target, source, size):
        if size:
            self.call("cudaMemcpy", ctypes.c_void_p(target), ctypes.c_void_p(source), ctypes.c_size_t(size), _COPY_ANY)

    def stream(self):
        handle = ctypes.c_void_p()
        self.call("cudaStreamCreate", ctypes.byref(handle))
        return handle.value

    def wait(self, stream):
        self.call("cudaStreamSynchronize", ctypes.c_void_p(stream))

    def end_stream(self, stream):
        self.call("cudaStreamDestroy", ctypes.c_void_p(stream))


class _Memory:
    """Device memory that grows when it must."""

    def __init__(self, cuda):
        self._cuda, self.pointer, self.size = cuda, 0, 0

    def at_least(self, size):
        if self.pointer == 0 or size > self.size:
            self.free()
            self.pointer, self.size = self._cuda.allocate(size), size
        return self.pointer

    def free(self):
        if self.pointer:
            self._cuda.free(self.pointer)
        self.pointer = self.size = 0

    def __del__(self):
        self.free()


class _Output(trt.IOutputAllocator):
    """Memory for an output whose extents only the run tells."""

    def __init__(self, cuda):
        trt.IOutputAllocator.__init__(self)
        self.memory, self.shape = _Memory(cuda), None

    def reallocate_output(self, tensor_name, memory, size, alignment):  # pylint: disable=unused-argument
        return self.memory.at_least(size)

    def notify_shape(self, tensor_name, shape):  # pylint: disable=unused-argument
        self.shape = tuple(shape)


def _is_list(given):
    return hasattr(given, "__len__") and hasattr(given, "__getitem__") and not isinstance(given, (str, bytes))


def _three(name, given, what):
    """The (least, usual, greatest) of what is given, which may be one for all."""
    if not _is_list(given):
        raise TypeError(f"input '{name}': {what} are given as {type(given).__name__}; expected a tuple, or three of them")
    if len(given) == 0 or not _is_list(given[0]):
        return given, given, given
    if len(given) != 3:
        raise ValueError(f"input '{name}': {len(given)} {what}; expected one, or the least, usual and greatest")
    return given


def _profile_of(network, profile, shapes, values):
    """Fills the profile in; whether the network needs one."""
    inputs = [network.get_input(place) for place in range(network.num_inputs)]
    names = [tensor.name for tensor in inputs]
    for word, given in (("shapes", shapes), ("values", values)):
        for name in given:
            if name not in names:
                raise ValueError(f"{word} name an input '{name}', which the network does not have; "
                                 f"its inputs are {', '.join(names) or 'none'}")
    dynamic = bool(values)
    for tensor in inputs:
        shape, given = tuple(tensor.shape), shapes.get(tensor.name)
        is_open = min(shape, default=0) < 0
        if given is None and is_open:
            raise ValueError(f"input '{tensor.name}' has the shape {shape}; expected its (least, usual, greatest) shapes "
                             f"in shapes={{'{tensor.name}': (...)}}")
        if given is None:
            continue
        three = [tuple(one) for one in _three(tensor.name, given, "shapes")]
        for one in three:
            if len(one) != len(shape) or any(b < 0 or a not in (b, -1) for a, b in zip(shape, one)):
                raise ValueError(f"input '{tensor.name}' has the shape {shape}; {one} does not fit it")
        if any(not a <= b <= c for a, b, c in zip(*three)):
            raise ValueError(f"input '{tensor.name}': shapes {three}; expected least <= usual <= greatest in each dimension")
        if is_open:
            profile.set_shape(tensor.name, *three)
            dynamic = True
    for name, given in values.items():
        three = _three(name, given if _is_list(given) else [given], "values")
        profile.set_shape_input(name, *(list(at) for at in three))
    return dynamic


def _build(model, logger, shapes, values, configure):
    builder = trt.Builder(logger)
    network = builder.create_network()
    parser = trt.OnnxParser(network, logger)
    read = parser.parse(model) if isinstance(model, (bytes, bytearray, memoryview)) else parser.parse_from_file(str(model))
    if not read:
        raise ValueError("; ".join(parser.get_error(i).desc() for i in range(parser.num_errors)) or "the model cannot be read")
    config = builder.create_builder_config()
    profile = builder.create_optimization_profile()
    if _profile_of(network, profile, shapes, values):
        config.add_optimization_profile(profile)
    if configure:
        configure(config)
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise RuntimeError("no engine could be built; the log says why")
    return plan


def _holds_bytes(given):
    try:
        memoryview(given).release()
    except TypeError:
        return False
    return True


class Runner:
    """Runs an engine on arrays of numpy.

    model: the path of an ONNX model or of an engine, the bytes of an engine, or an ICudaEngine.
    shapes: for each input of an ONNX model whose shape is open, one shape, or the (least, usual, greatest) ones.
    values: for each input whose values decide shapes, its elements in a tuple (a number of no dimensions alone), or the
        (least, usual, greatest) ones.
    configure: called with the IBuilderConfig before the build.

        runner = tensorrt.Runner("model.onnx")
        answers = runner(input=array)        # {name of output: array}
    """

    def __init__(self, model, shapes=None, configure=None, logger=None, values=None):
        self._logger = logger or trt.Logger(trt.Logger.WARNING)
        self._cuda = _Cuda()
        self.plan = None
        if isinstance(model, trt.ICudaEngine):
            self.engine = model
        else:
            is_bytes = not isinstance(model, (str, pathlib.PurePath))
            if is_bytes and not _holds_bytes(model):
                raise TypeError(f"the model is given as {type(model).__name__}; expected a path, the bytes of an engine, or an ICudaEngine")
            if not is_bytes and str(model).endswith(".onnx"):
                self.plan = _build(model, self._logger, shapes or {}, values or {}, configure)
            else:
                self.plan = model if is_bytes else pathlib.Path(model).read_bytes()
            self.engine = trt.Runtime(self._logger).deserialize_cuda_engine(self.plan)
            if self.engine is None:
                raise ValueError("the engine cannot be loaded; the log says why")
        self.context = self.engine.create_execution_context()
        self._stream = self._cuda.stream()
        names = [self.engine.get_tensor_name(i) for i in range(self.engine.num_io_tensors)]
        self.inputs = [n for n in names if self.engine.get_tensor_mode(n) == trt.TensorIOMode.INPUT]
        self.outputs = [n for n in names if n not in self.inputs]
        self._memory = {name: _Memory(self._cuda) for name in names}
        self._computed = {}  # allocators of the outputs whose extents only a run tells

    def _type(self, name):
        import numpy  # pylint: disable=import-outside-toplevel
        from . import nptype  # pylint: disable=import-outside-toplevel
        return numpy.dtype(nptype(self.engine.get_tensor_dtype(name)))

    def _set_input(self, name, value):
        """Sets shape and address; returns what must live until the run has ended."""
        import numpy  # pylint: disable=import-outside-toplevel
        if hasattr(value, "__cuda_array_interface__"):
            facts = value.__cuda_array_interface__
            shape, address, kept = facts["shape"], facts["data"][0], value
            if numpy.dtype(facts["typestr"]) != self._type(name) or facts.get("strides") is not None:
                raise TypeError(f"input '{name}': expected contiguous elements of {self._type(name)}")
        else:
            foreign = hasattr(value, "__dlpack__") and not isinstance(value, numpy.ndarray)
            array = numpy.from_dlpack(value) if foreign else numpy.asarray(value)
            if array.dtype != self._type(name):
                raise TypeError(f"input '{name}' has elements of {array.dtype}; expected {self._type(name)}")
            kept = array = numpy.ascontiguousarray(array).reshape(array.shape)
            shape, address = array.shape, array.ctypes.data
            if self.engine.get_tensor_location(name) == trt.TensorLocation.DEVICE:
                address = self._memory[name].at_least(array.nbytes)
                self._cuda.copy(address, array.ctypes.data, array.nbytes)
        if not self.context.set_input_shape(name, shape):
            raise ValueError(f"input '{name}' has the shape {tuple(shape)}, which is refused; "
                             f"expected {self.engine.get_tensor_shape(name)} within the profile")
        self.context.set_tensor_address(name, address)
        return kept

    def _set_output(self, name):
        """An allocator, or an array of the host that the run writes into, or None for device memory of a known size."""
        import numpy  # pylint: disable=import-outside-toplevel
        if name in self._computed:  # its shape is that of the run before
            return self._computed[name]
        shape = tuple(self.context.get_tensor_shape(name))
        if min(shape, default=0) < 0:
            place = self._computed[name] = _Output(self._cuda)
            self.context.set_output_allocator(name, place)
            return place
        if self.engine.get_tensor_location(name) == trt.TensorLocation.HOST:
            place = numpy.empty(shape, self._type(name))
            self.context.set_tensor_address(name, place.ctypes.data)
            return place
        size = self._type(name).itemsize
        for extent in shape:
            size *= extent
        self.context.set_tensor_address(name, self._memory[name].at_least(size))
        return None

    def _fetch(self, name, place):
        import numpy  # pylint: disable=import-outside-toplevel
        if isinstance(place, numpy.ndarray):
            return place
        shape, memory = (place.shape, place.memory) if place else (tuple(self.context.get_tensor_shape(name)), self._memory[name])
        array = numpy.empty(shape, self._type(name))
        self._cuda.copy(array.ctypes.data, memory.pointer, array.nbytes)
        return array

    def __call__(self, *arrays, **named):
        """Arrays in the order of the inputs, or by name; what has __dlpack__ or __cuda_array_interface__ counts as one."""
        if len(arrays) > len(self.inputs):
            raise TypeError(f"{len(arrays)} arrays; expected at most {len(self.inputs)}: {', '.join(self.inputs)}")
        given = dict(zip(self.inputs, arrays))
        if twice := given.keys() & named.keys():
            raise TypeError(f"input '{min(twice)}' is given twice, by its place and by its name")
        given.update(named)
        if set(given) != set(self.inputs):
            raise TypeError(f"inputs {', '.join(sorted(given)) or 'none'}; expected {', '.join(self.inputs) or 'none'}")
        kept = [self._set_input(name, value) for name, value in given.items()]
        places = {name: self._set_output(name) for name in self.outputs}
        if not self.context.execute_async_v3(self._stream):
            raise RuntimeError("the run failed; the log says why")
        self._cuda.wait(self._stream)
        del kept
        return {name: self._fetch(name, place) for name, place in places.items()}

    def __reduce__(self):
        raise TypeError("a Runner cannot be copied or pickled: it has a stream and memory of its own. Make another of its engine, "
                        "or save() it and load the file")

    def save(self, path):
        """Writes the engine to a file, which the next Runner loads."""
        pathlib.Path(path).write_bytes(self.plan if self.plan is not None else self.engine.serialize())

    def __del__(self):
        stream, self._stream = getattr(self, "_stream", None), None
        if stream:
            self._cuda.end_stream(stream)
