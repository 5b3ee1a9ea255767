# SPDX-License-Identifier: Apache-2.0
"""Packs an installed tree with the Python package into a wheel; scripts/wheel.sh calls it.

    pack_wheel.py INSTALLED OUT

Libraries of the system that a plain one lacks go along, beside ours, whose run path finds them.
"""
import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python/package"))
from _libraries import OWN  # noqa: E402  pylint: disable=wrong-import-position,import-error

NAME = "tenon-tensorrt"
# What every system with this C library has, in the words of the manylinux rules.
EVERYWHERE = re.compile(r"(libc|libm|libdl|libpthread|librt|libgcc_s|libstdc\+\+|ld-linux[\w-]*)\.so\b")
PROGRAMS = ("trtexec", "tensorrt_player", "tenon_check_plugins")
METADATA = """Metadata-Version: 2.1
Name: {name}
Version: {version}
Summary: An open implementation of TensorRT's Python interface: ONNX models on NVIDIA GPUs and on plain CPUs
License: Apache-2.0
Requires-Python: >={least}
Requires-Dist: numpy

The module is called `tensorrt`. `python -m tensorrt --check` says on which device it computes.
"""


def fail(text):
    sys.exit(f"error: {text}")


def needed(file):
    """{name: path} of the shared libraries that a file needs, as the loader finds them here."""
    done = subprocess.run(["ldd", str(file)], capture_output=True, text=True, check=False)
    lost = re.findall(r"(\S+) => not found", done.stdout)
    if lost:
        fail(f"{file.name} needs {', '.join(lost)}, which is not found")
    return dict(re.findall(r"(\S+) => (/\S+)", done.stdout))


def collect(installed, package):
    """Copies libraries and programs into the package; returns the names of libraries of the system among them."""
    library, programs = package / "lib", package / "bin"
    library.mkdir()
    programs.mkdir()
    folder = next((f for f in installed.rglob("libnvinfer.so.10") if f.parent != library), None)
    if folder is None:
        fail(f"no libnvinfer.so.10 below {installed}")
    for file in sorted(folder.parent.iterdir()):
        # One file per name that something asks for: a wheel holds no links.
        if file.name.startswith(OWN) and (re.search(r"\.so\.\d+$", file.name) or file.name == "libtensorrt_shim.so"):
            shutil.copy(file, library / file.name)
    for name in PROGRAMS:
        shutil.copy(installed / "bin" / name, programs / name)
    found = {}
    for file in [*library.iterdir(), *programs.iterdir(), *package.glob("*.so")]:
        found.update(needed(file))
    foreign = {n: p for n, p in found.items() if not EVERYWHERE.match(n) and not (library / n).exists() and not n.startswith(OWN)}
    for name, path in foreign.items():
        shutil.copy(path, library / name)
    return sorted(foreign)


def releases(package):
    """The releases of CPython whose modules are in the package, as ["cp39", "cp312"]."""
    found = [re.search(r"\.cpython-3(\d+)-", file.name) for file in package.glob("tensorrt.*.so")]
    return [f"cp3{minor}" for minor in sorted(int(name[1]) for name in found if name)]


def platform(package):
    """The system that the package is for: it has the newest version of the C library that a file asks for."""
    newest = 17  # no manylinux of this form is older
    for file in [*package.glob("*.so"), *package.glob("lib/*"), *package.glob("bin/*")]:
        done = subprocess.run(["objdump", "-p", str(file)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            fail(f"objdump cannot read {file.name}: {done.stderr.strip()}")
        newest = max([newest, *map(int, re.findall(r"\bGLIBC_2\.(\d+)", done.stdout))])
    return f"manylinux_2_{newest}_{sysconfig.get_platform().rsplit('-', 1)[1]}"


def audit(wheel, command):
    """What auditwheel says of the tag, in a line. Ends the program where the wheel needs a newer system than its tag says."""
    done = subprocess.run([*command, "show", str(wheel)], capture_output=True, text=True, check=False)
    said = " ".join(done.stdout.split())
    needed = re.search(r'platform tag: "manylinux_(\d+)_(\d+)_', said)
    told = re.search(r"manylinux_(\d+)_(\d+)_", wheel.name)
    if done.returncode != 0 or not needed or tuple(map(int, needed.groups())) > tuple(map(int, told.groups())):
        fail(f"{wheel.name}: auditwheel does not agree with the tag: {said[:600]}{done.stderr[-600:]}")
    return f"auditwheel: the wheel needs glibc {needed[1]}.{needed[2]}; its tag says {told[1]}.{told[2]}"


def record_line(name, data):
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(data)}\n"


def write(root, out, version):
    """Zips the files of a folder, in order and without times, so that equal trees give equal wheels."""
    name = NAME.replace("-", "_")
    pythons = releases(root / "tensorrt")
    if not pythons:
        fail("the package holds no module")
    system = platform(root / "tensorrt")
    tag = f"{'.'.join(pythons)}-{'.'.join(pythons)}-{system}"
    tags = "".join(f"Tag: {python}-{abi}-{system}\n" for python in pythons for abi in pythons)  # the same, each written out
    info = root / f"{name}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(METADATA.format(name=NAME, version=version, least=f"3.{pythons[0][3:]}"))
    (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: tenon\nRoot-Is-Purelib: false\n{tags}")
    (info / "entry_points.txt").write_text("[console_scripts]\n" + "".join(f"{p} = tensorrt._programs:{p}\n" for p in PROGRAMS))
    wheel = out / f"{name}-{version}-{tag}.whl"
    record = ""
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(f for f in root.rglob("*") if f.is_file()):
            inside, data = file.relative_to(root).as_posix(), file.read_bytes()
            entry = zipfile.ZipInfo(inside)
            entry.external_attr = (0o100755 if os.access(file, os.X_OK) else 0o100644) << 16  # a regular file: pip looks for that
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)
            record += record_line(inside, data)
        inside = f"{info.name}/RECORD"
        archive.writestr(zipfile.ZipInfo(inside), record + f"{inside},,\n")
    return wheel


def main(installed, out):
    installed, out = pathlib.Path(installed).resolve(), pathlib.Path(out).resolve()
    root = installed / "wheel"
    package = root / "tensorrt"
    shutil.copytree(installed / "tensorrt", package, ignore=shutil.ignore_patterns("__pycache__"))
    foreign = collect(installed, package)
    version = re.search(r'__version__ = "([\d.]+)"', (package / "_version.py").read_text())[1]
    wheel = write(root, out, version)
    print(f"{wheel} ({wheel.stat().st_size / 1e6:.1f} MB, with {', '.join(foreign) or 'no library of the system'})")
    command = shutil.which("auditwheel")
    print(audit(wheel, [command]) if command else "auditwheel is not in PATH: nobody else has looked at the tag")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
