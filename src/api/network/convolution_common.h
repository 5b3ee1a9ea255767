// What convolution and deconvolution layers share: kernel, bias, window. Only the operator and its weights differ.
#pragma once

#include "api/network/lower_context.h"
#include "api/network/padding.h"

namespace tenon::api {

template <typename I, typename V, nv::LayerType kLayerType>
class ConvolutionCommon : public LayerOf<I, V, kLayerType> {
 public:
  using LayerOf<I, V, kLayerType>::LayerOf;

  void setNbOutputMaps(int64_t maps) noexcept final { this->set(maps_, maps); }
  int64_t getNbOutputMaps() const noexcept final { return maps_; }
  void setNbGroups(int64_t groups) noexcept final { this->set(groups_, groups); }
  int64_t getNbGroups() const noexcept final { return groups_; }
  void setKernelWeights(nv::Weights weights) noexcept final { this->set(kernelWeights_, weights); }
  nv::Weights getKernelWeights() const noexcept final { return kernelWeights_; }
  void setBiasWeights(nv::Weights weights) noexcept final { this->set(biasWeights_, weights); }
  nv::Weights getBiasWeights() const noexcept final { return biasWeights_; }
  void setPrePadding(const nv::Dims& padding) noexcept final { this->set(prePadding_, padding); }
  nv::Dims getPrePadding() const noexcept final { return orFilled(prePadding_, 0); }
  void setPostPadding(const nv::Dims& padding) noexcept final { this->set(postPadding_, padding); }
  nv::Dims getPostPadding() const noexcept final { return orFilled(postPadding_, 0); }
  void setPaddingMode(nv::PaddingMode mode) noexcept final { this->setEnum("setPaddingMode", paddingMode_, mode); }
  nv::PaddingMode getPaddingMode() const noexcept final { return paddingMode_; }
  void setKernelSizeNd(const nv::Dims& size) noexcept final { this->set(kernelSize_, size); }
  nv::Dims getKernelSizeNd() const noexcept final { return kernelSize_; }
  void setStrideNd(const nv::Dims& stride) noexcept final { this->set(stride_, stride); }
  nv::Dims getStrideNd() const noexcept final { return orFilled(stride_, 1); }
  void setPaddingNd(const nv::Dims& padding) noexcept final {
    prePadding_ = padding;
    this->set(postPadding_, padding);
  }
  nv::Dims getPaddingNd() const noexcept final { return getPrePadding(); }
  void setDilationNd(const nv::Dims& dilation) noexcept final { this->set(dilation_, dilation); }
  nv::Dims getDilationNd() const noexcept final { return orFilled(dilation_, 1); }

  int maxInputs() const final { return 3; }

 protected:
  Window window(const LowerContext& context) const {
    const int rank = context.rank(context.input(0)) - 2;
    const auto dims = [&](const nv::Dims& value, int64_t lowest, int64_t fill, const char* what) {
      return windowDims(value, rank, lowest, fill, fmt::format("{}: {}", this->name(), what));
    };
    context.check(rank >= 1 && rank <= 3, "the input has {} dimensions; expected [N,C] and 1 to 3 spatial dimensions",
                  rank + 2);
    context.check(kernelSize_.nbDims == rank, "the kernel {} must have {} spatial dimensions, as the input has",
                  text(kernelSize_), rank);
    return {
        dims(kernelSize_, 1, 1, "kernel size"), dims(dilation_, 1, 1, "dilation"),        dims(stride_, 1, 1, "stride"),
        dims(prePadding_, 0, 0, "pre-padding"), dims(postPadding_, 0, 0, "post-padding"), paddingMode_};
  }

