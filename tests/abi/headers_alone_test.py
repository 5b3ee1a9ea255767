#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that each public header compiles by itself: with each compiler, as C++14 and C++20, with CUDA headers and without."""
import argparse
import glob
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

WARNINGS = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unused-const-variable"]


def without_cuda(compiler):
    """Options that leave out those of the compiler's own include folders that hold CUDA headers."""
    listing = subprocess.run([compiler, "-E", "-v", "-x", "c++", os.devnull], stdout=subprocess.DEVNULL,
                             stderr=subprocess.PIPE, text=True, check=True).stderr
    folders = listing.split("#include <...> search starts here:")[1].split("End of search list.")[0].split()
    if not any(os.path.exists(os.path.join(f, "cuda_runtime_api.h")) for f in folders):
        return ()
    kept = [f for f in folders if not os.path.exists(os.path.join(f, "cuda_runtime_api.h"))]
    return ("-nostdinc", "-nostdinc++") + tuple(o for f in kept for o in ("-isystem", f))


def compile_one(job):
    compiler, standard, header, include, folder = job
    source = os.path.join(folder, f"{abs(hash(job))}.cpp")
    with open(source, "w", encoding="utf-8") as file:
        # A header that is included twice must be as good as one that is included once.
        file.write(f'#include "{header}"\n#include "{header}"\nint main() {{ return 0; }}\n')
    command = [compiler, f"-std={standard}", "-fsyntax-only", *WARNINGS, *include, source]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return None if done.returncode == 0 else f"{' '.join(command)}\n{done.stdout[:1500]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--headers", required=True)
    parser.add_argument("--compiler", action="append", required=True)
    parser.add_argument("--cuda", action="append", default=[], help="folders with cuda_runtime_api.h")
    options = parser.parse_args()
    headers = sorted(os.path.relpath(h, options.headers) for h in
                     glob.glob(os.path.join(options.headers, "**", "*.h"), recursive=True))
    compilers = sorted({os.path.realpath(shutil.which(c)): c for c in options.compiler if shutil.which(c)}.values())
    for missing in [c for c in options.compiler if not shutil.which(c)]:
        print(f"skipped {missing}: not installed")
    base = ("-I" + options.headers,)
    includes = {c: [base + without_cuda(c)] + [base + ("-isystem", f) for f in options.cuda] for c in compilers}
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(c, s, h, i, folder) for c in compilers for s in ("c++14", "c++20") for h in headers for i in includes[c]]
        failed = [text for text in pool.map(compile_one, jobs) if text]
    for text in failed[:5]:
        print(text)
    print(f"{len(jobs) - len(failed)} of {len(jobs)} passed: {len(headers)} headers, {', '.join(compilers)}")
    return 1 if failed or not headers or not compilers else 0


if __name__ == "__main__":
    sys.exit(main())
