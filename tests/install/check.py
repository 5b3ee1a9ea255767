#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs a build into a folder, builds tests/install/consumer against it in one way, and runs it.

    check.py config|module|pkgconfig --build FOLDER --cmake PROGRAM --compiler PROGRAM --work FOLDER

The program must find everything under the prefix alone: nothing of the build tree or of the source tree is named.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent
ROOT = SOURCE.parent.parent
SKIPPED = 77


def run(*command, **options):
    words = [str(word) for word in command]
    print("+", " ".join(words), flush=True)
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    print(done.stdout, flush=True)
    if done.returncode != 0:
        sys.exit(f"exit status {done.returncode}: {' '.join(words)}")
    return done.stdout


def check_links(prefix):
    """Each library has its versioned file and the two links that linkers and loaders ask for."""
    for name, version in (("nvinfer", "10"), ("nvonnxparser", "10"), ("nvinfer_plugin", "10"), ("cudart", "13")):
        for link in (f"lib{name}.so", f"lib{name}.so.{version}"):
            path = prefix / "lib" / link
            if name == "nvinfer_plugin" and not path.exists():
                continue
            if not path.exists():
                sys.exit(f"{path} is missing or leads nowhere")
            if prefix not in path.resolve().parents:
                sys.exit(f"{path} leads out of the prefix, to {path.resolve()}")


# What the shell would offer for these words; the last one is being typed.
BASH = """source "$1"
try() {
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  COMPREPLY=()
  _trtexec
  echo "$* -> ${COMPREPLY[*]}"
}
try trtexec --saveE
try trtexec --sparsity = en
try trtexec --sparsity=en
try trtexec --onnx = check.p
"""


def check_pages(share):
    """The manual page and the completions of trtexec are where they are looked for, and what reads them takes them."""
    manual = share / "man" / "man1" / "trtexec.1"
    bash = share / "bash-completion" / "completions" / "trtexec"
    zsh = share / "zsh" / "site-functions" / "_trtexec"
    fish = share / "fish" / "vendor_completions.d" / "trtexec.fish"
    for path in (manual, bash, zsh, fish):
        if "saveEngine" not in path.read_text():
            sys.exit(f"{path} does not speak of the flags")
    said = run("bash", "--norc", "-c", BASH, "bash", bash, cwd=SOURCE)
    for expected in ("--saveE -> --saveEngine=", "--sparsity = en -> enable", "--sparsity=en -> --sparsity=enable",
                     "--onnx = check.p -> check.py"):
        if f"trtexec {expected}\n" not in said:
            sys.exit(f"bash does not complete as expected: {expected}")
    if shutil.which("groff") and (said := run("groff", "-man", "-ww", "-Tutf8", "-z", manual)):
        sys.exit(f"groff on the manual page: {said}")
    if shutil.which("zsh"):
        run("zsh", "-n", zsh)
    if shutil.which("fish"):
        run("fish", "--no-execute", fish)


def build_with_cmake(way, options, prefix, folder):
    # A finder sees the prefix by the variable that such scripts have in common.
    where = f"-DCMAKE_PREFIX_PATH={prefix}" if way == "config" else f"-DTensorRT_ROOT={prefix}"
    run(options.cmake, "-S", SOURCE / "consumer", "-B", folder, f"-DWAY={way}", where,
        f"-DCMAKE_CXX_COMPILER={options.compiler}", "-DCMAKE_BUILD_TYPE=Release")
    run(options.cmake, "--build", folder)
    return folder / "consumer"


def build_with_pkgconfig(options, prefix, folder):
    if shutil.which("pkg-config") is None:
        print("skipped: pkg-config is not installed")
        sys.exit(SKIPPED)
    environment = {**os.environ, "PKG_CONFIG_PATH": str(prefix / "lib" / "pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "tenon", "tenon-cudart", env=environment).split()
    folder.mkdir(parents=True, exist_ok=True)
    run(options.compiler, "-std=c++17", SOURCE / "consumer" / "main.cpp", "-o", folder / "consumer", *flags)
    return folder / "consumer"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=["config", "module", "pkgconfig"])
    for name in ("build", "work"):
        parser.add_argument("--" + name, type=pathlib.Path, required=True)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--compiler", required=True)
    options = parser.parse_args()

    place = options.work / options.way
    shutil.rmtree(place, ignore_errors=True)
    prefix = place / "prefix"
    run(options.cmake, "--install", options.build, "--prefix", prefix)
    check_links(prefix)
    if options.way == "pkgconfig":
        program = build_with_pkgconfig(options, prefix, place / "build")
    else:
        program = build_with_cmake(options.way, options, prefix, place / "build")

    # No GPU is needed, and only the installed libraries may be found.
    environment = {**os.environ, "LD_LIBRARY_PATH": str(prefix / "lib"), "TENON_DEVICE": "cpu"}
    model, picture = ROOT / "models/digits/digits.onnx", ROOT / "models/digits/samples/7.pgm"
    said = run(program, model, picture, env=environment)
    if "this is a 7" not in said:
        sys.exit(f"the consumer says '{said.strip()}'; expected that it reads a 7 in {picture}")
    trtexec = prefix / "bin" / "trtexec"
    if trtexec.exists():
        environment.pop("LD_LIBRARY_PATH")
        run(trtexec, "--help", env=environment)
        check_pages(prefix / "share")


if __name__ == "__main__":
    main()
