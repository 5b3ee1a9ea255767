# SPDX-License-Identifier: Apache-2.0
"""The wheel, made of what is built, installed into an empty environment: module and programs run from there alone."""
import os
import pathlib
import subprocess
import sys
import tempfile

import support

BUILD = pathlib.Path(os.environ["TENON_BUILD"])
LARGEST = 40e6
NEEDED = ("bin/trtexec", "bin/tensorrt_player", "bin/tenon_check_plugins", "lib/libnvinfer.so.10", "lib/libnvonnxparser.so.10", "lib/libcudart.so.12",
          "lib/libcudart.so.13", "lib/libtensorrt_shim.so")
PROGRAM = """
import sys, tensorrt
assert tensorrt.__file__.startswith(sys.prefix), tensorrt.__file__
assert all("venv" in line for line in open("/proc/self/maps") if "libnvinfer" in line or "libcudart" in line)
"""


def run(*command, environment):
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, check=False)
    if done.returncode != 0:
        print(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}")
        sys.exit(1)
    return done.stdout


def main():
    missing = [name for name in NEEDED if not (BUILD / name).exists()]
    if missing:
        print(f"skipped: not built: {', '.join(missing)}")
        return support.SKIPPED
    if subprocess.run([sys.executable, "-c", "import ensurepip"], capture_output=True, check=False).returncode:
        print(f"skipped: {sys.executable} cannot make environments (Debian: python3-venv)")
        return support.SKIPPED
    plain = {name: value for name, value in os.environ.items()
             if not name.startswith(("PYTHON", "LD_", "TENON_")) and name not in ("VIRTUAL_ENV",)}
    plain["TENON_DEVICE"] = "cpu"
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        run(support.ROOT / "scripts/wheel.sh", "--no-build", "--preset", BUILD.name, "--out", work, environment=os.environ)
        (wheel,) = work.glob("*.whl")
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
        if wheel.stat().st_size > LARGEST:
            print(f"expected at most {LARGEST / 1e6:.0f} MB")
            return 1
        # numpy is the only requirement, and comes from the system here: nothing is fetched.
        run(sys.executable, "-m", "venv", "--system-site-packages", work / "venv", environment=plain)
        python = work / "venv/bin/python"
        run(python, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--disable-pip-version-check", wheel, environment=plain)
        run(python, "-c", PROGRAM, environment=plain)
        has_numpy = subprocess.run([str(python), "-c", "import numpy"], capture_output=True, check=False).returncode == 0
        said = run(python, "-m", "tensorrt", *(["--check"] if has_numpy else []), environment=plain)
        print(said)
        model = support.DIGITS / "digits.onnx"
        answer = run(work / "venv/bin/trtexec", f"--onnx={model}", "--shapes=input:1x1x28x28", "--builderOptimizationLevel=0",
                     "--duration=0", "--iterations=1", "--warmUp=0", environment=plain)
        if "PASSED" not in answer:
            print(answer)
            return 1
        for program in ("tensorrt_player", "tenon_check_plugins"):
            run(work / "venv/bin" / program, "--help", environment=plain)
        if has_numpy:
            run(python, "-c", "import tensorrt.plugin as plugin; plugin.register", environment=plain)
    return 0


if __name__ == "__main__":
    sys.exit(main())
