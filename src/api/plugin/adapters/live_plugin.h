// A plugin layer of a network while that is built: what the tactics ask, and the state that the plan will hold.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/plugin/adapters/adapter.h"
#include "compile/profiles.h"
#include "core/fields.h"
#include "core/layout.h"
#include "ops/op/plugin.h"
#include "plan/program.h"
#include "runtime/kernel.h"

namespace tenon::api {

// The clone that belongs to a network; layers lowered from it ask it one at a time.
struct SharedPlugin {
  std::unique_ptr<PluginAdapter> adapter;
  std::mutex mutex;
};

// KernelRecord::params of a plugin.
struct PluginParameters {
  int64_t object = 0;  // while the network is built: which LivePlugin; 0 in finished plans
  std::vector<DataType> inputTypes;
  std::vector<DataType> outputTypes;
  std::vector<Layout> inputs;
  std::vector<Layout> outputs;
  int32_t tactic = 0;
  uint64_t workspace = 0;
  std::vector<int64_t> least;  // extents of all operands in a row, inputs first
  std::vector<int64_t> best;   // those that the build tuned for
  std::vector<int64_t> most;
  std::string state;  // in base 64

  static constexpr auto fields = std::tuple{field("object", &PluginParameters::object),
                                            field("input_types", &PluginParameters::inputTypes),
                                            field("output_types", &PluginParameters::outputTypes),
                                            field("inputs", &PluginParameters::inputs),
                                            field("outputs", &PluginParameters::outputs),
                                            field("tactic", &PluginParameters::tactic),
                                            field("workspace", &PluginParameters::workspace),
                                            field("least", &PluginParameters::least),
                                            field("best", &PluginParameters::best),
                                            field("most", &PluginParameters::most),
                                            field("state", &PluginParameters::state)};
};
PluginParameters parseParameters(const std::string& text);

// How a plugin is told of an operand.
nv::PluginTensorDesc describe(DataType type, Layout layout, const nv::Dims& dims);
// Every operand of a record, for PluginAdapter::configure(). Throws UserError when the record contradicts itself.
struct OperandDescs {
  PluginDescs inputs;
  PluginDescs outputs;
};
OperandDescs describe(const ops::Plugin& plugin, const PluginParameters& parameters);
// Per operand, inputs first, whether only kLINEAR will do: what a plugin writes of a size that it computes is dense.
std::vector<bool> linearOnly(const ops::Plugin& plugin);
// An extent that the plugin computes is -1, as in TensorRT.
void hideComputed(const ops::Plugin& plugin, size_t output, nv::Dims& dims);

class LivePlugin final : public ops::PluginObject {
 public:
  // `op` without its object: layer, types and shapes.
  LivePlugin(std::shared_ptr<SharedPlugin> plugin, ops::Plugin op);
  ~LivePlugin() override;

  // Before the build asks: the ranges of the symbols, by profile.
  void setProfiles(std::vector<compile::ProfileSymbols> profiles) { profiles_ = std::move(profiles); }

  const std::vector<ops::PluginChoice>& choices(std::span<const DataType> inputs, std::span<const DataType> outputs,
                                                const SymbolValues& symbols) override;
  std::string parameters(const ops::PluginChoice& choice, std::span<const DataType> inputs,
                         std::span<const DataType> outputs, const SymbolValues& symbols) override;
  bool isCompiled() const override { return plugin_->adapter->isCompiled(); }
  std::vector<std::byte> code(const std::string& parameters) const override;

  const std::string& layer() const noexcept { return op_.layer; }
  std::string metadata() const;  // for the inspector; empty for none

  // A clone that is configured as the record says, with its tactic.
  std::unique_ptr<PluginAdapter> configured(const ops::Plugin& op, const PluginParameters& parameters);
  // The parameters for a finished plan: with the ranges of that profile and the state of the configured plugin.
  std::string sealed(const PluginParameters& parameters, size_t profile);

  static std::shared_ptr<LivePlugin> find(int64_t object);  // null where it is gone
  static std::shared_ptr<LivePlugin> make(std::shared_ptr<SharedPlugin> plugin, ops::Plugin op);

 private:
  const compile::ProfileSymbols& profileOf(const SymbolValues& symbols) const;
  PluginParameters rangesOf(const compile::ProfileSymbols& profile) const;
  std::vector<ops::PluginChoice> ask(std::span<const DataType> inputs, std::span<const DataType> outputs,
                                     const SymbolValues& symbols);

  const std::shared_ptr<SharedPlugin> plugin_;
  const ops::Plugin op_;
  const int64_t id_;
  std::vector<compile::ProfileSymbols> profiles_;
  std::string compiled(PluginAdapter& plugin, const OperandDescs& operands);
  std::map<std::string, std::vector<ops::PluginChoice>> choices_;  // by types and symbols
  std::map<std::string, std::vector<std::byte>> code_;             // by parameters
};

// Puts the state of the live plugins into the records of a plan that was just built.
void sealPlugins(plan::Plan& plan);

}  // namespace tenon::api
