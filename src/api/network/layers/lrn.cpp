// ILRNLayer.
#include "ops/op/lrn.h"

#include "api/network/lower_context.h"

namespace tenon::api {
namespace {

class LRNLayer final : public LayerOf<nv::ILRNLayer, nv::apiv::VLRNLayer, nv::LayerType::kLRN> {
 public:
  using LayerOf::LayerOf;

  void setWindowSize(int64_t windowSize) noexcept override { set(window_, windowSize); }
  int64_t getWindowSize() const noexcept override { return window_; }
  void setAlpha(float alpha) noexcept override { set(alpha_, alpha); }
  float getAlpha() const noexcept override { return alpha_; }
  void setBeta(float beta) noexcept override { set(beta_, beta); }
  float getBeta() const noexcept override { return beta_; }
  void setK(float k) noexcept override { set(k_, k); }
  float getK() const noexcept override { return k_; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    return {context.add(ops::Lrn{window_, alpha_, beta_, k_}, {context.input(0)})};
  }

 private:
  int64_t window_ = 5;
  float alpha_ = 0.0001F;
  float beta_ = 0.75F;
  float k_ = 1;
};

}  // namespace

LayerInfo layerInfo_lrn() { return describeLayer<LRNLayer>(); }

}  // namespace tenon::api
