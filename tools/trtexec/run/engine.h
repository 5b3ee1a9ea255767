// Gets an engine: built from a model, or read from a file.
#pragma once

#include "../options/options.h"

#include <NvInfer.h>

#include <memory>
#include <vector>

namespace tenon::trtexec {

//! The engine with the runtime that it needs to outlive it.
struct LoadedEngine {
  std::unique_ptr<nvinfer1::IRuntime> runtime;
  std::unique_ptr<nvinfer1::ICudaEngine> engine;
};

//! Builds the engine and writes it and the timing cache where the options say. Returns the serialized engine.
std::unique_ptr<nvinfer1::IHostMemory> buildPlan(const Options& options);

//! Makes an engine of serialized bytes; `origin` says in messages where they are from.
LoadedEngine deserialize(const void* plan, size_t bytes, const std::string& origin, const Options& options);

//! Reads the engine of --loadEngine, at once or through the stream reader.
LoadedEngine loadEngine(const Options& options);

//! Measures deserialization, for --timeDeserialize.
void timeDeserialize(const void* plan, size_t bytes, const std::string& origin, const Options& options);

}  // namespace tenon::trtexec
