# SPDX-License-Identifier: Apache-2.0
"""The objects around a network: builder, configuration, profiles, engine, contexts, inspector, refitter, caches."""
import json

import numpy as np
import tensorrt_bindings as trt

import support
from support import LOGGER, close, compiled, complaint, define, execute, loaded, random, run, unsupported

X = random(2, 3)


def doubled(network, tensor):
    two = support.constant(network, [[2]])
    layer = network.add_elementwise(tensor, two, trt.ElementWiseOperation.PROD)
    layer.name = "doubling"
    return layer.get_output(0)


def test_version():
    assert trt.__version__.startswith("10.16")
    assert trt.get_nv_onnx_parser_version() == 100


def test_network_tells_what_was_put_in():
    builder, network = define(doubled, {"x": X})
    network.name = "twice"
    assert (network.name, network.num_inputs, network.num_outputs, network.num_layers) == ("twice", 1, 1, 2)
    assert network.builder is not None and not network.has_implicit_batch_dimension and len(network) == 2
    tensor = network.get_input(0)
    assert tensor.name == "x" and tensor.is_network_input and tuple(tensor.shape) == (2, 3)
    assert tensor.dtype == trt.float32 and tensor.location == trt.TensorLocation.DEVICE
    tensor.set_dimension_name(0, "rows")
    assert tensor.get_dimension_name(0) == "rows"
    names = {network.get_layer(i).name for i in range(2)}
    assert "doubling" in names
    network.unmark_output(network.get_output(0))
    assert network.num_outputs == 0 and builder.logger is not None


def test_layers_fetched_again_are_the_same():
    def build(network, tensor):
        layer = network.add_activation(tensor, trt.ActivationType.LEAKY_RELU)
        layer.alpha, layer.metadata = 0.25, "from a test"
        return layer.get_output(0)

    _, network = define(build, {"x": X})
    again = network.get_layer(0)
    assert again.type == trt.LayerType.ACTIVATION and again.metadata == "from a test"
    assert again.num_inputs == 1 and again.get_input(0).name == "x" and again.num_outputs == 1
    again.__class__ = trt.IActivationLayer  # reads through another pointer of the same object
    assert again.alpha == 0.25


def test_configuration_keeps_its_settings():
    config = trt.Builder(LOGGER).create_builder_config()
    for flag in (trt.BuilderFlag.FP16, trt.BuilderFlag.STRICT_NANS, trt.BuilderFlag.REFIT):
        assert not config.get_flag(flag)
        config.set_flag(flag)
        assert config.get_flag(flag)
        config.clear_flag(flag)
    assert config.get_flag(trt.BuilderFlag.TF32)
    config.builder_optimization_level = 4
    config.avg_timing_iterations = 3
    config.max_aux_streams = 2
    config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED
    config.hardware_compatibility_level = trt.HardwareCompatibilityLevel.AMPERE_PLUS
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 24)
    assert config.builder_optimization_level == 4 and config.avg_timing_iterations == 3
    assert config.max_aux_streams == 2 and config.profiling_verbosity == trt.ProfilingVerbosity.DETAILED
    assert config.hardware_compatibility_level == trt.HardwareCompatibilityLevel.AMPERE_PLUS
    assert config.get_memory_pool_limit(trt.MemoryPoolType.WORKSPACE) == 1 << 24
    config.reset()
    assert config.builder_optimization_level == 3 and config.avg_timing_iterations == 1


def test_engine_tells_about_its_tensors():
    engine = loaded(compiled(doubled, {"x": X}))
    assert engine.num_io_tensors == 2 and engine.get_tensor_name(0) == "x"
    assert engine.get_tensor_mode("x") == trt.TensorIOMode.INPUT
    assert engine.get_tensor_mode("output0") == trt.TensorIOMode.OUTPUT
    assert engine.get_tensor_mode("nothing") == trt.TensorIOMode.NONE
    assert tuple(engine.get_tensor_shape("x")) == (2, 3) and engine.get_tensor_dtype("x") == trt.float32
    assert engine.get_tensor_format("x") == trt.TensorFormat.LINEAR and engine.num_layers >= 1
    assert engine.num_optimization_profiles == 1 and not engine.refittable
    assert engine.device_memory_size_v2 >= 0 and engine.get_tensor_format_desc("x")


def test_run_with_bindings():
    engine = loaded(compiled(doubled, {"x": X}))
    source, target = support.Buffer(X.nbytes, X), support.Buffer(X.nbytes)
    assert engine.create_execution_context().execute_v2([source.pointer, target.pointer]), complaint("the run failed")
    close([target.array(np.dtype("float32"), (2, 3))], [2 * X])


def test_two_contexts_of_one_engine():
    engine = loaded(compiled(doubled, {"x": X}))
    contexts = [engine.create_execution_context() for _ in range(2)]
    for factor, context in enumerate(contexts, 1):
        close([execute(engine, {"x": factor * X}, context)["output0"]], [2 * factor * X])


