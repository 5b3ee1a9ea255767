# SPDX-License-Identifier: Apache-2.0
"""What programs do wrong: each gives an exception of Python, or the refusal that the function documents with a message in the log; none
ends the process. Each row runs in a process of its own."""
import copy
import gc
import pickle
import sys

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position

ONES = np.ones(3, np.float32)


class Log(trt.ILogger):
    """Keeps the errors."""

    def __init__(self):
        trt.ILogger.__init__(self)
        self.errors = []

    def log(self, severity, msg):
        if severity in (trt.ILogger.ERROR, trt.ILogger.INTERNAL_ERROR):
            self.errors.append(msg)


class Calibrator(trt.IInt8EntropyCalibrator2):
    def __init__(self):
        trt.IInt8EntropyCalibrator2.__init__(self)

    def get_batch_size(self):
        return 1

    def get_batch(self, names):  # pylint: disable=unused-argument
        return None

    def read_calibration_cache(self):
        return None

    def write_calibration_cache(self, cache):
        pass


class Kit:
    """Fresh objects for one row."""

    def __init__(self):
        self.log = Log()
        self.builder, self.network = support.small_network(trt, self.log)
        self.config = self.builder.create_builder_config()
        self.config.builder_optimization_level = 0
        self.x = self.network.get_input(0)

    def build(self):
        return self.builder.build_serialized_network(self.network, self.config)

    @property
    def engine(self):
        return trt.Runtime(self.log).deserialize_cuda_engine(self.build())

    @property
    def context(self):
        return self.engine.create_execution_context()

    def built_with(self, name, value=None):
        """A build with a flag, or with a property of the configuration."""
        if isinstance(name, trt.BuilderFlag):
            self.config.set_flag(name)
        else:
            setattr(self.config, name, value)
        return self.build()

    def parsed(self, model):
        parser = trt.OnnxParser(self.network, self.log)
        return parser.parse(model)

    def constant(self, weights, shape=(3,)):
        return self.network.add_constant(shape, weights)

    def constant_of_four(self):
        self.network.mark_output(self.constant(np.ones(4, np.float32)).get_output(0))
        return self.build()

    def empty_network(self):
        return self.builder.build_serialized_network(self.builder.create_network(), self.config)

    def without_profile(self):
        network = self.builder.create_network()
        network.mark_output(network.add_identity(network.add_input("x", trt.float32, (-1, 3))).get_output(0))
        return self.builder.build_serialized_network(network, self.config)


def foreign_tensor(kit):
    return kit.network.add_unary(Kit().x, trt.UnaryOperation.NEG)


def copied(thing):
    return [lambda kit, f=f: f(thing(kit)) for f in (copy.copy, copy.deepcopy, pickle.dumps)]


OBJECTS = {"engine": lambda k: k.engine, "context": lambda k: k.context, "builder": lambda k: k.builder, "network": lambda k: k.network,
           "config": lambda k: k.config, "logger": lambda k: trt.Logger(), "tensor": lambda k: k.x, "weights": lambda k: trt.Weights(ONES),
           "plan": lambda k: k.build(), "runner": lambda k: trt.Runner(k.engine)}

