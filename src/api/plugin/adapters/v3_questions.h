// What the builders' capabilities of all kinds of IPluginV3 are asked alike.
#pragma once

#include "api/plugin/adapters/capability.h"
#include "api/plugin/adapters/expressions.h"

namespace tenon::api {

// Owns the object. `Build` is the interface of its builder's capability, which may be absent where no network is built.
template <typename Build>
class V3Questions : public PluginAdapter {
 public:
  nv::IPluginV3* object() const noexcept override { return plugin_.get(); }
  int outputCount() override { return build().getNbOutputs(); }

  PluginShapes outputShapes(std::span<const Shape> inputs, std::span<const Shape> values) override {
    Expressions expressions(outputCount());
    return outputShapes(expressions, inputs, values);
  }

  void configure(const PluginDescs& inputs, const PluginDescs& outputs) override {
    succeeds(build().configurePlugin(inputs.data(), sizeOf(inputs), outputs.data(), sizeOf(outputs)),
             "configurePlugin");
  }

  std::vector<int32_t> tactics() override {
    return readTactics(
        identity_, [&] { return build().getNbTactics(); },
        [&](std::vector<int32_t>& list) {
          succeeds(build().getValidTactics(list.data(), sizeOf(list)), "getValidTactics");
        });
  }

  std::string timingId() override { return orEmpty(build().getTimingCacheID()); }
  std::string metadata() override { return orEmpty(build().getMetadataString()); }

 protected:
  V3Questions(std::unique_ptr<nv::IPluginV3> plugin, const char* interfaceName, const char* buildKind)
      : plugin_(std::move(plugin)), buildName_(interfaceName) {
    build_ = capability<Build>(*plugin_, nv::PluginCapabilityType::kBUILD, buildKind);
  }

  PluginShapes outputShapes(Expressions& expressions, std::span<const Shape> inputs, std::span<const Shape> values) {
    std::vector<nv::DimsExprs> shapes(static_cast<size_t>(outputCount()));
    const auto given = expressions.shapes(inputs);
    const auto contents = expressions.shapes(values);
    const int32_t result = build().getOutputShapes(given.data(), sizeOf(given), contents.data(), sizeOf(contents),
                                                   shapes.data(), sizeOf(shapes), expressions);
    expressions.rethrow();
    succeeds(result, "getOutputShapes");
    return expressions.read(shapes);
  }

  Build& build() const {
    checkUser(build_ != nullptr,
              "{}: getCapabilityInterface(kBUILD) returned null; a plugin that is added to a network needs an {}",
              identity_.text(), buildName_);
    return *build_;
  }

  std::unique_ptr<nv::IPluginV3> plugin_;

 private:
  Build* build_ = nullptr;
  const char* buildName_;
};

}  // namespace tenon::api
