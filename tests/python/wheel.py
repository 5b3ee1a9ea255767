# SPDX-License-Identifier: Apache-2.0
"""The wheel, made of what is built, installed into an empty environment: module and programs run from there alone. So is the wheel in
build/wheel that scripts/wheel.sh made for several releases of Python, with each of them that scripts/pythons.py finds here."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import packages
import support

sys.path.insert(0, str(support.ROOT / "scripts"))
import pack_wheel  # noqa: E402  pylint: disable=wrong-import-position
import pythons  # noqa: E402  pylint: disable=wrong-import-position

BUILD = pathlib.Path(os.environ["TENON_BUILD"])
LARGEST = 40e6
NEEDED = ("bin/trtexec", "bin/tensorrt_player", "bin/tenon_check_plugins", "lib/libnvinfer.so.10", "lib/libnvonnxparser.so.10", "lib/libcudart.so.12",
          "lib/libcudart.so.13", "lib/libtensorrt_shim.so")
PROGRAM = """
import sys, tensorrt
assert tensorrt.__file__.startswith(sys.prefix), tensorrt.__file__
assert all(sys.prefix in line for line in open("/proc/self/maps") if "libnvinfer" in line or "libcudart" in line)
"""


def run(*command, environment):
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, check=False)
    if done.returncode != 0:
        print(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}")
        sys.exit(1)
    return done.stdout


def plain_environment():
    plain = {name: value for name, value in os.environ.items()
             if not name.startswith(("PYTHON", "LD_", "TENON_")) and name not in ("VIRTUAL_ENV",)}
    plain["TENON_DEVICE"] = "cpu"
    return plain


def check_tag(wheel):
    """auditwheel finds that the wheel runs wherever its tag says so, and not where an older system is promised."""
    python, reason = packages.python_with("auditwheel")
    if python is None:
        print(f"the tag is not checked: {reason}")
        return
    print(pack_wheel.audit(wheel, [python, "-m", "auditwheel"]))
    with tempfile.TemporaryDirectory() as folder:
        older = pathlib.Path(folder) / re.sub(r"manylinux_2_\d+", "manylinux_2_17", wheel.name)
        older.symlink_to(wheel)
        try:
            pack_wheel.audit(older, [python, "-m", "auditwheel"])
        except SystemExit as error:
            assert "does not agree with the tag" in str(error), error
        else:
            sys.exit("a wheel for glibc 2.17 passes")


def check_wheel(wheel, interpreter, work):
    """Installed where nothing else is but numpy: from the system, or of PyPI; without it what needs no arrays is tested."""
    plain = plain_environment()
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    if wheel.stat().st_size > LARGEST:
        sys.exit(f"expected at most {LARGEST / 1e6:.0f} MB")
    check_tag(wheel)
    run(interpreter, "-m", "venv", "--system-site-packages", work, environment=plain)
    python = work / "bin/python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run(*pip, "--no-index", "--no-deps", wheel, environment=plain)
    run(python, "-c", PROGRAM, environment=plain)

    def has_numpy():
        return subprocess.run([str(python), "-c", "import numpy"], capture_output=True, check=False).returncode == 0

    if not has_numpy():
        subprocess.run([str(word) for word in [*pip, "--only-binary=:all:", "numpy"]], capture_output=True, check=False, env=plain)
    said = run(python, "-m", "tensorrt", *(["--check"] if has_numpy() else []), environment=plain)
    print(said)
    model = support.DIGITS / "digits.onnx"
    answer = run(work / "bin/trtexec", f"--onnx={model}", "--shapes=input:1x1x28x28", "--builderOptimizationLevel=0",
                 "--duration=0", "--iterations=1", "--warmUp=0", environment=plain)
    if "PASSED" not in answer:
        sys.exit(answer)
    for program in ("tensorrt_player", "tenon_check_plugins"):
        run(work / "bin" / program, "--help", environment=plain)
    if has_numpy():
        run(python, "-c", "import tensorrt.plugin as plugin; plugin.register", environment=plain)
        lines = ("import numpy, tensorrt\n"
                 f"runner = tensorrt.Runner({str(model)!r}, shapes={{'input': (1, 1, 28, 28)}})\n"
                 "assert abs(runner(input=numpy.zeros((1, 1, 28, 28), 'float32'))['probabilities'].sum() - 1) < 1e-4")
        run(python, "-c", lines, environment=plain)


def releases_of(wheel):
    """The releases of Python that a wheel has modules for."""
    return [(int(major), int(minor)) for major, minor in re.findall(r"cp(\d)(\d+)", wheel.name.split("-")[2])]


def check_all(wheel, work):
    """Each release of a wheel that is here."""
    for release in releases_of(wheel):
        interpreter = pythons.find(release)
        name = ".".join(map(str, release))
        if interpreter is None:
            print(f"{wheel.name} is not tested with Python {name}, which is not here")
        elif not makes_environments(interpreter):
            print(f"{wheel.name} is not tested with Python {name}: {interpreter} cannot make environments")
        else:
            check_wheel(wheel, interpreter, work / f"venv{name}")


def makes_environments(interpreter):
    return subprocess.run([interpreter, "-c", "import ensurepip"], capture_output=True, check=False).returncode == 0


def main():
    missing = [name for name in NEEDED if not (BUILD / name).exists()]
    if missing:
        print(f"skipped: not built: {', '.join(missing)}")
        return support.SKIPPED
    if not makes_environments(sys.executable):
        print(f"skipped: {sys.executable} cannot make environments (Debian: python3-venv)")
        return support.SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        run(support.ROOT / "scripts/wheel.sh", "--no-build", "--preset", BUILD.name, "--out", work, environment=os.environ)
        (wheel,) = work.glob("*.whl")
        if sys.version_info[:2] not in releases_of(wheel):
            sys.exit(f"{wheel.name} has no module for Python {sys.version.split()[0]}")
        check_wheel(wheel, sys.executable, work / "venv")
        for other in sorted((support.ROOT / "build/wheel").glob("*.whl")):
            check_all(other, work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