# What is done, and the exception with words of its text.
RAISES = {
    "a wrong name of a property": (lambda k: setattr(k.config, "max_workspce_size", 3), AttributeError, "max_workspce_size"),
    "a flag by its name": (lambda k: k.config.set_flag("FP16"), TypeError, "BuilderFlag"),
    "a type of numpy": (lambda k: k.network.add_input("a", np.float32, (3,)), TypeError, "DataType"),
    "a shape of floats": (lambda k: k.network.add_input("a", trt.float32, (1.5,)), TypeError, "Dims"),
    "a shape as text": (lambda k: k.network.add_input("a", trt.float32, "3"), TypeError, "Dims"),
    "nine extents": (lambda k: k.network.add_input("a", trt.float32, (1,) * 9), (TypeError, ValueError), ""),
    "weights of doubles": (lambda k: k.constant(np.ones(3)), TypeError, "Weights"),
    "weights of complex numbers": (lambda k: k.constant(np.ones(3, np.complex64)), TypeError, "Weights"),
    "weights as a list": (lambda k: k.constant([1.0, 2.0, 3.0]), TypeError, "Weights"),
    "weights of texts": (lambda k: trt.Weights(np.array(["a"])), ValueError, "expected"),
    "weights at no address": (lambda k: trt.Weights(trt.float32, 0, 5), ValueError, ""),
    "a negative number of weights": (lambda k: trt.Weights(trt.float32, ONES.ctypes.data, -1), (TypeError, ValueError), ""),
    "no plan": (lambda k: trt.Runtime(k.log).deserialize_cuda_engine(None), TypeError, "serialized_engine"),
    "a plan as text": (lambda k: trt.Runtime(k.log).deserialize_cuda_engine("plan"), TypeError, "serialized_engine"),
    "a model as text": (lambda k: k.parsed("model"), TypeError, "buffer"),
    "no model": (lambda k: k.parsed(None), TypeError, "buffer"),
    "no address": (lambda k: k.context.set_tensor_address("x", None), TypeError, "memory"),
    "an array as an address": (lambda k: k.context.set_tensor_address("x", ONES), TypeError, "memory"),
    "a profile that is not there": (lambda k: k.context.set_optimization_profile_async(7, 0), RuntimeError, "profile 7"),
    "too few bindings": (lambda k: k.context.execute_v2([1]), ValueError, "expected 2"),
    "a negative size": (lambda k: k.config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, -1), TypeError, "pool_size"),
    "a monitor of another class": (lambda k: setattr(k.config, "progress_monitor", object()), TypeError, "progress_monitor"),
    "an allocator of another class": (lambda k: setattr(k.builder, "gpu_allocator", object()), TypeError, "IGpuAllocator"),
    "an output allocator of another class": (lambda k: k.context.set_output_allocator("y", object()), TypeError, "IOutputAllocator"),
    "a calibrator of another class": (lambda k: setattr(k.config, "int8_calibrator", 5), TypeError, "IInt8Calibrator"),
    "a batch": (lambda k: setattr(k.builder, "max_batch_size", 32), ValueError, "expected 1"),
    "a refitter of an engine that has none": (lambda k: trt.Refitter(k.engine, k.log), RuntimeError, "the log says why"),
    "a context by its class": (lambda k: trt.IExecutionContext(), TypeError, "IExecutionContext"),
    "a network by its class": (lambda k: trt.INetworkDefinition(), TypeError, "INetworkDefinition"),
    "a tensor by its class": (lambda k: trt.ITensor(), TypeError, "ITensor"),
    "a logger of another class": (lambda k: trt.Builder(print), TypeError, "ILogger"),
    "a layer beyond the last": (lambda k: k.network[9], IndexError, ""),
    "a tensor beyond the last": (lambda k: k.engine[9], IndexError, "9"),
    "writing into a plan": (lambda k: np.frombuffer(k.build(), np.uint8).__setitem__(0, 1), ValueError, "read-only"),
    "an attribute of an engine": (lambda k: setattr(k.engine, "name", "mine"), AttributeError, ""),
    "a wrong input of a runner": (lambda k: trt.Runner(k.engine)(z=ONES), TypeError, "expected x"),
    "a missing model of a runner": (lambda k: trt.Runner("nowhere/model.onnx", logger=k.log), ValueError, "nowhere/model.onnx"),
    "a missing engine of a runner": (lambda k: trt.Runner("nowhere/model.engine", logger=k.log), FileNotFoundError, "nowhere"),
    **{f"{what} {how}": (act, TypeError, "")
       for what, thing in OBJECTS.items() for how, act in zip(("copied", "copied deeply", "pickled"), copied(thing))},
}

# What is done, what it returns, and words of the log.
REFUSES = {
    "calibration": (lambda k: k.built_with("int8_calibrator", Calibrator()), None, "setInt8Calibrator"),
    "refitting": (lambda k: k.built_with(trt.BuilderFlag.REFIT), None, "kREFIT"),
    "engines for other versions": (lambda k: k.built_with(trt.BuilderFlag.VERSION_COMPATIBLE), None, "kVERSION_COMPATIBLE"),
    "four weights for three": (Kit.constant_of_four, None, "count is 4; expected 3"),
    "a network without outputs": (Kit.empty_network, None, "no outputs"),
    "open extents without a profile": (Kit.without_profile, None, "no optimization profile"),
    "a second input of a name": (lambda k: k.network.add_input("x", trt.float32, (3,)), None, "exists already"),
    "a tensor of another network": (foreign_tensor, None, "another network"),
    "a shape beyond the profile": (lambda k: k.context.set_input_shape("x", (4,)), False, "expected 3"),
    "a shape for an output": (lambda k: k.context.set_input_shape("y", (3,)), False, "expected an input"),
    "a run without addresses": (lambda k: k.context.execute_async_v3(0), False, "no address is set for 'x', 'y'"),
    "an address for nothing": (lambda k: k.context.set_tensor_address("z", 16), False, "'z'"),
    "bytes that are no plan": (lambda k: trt.Runtime(k.log).deserialize_cuda_engine(b"garbage"), None, "not an engine of Tenon"),
    "no bytes": (lambda k: trt.Runtime(k.log).deserialize_cuda_engine(b""), None, "0 bytes"),
    "half a plan": (lambda k: trt.Runtime(k.log).deserialize_cuda_engine(bytes(k.build())[:-20]), None, "plan"),
    "bytes that are no model": (lambda k: k.parsed(b"garbage"), False, "damaged at byte 0"),
    "a missing file": (lambda k: trt.OnnxParser(k.network, k.log).parse_from_file("nowhere/m.onnx"), False, "cannot open 'nowhere/m.onnx'"),
}


