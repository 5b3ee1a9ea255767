// Runs a chosen candidate against the reference of its operator: TENON_SELF_CHECK=1 makes a build do so for each node.
#pragma once

#include <string>

#include "compile/tactics/tactic.h"
#include "core/log.h"
#include "runtime/tensor_distance.h"

namespace tenon::runtime {
class Device;
}

namespace tenon::compile {

// How far results may lie from others of the same problem.
struct Tolerance {
  double norm = 0;      // of all differences together, relative to the norm of what is expected
  double element = 0;   // of one difference, relative to the element and to the root mean square; 0: not looked at
  double integers = 0;  // the part of the integers that may differ
  double gain = 0;      // by which all together may be larger or smaller; 0: not looked at
  static Tolerance ofReference(DataType dtype);
  static Tolerance ofCandidates(DataType dtype, bool tf32);  // that round elsewhere
  runtime::DistanceRule rule(DataType dtype) const;
};

// Whether tensors of `count` elements that lie so far apart agree.
bool agree(const runtime::TensorDistance& distance, DataType dtype, int64_t count, const Tolerance& tolerance);

runtime::TensorDistance distanceBetween(const TensorView& got, const TensorView& expected,
                                        const runtime::DistanceRule& rule);

// Empty when the results agree, else the number of the output, the worst element and the two values there. Elements
// of which an overflow is expected do not count.
std::string compareResults(const TensorView& got, const TensorView& expected, size_t output,
                           const Tolerance& tolerance);
std::string differenceText(size_t output, int64_t element, const Dims& dims, double got, double expected);

// Whether TENON_SELF_CHECK asks for it.
bool selfCheckWanted();

// Empty when the kernel's results are the reference's within the precision of their types, else what differs and where.
// Inputs are random. Problems whose operands are no numbers that a comparison could use (none today) pass.
std::string selfCheck(runtime::Device& device, const Problem& problem, const Candidate& candidate,
                      const plan::KernelRecord& record, std::span<const std::byte> nativeCode, Log& log);

}  // namespace tenon::compile
