// Loading of a model: bytes or a file to a checked ModelProto.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

#include "tenon_onnx.pb.h"

namespace tenon::parsers::onnx {

namespace pb = tenon::onnx;

constexpr int32_t kOldestOpset = 7;
constexpr int32_t kNewestOpset = 28;

// Both fail with kMODEL_DESERIALIZE_FAILED, naming the byte and the part of the model where it stops making sense.
std::unique_ptr<pb::ModelProto> loadModel(const void* data, size_t size);
std::string readFile(const std::string& path);

// "" and "ai.onnx" are the same domain.
inline bool isStandardDomain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

// The versions of domains that a model or a function imports.
class Opsets {
 public:
  using Imports = google::protobuf::RepeatedPtrField<pb::OperatorSetIdProto>;
  Opsets() = default;
  // What `imports` does not hold is looked up in `outer`, which must live as long.
  Opsets(const Imports& imports, const Opsets* outer);
  // 0 where nothing imports the domain. Of several imports of one domain the first counts.
  int64_t of(const std::string& domain) const;

 private:
  std::unordered_map<std::string, int64_t> versions_;
  const Opsets* outer_ = nullptr;
};

}  // namespace tenon::parsers::onnx