def test_profiles_and_shapes():
    plan = compiled(doubled, {"x": X}, dynamic=["x"])
    engine = loaded(plan)
    assert tuple(engine.get_tensor_shape("x")) == (-1, -1)
    assert [tuple(s) for s in engine.get_tensor_profile_shape("x", 0)] == [(1, 1), (2, 3), (4, 6)]
    context = engine.create_execution_context()
    for shape in ((1, 1), (3, 5), (4, 6)):
        x = random(*shape, seed=sum(shape))
        close([execute(engine, {"x": x}, context)["output0"]], [2 * x])
    assert not context.set_input_shape("x", (5, 6)), "a shape beyond the profile is taken"
    assert not context.set_input_shape("nothing", (1, 1))


def test_serialized_engine_is_the_engine():
    engine = loaded(compiled(doubled, {"x": X}))
    again = loaded(engine.serialize())
    assert again.num_io_tensors == 2
    close([execute(again, {"x": X})["output0"]], [2 * X])
    config = engine.create_serialization_config()
    assert config.set_flag(trt.SerializationFlag.EXCLUDE_LEAN_RUNTIME)
    assert engine.serialize_with_config(config).nbytes > 0


def test_damaged_engines_are_refused():
    plan = bytes(compiled(doubled, {"x": X}))
    logger = support.Logger()
    runtime = trt.Runtime(logger)
    for damaged in (b"", b"nothing", plan[:len(plan) // 2], plan[:64] + bytes(64) + plan[128:]):
        assert runtime.deserialize_cuda_engine(damaged) is None
        assert logger.errors(), "refused without a reason"
        logger.messages.clear()


def test_inspector_writes_json():
    def detailed(config):
        config.profiling_verbosity = trt.ProfilingVerbosity.DETAILED

    engine = loaded(compiled(doubled, {"x": X}, configure=detailed))
    inspector = engine.create_engine_inspector()
    whole = json.loads(inspector.get_engine_information(trt.LayerInformationFormat.JSON))
    assert len(whole["Layers"]) == engine.num_layers
    assert "x" in json.dumps(whole)
    json.loads(inspector.get_layer_information(0, trt.LayerInformationFormat.JSON))
    assert inspector.get_engine_information(trt.LayerInformationFormat.ONELINE)


@unsupported("refit")
def test_refit_changes_the_weights():
    kernel = random(3, 4, seed=2)

    def build(network, tensor):
        layer = network.add_constant((3, 4), kernel)
        layer.name = "matrix"
        assert network.set_weights_name(trt.Weights(kernel), "matrix weights")
        return network.add_matrix_multiply(tensor, trt.MatrixOperation.NONE, layer.get_output(0),
                                           trt.MatrixOperation.NONE).get_output(0)

    engine = loaded(compiled(build, {"x": X}, configure=lambda c: c.set_flag(trt.BuilderFlag.REFIT)))
    assert engine.refittable
    close([execute(engine, {"x": X})["output0"]], [X @ kernel])
    refitter = trt.Refitter(engine, LOGGER)
    assert "matrix weights" in refitter.get_all_weights()
    assert not refitter.set_named_weights("nothing", trt.Weights(kernel))
    changed = np.ascontiguousarray(3 * kernel)
    assert refitter.set_named_weights("matrix weights", trt.Weights(changed)), complaint("weights are refused")
    assert refitter.get_missing_weights() == [] and refitter.refit_cuda_engine(), complaint("no refit")
    close([execute(engine, {"x": X})["output0"]], [3 * X @ kernel])


def test_timing_cache():
    builder, network = define(doubled, {"x": X})
    config = builder.create_builder_config()
    cache = config.create_timing_cache(b"")
    assert cache is not None and config.set_timing_cache(cache, False)
    assert builder.build_serialized_network(network, config) is not None, complaint("no engine")
    data = bytes(config.get_timing_cache().serialize())
    assert data
    other = builder.create_builder_config()
    again = other.create_timing_cache(data)
    assert again is not None and again.combine(cache, False) and again.reset()


def test_error_recorder_is_told():
    class Recorder(trt.IErrorRecorder):
        def __init__(self):
            trt.IErrorRecorder.__init__(self)
            self.reports = []

        def get_num_errors(self):
            return len(self.reports)

        def get_error_code(self, index):
            return self.reports[index][0]

        def get_error_desc(self, index):
            return self.reports[index][1]

        def has_overflowed(self):
            return False

        def clear(self):
            self.reports.clear()

        def report_error(self, code, text):
            self.reports.append((code, text))
            return False

    recorder = Recorder()
    runtime = trt.Runtime(LOGGER)
    runtime.error_recorder = recorder
    assert runtime.deserialize_cuda_engine(b"this is no engine") is None
    assert recorder.reports and recorder.reports[0][1]


def test_half_precision_network():
    x = X.astype(np.float16)
    strongly = 1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED)
    build = lambda n, t: n.add_activation(t, trt.ActivationType.RELU).get_output(0)
    close(run(build, {"x": x}, flags=strongly), [np.maximum(x, 0)])


def test_builder_refuses_with_a_reason():
    logger = support.Logger()
    builder = trt.Builder(logger)
    network = builder.create_network(0)
    network.add_input("x", trt.float32, (2, 3))
    assert builder.build_serialized_network(network, builder.create_builder_config()) is None
    assert logger.errors(), "a network without outputs is refused without a reason"


def test_sizes_zero_and_one():
    for shape in ((0, 3), (1, 1), (1, 17), (31, 1)):
        x = random(*shape)
        close(run(lambda n, t: n.add_unary(t, trt.UnaryOperation.NEG).get_output(0), {"x": x}), [-x])
