// Loading of a model: bytes or a file to a checked ModelProto.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "tenon_onnx.pb.h"

namespace tenon::onnxparser {

namespace pb = tenon::onnx;

constexpr int32_t kOldestOpset = 7;
constexpr int32_t kNewestOpset = 25;

// Both fail with kMODEL_DESERIALIZE_FAILED, naming the byte and the part of the model where it stops making sense.
std::unique_ptr<pb::ModelProto> loadModel(const void* data, size_t size);
std::string readFile(const std::string& path);

// The version of `domain` that the model imports, 0 when it does not.
int64_t opsetOf(const pb::ModelProto& model, const std::string& domain);

// "" and "ai.onnx" are the same domain.
inline bool isStandardDomain(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

}  // namespace tenon::onnxparser
