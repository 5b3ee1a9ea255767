// Questions to the plugin of one layer, and the records that they lead to.
#include "api/plugin/adapters/live_plugin.h"

#include <algorithm>
#include <atomic>

#include "api/common/convert.h"
#include "api/common/tensor_formats.h"
#include "api/plugin/adapters/format_search.h"
#include "api/plugin/adapters/state.h"
#include "core/platform/forks.h"
#include "ops/region_kernels.h"

namespace tenon::api {
namespace {

struct LiveObjects {
  std::mutex mutex;
  std::map<int64_t, std::weak_ptr<LivePlugin>> byId;
};

LiveObjects& liveObjects() {
  static auto* const kObjects = new LiveObjects;
  return *kObjects;
}

int64_t nextId() {
  static std::atomic<int64_t> last{0};
  return ++last;
}

// Errors of a plugin say which layer it is.
template <typename Body>
auto ofLayer(const std::string& layer, Body&& body) {
  try {
    return body();
  } catch (const UserError& error) {
    throw UserError("layer '{}': {}", layer, error.what());
  } catch (const Unsupported& error) {
    throw Unsupported("layer '{}': {}", layer, error.what());
  }
}

// Shapes of an operator that holds them in a row. Operators come from files too.
std::vector<Shape> split(const std::vector<int64_t>& ranks, const std::vector<Extent>& extents) {
  std::vector<Shape> shapes;
  size_t at = 0;
  for (const int64_t rank : ranks) {
    checkUser(rank >= 0 && rank <= kMaxRank && static_cast<size_t>(rank) <= extents.size() - at,
              "a tensor of the plugin has {} dimensions; expected at most {}, and {} extents are left", rank, kMaxRank,
              extents.size() - at);
    const auto first = extents.begin() + static_cast<std::ptrdiff_t>(at);
    shapes.emplace_back(first, first + rank);
    at += static_cast<size_t>(rank);
  }
  checkUser(at == extents.size(), "the plugin has {} extents; its ranks make {}", extents.size(), at);
  return shapes;
}

std::vector<Shape> operandsOf(const ops::Plugin& op) {
  auto shapes = split(op.inputRanks, op.inputExtents);
  for (auto& shape : split(op.outputRanks, op.outputExtents)) shapes.push_back(std::move(shape));
  return shapes;
}

}  // namespace

PluginParameters parseParameters(const std::string& text) {
  TextReader in(text, "parameters of a plugin");
  auto parameters = readFields<PluginParameters>(in);
  if (!in.atEnd()) in.fail("expected the end");
  return parameters;
}

nv::PluginTensorDesc describe(DataType type, Layout layout, const nv::Dims& dims) {
  nv::PluginTensorDesc desc{};
  desc.dims = dims;
  desc.type = toApi(type);
  desc.format = factsOf(layout, dims.nbDims).format;
  desc.scale = 1;
  return desc;
}

OperandDescs describe(const ops::Plugin& plugin, const PluginParameters& parameters) {
  const auto shapes = operandsOf(plugin);
  const size_t inputs = plugin.inputRanks.size();
  const size_t extents = plugin.inputExtents.size() + plugin.outputExtents.size();
  checkUser(parameters.inputTypes.size() == inputs && parameters.inputs.size() == inputs &&
                parameters.outputTypes.size() == shapes.size() - inputs &&
                parameters.outputs.size() == shapes.size() - inputs && parameters.least.size() == extents &&
                parameters.best.size() == extents && parameters.most.size() == extents,
            "the parameters of the plugin have other operands than its operator: expected {} inputs, {} outputs and {} "
            "extents",
            inputs, shapes.size() - inputs, extents);
  OperandDescs result;
  size_t at = 0;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const bool isInput = i < inputs;
    const DataType type = isInput ? parameters.inputTypes[i] : parameters.outputTypes[i - inputs];
    const Layout layout = isInput ? parameters.inputs[i] : parameters.outputs[i - inputs];
    const auto rank = static_cast<int32_t>(shapes[i].size());
    nv::DynamicPluginTensorDesc desc{};
    desc.desc = describe(type, layout, toApi(shapes[i]));
    if (!isInput) hideComputed(plugin, i - inputs, desc.desc.dims);
    desc.min.nbDims = desc.max.nbDims = desc.opt.nbDims = rank;
    for (int32_t axis = 0; axis < rank; ++axis, ++at) {
      desc.min.d[axis] = parameters.least[at];
      desc.opt.d[axis] = parameters.best[at];
      desc.max.d[axis] = parameters.most[at];
    }
    (isInput ? result.inputs : result.outputs).push_back(desc);
  }
  return result;
}

std::vector<bool> linearOnly(const ops::Plugin& plugin) {
  std::vector<bool> result(plugin.inputRanks.size(), false);
  for (size_t output = 0; output < plugin.outputRanks.size(); ++output) {
    bool isComputed = false;
    for (size_t axis = 0; axis < static_cast<size_t>(plugin.outputRanks[output]); ++axis)
      isComputed = isComputed || plugin.isComputed(output, axis);
    result.push_back(isComputed);
  }
  return result;
}

