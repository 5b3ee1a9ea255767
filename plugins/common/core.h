// What the plugin objects of every interface share.
#pragma once

#include <NvInfer.h>

#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "common/spec.h"

namespace tenon::plugins {

// The operands of one execution by hand.
struct Operands {
  const nv::PluginTensorDesc* inputs;
  int inputCount;
  const void* const* inputAddresses;
  void* const* outputAddresses;
};

class OwnEngine;

class Core : public PluginExpansion {
 public:
  Core(const Spec& spec, Fields fields);  // throws PluginError where the fields make no plugin
  Core(const Core& other);
  Core& operator=(const Core&) = delete;
  virtual ~Core();

  const Spec& spec() const noexcept { return spec_; }
  const Fields& fields() const noexcept { return fields_; }
  const std::string& space() const noexcept { return space_; }
  void setSpace(const char* space) { space_ = space != nullptr ? space : ""; }
  const std::string& outputs() const noexcept { return outputs_; }  // letters
  nv::DataType outputType(int index, const nv::DataType* inputs, int inputCount) const;
  std::vector<Dims> shapes(const std::vector<Dims>& inputs) const;
  bool takes(int position, const nv::PluginTensorDesc* operands, int inputCount) const;
  void expand(ExpansionWriter& writer) const noexcept final;
  // Runs a small engine of the plugin's operators, which is built once per set of shapes and types.
  int32_t run(const Operands& operands, cudaStream_t stream) const noexcept;

 protected:
  // Adds the layer of this plugin; the network makes a clone.
  virtual nv::ILayer* addTo(nv::INetworkDefinition& network, nv::ITensor* const* inputs, int count) const = 0;
  void known(const void* address);  // by which the builder asks for its expansion; of constructors

 private:
  const Spec& spec_;
  const Fields fields_;
  std::string outputs_;
  std::string space_;
  const void* address_ = nullptr;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<OwnEngine> engine_;
};

// The objects with an expansion, for the registry.
class LiveExpansions final : public PluginExpansions {
 public:
  const PluginExpansion* find(const void* plugin) const noexcept override;
  int32_t release() noexcept override { return 0; }
  nv::IPluginResource* clone() noexcept override { return new (std::nothrow) LiveExpansions; }
};

// New objects; null, with a message in the log, where the fields make none.
nv::IPluginV2* makeOld(const Spec& spec, Fields fields, const std::string& space) noexcept;
nv::IPluginV3* makeNew(const Spec& spec, Fields fields, const std::string& space) noexcept;
void report(const std::string& message) noexcept;
void checkRequired(const Spec& spec, const Fields& fields);

}  // namespace tenon::plugins
