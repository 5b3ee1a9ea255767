// A strongly typed network of one plugin layer, built without measurements.
#include "common/own_engine.h"

#include <algorithm>

namespace tenon::plugins {
namespace {

// A library that does not expand the plugin would run it while it builds, and so on.
thread_local bool building = false;

bool same(const nv::PluginTensorDesc& a, const nv::PluginTensorDesc& b) {
  return a.type == b.type && a.dims.nbDims == b.dims.nbDims && std::equal(a.dims.d, a.dims.d + a.dims.nbDims, b.dims.d);
}

template <typename T>
std::unique_ptr<T> made(T* object, const char* what) {
  if (object == nullptr) throw PluginError(fmt::format("no {}; the log says why", what));
  return std::unique_ptr<T>(object);
}

}  // namespace

OwnEngine::OwnEngine(const Operands& operands, const AddLayer& addLayer)
    : inputs_(operands.inputs, operands.inputs + operands.inputCount) {
  if (building)
    throw PluginError("this builder does not know the operators of the plugin; it needs Tenon's libnvinfer");
  struct Building {
    Building() { building = true; }
    ~Building() { building = false; }
  } const guard;
  nv::ILogger& logger = *getLogger();
  const auto builder = made(nv::createInferBuilder(logger), "builder");
  const auto flags = 1U << static_cast<uint32_t>(nv::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  const auto network = made(builder->createNetworkV2(flags), "network");
  const auto config = made(builder->createBuilderConfig(), "config");
  config->clearFlag(nv::BuilderFlag::kTF32);  // what is enqueued by hand has no flags that would allow it
  std::vector<nv::ITensor*> tensors;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].format != nv::TensorFormat::kLINEAR) throw PluginError(fmt::format("input {} is not kLINEAR", i));
    tensors.push_back(network->addInput(fmt::format("x{}", i).c_str(), inputs_[i].type, inputs_[i].dims));
    if (tensors.back() == nullptr) throw PluginError(fmt::format("input {} was refused; the log says why", i));
  }
  nv::ILayer* const layer = addLayer(*network, tensors.data(), static_cast<int>(tensors.size()));
  if (layer == nullptr) throw PluginError("the layer was refused; the log says why");
  for (int32_t i = 0; i < layer->getNbOutputs(); ++i) {
    outputNames_.push_back(fmt::format("y{}", i));
    layer->getOutput(i)->setName(outputNames_.back().c_str());
    network->markOutput(*layer->getOutput(i));
  }
  config->setBuilderOptimizationLevel(0);
  const auto plan = made(builder->buildSerializedNetwork(*network, *config), "engine for these shapes");
  runtime_ = made(nv::createInferRuntime(logger), "runtime");
  engine_ = made(runtime_->deserializeCudaEngine(plan->data(), plan->size()), "engine");
  context_ = made(engine_->createExecutionContext(), "context");
}

bool OwnEngine::isFor(const Operands& operands) const {
  return std::equal(inputs_.begin(), inputs_.end(), operands.inputs, operands.inputs + operands.inputCount, same);
}

void OwnEngine::run(const Operands& operands, cudaStream_t stream) {
  const std::lock_guard lock(mutex_);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    context_->setInputTensorAddress(fmt::format("x{}", i).c_str(), operands.inputAddresses[i]);
  }
  for (size_t i = 0; i < outputNames_.size(); ++i) {
    context_->setTensorAddress(outputNames_[i].c_str(), operands.outputAddresses[i]);
  }
  if (!context_->enqueueV3(stream)) throw PluginError("the engine of the plugin did not run; the log says why");
}

}  // namespace tenon::plugins
