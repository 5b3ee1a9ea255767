# SPDX-License-Identifier: Apache-2.0
"""A virtual environment in the build folder with packages that tests compare with, or the reason why there is none."""
import pathlib
import shutil
import subprocess
import sys


def run(*command):
    words = [str(word) for word in command]
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def environment(folder, modules, installs):
    """The Python of a virtual environment in `folder` that finds all `modules`, or None and the reason.

    `installs` are lists of arguments to `pip install`, run where a module is missing.
    """
    python = pathlib.Path(folder) / "bin/python"
    if not python.exists():
        done = run(sys.executable, "-m", "venv", folder)
        if done.returncode != 0:
            shutil.rmtree(folder, ignore_errors=True)  # what is half made would pass for whole next time
            return None, f"no virtual environment: {done.stdout.strip().splitlines()[0]}"
    check = [str(python), "-c", "import importlib.util as u, sys; "
             f"sys.exit(not all(map(u.find_spec, {list(modules)!r})))"]
    if subprocess.run(check, check=False).returncode == 0:
        return python, None
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"]
    for what in installs:
        done = run(*pip, *what)
        if done.returncode != 0:
            reason = (done.stdout.strip().splitlines() or ["pip failed"])[-1]
            return None, f"{what[-1]} for Python {sys.version_info.major}.{sys.version_info.minor}: {reason}"
    return python, None
