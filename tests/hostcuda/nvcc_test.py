#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles a program with a kernel by nvcc against our libcudart and runs it without a GPU.

    nvcc_test.py --nvcc NVCC --libraries FOLDER

The program must start, find its memory and streams working, and get a clear error from the launch alone.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PROGRAM = r"""
#include <cstdio>
__global__ void add(float* x) { x[threadIdx.x] += 1; }
__device__ float table[4];
int main() {
  float* x = nullptr;
  float back = 0, one = 1;
  std::printf("malloc %d\n", cudaMalloc(&x, 4));
  std::printf("copy %d\n", cudaMemcpy(x, &one, 4, cudaMemcpyHostToDevice));
  add<<<1, 1>>>(x);
  std::printf("launch %s\n", cudaGetErrorName(cudaGetLastError()));
  std::printf("symbol %s\n", cudaGetErrorName(cudaMemcpyToSymbol(table, &one, 4)));
  cudaGetLastError();
  std::printf("back %d", cudaMemcpy(&back, x, 4, cudaMemcpyDeviceToHost));
  std::printf(" %g\n", back);
  cudaFuncAttributes a;
  std::printf("attributes %s\n", cudaGetErrorName(cudaFuncGetAttributes(&a, add)));
  std::printf("free %d\n", cudaFree(x));
}
"""
EXPECTED = """malloc 0
copy 0
launch cudaErrorNoKernelImageForDevice
symbol cudaErrorInvalidSymbol
back 0 1
attributes cudaErrorInvalidDeviceFunction
free 0
"""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--nvcc", required=True)
    parser.add_argument("--libraries", required=True)
    options = parser.parse_args()
    if not shutil.which(options.nvcc):
        print("skipped: nvcc is not installed")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "program.cu")
        source.write_text(PROGRAM)
        program = source.with_suffix("")
        subprocess.run([options.nvcc, "-cudart", "shared", "-o", program, source], check=True)
        environment = dict(os.environ, TENON_DEVICE="cpu", LD_LIBRARY_PATH=options.libraries)
        result = subprocess.run([program], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                timeout=60, check=False)
    if result.returncode != 0 or result.stdout != EXPECTED or "a CUDA kernel was launched" not in result.stderr:
        print(f"exit status {result.returncode}, expected 0; printed\n{result.stdout}expected\n{EXPECTED}"
              f"and on stderr\n{result.stderr}")
        return 1
    return 0


sys.exit(main())
