// The engine by which a plugin object computes when a program calls its enqueue.
#pragma once

#include <functional>

#include "common/core.h"

namespace tenon::plugins {

class OwnEngine {
 public:
  using AddLayer = std::function<nv::ILayer*(nv::INetworkDefinition&, nv::ITensor* const*, int)>;
  OwnEngine(const Operands& operands, const AddLayer& addLayer);  // throws PluginError
  bool isFor(const Operands& operands) const;
  void run(const Operands& operands, cudaStream_t stream);

 private:
  std::vector<nv::PluginTensorDesc> inputs_;
  std::vector<std::string> outputNames_;
  std::unique_ptr<nv::IRuntime> runtime_;
  std::unique_ptr<nv::ICudaEngine> engine_;
  std::unique_ptr<nv::IExecutionContext> context_;
  std::mutex mutex_;
};

}  // namespace tenon::plugins
