# SPDX-License-Identifier: Apache-2.0
"""python -m tensorrt: which release this is, where its libraries lie, on which device it computes, and whether it does."""
import argparse
import platform
import sys

import tensorrt as trt
from tensorrt import _runner
from tensorrt._version import __tenon_version__


def compute():
    """Builds and runs a network of one layer; its answer."""
    logger = trt.Logger(trt.Logger.ERROR)
    builder = trt.Builder(logger)
    network = builder.create_network()
    tensor = network.add_input("x", trt.float32, (3,))
    negative = network.add_unary(tensor, trt.UnaryOperation.NEG).get_output(0)
    negative.name = "y"
    network.mark_output(negative)
    config = builder.create_builder_config()
    config.builder_optimization_level = 0
    engine = trt.Runtime(logger).deserialize_cuda_engine(builder.build_serialized_network(network, config))
    import numpy  # pylint: disable=import-outside-toplevel
    return trt.Runner(engine)(numpy.array([1, -2, 3], numpy.float32))["y"].tolist()


def device():
    cuda = _runner._Cuda()  # pylint: disable=protected-access
    import ctypes  # pylint: disable=import-outside-toplevel
    count = ctypes.c_int()
    cuda.call("cudaGetDeviceCount", ctypes.byref(count))
    # Properties begin with the name, 256 bytes, in every release; what follows fits into the rest.
    properties = ctypes.create_string_buffer(8192)
    function = "cudaGetDeviceProperties"
    cuda.call(function, properties, ctypes.c_int(0))
    return f"{properties.value.decode(errors='replace')} ({count.value} of them)" if count.value != 1 else properties.value.decode()


def main():
    parser = argparse.ArgumentParser(prog="python -m tensorrt", description=__doc__.split(": ", 1)[1])
    parser.add_argument("--check", action="store_true", help="also build and run a small network; needs numpy")
    options = parser.parse_args()
    print(f"TensorRT {trt.__version__} (Tenon {__tenon_version__}), Python {platform.python_version()}")
    print(f"libraries  {_runner.LIBRARIES}")
    print(f"device     {device()}")
    print(f"parser     ONNX, release {trt.get_nv_onnx_parser_version()}")
    print(f"plugins    {len(trt.get_plugin_registry().all_creators)} creators")
    if options.check:
        answer = compute()
        right = answer == [-1, 2, -3]
        print(f"check      -[1, -2, 3] = {answer}: {'right' if right else 'WRONG'}")
        return 0 if right else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
