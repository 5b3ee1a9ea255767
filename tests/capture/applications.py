# SPDX-License-Identifier: Apache-2.0
"""Applications that know nothing of the capture: trtexec, NVIDIA's Python module, the ONNX parser with real models."""
import glob
import os
import pathlib
import re
import shutil
import sys

import support

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "models"))

from check import quoted  # noqa: E402
from golden import golden_of  # noqa: E402
from support import captured, check_captures, expect, lines_of, play, run, same_files


def trtexec(setup):
    """The shim stands in the place of the library's file."""
    folder = setup.path("drop_in")
    os.makedirs(folder)
    shutil.copy(setup.shim, os.path.join(folder, "libnvinfer.so.10"))
    model = os.path.join(setup.source, "models", "digits", "digits.onnx")
    command = [setup.program("trtexec"), "--onnx=" + model, "--builderOptimizationLevel=0", "--skipInference"]
    environment = {"LD_LIBRARY_PATH": folder, "TRT_SHIM_NVINFER_LIB_NAME": setup.library,
                   "TENON_DEVICE": support.DEVICE,
                   "TRT_SHIM_OUTPUT_JSON_FILE": setup.path("digits.json"), "TRT_SHIM_PRINT_WELCOME": "1"}
    done = run(command + ["--saveEngine=" + setup.path("engine")], environment)
    expect(done.returncode == 0 and "[tensorrt_shim] recording" in done.stdout, done.stdout[-2000:])
    plain = run(command + ["--saveEngine=" + setup.path("plain")], {"TENON_DEVICE": support.DEVICE})
    expect(plain.returncode == 0 and same_files(setup.path("engine"), setup.path("plain")),
           "the shim changes the engine")
    played = play(setup, "digits", "-o", setup.path("replayed"))
    expect(played.returncode == 0 and same_files(setup.path("engine"), setup.path("replayed")), played.stdout[-2000:])


def python(setup):
    """A program of NVIDIA's compiled Python module."""
    sys.path.insert(0, os.path.join(setup.source, "tests", "compat"))
    from run import module_environment  # pylint: disable=import-error,import-outside-toplevel
    interpreter, reason = module_environment(os.path.join(setup.build, "tests", "compat"))
    if interpreter is None:
        print(f"skipped: {reason}")
        return support.SKIPPED
    command = [str(interpreter), "-B", os.path.join(setup.source, "tests", "capture", "python_scene.py"),
               os.path.join(setup.source, "models", "digits", "digits.onnx"), setup.path("engine")]
    done = captured(setup, command, "python", LD_LIBRARY_PATH=setup.libraries)
    expect(done.returncode == 0, done.stdout[-2000:])
    expect("creator" not in done.stdout, done.stdout[-2000:])
    registered = [c["a"] for c in lines_of(setup.path("python.json"))
                  if c.get("m") == "IPluginRegistry.registerCreator"]
    expect(["TimesThree", "3", ""] in registered, f"the creator's registration is missing: {registered}")
    # The player runs no Python: a plugin of the same name in a library takes the place of those of Python.
    missing = play(setup, "python", "-o", setup.path("replayed"))
    expect(missing.returncode == 1 and "plugin 'TimesThree', version '3'" in missing.stdout, missing.stdout[-2000:])
    library = os.path.join(setup.libraries, "libcapture_plugins.so")
    played = play(setup, "python", "-o", setup.path("replayed"), "--plugins", library)
    expect(played.returncode == 0 and "differ from" not in played.stdout, played.stdout[-2000:])
    expect("TimesThree 'made' by 4.5" in played.stdout and "TimesThree '' by 5.5" in played.stdout,
           played.stdout[-2000:])
    for number in range(3):
        expect(same_files(setup.path(f"engine{number}"), setup.path(f"replayed{number}")), f"engine {number} differs")
    return 0


# Networks whose weights are made in the graph: 240 to 513 MB each.
LARGE = ("bvlc_alexnet", "vgg19", "zfnet512")


def models_folder(setup):
    return os.environ.get("TENON_MODELS") or os.path.join(setup.source, "..", "shared", "models")


def shape_flags(setup, path):
    """Shapes for the inputs of a model whose extents are dynamic: those of its stored inputs."""
    with open(os.path.join(setup.source, "tests", "models", "foundation.txt"), encoding="utf-8") as file:
        kinds = dict(line.split()[:2] for line in file if line.startswith("onnx/"))
    if kinds.get("onnx/" + os.path.splitext(os.path.basename(path))[0]) != "dynamic":
        return []
    inputs, _ = golden_of(pathlib.Path(models_folder(setup)), pathlib.Path(path))
    return ["--shapes=" + ",".join(f"{quoted(name)}:{'x'.join(map(str, value.shape))}" for name, value in inputs.items())]


def models_of(setup, chosen):
    """The models of the collection marked F that `chosen` takes; None, with the reason printed, where there are none."""
    folder = models_folder(setup)
    index = os.path.join(folder, "INDEX.md")
    if not os.path.exists(index):
        print(f"skipped: no models in '{folder}'; TENON_MODELS names their folder")
        return None
    with open(index, encoding="utf-8") as file:
        names = re.findall(r"^\| F \| (onnx/[^ |]+\.onnx) ", file.read(), re.M)
    return [path for name in names for path in sorted(glob.glob(os.path.join(folder, name)))
            if chosen(os.path.basename(path))]


def through_parser(setup, chosen, least):
    """Each model through the ONNX parser of trtexec, with the shim preloaded."""
    paths = models_of(setup, chosen)
    if paths is None:
        return support.SKIPPED
    expect(len(paths) >= least, f"{len(paths)} models, at least {least} were expected")
    for path in paths:
        command = [setup.program("trtexec"), "--onnx=" + path, "--builderOptimizationLevel=0", "--skipInference",
                   "--saveEngine=" + setup.path("engine"), *shape_flags(setup, path)]
        done = captured(setup, command, "model")
        expect(done.returncode == 0, f"{path}: {done.stdout[-1000:]}")
        played = play(setup, "model", "-o", setup.path("replayed"))
        expect(played.returncode == 0 and ", the application's engine" in played.stdout
               and "differ from" not in played.stdout,
               f"{path}: {played.returncode} {played.stdout[-1000:]}")
        expect(same_files(setup.path("engine"), setup.path("replayed")), f"{path}: another engine")
        check_captures(setup)
        print(f"{os.path.basename(path)}: {os.path.getsize(setup.path('model.json'))} bytes of calls, "
              f"{os.path.getsize(setup.path('model.bin'))} of data, engine of {os.path.getsize(setup.path('replayed'))}")
    return 0


def models(setup):
    return through_parser(setup, lambda name: not name.startswith("light_"), 23)


def light_models(setup):
    return through_parser(setup, lambda name: name.startswith("light_") and not any(n in name for n in LARGE), 6)


def large_models(setup):
    return through_parser(setup, lambda name: name.startswith("light_") and any(n in name for n in LARGE), 3)
