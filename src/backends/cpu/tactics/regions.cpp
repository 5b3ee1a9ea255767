// When loops and conditionals run by the kernels of their operators, and which: for each operator of a region the one
// that stands first where nothing is measured, on row-major tensors.
#include <algorithm>

#include "backends/cpu/tactics/common/simple_tactic.h"
#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/op/if.h"
#include "ops/op/loop.h"
#include "ops/region_kernels.h"

namespace tenon::backends::cpu {
namespace {

using compile::Problem;
using compile::TensorDesc;

bool isView(const ops::Operator& op) {
  const auto facts = op.facts();
  return std::any_of(facts.aliases.begin(), facts.aliases.end(), [](const auto& alias) { return alias.view; });
}

bool isWindow(const ops::Operator& op) {
  return op.as<ops::Convolution>() != nullptr || op.as<ops::Deconvolution>() != nullptr;
}

bool isRowMajor(const compile::Candidate& candidate) {
  const auto linear = [](Layout layout) { return layout == Layout::kLinear; };
  return std::all_of(candidate.inputs.begin(), candidate.inputs.end(), linear) &&
         std::all_of(candidate.outputs.begin(), candidate.outputs.end(), linear);
}

ops::RegionKernel chooseKernel(const Problem& problem) {
  if (isView(problem.op)) return {std::string(ops::RegionKernel::kView), 0, {}};
  const compile::Tactic* best = nullptr;
  compile::Candidate chosen;
  int least = compile::kLastResortRank;
  for (const auto* tactic : compile::tacticsOf("cpu", "cpu")) {
    if (!tactic->supports(problem)) continue;
    auto candidates = tactic->candidates(problem);
    // oneDNN's convolutions take row-major images, but are not offered so where others are faster.
    if (isWindow(problem.op) && tactic->name().starts_with("cpu.dnnl_"))
      candidates.push_back(compile::rowMajor(tactic->name(), problem));
    for (auto& candidate : candidates) {
      const int rank = tactic->rank(problem, candidate);
      if (!isRowMajor(candidate) || rank >= least) continue;
      best = tactic;
      chosen = std::move(candidate);
      least = rank;
    }
  }
  if (best == nullptr) return {std::string(ops::RegionKernel::kReference), 0, {}};
  auto record = best->build(problem, chosen);
  return {std::move(record.name), record.version, std::move(record.params)};
}

// `inputs`: of the region.
std::vector<ops::RegionKernel> chooseKernels(const ops::Region& region, std::vector<TensorDesc> values,
                                             const Problem& whole) {
  std::vector<ops::RegionKernel> kernels;
  for (const auto& node : region->nodes) {
    Problem problem{node.op, {}, {}, whole.symbols};
    std::vector<ops::TensorType> types;
    for (const auto input : node.inputs) {
      problem.inputs.push_back(values[static_cast<size_t>(input)]);
      types.push_back({problem.inputs.back().dtype, toShape(problem.inputs.back().dims), std::nullopt});
    }
    for (const auto& type : node.op.bind(whole.symbols).infer(node.name, types))
      problem.outputs.push_back({type.dtype, evaluate(type.shape, whole.symbols), nullptr});
    kernels.push_back(chooseKernel(problem));
    values.insert(values.end(), problem.outputs.begin(), problem.outputs.end());
  }
  return kernels;
}

std::vector<TensorDesc> regionInputs(const Problem& problem, const ops::Loop& loop) {
  const auto states = static_cast<size_t>(loop.states);
  std::vector<TensorDesc> inputs(problem.inputs.begin() + (loop.counted ? 1 : 0), problem.inputs.end());
  for (size_t i = 0; i < states + loop.slices.size(); ++i) {
    inputs[i].constant = nullptr;
    if (i < states) continue;
    Dims dims;
    for (int axis = 0; axis < inputs[i].dims.rank; ++axis) {
      if (axis != loop.slices[i - states].axis) dims.push(inputs[i].dims[axis]);
    }
    inputs[i].dims = dims;
  }
  return inputs;
}

class RegionsTactic final : public SimpleTactic {
 public:
  RegionsTactic() : SimpleTactic("cpu.regions", false, 10) {}

  compile::Support supports(const Problem& problem) const override {
    return problem.op.as<ops::Loop>() != nullptr || problem.op.as<ops::If>() != nullptr
               ? compile::yes()
               : compile::no("it runs loops and conditionals");
  }

  plan::KernelRecord build(const Problem& problem, const compile::Candidate& candidate) const override {
    auto record = SimpleTactic::build(problem, candidate);
    ops::RegionKernels kernels;
    if (const auto* loop = problem.op.as<ops::Loop>()) {
      const auto inputs = regionInputs(problem, *loop);
      kernels.first = chooseKernels(loop->next, inputs, problem);
      kernels.second = chooseKernels(loop->test, inputs, problem);
    } else if (const auto* choice = problem.op.as<ops::If>()) {
      const std::vector<TensorDesc> inputs(problem.inputs.begin() + 1, problem.inputs.end());
      kernels.first = chooseKernels(choice->then, inputs, problem);
      kernels.second = chooseKernels(choice->otherwise, inputs, problem);
    }
    record.params = writeFields(kernels);
    return record;
  }
};

}  // namespace

const compile::Tactic& tactic_regions() {
  static const RegionsTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
