// Plugins of the standard library that say more than the layers of the public interface.
#pragma once

#include <optional>
#include <vector>

#include "../common/term.h"

namespace tenon::parsers::onnx {

// Output 0 of such a plugin over `inputs`; nothing where no creator of IPluginCreatorV3One is registered under this
// name and version. Fails when the plugin is not created from the fields.
std::optional<Term> addRegistered(const char* name, const char* version,
                                  const std::vector<nvinfer1::PluginField>& fields, const std::vector<Term>& inputs);

}  // namespace tenon::parsers::onnx
