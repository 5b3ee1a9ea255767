// The parameters that kernels of attention on tensor cores share, from the problem.
#pragma once

#include "backends/cuda/kernels/attention/attention_parameters.h"
#include "backends/cuda/kernels/attention/attention_problem.h"
#include "runtime/kernel.h"

namespace tenon::backends::cuda {

// All but the addresses and how rows and keys are divided among blocks.
void setFlash(FlashParameters& parameters, const dnn::AttentionProblem& problem, const ops::Attention& op);

// The addresses of operands, mask and result.
void bindFlash(FlashParameters& parameters, const dnn::AttentionProblem& problem,
               const runtime::LaunchArguments& arguments);

// Whether two neighbouring keys of the mask are one word: every row begins at an even element.
bool maskIsInPairs(const dnn::AttentionProblem& problem);

}  // namespace tenon::backends::cuda
