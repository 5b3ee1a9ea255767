// INMSLayer: what the operator selects has a bound; of its rows as many are given as it has selected.
#include "ops/op/nms.h"

#include "api/network/lower_context.h"
#include "ops/op/slice.h"

namespace tenon::api {
namespace {

class NmsLayer final : public LayerOf<nv::INMSLayer, nv::apiv::VNMSLayer, nv::LayerType::kNMS> {
 public:
  using LayerOf::LayerOf;

  void setBoundingBoxFormat(nv::BoundingBoxFormat format) noexcept override {
    setEnum("setBoundingBoxFormat", format_, format);
  }
  nv::BoundingBoxFormat getBoundingBoxFormat() const noexcept override { return format_; }
  void setTopKBoxLimit(int32_t limit) noexcept override { set(limit_, limit); }
  int32_t getTopKBoxLimit() const noexcept override { return limit_; }
  bool setIndicesType(nv::DataType type) noexcept override {
    return guarded(reporter(), "INMSLayer::setIndicesType", false, [&] {
      checkUser(type == nv::DataType::kINT32 || type == nv::DataType::kINT64,
                "layer '{}': indices are kINT32 or kINT64, got data type {}", name(), static_cast<int>(type));
      set(indicesType_, type);
      return true;
    });
  }
  nv::DataType getIndicesType() const noexcept override { return indicesType_; }
  int outputCount() const override { return 2; }
  int maxInputs() const override { return 5; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    graph::ValueId boxes = context.input(0);
    graph::ValueId scores = context.input(1);
    context.unify({&boxes, &scores});
    context.check(limit_ >= 0, "the limit of boxes (setTopKBoxLimit) is {}; expected 0 or more", limit_);
    ops::Nms op;
    op.format = format_ == nv::BoundingBoxFormat::kCORNER_PAIRS ? ops::BoxFormat::kCorners : ops::BoxFormat::kCenters;
    op.limit = limit_;
    op.indexType = fromApi(indicesType_);
    const auto& shape = context.shape(scores);
    context.check(shape.size() == 3, "the scores (input 1) have the shape {}; expected [batch, boxes, classes]",
                  text(shape));
    const graph::ValueId perClass = context.input(2);
    op.most = mostRows(shape, context.type(perClass).contents);
    const auto results = context.addMany(op, {boxes, scores, perClass, threshold(context, 3), threshold(context, 4)});
    const Extent size = context.size(results[1], min(op.most, shape[0] * Extent(kExpected)), op.most);
    return {context.add(ops::Slice{{0, 0}, {size, 3}, {1, 1}}, {results[0]}), results[1]};
  }

 private:
  static constexpr int64_t kExpected = 100;  // boxes of a batch item

  Extent mostRows(const Shape& scores, const std::optional<std::vector<Extent>>& perClass) const {
    const bool isKnown = perClass && perClass->size() == 1;
    const Extent boxes = isKnown ? min(scores[1], max(perClass->front(), 0)) : scores[1];
    return scores[0] * min(scores[2] * boxes, limit_);
  }

  static graph::ValueId threshold(LowerContext& context, size_t input) {
    if (!context.has(input)) return context.constant(graph::Constant::scalar(DataType::kF32, 0));
    return context.cast(context.input(input), DataType::kF32);
  }

  nv::BoundingBoxFormat format_ = nv::BoundingBoxFormat::kCORNER_PAIRS;
  int32_t limit_ = 5000;
  nv::DataType indicesType_ = nv::DataType::kINT32;
};

}  // namespace

LayerInfo layerInfo_nms() { return describeLayer<NmsLayer>(); }

}  // namespace tenon::api
