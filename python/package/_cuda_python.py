# SPDX-License-Identifier: Apache-2.0
"""cuda-python without a GPU: its runtime API on the library that stands for CUDA here (hostcuda).

The package holds NVIDIA's runtime library within itself, which no other can stand in for. Its own modules pass the functions of
that library on as capsules; where no GPU answers, these are made to hold our functions of the same names, before the module that
reads them is imported. With a GPU, and where the package was imported before tensorrt, nothing is changed.
"""
import importlib
import sys

_READER = "cuda.bindings.cyruntime"
_SOURCES = ("cuda.bindings._internal.runtime", "cuda.bindings._internal.runtime_ptds")


def _functions_of_capsules():
    import ctypes  # pylint: disable=import-outside-toplevel
    api = ctypes.pythonapi
    name_of, pointer, put = api.PyCapsule_GetName, api.PyCapsule_GetPointer, api.PyCapsule_SetPointer
    name_of.restype, name_of.argtypes = ctypes.c_void_p, [ctypes.py_object]
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_void_p]
    put.restype, put.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_void_p]
    return (lambda capsule: pointer(capsule, name_of(capsule))), put


def _exchange(module, open_library):
    """The functions that the module passes on become those of the library, as far as it has them."""
    import ctypes  # pylint: disable=import-outside-toplevel
    pointer, put = _functions_of_capsules()
    capsules = getattr(module, "__pyx_capi__", {})
    if "_cudaGetDeviceCount" not in capsules:
        return
    devices = ctypes.c_int()
    count = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int))(pointer(capsules["_cudaGetDeviceCount"]))
    if count(ctypes.byref(devices)) == 0 and devices.value > 0:
        return
    library = open_library(importlib.import_module("cuda.bindings").__version__.partition(".")[0])
    for name, capsule in capsules.items():
        function = getattr(library, name[1:], None) if name.startswith("_cuda") else None
        if function is not None:
            put(capsule, ctypes.cast(function, ctypes.c_void_p))


class _Finder:
    """Acts when the module is imported that reads the capsules, and finds nothing itself."""

    def __init__(self, open_library):
        self.open_library = open_library

    def find_spec(self, fullname, path, target=None):  # pylint: disable=unused-argument
        if fullname == _READER:
            sys.meta_path.remove(self)
            for name in _SOURCES:
                try:
                    _exchange(importlib.import_module(name), self.open_library)
                except (ImportError, OSError):  # another release of the package, or no library: it says so when it is used
                    continue
        return None


def watch(open_library):
    """From now on cuda-python, when it is imported and no GPU answers, uses open_library(release of CUDA)."""
    if _READER not in sys.modules:
        sys.meta_path.insert(0, _Finder(open_library))
