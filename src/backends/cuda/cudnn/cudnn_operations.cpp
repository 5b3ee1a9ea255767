// Builds graphs: their tensors and operations, and the text that names them.
#include "backends/cuda/cudnn/cudnn_graph.h"
#include "core/error.h"
#include "core/text.h"

namespace tenon::backends::cuda::dnn {
namespace {

constexpr int64_t kAlignment = 16;  // bytes that every address of a tensor is a multiple of

std::string words(const std::vector<int64_t>& values) { return fmt::format("{}", fmt::join(values, ",")); }

}  // namespace

ElementType elementType(DataType type) {
  if (type == DataType::kF32) return ElementType::kF32;
  if (type == DataType::kF16) return ElementType::kF16;
  if (type == DataType::kBF16) return ElementType::kBF16;
  throw Unsupported("cuDNN: values of {}; f32, f16 and bf16 are supported", name(type));
}

OperationGraph::Id OperationGraph::tensor(const Tensor& tensor) {
  const auto id = static_cast<Id>(tensors_.size());
  auto& descriptor = tensors_.emplace_back(Kind::kTensor);
  descriptor.set(Attribute::kTensorType, tensor.type);
  descriptor.set(Attribute::kTensorExtents, std::span<const int64_t>(tensor.dims));
  descriptor.set(Attribute::kTensorStrides, std::span<const int64_t>(tensor.strides));
  descriptor.set(Attribute::kTensorId, id + 1);  // zero is no identifier
  descriptor.set(Attribute::kTensorAlignment, tensor.byValue ? int64_t{4} : kAlignment);
  if (tensor.isVirtual) descriptor.set(Attribute::kTensorIsVirtual, true);
  if (tensor.byValue) descriptor.set(Attribute::kTensorIsByValue, true);
  descriptor.finalize("a tensor");
  text_ += fmt::format("t{}:{}[{}][{}]{}{} ", id, static_cast<int>(tensor.type), words(tensor.dims),
                       words(tensor.strides), tensor.isVirtual ? "v" : "", tensor.byValue ? "s" : "");
  return id;
}

Descriptor OperationGraph::convolutionDescriptor(const Window& window) {
  Descriptor descriptor(Kind::kConvolution);
  descriptor.set(Attribute::kConvolutionSpatialAxes, static_cast<int64_t>(window.strides.size()));
  descriptor.set(Attribute::kConvolutionComputeType, ElementType::kF32);
  descriptor.set(Attribute::kConvolutionMode, ConvolutionMode::kCrossCorrelation);
  descriptor.set(Attribute::kConvolutionStrides, std::span<const int64_t>(window.strides));
  descriptor.set(Attribute::kConvolutionDilations, std::span<const int64_t>(window.dilations));
  descriptor.set(Attribute::kConvolutionPrePaddings, std::span<const int64_t>(window.pre));
  descriptor.set(Attribute::kConvolutionPostPaddings, std::span<const int64_t>(window.post));
  descriptor.finalize("a convolution");
  text_ += fmt::format("({};{};{};{}) ", words(window.strides), words(window.dilations), words(window.pre),
                       words(window.post));
  return descriptor;
}

void OperationGraph::convolution(const Window& window, Id x, Id w, Id y) {
  text_ += fmt::format("conv{},{},{}", x, w, y);
  parts_.push_back(convolutionDescriptor(window));
  Descriptor operation(Kind::kConvolutionForward);
  operation.set(Attribute::kForwardConvolution, parts_.back());
  operation.set(Attribute::kForwardX, at(x));
  operation.set(Attribute::kForwardW, at(w));
  operation.set(Attribute::kForwardY, at(y));
  operation.set(Attribute::kForwardAlpha, 1.0f);
  operation.set(Attribute::kForwardBeta, 0.0f);
  operation.finalize("a convolution's operation");
  operations_.push_back(std::move(operation));
}

void OperationGraph::convolutionBackwardData(const Window& window, Id dy, Id w, Id dx) {
  text_ += fmt::format("dgrad{},{},{}", dy, w, dx);
  parts_.push_back(convolutionDescriptor(window));
  Descriptor operation(Kind::kConvolutionBackwardData);
  operation.set(Attribute::kBackwardConvolution, parts_.back());
  operation.set(Attribute::kBackwardDy, at(dy));
  operation.set(Attribute::kBackwardW, at(w));
  operation.set(Attribute::kBackwardDx, at(dx));
  operation.set(Attribute::kBackwardAlpha, 1.0f);
  operation.set(Attribute::kBackwardBeta, 0.0f);
  operation.finalize("a deconvolution's operation");
  operations_.push_back(std::move(operation));
}

void OperationGraph::matmul(Id a, Id b, Id c) {
  text_ += fmt::format("matmul{},{},{} ", a, b, c);
  Descriptor descriptor(Kind::kMatMul);
  descriptor.set(Attribute::kMatMulComputeType, ElementType::kF32);
  descriptor.finalize("a matrix product");
  parts_.push_back(std::move(descriptor));
  Descriptor operation(Kind::kMatMulOperation);
  operation.set(Attribute::kMatMulDescriptor, parts_.back());
  operation.set(Attribute::kMatMulA, at(a));
  operation.set(Attribute::kMatMulB, at(b));
  operation.set(Attribute::kMatMulC, at(c));
  operation.finalize("a matrix product's operation");
  operations_.push_back(std::move(operation));
}

void OperationGraph::reduce(ReductionOperator op, Id x, Id y) {
  text_ += fmt::format("reduce{},{},{} ", static_cast<int>(op), x, y);
  Descriptor descriptor(Kind::kReduction);
  descriptor.set(Attribute::kReductionComputeType, ElementType::kF32);
  descriptor.set(Attribute::kReductionOperator, op);
  descriptor.finalize("a reduction");
  parts_.push_back(std::move(descriptor));
  Descriptor operation(Kind::kReductionOperation);
  operation.set(Attribute::kReductionDescriptor, parts_.back());
  operation.set(Attribute::kReductionX, at(x));
  operation.set(Attribute::kReductionY, at(y));
  operation.finalize("a reduction's operation");
  operations_.push_back(std::move(operation));
}

void OperationGraph::pointwise(const PointwiseSettings& settings, Id x, std::optional<Id> b, Id y) {
  Descriptor descriptor(Kind::kPointwise);
  descriptor.set(Attribute::kPointwiseMode, settings.mode);
  descriptor.set(Attribute::kPointwiseMathType, ElementType::kF32);
  text_ += fmt::format("pw{}(", static_cast<int>(settings.mode));
  const auto option = [&](Attribute name, const std::optional<double>& value) {
    if (!value) return;
    descriptor.set(name, *value);
    text_ += fmt::format("{}={},", static_cast<int>(name), *value);
  };
  option(Attribute::kReluLowerClip, settings.lowerClip);
  option(Attribute::kReluUpperClip, settings.upperClip);
  option(Attribute::kReluLowerClipSlope, settings.slope);
  option(Attribute::kEluAlpha, settings.alpha);
  descriptor.finalize("a pointwise function");
  text_ += fmt::format("){},{},{} ", x, b.value_or(-1), y);
  parts_.push_back(std::move(descriptor));
  Descriptor operation(Kind::kPointwiseOperation);
  operation.set(Attribute::kPointwiseDescriptor, parts_.back());
  operation.set(Attribute::kPointwiseX, at(x));
  if (b) operation.set(Attribute::kPointwiseB, at(*b));
  operation.set(Attribute::kPointwiseY, at(y));
  operation.finalize("a pointwise operation");
  operations_.push_back(std::move(operation));
}

void OperationGraph::finish() {
  graph_ = Descriptor(Kind::kOperationGraph);
  if (chip_.handle() != nullptr) graph_.setHandle(Attribute::kGraphHandle, chip_.handle());
  graph_.set(Attribute::kGraphOperations, operations_);
  graph_.finalize("an operation graph");
}

}  // namespace tenon::backends::cuda::dnn
