// Debug tensors of an engine, in files and in the log.
#pragma once

#include "../options/options.h"
#include "inference.h"

#include <NvInferRuntime.h>

namespace tenon::trtexec {

//! --saveDebugTensors and --saveAllDebugTensors: runs one more inference, in which debug tensors are written.
void saveDebugTensors(const nvinfer1::ICudaEngine& engine, InferenceStream& stream, const InferenceOptions& options);

}  // namespace tenon::trtexec
