// Runs programs of cuDNN.
#pragma once

#include <memory>

#include "backends/cuda/cudnn/cudnn_program.h"

namespace tenon::backends::cuda {

// For records whose parameters are a dnn::Choice. For other shapes than the choice was made for another engine is
// looked for where that one refuses.
std::unique_ptr<runtime::Kernel> loadDnn(const runtime::KernelLoad& load, dnn::Program program);

}  // namespace tenon::backends::cuda
