# SPDX-License-Identifier: Apache-2.0
"""Pythons with packages of others that tests of the module run in, of the release that the module was built for."""
import os
import pathlib
import shutil
import subprocess
import sys

import support

sys.path.insert(0, str(support.ROOT / "tests/support"))
from python_environment import environment  # noqa: E402  pylint: disable=wrong-import-position

BUILD = pathlib.Path(os.environ.get("TENON_BUILD", support.ROOT / "build/release"))
NVIDIA = "tensorrt-cu13-bindings==10.16.1.11"
# Module by what pip installs. graphsurgeon and polygraphy come without what they would pull in for other releases.
PACKAGES = {"numpy": ["numpy"], "onnx": ["onnx"], "onnxruntime": ["onnxruntime"], "polygraphy": ["polygraphy==0.53.6"],
            "onnx_graphsurgeon": ["onnx-graphsurgeon"], "tensorrt_bindings": ["--no-deps", NVIDIA], "cuda.bindings": ["cuda-python"], "auditwheel": ["auditwheel"],
            "mypy": ["mypy"]}
FORWARD = "from tensorrt_bindings import *\nfrom tensorrt_bindings import __version__\n"


def fits(python, modules):
    """Whether that Python has this release and all modules."""
    check = (f"import importlib.util as u, sys; sys.exit(sys.version_info[:2] != {sys.version_info[:2]} or "
             f"not all(u.find_spec(name) for name in {list(modules)!r}))")
    return subprocess.run([str(python), "-c", check], check=False, capture_output=True).returncode == 0


def python_with(*modules):
    """(Python, None), or (None, why there is none): one of PATH that has them, else an environment in the build folder."""
    for name in ("python3", "python"):
        found = shutil.which(name)
        if found and fits(found, modules):
            return found, None
    python, reason = environment(BUILD / "tests/python/packages", modules, [PACKAGES[module] for module in modules])
    return (str(python), None) if python else (None, reason)


def folder_with(module, requirement):
    """(folder, None) with a package from PyPI alone, for PYTHONPATH; or (None, why there is none)."""
    folder = BUILD / "tests/python" / requirement.replace("==", "-")
    if (folder / module).is_dir():
        return folder, None
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
                           "--target", str(folder), requirement], capture_output=True, text=True, check=False)
    return (folder, None) if done.returncode == 0 else (None, f"{requirement}: {(done.stderr.strip().splitlines() or ['pip failed'])[-1]}")


def polygraphy(release):
    """The same for a release of Polygraphy."""
    return folder_with("polygraphy", f"polygraphy=={release}")


def python_with_torch():
    """The same for PyTorch, which is too large to be fetched: TENON_TORCH_PYTHON, this one, or those of PATH."""
    for python in (os.environ.get("TENON_TORCH_PYTHON"), sys.executable, shutil.which("python3"), shutil.which("python")):
        if python and fits(python, ["torch", "onnx", "onnxruntime"]):
            return python, None
    return None, (f"no Python {sys.version_info.major}.{sys.version_info.minor} with torch, onnx and onnxruntime is TENON_TORCH_PYTHON "
                  "or in PATH")


def module_variables(module, folder, *more):
    """Variables for programs in which `import tensorrt` gives our module ("ours") or NVIDIA's compiled one ("nvidia"), with more
    folders to find modules in."""
    variables = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", TENON_DEVICE="cpu",
                     LD_LIBRARY_PATH=f"{BUILD}/lib:{os.environ.get('LD_LIBRARY_PATH', '')}")
    variables["PYTHONPATH"] = str(BUILD / "python")
    if module == "nvidia":  # as NVIDIA's package `tensorrt` does
        package = pathlib.Path(folder) / "forward/tensorrt"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").write_text(FORWARD)
        variables["PYTHONPATH"] = str(package.parent)
    variables["PYTHONPATH"] = ":".join(map(str, [*more, variables["PYTHONPATH"]]))
    return variables
