// IRotaryEmbeddingLayer: pairs of columns of each head turned by the angles of their position.
#include "api/network/formula.h"

namespace tenon::api {
namespace {

class RotaryEmbeddingLayer final
    : public LayerOf<nv::IRotaryEmbeddingLayer, nv::apiv::VRotaryEmbeddingLayer, nv::LayerType::kROTARY_EMBEDDING> {
 public:
  using LayerOf::LayerOf;

  void setInterleaved(bool interleaved) noexcept override { set(interleaved_, interleaved); }
  bool getInterleaved() const noexcept override { return interleaved_; }
  bool setRotaryEmbeddingDim(int32_t rotaryEmbeddingDim) noexcept override {
    return guarded(reporter(), "IRotaryEmbeddingLayer::setRotaryEmbeddingDim", false, [&] {
      checkUser(rotaryEmbeddingDim >= 0 && rotaryEmbeddingDim % 2 == 0,
                "layer '{}': the rotary embedding dimension is {}; expected an even number of 0 or more", name(),
                rotaryEmbeddingDim);
      set(columns_, rotaryEmbeddingDim);
      return true;
    });
  }
  int32_t getRotaryEmbeddingDim() const noexcept override { return columns_; }
  // Of both table classes.
  void setInput(int32_t index, nv::ITensor& tensor) noexcept override { LayerBase::setInput(index, tensor); }
  int maxInputs() const override { return 4; }

  // x [batch, heads, rows, width]; caches [batch, rows, pairs], or [positions, pairs] with position ids [batch, rows].
  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    graph::ValueId ids[] = {context.input(0), context.input(1), context.input(2)};
    context.unify({&ids[0], &ids[1], &ids[2]});
    const Formula x(context, ids[0]);
    Formula cosines(context, ids[1]);
    Formula sines(context, ids[2]);
    context.check(x.rank() == 4, "the input has shape {}; expected [batch, heads, rows, head size]", text(x.shape()));
    const int cacheRank = context.has(3) ? 2 : 3;
    context.check(cosines.rank() == cacheRank && sines.rank() == cacheRank,
                  "the caches have shapes {} and {}; expected {} dimensions {} position ids", text(cosines.shape()),
                  text(sines.shape()), cacheRank, context.has(3) ? "with" : "without");
    if (context.has(3)) {
      const Formula places(context, context.input(3));
      cosines = cosines.gather(places, 0, 0);
      sines = sines.gather(places, 0, 0);
    }
    const Extent width = x.dim(3);
    const Extent turned = columns_ == 0 ? width : Extent(columns_);
    context.check(turned.isConstant() && turned.constant() % 2 == 0, "{} columns are turned; expected an even constant",
                  turned.text());
    const Extent pairs(turned.constant() / 2);
    context.check(cosines.dim(-1) == pairs && sines.dim(-1) == pairs,
                  "the caches have {} and {} columns; expected half of the {} columns that are turned",
                  cosines.dim(-1).text(), sines.dim(-1).text(), turned.text());
    context.check(!width.isConstant() || width.constant() >= turned.constant(), "{} columns are turned of a head of {}",
                  turned.text(), width.text());
    const Formula c = cosines.unsqueeze(1);
    const Formula s = sines.unsqueeze(1);
    const Formula a = interleaved_ ? x.slice(3, Extent(0), pairs, 2) : x.slice(3, Extent(0), pairs);
    const Formula b = interleaved_ ? x.slice(3, Extent(1), pairs, 2) : x.slice(3, pairs, pairs);
    const Formula real = a * c - b * s;
    const Formula imaginary = a * s + b * c;
    Formula result = concat({real, imaginary}, 3);
    if (interleaved_) {
      Shape shape = x.shape();
      shape[3] = turned;
      result = concat({real.unsqueeze(4), imaginary.unsqueeze(4)}, 4).reshape(std::move(shape));
    }
    if (turned == width) return {result.id()};
    return {concat({result, x.slice(3, turned, width - turned)}, 3).id()};
  }

 private:
  bool interleaved_ = false;
  int32_t columns_ = 0;
};

}  // namespace

LayerInfo layerInfo_rotary_embedding() { return describeLayer<RotaryEmbeddingLayer>(); }

}  // namespace tenon::api
