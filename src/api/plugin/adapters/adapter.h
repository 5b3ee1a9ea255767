// Every plugin interface as one: what the builder and the kernels ask of a plugin object.
#pragma once

#include <NvInfer.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/extent.h"
#include "ops/compiled_launch.h"

namespace tenon::api {

namespace nv = nvinfer1;

using PluginDescs = std::vector<nv::DynamicPluginTensorDesc>;

// What a plan holds to find the creator of a plugin again.
struct PluginIdentity {
  std::string interfaceName;  // IPluginV3, IPluginV3Quick, IPluginV2DynamicExt, IPluginV2IOExt, IPluginV2Ext, IPluginV2
  std::string type;
  std::string version;
  std::string space;
  std::string text() const;  // plugin 'Shift', version '1', namespace ''
};

// A number that a plugin computes and on which extents of its outputs depend.
struct PluginSize {
  int32_t output = 0;  // that holds it
  std::string symbol;  // by which the shapes call it
  Extent opt = 0;      // what the plugin expects
  Extent upper = 0;    // the largest one
};

struct PluginShapes {
  std::vector<Shape> outputs;
  std::vector<PluginSize> sizes;
};

// Operands of one execution. Descriptors have the extents of the execution in desc, min, max and opt.
struct PluginExecution {
  const nv::PluginTensorDesc* inputs = nullptr;
  const nv::PluginTensorDesc* outputs = nullptr;
  void* const* inputAddresses = nullptr;
  void* const* outputAddresses = nullptr;
  void* workspace = nullptr;
  void* stream = nullptr;
};

// A kernel of the plugin's own, for operands of certain types and formats.
struct CompiledPlugin {
  ops::CompiledLaunch launch;
  std::vector<std::byte> code;  // PTX or a cubin
};

// Owns one plugin object. Not thread-safe. What the object reports as an error is thrown as UserError with its identity
// and the name of the function. The order of calls is that of TensorRT: configure before initialize, state and
// workspaceBytes; initialize before attach; terminate is the destructor's work.
class PluginAdapter {
 public:
  virtual ~PluginAdapter() = default;
  PluginAdapter() = default;
  PluginAdapter(const PluginAdapter&) = delete;
  PluginAdapter& operator=(const PluginAdapter&) = delete;

  const PluginIdentity& identity() const noexcept { return identity_; }
  // The IPluginV3 that it owns; null where it owns one of the older family.
  virtual nv::IPluginV3* object() const noexcept { return nullptr; }
  // A copy with the same state.
  virtual std::unique_ptr<PluginAdapter> clone() = 0;

  // What the builder asks.
  virtual int outputCount() = 0;
  // Before shapes are asked for: plugins that are functions of Python are asked for types first.
  virtual void prepare(std::span<const nv::DataType>, std::span<const Shape>) {}
  virtual std::vector<nv::DataType> outputTypes(std::span<const nv::DataType> inputs) = 0;
  // `values`: contents of the shape inputs.
  virtual PluginShapes outputShapes(std::span<const Shape> inputs, std::span<const Shape> values) = 0;
  // Whether the operand at `position`, inputs first, may be as described, given those before it.
  virtual bool supports(int position, const PluginDescs& operands, int inputs) = 0;
  // The input whose memory an output shares; -1 for none.
  virtual int aliasedInput(int /*output*/) { return -1; }
  virtual int combinationLimit() { return nv::IPluginV3OneBuild::kDEFAULT_FORMAT_COMBINATION_LIMIT; }
  virtual bool needsConstantShapes() const { return false; }
  virtual void configure(const PluginDescs& inputs, const PluginDescs& outputs) = 0;
  virtual std::vector<int32_t> tactics() { return {}; }
  virtual size_t workspaceBytes(const PluginDescs& inputs, const PluginDescs& outputs) = 0;
  virtual std::string timingId() { return {}; }
  virtual std::string metadata() { return {}; }
  virtual std::string state() = 0;
  // Of plugins whose kernel is compiled while the engine is built: the plan holds its code, and nothing below is asked.
  virtual bool isCompiled() const { return false; }
  virtual CompiledPlugin compile(const PluginDescs& inputs, const PluginDescs& outputs, std::span<const Shape> shapes);

  // What execution asks.
  virtual void initialize() {}
  virtual void setTactic(int32_t) {}
  // The object of one execution context.
  virtual std::unique_ptr<PluginAdapter> attach(nv::IPluginResourceContext& context) = 0;
  virtual void changeShapes(const PluginDescs& inputs, const PluginDescs& outputs) = 0;
  virtual void enqueue(const PluginExecution& execution) = 0;

 protected:
  void succeeds(int32_t result, const char* function) const;  // UserError unless it is 0
  PluginIdentity identity_;
};

// The plugin object of a caller stays the caller's: the adapter has a clone. UserError or Unsupported, with the reason,
// for objects that it cannot work with.
std::unique_ptr<PluginAdapter> adaptClone(nv::IPluginV3& plugin);
std::unique_ptr<PluginAdapter> adaptClone(nv::IPluginV2& plugin);

// Takes the object that a creator made over.
std::unique_ptr<PluginAdapter> adaptOwned(std::unique_ptr<nv::IPluginV3> plugin);
std::unique_ptr<PluginAdapter> adaptOwnedV2(nv::IPluginV2* plugin);

// From what state() gave, by a creator of the right kind.
std::unique_ptr<PluginAdapter> restore(nv::IPluginCreatorInterface& creator, const PluginIdentity& identity,
                                       const std::string& layer, const std::string& state);

// The object that plugin layers hand out.
nv::IPluginV3& pluginV3(PluginAdapter& adapter);
nv::IPluginV2& pluginV2(PluginAdapter& adapter);

}  // namespace tenon::api
