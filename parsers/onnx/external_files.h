// Files with weights that lie beside a model.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tuple>

#include "common/weight_store.h"

namespace tenon::parsers::onnx {

// Reads the files that TensorProto.external_data names. Only regular files below the model's own folder are read.
class ExternalFiles {
 public:
  // Without the path of a model every external tensor is an error that says so.
  explicit ExternalFiles(const char* modelPath);
  // The bytes [offset, offset + length) of `location`; length -1: to the end of the file. Read once, whoever shares
  // them. Fails when tensors overlap so that a file would be read more than four times.
  const std::byte* read(const std::string& location, int64_t offset, int64_t& length, WeightStore& store) const;

 private:
  using Section = std::tuple<std::string, int64_t, int64_t>;  // location, offset, length
  mutable std::map<Section, const std::byte*> sections_;
  mutable std::map<std::string, int64_t> bytesRead_;
  std::string folder_;
  bool known_ = false;
};

}  // namespace tenon::parsers::onnx
