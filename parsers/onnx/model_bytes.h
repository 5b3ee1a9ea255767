// The second half of loading a model, alone.
#pragma once

#include "model.h"

namespace tenon::parsers::onnx {

// Bytes that checkWire() accepts, 2 GiB at most, as a model. Fails as loadModel() does.
std::unique_ptr<pb::ModelProto> decodeModel(const void* data, size_t size);

}  // namespace tenon::parsers::onnx
