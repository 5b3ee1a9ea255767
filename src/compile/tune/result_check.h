// Compares what the candidates of a problem compute with what the most trusted of them does, on the device.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compile/tactics/tactic.h"
#include "core/log.h"
#include "ops/operator.h"
#include "runtime/kernel.h"

namespace tenon::runtime {
class Device;
class TensorDistances;
}  // namespace tenon::runtime

namespace tenon::compile {

struct Tolerance;

// Makes the machine code that comparing results of a type takes, in linear order or in others as well, so that the
// first comparison does not wait for it. Thread-safe.
enum class Comparison : uint8_t { kDistance, kFormat };
void prepare(runtime::Device& device, DataType dtype, Comparison part);

// Used by the building thread, for one problem after another.
class ResultCheck {
 public:
  ResultCheck(runtime::Device& device, Log& log);
  ~ResultCheck();

  // Forgets what was expected.
  void clear();
  // Writes a tensor in another format; false when the device has no kernel for that.
  bool convert(const TensorDesc& tensor, Layout from, Layout to, const void* source, void* target);
  // Takes the results that lie at `outputs`, whose kernels are done, as the right ones.
  void expect(const Problem& problem, const Candidate& candidate, std::span<void* const> outputs);
  bool expects() const;
  // What differs from the expected results; empty when nothing does or nothing is expected. Where the device measures
  // no distances, or has no room for a second copy, a part of large results is looked at that is spread over the whole.
  std::string compare(const Problem& problem, const Candidate& candidate, std::span<void* const> outputs);

 private:
  struct Converter;
  struct Expected;
  class Scratch;
  Converter* converter(const TensorDesc& tensor, Layout from, Layout to);
  // The tensor in linear order: where it lies, or a copy, which is kept in `memory`; null when there is no way.
  const void* linear(const TensorDesc& tensor, Layout format, const void* data, std::unique_ptr<Scratch>& memory);
  // A part of a tensor in linear order.
  std::vector<std::byte> sample(const TensorDesc& tensor, const void* data);
  bool keepWhole(const TensorDesc& tensor, Layout format, const void* data, Expected& expected);
  std::string compareWhole(const TensorDesc& tensor, const void* data, const void* expected, size_t output,
                           const Tolerance& tolerance);

  runtime::Device& device_;
  runtime::TensorDistances* distances_;  // null where the device measures none
  Log& log_;
  std::map<std::string, std::unique_ptr<Converter>> converters_;
  std::vector<Expected> expected_;  // by output
};

}  // namespace tenon::compile
