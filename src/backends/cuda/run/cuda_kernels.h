// The two kernels of the CUDA backend: generated pointwise code and cuBLASLt matrix products.
#pragma once

#include <memory>

#include "runtime/kernel.h"

namespace tenon::backends::cuda {

std::unique_ptr<runtime::Kernel> loadPointwise(const runtime::KernelLoad& load);
std::unique_ptr<runtime::Kernel> loadMatMul(const runtime::KernelLoad& load);

}  // namespace tenon::backends::cuda
