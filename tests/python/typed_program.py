# SPDX-License-Identifier: Apache-2.0
"""A program with types, for type_checker.py: what people write must pass, and each line marked `wrong` must not."""
import numpy as np
import tensorrt as trt
import tensorrt.plugin as trtp


class Log(trt.ILogger):
    def __init__(self) -> None:
        trt.ILogger.__init__(self)

    def log(self, severity: trt.ILogger.Severity, msg: str) -> None:
        print(severity, msg)


class Monitor(trt.IProgressMonitor):
    def phase_start(self, phase_name: str, parent_phase: str, num_steps: int) -> None:
        print(phase_name)

    def step_complete(self, phase_name: str, step: int) -> bool:
        return True

    def phase_finish(self, phase_name: str) -> None:
        print(phase_name)


@trtp.register("typed::scale")
def describe(x: trtp.TensorDesc, factor: float) -> trtp.TensorDesc:
    wide = trtp.from_shape_expr((x.shape_expr[0] + 1, trtp.cdiv(x.shape_expr.numel(), 2)), x.dtype)
    return wide if x.ndim > 1 else x.like()


def build(path: str) -> bytes:
    builder = trt.Builder(Log())
    network = builder.create_network(1 << int(trt.NetworkDefinitionCreationFlag.STRONGLY_TYPED))
    parser = trt.OnnxParser(network, builder.logger)
    if not parser.parse_from_file(path):
        raise ValueError([str(parser.get_error(i)) for i in range(parser.num_errors)])
    config = builder.create_builder_config()
    config.set_memory_pool_limit(trt.MemoryPoolType.WORKSPACE, 1 << 30)
    config.progress_monitor = Monitor()
    config.builder_optimization_level = 3
    profile = builder.create_optimization_profile()
    profile.set_shape("x", (1, 3), trt.Dims([2, 3]), [4, 3])
    config.add_optimization_profile(profile)
    x = network.add_input("x", trt.float32, (1, 3))
    total = network.add_elementwise(x, network.add_constant((1, 3), np.ones((1, 3), np.float32)).get_output(0), trt.ElementWiseOperation.SUM)
    network.mark_output(total.get_output(0))
    network.add_plugin(trtp.op.typed.scale(x, factor=2.0))
    plan = builder.build_serialized_network(network, config)
    if plan is None:
        raise RuntimeError("no plan")
    return bytes(plan)


def run(plan: bytes) -> float:
    engine = trt.Runtime(Log()).deserialize_cuda_engine(plan)
    if engine is None:
        raise RuntimeError("no engine")
    context = engine.create_execution_context()
    for i in range(engine.num_io_tensors):
        name = engine.get_tensor_name(i)
        size = trt.volume(context.get_tensor_shape(name)) * np.dtype(trt.nptype(engine.get_tensor_dtype(name))).itemsize
        print(name, size, engine.get_tensor_mode(name) == trt.TensorIOMode.INPUT)
    return float(trt.Runner(engine)(np.zeros((1, 3), np.float32))["y"].sum())


def mistakes(config: trt.IBuilderConfig, network: trt.INetworkDefinition) -> None:
    config.set_flag("FP16")  # wrong
    config.max_num_tactic = 3  # wrong
    network.add_input("x", np.float32, (3,))  # wrong
    network.add_input("x", trt.float32, "3")  # wrong
    trt.Runtime()  # wrong
    trtp.Shape().max = (1,)  # wrong
