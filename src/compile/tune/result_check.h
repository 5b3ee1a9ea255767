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
}

namespace tenon::compile {

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
  bool expects() const { return !expected_.empty(); }
  // What differs from the expected results; empty when nothing does or nothing is expected. Of large results a part
  // spread over the whole is looked at.
  std::string compare(const Problem& problem, const Candidate& candidate, std::span<void* const> outputs);

 private:
  struct Converter;
  Converter* converter(const TensorDesc& tensor, Layout from, Layout to);
  // A part of a tensor in linear order; false when it cannot be brought into that order.
  bool sample(const TensorDesc& tensor, Layout format, const void* data, std::vector<std::byte>& into);

  runtime::Device& device_;
  Log& log_;
  std::map<std::string, std::unique_ptr<Converter>> converters_;
  std::vector<std::vector<std::byte>> expected_;  // by output
};

}  // namespace tenon::compile