  // Input, kernel and bias as values. kernelFirst, kernelSecond: leading extents of the kernel.
  std::vector<graph::ValueId> operands(LowerContext& context, int64_t kernelFirst, int64_t kernelSecond) const {
    graph::ValueId x = context.input(0);
    const DataType dtype = operandType(context);
    Dims kernel{kernelFirst, kernelSecond};
    for (int i = 0; i < kernelSize_.nbDims; ++i) kernel.push(kernelSize_.d[i]);
    context.check(context.has(1) != !isEmpty(kernelWeights_),
                  "the kernel must be given either as weights or as input 1, {}",
                  context.has(1) ? "got both" : "got neither");
    graph::ValueId w = context.has(1) ? context.input(1) : context.weights(kernelWeights_, kernel, "kernel", dtype);
    if (context.has(1)) {
      context.check(context.shape(w) == toShape(kernel), "the kernel is {}; expected {}", text(context.shape(w)),
                    kernel.text());
    }
    std::vector<graph::ValueId> values{x, w};
    context.check(!context.has(2) || isEmpty(biasWeights_),
                  "the bias must be given either as weights or as input 2, got both");
    if (context.has(2)) values.push_back(context.input(2));
    if (!isEmpty(biasWeights_)) values.push_back(context.weights(biasWeights_, Dims{maps_}, "bias", dtype));
    std::vector<graph::ValueId*> pointers;
    for (auto& value : values) pointers.push_back(&value);
    context.unify(pointers);
    return values;
  }

  // Channels of the input, checked against the groups.
  int64_t channels(const LowerContext& context) const {
    const Extent& extent = context.shape(context.input(0)).at(1);
    context.check(extent.isConstant(), "the channels of the input ({}) must be fixed", extent.text());
    context.check(groups_ >= 1 && maps_ >= 1 && extent.constant() % groups_ == 0 && maps_ % groups_ == 0,
                  "{} input and {} output channels do not divide into {} groups", extent.constant(), maps_, groups_);
    return extent.constant();
  }

  template <typename Op>
  Op describe(const Window& window, Padding padding, bool hasBias) const {
    Op op;
    const auto nonTrivial = [](const Dims& dims) {
      std::vector<int64_t> result(dims.begin(), dims.end());
      return std::all_of(result.begin(), result.end(), [](int64_t v) { return v == 1; }) ? std::vector<int64_t>{}
                                                                                         : result;
    };
    op.strides = nonTrivial(window.stride);
    op.dilations = nonTrivial(window.dilation);
    if (!allZero(padding.pre)) op.prePadding = std::move(padding.pre);
    if (!allZero(padding.post)) op.postPadding = std::move(padding.post);
    op.groups = groups_;
    op.hasBias = hasBias;
    return op;
  }

  int64_t maps() const { return maps_; }
  int64_t groups() const { return groups_; }

 private:
  nv::Dims orFilled(const nv::Dims& dims, int64_t value) const {
    return dims.nbDims > 0 ? dims : filledDims(kernelSize_.nbDims, value);
  }

  // Type in which host weights enter: that of the input, but full precision for narrow inputs with full weights in a
  // weakly typed network.
  DataType operandType(const LowerContext& context) const {
    const DataType input = context.type(context.input(0)).dtype;
    const bool fullWeights = !isEmpty(kernelWeights_) && kernelWeights_.type == nv::DataType::kFLOAT;
    if (context.stronglyTyped() || !fullWeights || !isFloating(input)) return input;
    return DataType::kF32;
  }

  int64_t maps_ = 0;
  int64_t groups_ = 1;
  nv::Weights kernelWeights_{nv::DataType::kFLOAT, nullptr, 0};
  nv::Weights biasWeights_{nv::DataType::kFLOAT, nullptr, 0};
  nv::Dims kernelSize_{0, {}};
  nv::Dims prePadding_{0, {}};
  nv::Dims postPadding_{0, {}};
  nv::Dims stride_{0, {}};
  nv::Dims dilation_{0, {}};
  nv::PaddingMode paddingMode_ = nv::PaddingMode::kEXPLICIT_ROUND_DOWN;
};

}  // namespace tenon::api
