# SPDX-License-Identifier: Apache-2.0
"""Checks the table of the binary interface against code that NVIDIA compiled.

The libraries are those of recorder.h: whatever NVIDIA's Python module calls arrives in some slot of some object. For
each property and function of the module the slot must be the one that the table gives to the C++ function behind it.
"""
import ctypes
import json
import os
import pathlib
import sys
import warnings

import numpy as np
import tensorrt_bindings as trt

HERE = pathlib.Path(__file__).resolve().parent
LIBRARY = ctypes.CDLL("libnvinfer.so.10")
LIBRARY.recorderOwner.restype = ctypes.c_char_p
LOGGER = trt.Logger(trt.Logger.ERROR)
NUMBERS = np.ones(4, np.float32)
LEAST = 600  # so that a module whose functions cannot be called does not pass


def objects():
    """An object of each class that is not a layer, by the name of its class in Python."""
    builder, runtime = trt.Builder(LOGGER), trt.Runtime(LOGGER)
    network, config = builder.create_network(), builder.create_builder_config()
    engine = runtime.deserialize_cuda_engine(b"engine")
    parser, refitter = trt.OnnxParser(network, LOGGER), trt.Refitter(engine, LOGGER)
    tensor = network.add_input("x", trt.float32, (1,))
    return {
        "Builder": builder, "Runtime": runtime, "INetworkDefinition": network, "IBuilderConfig": config,
        "ICudaEngine": engine, "OnnxParser": parser, "Refitter": refitter, "ITensor": tensor,
        "IExecutionContext": engine.create_execution_context(), "EngineInspector": engine.create_engine_inspector(),
        "OnnxParserRefitter": trt.OnnxParserRefitter(refitter, LOGGER), "ParserError": parser.get_error(0),
        "IOptimizationProfile": builder.create_optimization_profile(), "ITimingCache": config.create_timing_cache(b""),
        "ISerializationConfig": engine.create_serialization_config(), "IRuntimeConfig": engine.create_runtime_config(),
        "ILoop": network.add_loop(), "IIfConditional": network.add_if_conditional(),
        "IAttention": network.add_attention(tensor, tensor, tensor, trt.AttentionNormalizationOp.SOFTMAX, False),
        "IPluginRegistry": builder.get_plugin_registry(),
    }


def argument(kind, made):
    """A value of a type as the module's signatures name it; KeyError if there is none at hand."""
    simple = {"int": 1, "str": "name", "bool": True, "float": 0.5, "Dims": (1, 2), "Weights": NUMBERS}
    if kind in simple:
        return simple[kind]
    if kind in made:
        return made[kind]
    if kind == "ILayer":
        return made["INetworkDefinition"].get_layer(0)
    members = getattr(getattr(trt, kind, None), "__members__", None)
    return next(iter(members.values())) if members else simple[kind]


class Checker:
    def __init__(self):
        self.classes = json.loads((HERE.parents[1] / "abi/layout-10.16.json").read_text())["classes"]
        self.checked, self.wrong, self.skipped = 0, [], []

    def slots(self, owner, function):
        """The (class, slot) pairs that the overloads of a function may reach."""
        name = next(n for n in (f"nvinfer1::{owner}", f"nvonnxparser::{owner}") if n in self.classes)
        found = set()
        while name:
            for row in self.classes[name].get("functions", []):
                if row[0] == function:
                    calls = row[4].get("calls")
                    found.add((calls[1].rsplit("::", 1)[0], calls[2]) if calls else (name, row[4].get("slot")))
            name = (self.classes[name].get("bases") or [None])[0]
        return found

    def check(self, title, owner, function, call):
        LIBRARY.recorderReset()
        try:
            call()
        except (TypeError, ValueError, KeyError, RuntimeError, OverflowError) as error:
            self.skipped.append(f"{title}: {str(error).splitlines()[0]}")
            return
        reached = (LIBRARY.recorderOwner().decode(), LIBRARY.recorderSlot())
        self.checked += 1
        if reached not in self.slots(owner, function):
            self.wrong.append(f"{title}: reaches {reached}, expected {function} at {self.slots(owner, function)}")

    def check_class(self, name, facts, target, made):
        owner = facts["class"]
        for attribute, functions in facts["properties"].items():
            self.check(f"{name}.{attribute}", owner, functions[0], lambda: getattr(target, attribute))
            if len(functions) > 1:
                value = getattr(target, attribute, None)
                self.check(f"{name}.{attribute} =", owner, functions[1], lambda: setattr(target, attribute, value))
        for attribute, overloads in facts["methods"].items():
            for function, kinds in overloads:
                self.check(f"{name}.{attribute}()", owner, function,
                           lambda: getattr(target, attribute)(*[argument(k, made) for k in kinds]))


def main():
    warnings.simplefilter("ignore")
    made, checker = objects(), Checker()
    for name, facts in json.loads((HERE / "python-10.16.json").read_text()).items():
        if name in made:
            target = made[name]
        elif name.endswith("Layer"):
            LIBRARY.recorderNextLayer(f"nvinfer1::{name}".encode())
            target = made["INetworkDefinition"].get_layer(0)
            target.__class__ = getattr(trt, name)
        else:
            print(f"no object of {name}")
            return 1
        checker.check_class(name, facts, target, made)
    print("\n".join(checker.wrong + [f"not called: {s}" for s in checker.skipped]))
    print(f"{checker.checked - len(checker.wrong)} passed, {len(checker.wrong)} failed, {len(checker.skipped)} not called")
    sys.stdout.flush()
    return 0 if not checker.wrong and checker.checked >= LEAST else 1


if __name__ == "__main__":
    os._exit(main())  # objects that do nothing cannot be taken apart in order