void hideComputed(const ops::Plugin& plugin, size_t output, nv::Dims& dims) {
  for (int32_t axis = 0; axis < dims.nbDims; ++axis) {
    if (plugin.isComputed(output, static_cast<size_t>(axis))) dims.d[axis] = -1;
  }
}

LivePlugin::LivePlugin(std::shared_ptr<SharedPlugin> plugin, ops::Plugin op)
    : plugin_(std::move(plugin)), op_(std::move(op)), id_(nextId()) {}

LivePlugin::~LivePlugin() {
  const platform::WithoutFork noFork;
  const std::lock_guard lock(liveObjects().mutex);
  liveObjects().byId.erase(id_);
}

std::shared_ptr<LivePlugin> LivePlugin::make(std::shared_ptr<SharedPlugin> plugin, ops::Plugin op) {
  auto made = std::make_shared<LivePlugin>(std::move(plugin), std::move(op));
  const platform::WithoutFork noFork;
  const std::lock_guard lock(liveObjects().mutex);
  liveObjects().byId[made->id_] = made;
  return made;
}

std::shared_ptr<LivePlugin> LivePlugin::find(int64_t object) {
  const platform::WithoutFork noFork;
  const std::lock_guard lock(liveObjects().mutex);
  const auto found = liveObjects().byId.find(object);
  return found != liveObjects().byId.end() ? found->second.lock() : nullptr;
}

const compile::ProfileSymbols& LivePlugin::profileOf(const SymbolValues& symbols) const {
  static const compile::ProfileSymbols kNone;
  // Profiles know the sizes that bodies compute, too.
  const auto found = std::find_if(profiles_.begin(), profiles_.end(), [&](const auto& profile) {
    return std::all_of(symbols.begin(), symbols.end(), [&](const auto& symbol) {
      const auto known = profile.opt.find(symbol.first);
      return known != profile.opt.end() && known->second == symbol.second;
    });
  });
  if (found != profiles_.end()) return *found;
  return profiles_.empty() ? kNone : profiles_.front();
}

PluginParameters LivePlugin::rangesOf(const compile::ProfileSymbols& profile) const {
  PluginParameters result;
  const auto add = [&](const Extent& least, const Extent& likely, const Extent& most) {
    result.least.push_back(least.bounds(profile.bounds).low);
    result.best.push_back(likely.evaluate(profile.opt));
    result.most.push_back(most.bounds(profile.bounds).high);
  };
  for (const auto& extent : op_.inputExtents) add(extent, extent, extent);
  for (size_t i = 0; i < op_.outputExtents.size(); ++i) {
    const bool isComputed = op_.isComputed(i);
    const auto& extent = op_.outputExtents[i];
    add(isComputed ? op_.leastExtents[i] : extent, isComputed ? op_.likelyExtents[i] : extent, extent);
  }
  return result;
}

const std::vector<ops::PluginChoice>& LivePlugin::choices(std::span<const DataType> inputs,
                                                          std::span<const DataType> outputs,
                                                          const SymbolValues& symbols) {
  const std::lock_guard lock(plugin_->mutex);
  std::string key;
  for (const auto types : {inputs, outputs}) {
    for (const DataType type : types) key += fmt::format("{},", name(type));
  }
  for (const auto& [symbol, value] : symbols) key += fmt::format("{}={},", symbol, value);
  const auto found = choices_.find(key);
  if (found != choices_.end()) return found->second;
  return choices_.emplace(key, ofLayer(op_.layer, [&] { return ask(inputs, outputs, symbols); })).first->second;
}

// Each combination is configured before the plugin is asked for the tactics that it has for it.
std::vector<ops::PluginChoice> LivePlugin::ask(std::span<const DataType> inputs, std::span<const DataType> outputs,
                                               const SymbolValues& symbols) {
  auto parameters = rangesOf(profileOf(symbols));
  parameters.inputTypes.assign(inputs.begin(), inputs.end());
  parameters.outputTypes.assign(outputs.begin(), outputs.end());
  parameters.inputs.resize(inputs.size());
  parameters.outputs.resize(outputs.size());
  const auto descs = describe(op_, parameters);
  PluginDescs operands = descs.inputs;
  operands.insert(operands.end(), descs.outputs.begin(), descs.outputs.end());
  const auto shapes = operandsOf(op_);
  const auto copy = plugin_->adapter->clone();
  const auto search = findCombinations(*copy, operands, shapes, static_cast<int>(inputs.size()),
                                       static_cast<size_t>(std::max(1, copy->combinationLimit())), linearOnly(op_));
  std::vector<ops::PluginChoice> result;
  for (const auto& combination : search.found) {
    ops::PluginChoice choice;
    for (size_t i = 0; i < combination.size(); ++i)
      (i < inputs.size() ? choice.inputs : choice.outputs).push_back(combination[i]);
    parameters.inputs = choice.inputs;
    parameters.outputs = choice.outputs;
    const auto chosen = describe(op_, parameters);
    const auto asked = copy->clone();
    asked->configure(chosen.inputs, chosen.outputs);
    for (const int32_t tactic : asked->tactics()) {
      choice.tactic = tactic;
      result.push_back(choice);
    }
    if (choice.tactic == 0) result.push_back(std::move(choice));
  }
  if (result.empty()) {
    throw Unsupported("{} supports none of the types and formats that it was asked for; it refused:{}",
                      copy->identity().text(), search.refused);
  }
  return result;
}

