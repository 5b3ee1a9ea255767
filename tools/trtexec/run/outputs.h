// What is shown and written of an engine and of the last inference.
#pragma once

#include "../options/options.h"
#include "inference.h"

#include <NvInferRuntime.h>

namespace tenon::trtexec {

//! --dumpLayerInfo, --exportLayerInfo. A context, if there is one, gives dynamic dimensions their values.
void reportLayers(const nvinfer1::ICudaEngine& engine, const nvinfer1::IExecutionContext* context,
                  const ReportOptions& options);

//! --dumpOptimizationProfile.
void reportOptimizationProfiles(const nvinfer1::ICudaEngine& engine);

//! --dumpOutput, --exportOutput, --dumpRawBindingsToFile.
void reportOutputs(Bindings& bindings, const ReportOptions& options);

}  // namespace tenon::trtexec
