// The operators of regions as problems, and the choice for each.
#include "compile/tactics/region_choice.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "ops/op/plugin.h"
#include "ops/op/size.h"
#include "ops/within.h"

namespace tenon::compile {
namespace {

bool isView(const ops::Operator& op) {
  const auto facts = op.facts();
  return std::any_of(facts.aliases.begin(), facts.aliases.end(), [](const auto& alias) { return alias.view; });
}

bool isRowMajor(const Candidate& candidate) {
  const auto linear = [](Layout layout) { return layout == Layout::kLinear; };
  return std::all_of(candidate.inputs.begin(), candidate.inputs.end(), linear) &&
         std::all_of(candidate.outputs.begin(), candidate.outputs.end(), linear);
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

class Chooser {
 public:
  Chooser(const Problem& whole, const RegionSource& source) : whole_(whole), source_(source) {}

  RegionChoice choose() {
    RegionChoice choice;
    addCode(source_.ownCode, choice.kernels.own);
    if (const auto* loop = whole_.op.as<ops::Loop>()) {
      const auto inputs = regionInputs(whole_, *loop);
      choice.kernels.first = kernelsOf(loop->next, inputs);
      choice.kernels.second = kernelsOf(loop->test, inputs);
    } else if (const auto* branches = whole_.op.as<ops::If>()) {
      const std::vector<TensorDesc> inputs(whole_.inputs.begin() + 1, whole_.inputs.end());
      choice.kernels.first = kernelsOf(branches->then, inputs);
      choice.kernels.second = kernelsOf(branches->otherwise, inputs);
    }
    choice.code = std::move(code_);
    return choice;
  }

 private:
  using Values = std::vector<std::optional<TensorDesc>>;

  std::vector<ops::RegionKernel> kernelsOf(const ops::Region& region, const std::vector<TensorDesc>& inputs) {
    std::vector<ops::RegionKernel> kernels;
    Values values(inputs.begin(), inputs.end());
    SymbolValues symbols = whole_.symbols;
    const bool isGuessed = !region.ownSymbols().empty();
    for (const auto& node : region->nodes) {
      const auto problem = problemOf(node, values, symbols, isGuessed);
      if (const auto* size = node.op.as<ops::Size>()) symbols[size->symbol] = size->opt.evaluate(symbols);
      if (problem) {
        kernels.push_back(kernelFor(*problem));
        values.insert(values.end(), problem->outputs.begin(), problem->outputs.end());
      } else {
        const auto name = isView(node.op) ? ops::RegionKernel::kView : ops::RegionKernel::kReference;
        kernels.push_back({std::string(name), 0, {}, 0, 0});
        values.resize(values.size() + static_cast<size_t>(node.outputs));
      }
    }
    return kernels;
  }

  // Operands at the extents that are expected. Sizes that the region computes are what their nodes say, which need not
  // go together: nothing then.
  std::optional<Problem> problemOf(const ops::RegionNode& node, const Values& values, const SymbolValues& symbols,
                                   bool isGuessed) const {
    Problem problem{node.op, {}, {}, symbols, whole_.tf32};
    std::vector<ops::TensorType> types;
    for (const auto input : node.inputs) {
      const auto& value = values[static_cast<size_t>(input)];
      if (!value) return std::nullopt;
      problem.inputs.push_back(*value);
      types.push_back({value->dtype, toShape(value->dims), std::nullopt});
    }
    try {
      for (const auto& type : node.op.bind(symbols).infer(node.name, types))
        problem.outputs.push_back({type.dtype, evaluate(type.shape, symbols), nullptr});
    } catch (const UserError&) {
      if (!isGuessed) throw;
      return std::nullopt;
    }
    const auto isNegative = [](const TensorDesc& x) {
      return std::any_of(x.dims.begin(), x.dims.end(), [](int64_t extent) { return extent < 0; });
    };
    if (std::any_of(problem.outputs.begin(), problem.outputs.end(), isNegative)) return std::nullopt;
    return problem;
  }

  ops::RegionKernel kernelFor(const Problem& problem) {
    if (isView(problem.op)) return {std::string(ops::RegionKernel::kView), 0, {}, 0, 0};
    const Tactic* best = nullptr;
    Candidate chosen;
    int least = kLastResortRank + 1;
    std::string refusal = "it takes operands in other formats only; within loops and conditionals they are row-major";
    for (const auto* tactic : tacticsOf(source_.device, source_.backend)) {
      if (const auto support = tactic->supports(problem); !support) {
        if (tactic->name().ends_with(".plugin")) refusal = support.reason;
        continue;
      }
      auto candidates = tactic->candidates(problem);
      if (source_.more != nullptr) {
        auto more = source_.more(*tactic, problem);
        std::move(more.begin(), more.end(), std::back_inserter(candidates));
      }
      for (auto& candidate : candidates) {
        const int rank = tactic->rank(problem, candidate);
        if (!isRowMajor(candidate) || rank >= least) continue;
        best = tactic;
        chosen = std::move(candidate);
        least = rank;
      }
    }
    if (const auto* plugin = problem.op.as<ops::Plugin>(); best == nullptr && plugin != nullptr)
      throw Unsupported("layer '{}': plugin '{}': {}", plugin->layer, plugin->type, refusal);
    if (best == nullptr) return {std::string(ops::RegionKernel::kReference), 0, {}, 0, 0};
    const auto record = best->build(problem, chosen);
    ops::RegionKernel kernel{record.name, record.version, record.params, 0, 0};
    addCode(best->nativeCode(problem, chosen, record), kernel);
    return kernel;
  }

  // Equal code once.
  void addCode(const std::vector<std::byte>& code, ops::RegionKernel& kernel) {
    constexpr size_t kAlignment = 64;
    if (code.empty()) return;
    const auto known = std::search(code_.begin(), code_.end(), code.begin(), code.end());
    if (known == code_.end()) {
      code_.resize((code_.size() + kAlignment - 1) / kAlignment * kAlignment);
      kernel.codeAt = static_cast<int64_t>(code_.size());
      code_.insert(code_.end(), code.begin(), code.end());
    } else {
      kernel.codeAt = known - code_.begin();
    }
    kernel.codeBytes = static_cast<int64_t>(code.size());
  }

  const Problem& whole_;
  const RegionSource& source_;
  std::vector<std::byte> code_;
};

}  // namespace

Support takesPluginsWithin(const Problem& problem, const std::function<void()>& choose) {
  if (!ops::holds<ops::Plugin>(problem.op)) return yes();
  try {
    choose();
    return yes();
  } catch (const Error& error) {
    return {error.what()};
  }
}

std::string excludedWithin(const plan::KernelRecord& record, std::span<const std::string> excludedLibraries) {
  if (excludedLibraries.empty() || record.name != ops::RegionKernel::kRegions) return {};
  std::string reason;
  ops::forEachRegionKernel(record.params, [&](const ops::RegionKernel& kernel) {
    for (const auto& library : excludedLibraries) {
      if (!reason.empty() || !kernel.name.starts_with(library + "_")) continue;
      reason = fmt::format("a body runs the kernel '{}'; the tactic sources of the build leave its library out",
                           kernel.name);
    }
  });
  return reason;
}

RegionChoice chooseRegionKernels(const Problem& problem, const RegionSource& source) {
  return Chooser(problem, source).choose();
}

}  // namespace tenon::compile
