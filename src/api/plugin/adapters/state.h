// The state of plugins as text, which a plan holds: bytes in base 64, and the fields of IPluginV3 as bytes.
#pragma once

#include <NvInferRuntime.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/plugin/adapters/adapter.h"

namespace tenon::api {

namespace nv = nvinfer1;

std::string toBase64(std::string_view bytes);
std::string fromBase64(std::string_view text);  // throws UserError for what is no such text

// Names, types, lengths and elements one after the other. Throws UserError for fields that cannot be read.
std::string packFields(const nv::PluginFieldCollection* fields, const PluginIdentity& plugin);

// The same back, with the memory that the fields point to.
class UnpackedFields {
 public:
  explicit UnpackedFields(std::string_view bytes);  // throws UserError when the bytes end early or say nonsense
  const nv::PluginFieldCollection* collection() const noexcept { return &collection_; }

 private:
  std::vector<std::unique_ptr<std::string>> names_;
  std::vector<std::unique_ptr<std::max_align_t[]>> elements_;
  std::vector<nv::PluginField> fields_;
  nv::PluginFieldCollection collection_;
};

}  // namespace tenon::api
