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
    if (batchAxis_ + sequenceAxis_ == 1) return {withoutTransposes(context, x, lengths).id()};
    // Batch and sequence to the front, where the gather takes them as pairs.
    std::vector<int64_t> forth{batchAxis_, sequenceAxis_};
    for (int i = 0; i < rank; ++i) {
      if (i != batchAxis_ && i != sequenceAxis_) forth.push_back(i);
    }
    std::vector<int64_t> back(forth.size());
    for (size_t i = 0; i < forth.size(); ++i) back[static_cast<size_t>(forth[i])] = static_cast<int64_t>(i);
    const Formula rows = x.transpose(forth);
    const Formula from = sources(context, x, lengths.unsqueeze(1), 0);  // [batch, steps]
    return {rows.gather(from, 1, 1).transpose(back).id()};
  }

 private:
  // For each step, that whose elements come there; `other`: the axis of the lengths.
  Formula sources(LowerContext& context, const Formula& x, const Formula& lengths, int other) const {
    const Formula place = iota(context, x.dim(sequenceAxis_), lengths.type()).unsqueeze(other);
    return where(place < lengths, lengths - place - 1.0, place);
  }

  // The two axes are the first ones: whole rows of the others are picked from a list of all.
  Formula withoutTransposes(LowerContext& context, const Formula& x, const Formula& lengths) const {
    const Formula from = sources(context, x, lengths.unsqueeze(sequenceAxis_), batchAxis_).cast(DataType::kI64);
    const Formula batch = iota(context, x.dim(batchAxis_), DataType::kI64).unsqueeze(sequenceAxis_);
    const Formula index =
        batchAxis_ == 0 ? batch * extentOf(x, 1, DataType::kI64) + from : from * extentOf(x, 1, DataType::kI64) + batch;
    Shape rows{x.dim(0) * x.dim(1)};
    for (int i = 2; i < x.rank(); ++i) rows.push_back(x.dim(i));
    return x.reshape(std::move(rows)).gather(index, 0, 0);
  }

  int32_t batchAxis_ = 1;
  int32_t sequenceAxis_ = 0;
};

}  // namespace

LayerInfo layerInfo_reverse_sequence() { return describeLayer<ReverseSequenceLayer>(); }

}  // namespace tenon::api
