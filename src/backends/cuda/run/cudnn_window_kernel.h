// Runs convolutions and deconvolutions through cuDNN.
#pragma once

#include <memory>

#include "runtime/kernel.h"

namespace tenon::backends::cuda {

// For records whose parameters are a dnn::WindowChoice. For other shapes than the choice was made for another engine is
// looked for where that one refuses.
std::unique_ptr<runtime::Kernel> loadWindow(const runtime::KernelLoad& load);

}  // namespace tenon::backends::cuda
