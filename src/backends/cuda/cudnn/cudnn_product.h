// Matmuls with epilogues that cuBLASLt lacks, as operation graphs of cuDNN.
#pragma once

#include "backends/cuda/cudnn/cudnn_program.h"
#include "ops/op/matmul.h"

namespace tenon::backends::cuda::dnn {

// Why there is no graph for these operands, or empty.
std::string productRefusal(const ops::MatMul& op, const runtime::Shapes& shapes);
SourcedGraph productGraph(const Chip& chip, const ops::MatMul& op, const runtime::Shapes& shapes);
Program productProgram(const ops::MatMul& op);

}  // namespace tenon::backends::cuda::dnn
