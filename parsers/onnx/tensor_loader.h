// TensorProto to constants: initializers, attributes, external data, and bytes that the caller supplies.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>

#include "external_files.h"
#include "model.h"

namespace tenon::parsers::onnx {

// Bytes that the caller supplies for an initializer instead of those in the model.
struct SuppliedBytes {
  const void* data = nullptr;
  size_t size = 0;
};
using SuppliedInitializers = std::unordered_map<std::string, SuppliedBytes>;

class TensorLoader {
 public:
  TensorLoader(WeightStore& store, const ExternalFiles& files, const SuppliedInitializers* supplied)
      : store_(store), files_(files), supplied_(supplied) {}

  // Fails when type, shape and bytes do not fit each other, before anything is allocated for them.
  const WeightBytes& load(const pb::TensorProto& tensor, const std::string& name);
  // The same tensor with the zeros written out.
  const WeightBytes& loadSparse(const pb::SparseTensorProto& tensor, const std::string& name);
  int64_t clampedDoubles() const { return clampedDoubles_; }

 private:
  const WeightBytes& fromBytes(const pb::TensorProto& tensor, const std::string& name, Dimensions shape,
                               const void* data, uint64_t size);
  const WeightBytes& fromNumbers(const pb::TensorProto& tensor, const std::string& name, Dimensions shape);
  const WeightBytes& fromDoubles(const std::string& name, Dimensions shape, const double* data);
  const WeightBytes& external(const pb::TensorProto& tensor, const std::string& name, Dimensions shape);

  WeightStore& store_;
  const ExternalFiles& files_;
  const SuppliedInitializers* supplied_;
  int64_t clampedDoubles_ = 0;
};

}  // namespace tenon::parsers::onnx
