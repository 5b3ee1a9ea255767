// When Winograd's way of convolving pays.
#include "backends/cpu/tactics/common/tiled_convolution.h"

namespace tenon::backends::cpu {
namespace {

class WinogradTactic final : public TiledConvolution {
 public:
  WinogradTactic() : TiledConvolution("cpu.winograd", 30) {}

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
};

}  // namespace

const compile::Tactic& tactic_winograd() {
  static const WinogradTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
