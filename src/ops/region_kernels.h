// Which kernels compute the operators of the regions of a loop or conditional: parameters of a plan's record.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/fields.h"

namespace tenon::ops {

struct RegionKernel {
  static constexpr std::string_view kView = "view";            // nothing is computed: the result is the first operand
  static constexpr std::string_view kReference = "reference";  // the operator's own evaluation
  static constexpr std::string_view kRegions = "regions";      // loops and conditionals within
  std::string name;                                            // of the backend's kernel, or one of these
  int32_t version = 0;
  std::string params;
  // Machine code of its own, within that of the loop or conditional: where it begins, and how long it is.
  int64_t codeAt = 0;
  int64_t codeBytes = 0;
  bool operator==(const RegionKernel&) const = default;
};

// By node. Loops: those of an iteration, then those of the condition; conditionals: those for true, then those for
// false.
struct RegionKernels {
  std::vector<RegionKernel> first;
  std::vector<RegionKernel> second;
  RegionKernel own;  // what the loop or conditional itself runs, if it is code of a device
  static constexpr auto fields = std::tuple{field("first", &RegionKernels::first),
                                            field("second", &RegionKernels::second), field("own", &RegionKernels::own)};
};

// Empty where there is none, or where that of the owner was left out.
inline std::span<const std::byte> codeOf(const RegionKernel& kernel, std::span<const std::byte> code) {
  if (kernel.codeBytes == 0 || code.empty()) return {};
  const auto bytes = static_cast<int64_t>(code.size());
  if (kernel.codeAt < 0 || kernel.codeBytes < 0 || kernel.codeAt > bytes || kernel.codeBytes > bytes - kernel.codeAt)
    throw UserError("plan: the code of kernel '{}' has {} bytes from {}, the loop or conditional has {}", kernel.name,
                    kernel.codeBytes, kernel.codeAt, bytes);
  return code.subspan(static_cast<size_t>(kernel.codeAt), static_cast<size_t>(kernel.codeBytes));
}

}  // namespace tenon::ops

namespace tenon {

// {"gemm" 2 "params" 0 0}
template <>
struct FieldText<ops::RegionKernel> {
  static std::string write(const ops::RegionKernel& value) {
    return fmt::format("{{{} {} {} {} {}}}", quote(value.name), value.version, quote(value.params), value.codeAt,
                       value.codeBytes);
  }
  static ops::RegionKernel read(TextReader& in) {
    ops::RegionKernel value;
    in.expect("{");
    value.name = in.quoted();
    value.version = FieldText<int32_t>::read(in);
    value.params = in.quoted();
    value.codeAt = in.integer();
    value.codeBytes = in.integer();
    in.expect("}");
    return value;
  }
};

}  // namespace tenon

namespace tenon::ops {

// Calls visit(kernel) for each kernel of the regions that `params` describes, those of regions within them too.
template <typename Visit>
void forEachRegionKernel(const std::string& params, const Visit& visit) {
  TextReader in(params, "kernels of regions");
  const auto kernels = readFields<RegionKernels>(in);
  for (const auto* list : {&kernels.first, &kernels.second}) {
    for (const auto& kernel : *list) {
      visit(kernel);
      if (kernel.name == RegionKernel::kRegions) forEachRegionKernel(kernel.params, visit);
    }
  }
}

}  // namespace tenon::ops
