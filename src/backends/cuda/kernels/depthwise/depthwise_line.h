// Depthwise convolutions along one axis (depthwise_line.cuh): what their launch and their tactic share.
#pragma once

#include <array>

#include "backends/cuda/kernels/depthwise/depthwise_line_parameters.h"
#include "backends/cuda/kernels/direct/direct.h"

namespace tenon::backends::cuda {

constexpr std::array<int, 3> kLineTapWarps{1, 2, 4};  // warps that share the taps: the variants of the kernel

// Reason why the windows are none of lines, or empty. Afterwards the line lies along the last axis.
std::string turnToLine(WindowParameters& p);

}  // namespace tenon::backends::cuda
