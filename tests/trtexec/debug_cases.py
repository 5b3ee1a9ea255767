# SPDX-License-Identifier: Apache-2.0
"""Cases of debug tensors and of plugin libraries within engines."""
import array
import json
import re

from harness import BATCHES, MODEL, SHORT, Run, case, check, given


def numpy_array(path):
    """(type, shape, bytes) of a file of numpy."""
    data = path.read_bytes()
    check(data[:8] == b"\x93NUMPY\x01\x00", f"{path} is no file of numpy")
    length = int.from_bytes(data[8:10], "little")
    check((10 + length) % 64 == 0 and data[9 + length:10 + length] == b"\n", f"{path}: its header is not aligned")
    header = eval(data[10:10 + length], {"__builtins__": {}})  # pylint: disable=eval-used
    return header["descr"], header["shape"], data[10 + length:]


@case
def all_debug_tensors_are_saved(folder):
    run = Run(f"--onnx={MODEL}", "--shapes=input:2x1x28x28", "--markUnfusedTensorsAsDebugTensors", "--builderOptimizationLevel=0",
              "--saveAllDebugTensors=summary,numpy,string,raw", *SHORT, folder=folder).good()
    said = re.findall(r"Debug tensor (\S+) \(([^)]*)\) (\S+): min = (\S+), max = (\S+), mean = (\S+)", run.out)
    check(len(said) >= 2, f"{len(said)} tensors are summed up:\n{run.out}")
    for name, shape, _, least, most, mean in said:
        descr, extents, data = numpy_array(folder / f"{name}.npy")
        check(descr == "<f4" and list(extents) == [int(e) for e in re.findall(r"\d+", shape)], f"{name}: {descr} {extents}, said {shape}")
        check(data == (folder / f"{name}.raw").read_bytes(), f"{name}: the raw file differs from that of numpy")
        values = array.array("f", data)
        text = [float(word) for word in (folder / f"{name}.txt").read_text().split()]
        check(len(text) == len(values) and all(abs(a - b) <= 1e-5 * max(1, abs(b)) for a, b in zip(text, values)), f"{name}: the text differs")
        for number, expected in ((least, min(values)), (most, max(values)), (mean, sum(values) / len(values))):
            check(abs(float(number) - expected) <= 1e-4 * max(1, abs(expected)), f"{name}: {number} is said, expected {expected}")
    Run(f"--loadEngine={given.engine}", "--shapes=input:1x1x28x28", "--saveAllDebugTensors=summary", *SHORT).good().warns(
        1, "the engine has no debug tensors")
    Run(f"--onnx={MODEL}", "--saveAllDebugTensors=png").bad("png")


@case
def one_debug_tensor_is_saved(folder):
    run = Run(f"--onnx={MODEL}", "--shapes=input:2x1x28x28", "--markDebug=input", "--builderOptimizationLevel=0",
              f"--saveDebugTensors=input:{folder}/input.json", *SHORT)
    if run.status == 0:
        values = json.loads((folder / "input.json").read_text())
        check(len(values[0]["values"]) == 2 * 28 * 28, "the input is not whole")
    else:
        run.bad("'input' cannot be marked")


@case
def plugin_libraries_go_into_engines(folder):
    libraries = sorted((given.program.parent.parent / "lib").glob("libplugin_test_library.so"))
    if not libraries:
        print("skipped: libplugin_test_library.so is not built")
        raise SystemExit(77)
    flag = f"--setPluginsToSerialize={libraries[0]}"
    engine = folder / "with.engine"
    build = [f"--onnx={MODEL}", f"--saveEngine={engine}", "--skipInference", "--builderOptimizationLevel=0", *BATCHES]
    Run(*build, flag).good().says("Loading supplied plugin library: ")
    check(libraries[0].read_bytes() in engine.read_bytes(), "the engine does not hold the library")
    Run(f"--loadEngine={engine}", *SHORT).good()
    Run(*build, "--setPluginsToSerialize=/nowhere.so").bad("--setPluginsToSerialize: the library '/nowhere.so' could not be loaded")


@case
def attentions_and_overrides(folder):
    build = [f"--onnx={MODEL}", "--skipInference", "--builderOptimizationLevel=0", *BATCHES]
    Run(*build, "--decomposableAttentions=heads", folder=folder).bad("no attention 'heads'; it has none")
    Run(*build, "--enablePluginOverride", "--ignoreParsedPluginLibs").good()
