// --verify: does the rebuilt engine compute what a reference engine computes.
#pragma once

#include <NvInfer.h>

#include <cstdint>
#include <string>

namespace tenon::capture {

struct Verification {
  bool agrees = false;
  std::string text;  // for people: tensors compared, or the first that differs and by how much
};

// Runs both engine files on the same random inputs (shapes: the optimum of the first profile) and compares all outputs.
// Throws CaptureError when one of them cannot be run.
Verification verifyEngines(nvinfer1::ILogger& logger, const std::string& rebuilt, const std::string& reference,
                           uint64_t seed);

}  // namespace tenon::capture
