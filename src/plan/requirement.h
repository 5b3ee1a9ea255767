// The words of requirements: "<kind>:<what>", and "code:" in front where only native code needs it.
#pragma once

#include <string>
#include <string_view>

namespace tenon::plan {

constexpr std::string_view kCodeRequirement = "code:";  // native code is for it; without, kernels are made again
constexpr std::string_view kChipRequirement = "sm:";    // compute capability of a GPU, major * 10 + minor

// TensorRT's sentence for a GPU of another compute capability than the plan's. Both are kChipRequirement's; `here` may
// be empty.
std::string incompatibleChip(std::string_view needed, std::string_view here);

}  // namespace tenon::plan
