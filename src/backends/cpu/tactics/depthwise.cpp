// When the own depthwise convolution can be used.
#include "backends/cpu/tactics/common/tiled_convolution.h"

namespace tenon::backends::cpu {
namespace {

class DepthwiseTactic final : public TiledConvolution {
 public:
  DepthwiseTactic() : TiledConvolution("cpu.depthwise", 15) {}

 private:
  compile::Support takesWindow(const ops::Convolution& op, const Dims& w) const override {
    if (w[1] != 1 || w[0] != op.groups || op.groups < 2) {
      return compile::no("weights {} of {} groups are not depthwise", w.text(), op.groups);
    }
    constexpr int64_t kMostTaps = 128;
    if (w.count(2, 4) > kMostTaps)
      return compile::no("a window of {} elements; at most {} are supported", w.count(2, 4), kMostTaps);
    return compile::yes();
  }
};

}  // namespace

const compile::Tactic& tactic_depthwise() {
  static const DepthwiseTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
