// When convolutions of one input are computed together.
#include "backends/cpu/tactics/common/tiled_convolution.h"
#include "ops/op/composite.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kPanel = 16;  // columns of a panel on most machines

// Same window, groups of one: what one table of sources serves.
bool isAlike(const ops::Convolution& a, const Dims& wa, const ops::Convolution& b, const Dims& wb) {
  return a.strides == b.strides && a.dilations == b.dilations && a.prePadding == b.prePadding &&
         a.postPadding == b.postPadding && a.groups == 1 && b.groups == 1 && wa.rank == 4 && wb.rank == 4 &&
         wa[1] == wb[1] && wa[2] == wb[2] && wa[3] == wb[3];
}

// The problem of a part by itself; its operator lives in `part`.
compile::Problem problemOf(const compile::Problem& whole, const ops::CompositePart& part,
                           const compile::TensorDesc& result) {
  compile::Problem own{part.op, {}, {result}, whole.symbols};
  for (const auto operand : part.inputs) own.inputs.push_back(whole.inputs[static_cast<size_t>(operand)]);
  return own;
}

class BranchesTactic final : public SimpleTactic {
 public:
  BranchesTactic() : SimpleTactic("cpu.branches", true, 20) {}

  compile::Support supports(const compile::Problem& problem) const override {
    const auto* op = problem.op.as<ops::Composite>();
    if (op == nullptr || op->parts.size() < 2 || op->outputs.size() != op->parts.size()) {
      return compile::no("it computes sibling convolutions of one input");
    }
    const auto& front = op->parts[0];
    const auto* first = front.op.as<ops::Convolution>();
    int partial = 0;
    for (size_t p = 0; p < op->parts.size(); ++p) {
      const auto& [part, operands] = op->parts[p];
      const auto* convolution = part.as<ops::Convolution>();
      if (first == nullptr || convolution == nullptr) return compile::no("it computes convolutions");
      const bool reads = std::any_of(operands.begin(), operands.end(), [](int32_t operand) { return operand < 0; });
      if (reads || operands.size() < 2 || operands[0] != front.inputs[0] || op->outputs[p] != static_cast<int32_t>(p)) {
        return compile::no("the parts are not sibling convolutions of one input");
      }
      const auto& w = problem.inputs[static_cast<size_t>(operands[1])].dims;
      const auto& window = problem.inputs[static_cast<size_t>(front.inputs[1])].dims;
      if (!isAlike(*first, window, *convolution, w)) return compile::no("the convolutions differ in their windows");
      const auto own = problemOf(problem, op->parts[p], problem.outputs[p]);
      if (const auto is = isTiledConvolution(own, *convolution); !is) return is;
      if (w.count(2, 4) > kMostTileTaps)
        return compile::no("a window of {} elements; at most {} are supported", w.count(2, 4), kMostTileTaps);
      partial += w[0] % kPanel != 0 ? 1 : 0;
    }
    // Whole panels gain nothing: libraries compute them one by one as fast.
    if (partial < 2)
      return compile::no("no two of the convolutions have output channels that would share a packed panel");
    return compile::yes();
  }

  std::vector<compile::Candidate> candidates(const compile::Problem& problem) const override {
    auto result = SimpleTactic::candidates(problem);
    result.erase(result.begin());  // row-major
    allowPitch(result);
    return result;
  }
};

}  // namespace

const compile::Tactic& tactic_branches() {
  static const BranchesTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
