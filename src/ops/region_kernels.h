// Which kernels compute the operators of the regions of a loop or conditional: parameters of a plan's record.
#pragma once

#include <string>
#include <vector>

#include "core/fields.h"

namespace tenon::ops {

struct RegionKernel {
  static constexpr std::string_view kView = "view";            // nothing is computed: the result is the first operand
  static constexpr std::string_view kReference = "reference";  // the operator's own evaluation
  std::string name;                                            // of the backend's kernel, or one of these
  int32_t version = 0;
  std::string params;
  bool operator==(const RegionKernel&) const = default;
};

// By node. Loops: those of an iteration, then those of the condition; conditionals: those for true, then those for
// false.
struct RegionKernels {
  std::vector<RegionKernel> first;
  std::vector<RegionKernel> second;
  static constexpr auto fields =
      std::tuple{field("first", &RegionKernels::first), field("second", &RegionKernels::second)};
};

}  // namespace tenon::ops

namespace tenon {

// {"gemm" 2 "params"}
template <>
struct FieldText<ops::RegionKernel> {
  static std::string write(const ops::RegionKernel& value) {
    return fmt::format("{{{} {} {}}}", quote(value.name), value.version, quote(value.params));
  }
  static ops::RegionKernel read(TextReader& in) {
    ops::RegionKernel value;
    in.expect("{");
    value.name = in.quoted();
    value.version = FieldText<int32_t>::read(in);
    value.params = in.quoted();
    in.expect("}");
    return value;
  }
};

}  // namespace tenon