def raising(act, kind, words):
    def case():
        kit = Kit()
        try:
            got = act(kit)
        except kind as error:
            assert words in str(error), f"{error!r} lacks {words!r}"
            return
        raise AssertionError(f"no {kind}, but {got!r}")
    return case


def refusing(act, wanted, words):
    def case():
        kit = Kit()
        got = act(kit)
        assert got is wanted, f"{got!r}, expected {wanted!r}; the log: {kit.log.errors}"
        assert any(words in error for error in kit.log.errors), f"the log lacks {words!r}: {kit.log.errors}"
    return case


def outlives(make):
    """Names are dropped in the order of the making; what is left works."""
    def case():
        logger = trt.Logger(trt.Logger.ERROR)
        left = make(logger)
        del logger
        gc.collect()
        rubbish = [bytearray(4096) for _ in range(200)]  # takes the memory of what is gone
        left()
        assert rubbish
    return case


def context_without_engine(logger):
    context = support.small_engine(trt, logger).create_execution_context()

    def run():
        y = np.zeros(3, np.float32)
        assert context.execute_v2([ONES.ctypes.data, y.ctypes.data]) and np.array_equal(y, 2 * ONES)
        assert context.engine.num_io_tensors == 2
    return run


def network_without_builder(logger):
    _, network = support.small_network(trt, logger)

    def use():
        layer = network.add_unary(network.get_input(0), trt.UnaryOperation.NEG)
        assert layer is not None and network.num_layers == 3
        config = network.builder.create_builder_config()
        assert network.builder.build_serialized_network(network, config) is not None
    return use


def tensor_without_network(logger):
    _, network = support.small_network(trt, logger)
    tensor, layer = network.get_input(0), network.get_layer(1)
    return lambda: (tensor.name == "x" and layer.get_input(0).name == "x") or sys.exit("other names")


def weights_without_array(logger):
    builder = trt.Builder(logger)
    network = builder.create_network()
    layer = network.add_constant((1000,), trt.Weights(np.arange(1000, dtype=np.float32)))
    network.mark_output(layer.get_output(0))
    layer.get_output(0).name = "y"

    def build():
        config = builder.create_builder_config()
        config.builder_optimization_level = 0
        engine = trt.Runtime(builder.logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
        assert np.array_equal(trt.Runner(engine)()["y"], np.arange(1000))
    return build


def array_without_plan(logger):
    plan = support.plan_of(trt, *support.small_network(trt, logger))
    copied_plan, array = bytes(plan), np.frombuffer(plan, np.uint8)

    def use():
        assert array.tobytes() == copied_plan and not array.flags.writeable
        assert trt.Runtime(trt.Logger(trt.Logger.ERROR)).deserialize_cuda_engine(array) is not None
    return use


def inspector_without_engine(logger):
    inspector = support.small_engine(trt, logger).create_engine_inspector()
    return lambda: "ElementWise" in inspector.get_engine_information(trt.LayerInformationFormat.ONELINE) or sys.exit("no layer")


def error_without_parser(logger):
    _, network = support.small_network(trt, logger)
    parser = trt.OnnxParser(network, trt.Logger(trt.Logger.INTERNAL_ERROR))
    parser.parse(b"garbage")
    error = parser.get_error(0)
    return lambda: "damaged" in error.desc() and error.code() == trt.ErrorCode.MODEL_DESERIALIZE_FAILED or sys.exit(str(error))


OUTLIVES = (context_without_engine, network_without_builder, tensor_without_network, weights_without_array, array_without_plan,
            inspector_without_engine, error_without_parser)


def main():
    cases = {name: raising(*row) for name, row in RAISES.items()}
    cases.update({name: refusing(*row) for name, row in REFUSES.items()})
    cases.update({make.__name__: outlives(make) for make in OUTLIVES})
    return support.run_all(cases, sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
