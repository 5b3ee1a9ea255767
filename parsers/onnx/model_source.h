// Where parser and refitter get their model from: bytes, a file, or bytes now and initializers later.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph_import.h"
#include "guard.h"

namespace tenon::parsers::onnx {

// Owns every model it read, because weights point into them. What fails is an entry of the error list; `use(model,
// path)` says whether its own part succeeded.
class ModelSource {
 public:
  explicit ModelSource(ErrorList& errors) : errors_(errors) {}

  template <typename Use>
  bool useBytes(const void* data, size_t size, const char* path, const Use& use) noexcept {
    return guardCall(errors_, [&] {
      errors_.clear();
      return use(keep(data, size), path);
    });
  }

  template <typename Use>
  bool useFile(const char* caller, const char* file, const Use& use) noexcept {
    return guardCall(errors_, [&] {
      errors_.clear();
      if (file == nullptr) {
        fail(FaultKind::kUnreadableModel, fmt::format("{}: the file name is nullptr", caller));
      }
      const std::string bytes = readFile(file);
      return use(keep(bytes.data(), bytes.size()), file);
    });
  }

  bool load(const void* data, size_t size, const char* path) noexcept {
    return guardCall(errors_, [&] {
      errors_.clear();
      loaded_ = nullptr;
      supplied_.clear();
      path_ = path == nullptr ? "" : path;
      loaded_ = &keep(data, size);
      return true;
    });
  }

  // The bytes stay the caller's and must live as long as the model is used.
  bool supply(const char* name, const void* data, size_t size) noexcept {
    return guardCall(errors_, [&] {
      if (loaded_ == nullptr || name == nullptr || (data == nullptr && size != 0)) {
        fail(FaultKind::kInvalidValue, "loadInitializer: call loadModelProto first, and give a name and its bytes");
      }
      supplied_[name] = SuppliedBytes{data, size};
      return true;
    });
  }

  template <typename Use>
  bool useLoaded(const char* caller, const Use& use) noexcept {
    return guardCall(errors_, [&] {
      if (loaded_ == nullptr) {
        fail(FaultKind::kInvalidValue, fmt::format("{}: no model is loaded; call loadModelProto first", caller));
      }
      errors_.clear();
      return use(*loaded_, path_.c_str());
    });
  }

  const SuppliedInitializers& supplied() const noexcept { return supplied_; }

 private:
  const pb::ModelProto& keep(const void* data, size_t size) {
    models_.push_back(loadModel(data, size));
    return *models_.back();
  }

  ErrorList& errors_;
  std::vector<std::unique_ptr<pb::ModelProto>> models_;
  const pb::ModelProto* loaded_ = nullptr;  // by load()
  std::string path_;
  SuppliedInitializers supplied_;
};

}  // namespace tenon::parsers::onnx
