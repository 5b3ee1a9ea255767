// Scenes whose object is a builder, a configuration, a network, a tensor, a profile, a runtime, an engine or a context.
#pragma once

#include "setters.h"

namespace setters {

// y = |x|, x [1,4,6,6]
inline void network(Scene& s) { s.output(*s.network->addUnary(s.input("x", {1, 4, 6, 6}), nv::UnaryOperation::kABS)); }
inline nv::IBuilder* builder(Scene& s) {
  network(s);
  return s.builder.get();
}
inline nv::IBuilderConfig* config(Scene& s) {
  network(s);
  return s.config.get();
}
inline nv::INetworkDefinition* definition(Scene& s) {
  network(s);
  return s.network.get();
}
inline nv::ITensor* inputTensor(Scene& s) {
  network(s);
  return s.network->getInput(0);
}
inline nv::ITensor* outputTensor(Scene& s) {
  network(s);
  return s.network->getOutput(0);
}
inline nv::IRuntime* runtime(Scene& s) {
  network(s);
  return s.runtime.get();
}
inline nv::IOptimizationProfile* profile(Scene& s) {
  s.output(*s.network->addUnary(s.input("x", {-1, 4}), nv::UnaryOperation::kABS));
  auto* result = s.builder->createOptimizationProfile();
  for (const auto select : {nv::OptProfileSelector::kMIN, nv::OptProfileSelector::kOPT, nv::OptProfileSelector::kMAX}) {
    result->setDimensions("x", select, dims({2, 4}));
  }
  s.config->addOptimizationProfile(result);
  return result;
}
inline nv::ICudaEngine* engine(Scene& s) {
  network(s);
  s.config->setBuilderOptimizationLevel(0);
  s.engine.reset(s.builder->buildEngineWithConfig(*s.network, *s.config));
  return s.engine.get();
}
inline nv::IExecutionContext* context(Scene& s) {
  s.context.reset(engine(s)->createExecutionContext());
  return s.context.get();
}
inline nv::IExecutionContext* contextWithoutMemory(Scene& s) {
  s.context.reset(engine(s)->createExecutionContext(nv::ExecutionContextAllocationStrategy::kUSER_MANAGED));
  return s.context.get();
}

}  // namespace setters
