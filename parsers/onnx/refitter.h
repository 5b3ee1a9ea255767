// The refitter that programs see.
#pragma once

#include <string>
#include <unordered_map>

#include "model_source.h"

namespace tenon::parsers::onnx {

// Gives an engine the weights of a model of the same structure, by the names of its initializers. Owns the bytes until
// it is destroyed; refitCudaEngine() must be called before that.
class Refitter final : public nvonnxparser::IParserRefitter {
 public:
  Refitter(nvinfer1::IRefitter& refitter, nvinfer1::ILogger* logger) : refitter_(refitter), errors_(logger) {}

  bool refitFromBytes(const void* data, size_t size, const char* path) noexcept override;
  bool refitFromFile(const char* file) noexcept override;
  int32_t getNbErrors() const noexcept override { return static_cast<int32_t>(errors_.size()); }
  const nvonnxparser::IParserError* getError(int32_t index) const noexcept override {
    return index < 0 ? nullptr : errors_.at(static_cast<size_t>(index));
  }
  void clearErrors() override { errors_.clear(); }
  bool loadModelProto(const void* data, size_t size, const char* path) noexcept override {
    return source_.load(data, size, path);
  }
  bool loadInitializer(const char* name, const void* data, size_t size) noexcept override {
    return source_.supply(name, data, size);
  }
  bool refitModelProto() noexcept override;

 private:
  using Tensors = std::unordered_map<std::string, const pb::TensorProto*>;
  bool refit(const pb::ModelProto& model, const char* path);
  void give(const WeightBytes& constant);
  void giveNormalization(const pb::NodeProto& node, const Tensors& tensors, TensorLoader& loader);

  nvinfer1::IRefitter& refitter_;
  ErrorList errors_;
  WeightStore store_;
  ModelSource source_{errors_};
};

}  // namespace tenon::parsers::onnx
