// IReverseSequenceLayer: the first elements of each sequence in reverse order, as many as its length says.
#include "api/network/formula.h"

namespace tenon::api {
namespace {

class ReverseSequenceLayer final
    : public LayerOf<nv::IReverseSequenceLayer, nv::apiv::VReverseSequenceLayer, nv::LayerType::kREVERSE_SEQUENCE> {
 public:
  using LayerOf::LayerOf;

  void setBatchAxis(int32_t batchAxis) noexcept override { set(batchAxis_, batchAxis); }
  int32_t getBatchAxis() const noexcept override { return batchAxis_; }
  void setSequenceAxis(int32_t sequenceAxis) noexcept override { set(sequenceAxis_, sequenceAxis); }
  int32_t getSequenceAxis() const noexcept override { return sequenceAxis_; }

  std::vector<graph::ValueId> lower(LowerContext& context) const override {
    const Formula x(context, context.input(0));
    const Formula lengths(context, context.input(1));
    const int rank = x.rank();
    context.check(rank >= 2, "the input {} has too few dimensions; expected 2 or more", text(x.shape()));
    context.check(batchAxis_ >= 0 && batchAxis_ < rank, "the batch axis {} is not in [0, {})", batchAxis_, rank);
    context.check(sequenceAxis_ >= 0 && sequenceAxis_ < rank, "the sequence axis {} is not in [0, {})", sequenceAxis_,
                  rank);
    context.check(batchAxis_ != sequenceAxis_, "the batch axis and the sequence axis are both {}", batchAxis_);
    context.check(lengths.rank() == 1, "the sequence lengths have shape {}; expected one for each batch",
                  text(lengths.shape()));
    context.check(lengths.type() == DataType::kI32 || lengths.type() == DataType::kI64,
                  "the sequence lengths are {}; expected i32 or i64", tenon::name(lengths.type()));
    // Batch and sequence to the front, where the gather takes them as pairs.
    std::vector<int64_t> forth{batchAxis_, sequenceAxis_};
    for (int i = 0; i < rank; ++i) {
      if (i != batchAxis_ && i != sequenceAxis_) forth.push_back(i);
    }
    std::vector<int64_t> back(forth.size());
    for (size_t i = 0; i < forth.size(); ++i) back[static_cast<size_t>(forth[i])] = static_cast<int64_t>(i);
    const Formula rows = x.transpose(forth);
    const Formula place = iota(context, rows.dim(1), lengths.type()).unsqueeze(0);  // [1, steps]
    const Formula length = lengths.unsqueeze(1);                                    // [batch, 1]
    const Formula from = where(place < length, length - place - 1.0, place);
    return {rows.gather(from, 1, 1).transpose(back).id()};
  }

 private:
  int32_t batchAxis_ = 1;
  int32_t sequenceAxis_ = 0;
};

}  // namespace

LayerInfo layerInfo_reverse_sequence() { return describeLayer<ReverseSequenceLayer>(); }

}  // namespace tenon::api
