// Values of the API in the JSON of a capture, as arguments and results of calls both have them.
#pragma once

#include "NvInferRuntime.h"
#include "player/capture_file.h"

namespace tenon::capture {

// A number, or the text of one that JSON cannot hold; false when it is neither.
bool asReal(const Json& value, double& result);
// The number that stands there; 0 when none does.
uint64_t idAt(const Json& value, const char* key);
Json dimsJson(const nvinfer1::Dims& dims);

}  // namespace tenon::capture