std::string LivePlugin::parameters(const ops::PluginChoice& choice, std::span<const DataType> inputs,
                                   std::span<const DataType> outputs, const SymbolValues& symbols) {
  const std::lock_guard lock(plugin_->mutex);
  return ofLayer(op_.layer, [&] {
    auto parameters = rangesOf(profileOf(symbols));
    parameters.object = id_;
    parameters.inputTypes.assign(inputs.begin(), inputs.end());
    parameters.outputTypes.assign(outputs.begin(), outputs.end());
    parameters.inputs = choice.inputs;
    parameters.outputs = choice.outputs;
    parameters.tactic = choice.tactic;
    const auto descs = describe(op_, parameters);
    const auto copy = plugin_->adapter->clone();
    copy->configure(descs.inputs, descs.outputs);
    copy->setTactic(choice.tactic);
    if (copy->isCompiled()) return compiled(*copy, descs);
    parameters.workspace = copy->workspaceBytes(descs.inputs, descs.outputs);
    return writeFields(parameters);
  });
}

// Called with the lock held.
std::string LivePlugin::compiled(PluginAdapter& plugin, const OperandDescs& operands) {
  auto made = plugin.compile(operands.inputs, operands.outputs, split(op_.inputRanks, op_.inputExtents));
  made.launch.layer = op_.layer;
  made.launch.aliases = op_.aliases;
  auto parameters = writeFields(made.launch);
  code_[parameters] = std::move(made.code);
  return parameters;
}

std::vector<std::byte> LivePlugin::code(const std::string& parameters) const {
  const std::lock_guard lock(plugin_->mutex);
  const auto found = code_.find(parameters);
  checkInternal(found != code_.end(), "layer '{}': the plugin was not asked for the code of {}", op_.layer, parameters);
  return found->second;
}

std::unique_ptr<PluginAdapter> LivePlugin::configured(const ops::Plugin& op, const PluginParameters& parameters) {
  const std::lock_guard lock(plugin_->mutex);
  return ofLayer(op_.layer, [&] {
    const auto descs = describe(op, parameters);
    auto copy = plugin_->adapter->clone();
    copy->configure(descs.inputs, descs.outputs);
    return copy;
  });
}

std::string LivePlugin::sealed(const PluginParameters& parameters, size_t profile) {
  const std::lock_guard lock(plugin_->mutex);
  return ofLayer(op_.layer, [&] {
    auto result = rangesOf(profile < profiles_.size() ? profiles_[profile] : profileOf({}));
    result.inputTypes = parameters.inputTypes;
    result.outputTypes = parameters.outputTypes;
    result.inputs = parameters.inputs;
    result.outputs = parameters.outputs;
    result.tactic = parameters.tactic;
    const auto descs = describe(op_, result);
    const auto copy = plugin_->adapter->clone();
    copy->configure(descs.inputs, descs.outputs);
    copy->setTactic(result.tactic);
    result.workspace = copy->workspaceBytes(descs.inputs, descs.outputs);
    copy->initialize();
    result.state = toBase64(copy->state());
    return writeFields(result);
  });
}

std::string LivePlugin::metadata() const {
  const std::lock_guard lock(plugin_->mutex);
  return plugin_->adapter->metadata();
}

namespace {

// The parameters of a kernel, with those of the kernels within it.
std::string sealedParameters(std::string_view kernel, const std::string& text, const std::string& step,
                             size_t profile) {
  if (kernel == "plugin") {
    const auto parameters = parseParameters(text);
    const auto live = LivePlugin::find(parameters.object);
    checkInternal(live != nullptr, "step '{}': its plugin object is gone", step);
    return live->sealed(parameters, profile);
  }
  if (kernel != ops::RegionKernel::kRegions) return text;
  TextReader in(text, "kernels of regions");
  auto kernels = readFields<ops::RegionKernels>(in);
  for (auto* list : {&kernels.first, &kernels.second}) {
    for (auto& within : *list) within.params = sealedParameters(within.name, within.params, step, profile);
  }
  return writeFields(kernels);
}

}  // namespace

void sealPlugins(plan::Plan& plan) {
  for (size_t profile = 0; profile < plan.programs.size(); ++profile) {
    for (auto& step : plan.programs[profile].steps) {
      if (step.kind == plan::StepKind::kLaunch)
        step.kernel.params = sealedParameters(step.kernel.name, step.kernel.params, step.name, profile);
    }
  }
}

}  // namespace tenon::api
