// Loads a model and refuses bytes that are no ONNX model before anything is built from them.
#include "model.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <string_view>

#include "common/error.h"
#include "model_bytes.h"
#include "wire.h"

namespace tenon::parsers::onnx {
namespace {

constexpr size_t kProtobufLimit = static_cast<size_t>(INT_MAX);

void checkHeader(const pb::ModelProto& model) {
  if (!model.has_graph()) {
    fail(FaultKind::kUnreadableModel, "the model has no graph; expected an ONNX model (is this another kind of file?)");
  }
  if (model.opset_import_size() == 0) {
    fail(FaultKind::kUnreadableModel, "the model imports no operator set; expected opset_import of 7 or more");
  }
}

// What a file that is no model looks like, and what to do; empty where it looks like nothing known.
std::string_view lookOf(const void* data, size_t size) {
  struct Look {
    std::string_view begin, text;
  };
  static constexpr Look kLooks[] = {
      {"version https://git-lfs", ". It is a pointer of Git LFS in place of the file: run 'git lfs pull'"},
      {"<!DOCTYPE", ". It is a web page: download the file itself"},
      {"<html", ". It is a web page: download the file itself"},
      {"PK\x03\x04", ". It is a zip archive, as PyTorch writes too: unpack it, or export the model to ONNX"},
      {"\x1f\x8b", ". It is compressed by gzip: unpack it"},
      {"TENONPLN",
       ". It is an engine, built already: load it with IRuntime::deserializeCudaEngine, or trtexec --loadEngine"},
      {"ftrt", ". It is an engine of NVIDIA TensorRT: export the model to ONNX"},
  };
  const std::string_view text(static_cast<const char*>(data), size);
  for (const Look& look : kLooks) {
    if (text.substr(0, look.begin.size()) == look.begin) {
      return look.text;
    }
  }
  return {};
}

}  // namespace

std::unique_ptr<pb::ModelProto> decodeModel(const void* data, size_t size) {
  auto model = std::make_unique<pb::ModelProto>();
  google::protobuf::io::ArrayInputStream array(data, static_cast<int>(size));
  google::protobuf::io::CodedInputStream stream(&array);
  stream.SetTotalBytesLimit(INT_MAX);
  if (!model->ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    fail(FaultKind::kUnreadableModel,
         fmt::format("the {} bytes are well-formed protobuf, but not an ONNX model: a field has the wrong type", size));
  }
  return model;
}

std::unique_ptr<pb::ModelProto> loadModel(const void* data, size_t size) {
  if (data == nullptr || size == 0) {
    fail(FaultKind::kUnreadableModel, "the model is empty: got 0 bytes, expected a serialized ONNX model");
  }
  if (size > kProtobufLimit) {
    fail(FaultKind::kUnreadableModel,
         fmt::format(
             "the model has {} bytes; a protobuf message has at most 2 GiB ({} bytes). Save the weights as external "
             "data",
             size, kProtobufLimit));
  }
  const WireFault fault = checkWire(static_cast<const uint8_t*>(data), size);
  if (fault.found) {
    fail(FaultKind::kUnreadableModel, fmt::format("the model is damaged at byte {} of {}, in {}: {}{}", fault.offset,
                                                  size, fault.path, fault.reason, lookOf(data, size)));
  }
  auto model = decodeModel(data, size);
  checkHeader(*model);
  return model;
}

std::string readFile(const std::string& path) {
  const auto refuse = [&](const std::string& reason) {
    fail(FaultKind::kUnreadableModel, fmt::format("cannot open '{}': {}", path, reason));
  };
  struct stat facts {};  // asked before it is opened: opening a pipe would wait for somebody to write
  if (::stat(path.c_str(), &facts) != 0) {
    refuse(std::strerror(errno));
  }
  if (S_ISDIR(facts.st_mode)) {
    refuse("this is a folder, not a regular file; expected an ONNX model");
  }
  if (!S_ISREG(facts.st_mode)) {
    refuse("this is a device, pipe or socket, not a regular file; expected an ONNX model");
  }
  const int64_t size = facts.st_size;
  if (static_cast<uint64_t>(size) > kProtobufLimit) {
    refuse(fmt::format(
        "it has {} bytes; expected at most {}, the limit of a protobuf message. Save the weights as external data",
        size, kProtobufLimit));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    refuse(std::strerror(errno));
  }
  std::string bytes(static_cast<size_t>(size), '\0');
  if (!file.read(bytes.data(), size)) {
    refuse(fmt::format("read {} of {} bytes", static_cast<int64_t>(file.gcount()), size));
  }
  return bytes;
}

Opsets::Opsets(const Imports& imports, const Opsets* outer) : outer_(outer) {
  for (const pb::OperatorSetIdProto& entry : imports) {
    versions_.emplace(isStandardDomain(entry.domain()) ? std::string() : entry.domain(), entry.version());
  }
}

int64_t Opsets::of(const std::string& domain) const {
  const auto found = versions_.find(isStandardDomain(domain) ? std::string() : domain);
  if (found != versions_.end()) {
    return found->second;
  }
  return outer_ == nullptr ? 0 : outer_->of(domain);
}

}  // namespace tenon::parsers::onnx
