// When the own convolution over channels-last images can be used.
#include "backends/cpu/tactics/common/tiled_convolution.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kPlanarChannels = 8;  // up to so many, turning the image costs less than a reformat

class ConvolutionTactic final : public TiledConvolution {
 public:
  ConvolutionTactic() : TiledConvolution("cpu.convolution", 25) {}

 private:
  compile::Support takesWindow(const ops::Convolution& op, const Dims& w) const override {
    if (w.count(2, 4) > kMostTileTaps)
      return compile::no("a window of {} elements; at most {} are supported", w.count(2, 4), kMostTileTaps);
    if (w[0] / op.groups < 4)
      return compile::no("{} output channels in a group; at least 4 are needed", w[0] / op.groups);
    return compile::yes();
  }

  // A row-major image.
  void addOthers(const ops::Convolution& op, const compile::Problem& problem,
                 std::vector<compile::Candidate>& candidates) const override {
    if (problem.inputs[0].dims[1] > kPlanarChannels || op.groups != 1) return;
    if (!op.dilations.empty() && op.dilations[1] != 1) return;
    auto planar = candidates.front();
    planar.inputs[0] = Layout::kLinear;
    candidates.push_back(std::move(planar));
  }
};

}  // namespace

const compile::Tactic& tactic_convolution() {
  static const ConvolutionTactic kTactic;
  return kTactic;
}

}  // namespace tenon::backends::cpu
