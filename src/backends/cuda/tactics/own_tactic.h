// Tactics of kernels made from a file of kernels/: their records and machine code are alike.
#pragma once

#include <string>

#include "backends/cuda/tactics/tactic_util.h"

namespace tenon::backends::cuda {

// Machine code of a record's kernel for the chip that is here; InternalError where no kernel of ours has that name.
std::vector<std::byte> ownCode(const plan::KernelRecord& record);

enum class Formats : uint8_t {
  kLinear,           // every operand linear
  kAlsoChannelsLast  // or every operand of 4 or 5 axes that is no constant channels-last
};

class OwnTactic : public compile::Tactic {
 public:
  OwnTactic(std::string_view name, Formats formats, int rank) : name_(name), formats_(formats), rank_(rank) {}
  std::string_view name() const final { return name_; }
  int version() const override { return 1; }  // also of the kernel, as its row says
  compile::Support supports(const compile::Problem& problem) const final;
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override;
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override;
  std::vector<std::byte> nativeCode(const compile::Problem&, const compile::Candidate&,
                                    const plan::KernelRecord& record) const override;
  int rank(const compile::Problem&, const compile::Candidate& candidate) const override {
    return rank_ + (candidate.outputs.empty() || candidate.outputs[0] == Layout::kLinear ? 0 : 1);
  }

 protected:
  // Types are known to have code, and NVRTC to be there.
  virtual compile::Support accepts(const compile::Problem& problem) const = 0;

 private:
  std::string_view name_;
  Formats formats_;
  int rank_;
};

// For every problem of operator T.
template <typename T>
class OwnTacticOf : public OwnTactic {
 public:
  using OwnTactic::OwnTactic;

 protected:
  compile::Support accepts(const compile::Problem& problem) const final {
    const auto* op = problem.op.as<T>();
    return op == nullptr ? compile::no("it computes {}", T::kName) : acceptsOp(*op, problem);
  }
  virtual compile::Support acceptsOp(const T&, const compile::Problem&) const { return compile::yes(); }
};

}  // namespace tenon::backends::cuda
