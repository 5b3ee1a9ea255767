// When Winograd's way of convolving pays.
#include "backends/cpu/kernels/common/winograd_form.h"
#include "backends/cpu/tactics/common/tiled_convolution.h"

namespace tenon::backends::cpu {
namespace {

// Of 4x4 results. So few multiply a weight so often that the way of the weights from memory takes as long as the
// products.
constexpr int64_t kFewPatches = 64;

class WinogradTactic final : public TiledConvolution {
 public:
  WinogradTactic() : TiledConvolution("cpu.winograd", 30) {}

  plan::KernelRecord build(const compile::Problem& problem, const compile::Candidate& candidate) const override {
    auto record = TiledConvolution::build(problem, candidate);
    record.params = candidate.variant;
    return record;
  }

 private:
  compile::Support takesWindow(const ops::Convolution& op, const Dims& w) const override {
    if (w[2] != 3 || w[3] != 3) return compile::no("a window of {}; only 3x3 is supported", w.text());
    if (op.groups != 1) return compile::no("{} groups", op.groups);
    for (const auto* list : {&op.strides, &op.dilations}) {
      for (const int64_t value : *list) {
        if (value != 1) return compile::no("strides or dilations of {}", value);
      }
    }
    constexpr int64_t kFewChannels = 16;
    if (w[1] < kFewChannels || w[0] < kFewChannels) {
      return compile::no("fewer than {} channels: the Winograd transforms would cost more than they save",
                         kFewChannels);
    }
    return compile::yes();
  }

  // Patches of 2x2 results where images are small.
  void addOthers(const ops::Convolution&, const compile::Problem& problem,
                 std::vector<compile::Candidate>& candidates) const override {
    const auto& y = problem.outputs[0].dims;
    constexpr int64_t kOut = WinogradForm{}.out;
    if (y[0] * ((y[2] + kOut - 1) / kOut) * ((y[3] + kOut - 1) / kOut) > kFewPatches) return;
    auto small = candidates.front();
    small.variant = kSmallWinograd;
    candidates.push_back(std::move(small));
  }
};

}  // namespace

const compile::Tactic& tactic_winograd() {
  static const WinogradTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
