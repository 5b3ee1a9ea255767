# SPDX-License-Identifier: Apache-2.0
"""TensorRT's Python interface on Tenon: the compiled module, and what is plain Python around it.

The page docs/python.md of the project says how to come from TensorRT and what differs.
"""
import warnings as _warnings

from . import _libraries

_libraries.load()
from . import tensorrt as _module  # noqa: E402  pylint: disable=wrong-import-position
from .tensorrt import *  # noqa: E402,F401,F403  pylint: disable=wrong-import-position
from .tensorrt import DataType, ILogger, Logger  # noqa: E402  pylint: disable=wrong-import-position
from ._version import __version__  # noqa: E402  pylint: disable=wrong-import-position

_plugin_registry = get_plugin_registry()  # noqa: F405
bool = DataType.BOOL  # a star import leaves no name of Python's own behind
float32, float16, bfloat16 = DataType.FLOAT, DataType.HALF, DataType.BF16
int8, int32, int64, uint8 = DataType.INT8, DataType.INT32, DataType.INT64, DataType.UINT8
fp8, int4, fp4, e8m0 = DataType.FP8, DataType.INT4, DataType.FP4, DataType.E8M0


class NodeIndices(list):
    """A list of the indices of nodes. Functions return plain lists."""


class SubGraphCollection(list):
    """A list of pairs: the nodes of a subgraph, and whether it is supported. Functions return plain lists."""


def volume(iterable):
    """The product of the elements; 1 for none."""
    product = 1
    for element in iterable:
        product *= element
    return product


def nptype(trt_type):
    """The type of numpy that holds elements of a DataType. TypeError for types that numpy lacks."""
    import numpy  # pylint: disable=import-outside-toplevel

    names = {DataType.FLOAT: "float32", DataType.HALF: "float16", DataType.INT8: "int8", DataType.INT32: "int32",
             DataType.INT64: "int64", DataType.BOOL: "bool", DataType.UINT8: "uint8"}
    if trt_type not in names:
        raise TypeError(f"numpy has no type for {trt_type}")
    return numpy.dtype(names[trt_type]).type


_ITEM_SIZES = {DataType.FLOAT: 4, DataType.HALF: 2, DataType.BF16: 2, DataType.INT8: 1, DataType.INT32: 4, DataType.INT64: 8,
               DataType.BOOL: 1, DataType.UINT8: 1, DataType.FP8: 1, DataType.INT4: 0.5, DataType.FP4: 0.5}
DataType.itemsize = property(_ITEM_SIZES.get, doc="Bytes of an element; None where the type has no size of its own.")


def _enter(self):
    _warnings.warn(f"{type(self).__name__} in a with statement is deprecated: objects are freed with their last name",
                   DeprecationWarning, stacklevel=2)
    return self


def _exit(self, kind, value, traceback):  # pylint: disable=unused-argument
    return None


for _name in ("ILogger", "ICudaEngine", "IExecutionContext", "Runtime", "IHostMemory", "Builder", "INetworkDefinition",
              "OnnxParser", "IBuilderConfig", "Refitter"):
    setattr(getattr(_module, _name), "__enter__", _enter)
    setattr(getattr(_module, _name), "__exit__", _exit)
Logger.Severity = ILogger.Severity

from . import _cuda_python, _older  # noqa: E402,F401  pylint: disable=wrong-import-position
from ._older import ResizeMode, SliceMode, shutdown_protobuf_library  # noqa: E402,F401  pylint: disable=wrong-import-position
from ._progress import ProgressBar  # noqa: E402,F401  pylint: disable=wrong-import-position
from ._runner import Runner, open_cudart as _open_cudart  # noqa: E402,F401  pylint: disable=wrong-import-position

_cuda_python.watch(_open_cudart)


def __getattr__(name):
    if name in _older.GONE:
        raise AttributeError(f"tensorrt.{name} is gone since release 10: {_older.GONE[name]}")
    raise AttributeError(f"module 'tensorrt' has no attribute '{name}'")
