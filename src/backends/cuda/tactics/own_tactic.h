// Tactics of kernels made from a file of kernels/: their records and machine code are alike.
#pragma once

#include <algorithm>
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
  uint64_t codeHash(const plan::KernelRecord& record) const override;
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

// For problems of operator T whose image, the first operand, and result are channels-last; a kernel in several shapes,
// of which the first is taken where nothing is measured.
template <typename T>
class ShapedTacticOf : public OwnTacticOf<T> {
 public:
  ShapedTacticOf(std::string_view name, int rank) : OwnTacticOf<T>(name, Formats::kLinear, rank), rank_(rank) {}

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto candidate = compile::rowMajor(this->name(), problem);
    candidate.inputs[0] = candidate.outputs[0] = Layout::kChannelsLast;
    std::vector<compile::Candidate> result;
    for (auto& shape : shapes(problem)) {
      result.push_back(candidate);
      result.back().variant = std::move(shape);
    }
    return result;
  }
  int rank(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    const auto all = shapes(problem);
    return rank_ + static_cast<int>(std::find(all.begin(), all.end(), candidate.variant) - all.begin());
  }

 protected:
  virtual std::vector<std::string> shapes(const compile::Problem& problem) const = 0;  // variants of candidates

 private:
  int rank_;
};

}  // namespace tenon::backends::cuda
