// What the tactics of cuDNN's convolution and deconvolution share.
#pragma once

#include <string>

#include "backends/cuda/cudnn/cudnn_window.h"
#include "compile/tactics/tactic.h"

namespace tenon::backends::cuda {

compile::Support windowSupport(const dnn::WindowOp& op, const compile::Problem& problem);
std::vector<compile::Candidate> windowCandidates(std::string_view tactic, const dnn::WindowOp& op,
                                                 const compile::Problem& problem);
void prepareWindow(const dnn::WindowOp& op, const compile::Problem& problem,
                   std::span<const compile::Candidate> candidates);
std::vector<std::byte> windowCode(const dnn::WindowOp& op, const compile::Problem& problem,
                                  const compile::Candidate& candidate);
int windowRank(const compile::Candidate& candidate);

// Op is ops::Convolution or ops::Deconvolution. One candidate per format and engine that cuDNN proposes.
template <typename Op>
class CudnnWindowTactic final : public compile::Tactic {
 public:
  explicit CudnnWindowTactic(std::string_view name) : name_(name) {}
  std::string_view name() const override { return name_; }
  // Engines are numbered by release of cuDNN.
  int version() const override { return 1'000'000 + dnn::library().version; }
  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<Op>();
    if (op == nullptr) return compile::no("it computes {}s", Op::kName);
    return windowSupport(dnn::windowOp(*op), problem);
  }
  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    return windowCandidates(name_, dnn::windowOp(problem.op), problem);
  }
  void prepare(const compile::Problem& problem, std::span<const compile::Candidate> candidates) const override {
    prepareWindow(dnn::windowOp(problem.op), problem, candidates);
  }
  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    return {"cuda", std::string(name_.substr(name_.find('.') + 1)), 1, problem.op.text(), candidate.variant, -1};
  }
  std::vector<std::byte> nativeCode(const compile::Problem& problem, const compile::Candidate& candidate,
                                    const plan::KernelRecord&) const override {
    return windowCode(dnn::windowOp(problem.op), problem, candidate);
  }
  int rank(const compile::Problem&, const compile::Candidate& candidate) const override {
    return windowRank(candidate);
  }

 private:
  std::string_view name_;
};

}  // namespace tenon::backends::cuda
