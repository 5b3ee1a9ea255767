// Plugins that are functions in Python which give compiled code: the plan holds the code and how it is launched, so
// that neither the plugin nor Python is needed where the engine runs.
#include "api/plugin/adapters/launch_params.h"
#include "api/plugin/adapters/quick_questions.h"

namespace tenon::api {
namespace {

std::vector<nv::PluginTensorDesc> staticDescs(const PluginDescs& descs) {
  std::vector<nv::PluginTensorDesc> result;
  for (const auto& desc : descs) result.push_back(desc.desc);
  return result;
}

class CompiledAdapter final : public QuickQuestions<nv::IPluginV3QuickAOTBuild> {
 public:
  explicit CompiledAdapter(std::unique_ptr<nv::IPluginV3> plugin)
      : QuickQuestions(std::move(plugin), "IPluginV3QuickAOTBuild", kCompiledBuildKind) {}

  std::unique_ptr<PluginAdapter> clone() override {
    auto adapter = std::make_unique<CompiledAdapter>(cloned(*plugin_, [&] { return identity_.text(); }));
    adapter->ranks_ = ranks_;
    adapter->values_ = values_;
    return adapter;
  }

  PluginShapes outputShapes(std::span<const Shape> inputs, std::span<const Shape> values) override {
    values_.assign(values.begin(), values.end());
    auto shapes = QuickQuestions::outputShapes(inputs, values);
    if (!shapes.sizes.empty()) {
      throw Unsupported("{}: output {} is a size tensor, which compiled plugins cannot have", identity_.text(),
                        shapes.sizes[0].output);
    }
    return shapes;
  }

  void setTactic(int32_t tactic) override { succeeds(build().setTactic(tactic), "setTactic"); }
  bool isCompiled() const override { return true; }

  // The plugin may have kept the expressions of the shapes it was asked for last, as NVIDIA's package of Python does:
  // it is asked for them once more, so that they are this builder's.
  CompiledPlugin compile(const PluginDescs& inputs, const PluginDescs& outputs,
                         std::span<const Shape> shapes) override {
    Expressions expressions(outputCount());
    std::vector<nv::DataType> types;
    for (const auto& input : inputs) types.push_back(input.desc.type);
    prepare(types, shapes);
    (void)V3Questions::outputShapes(expressions, shapes, values_);
    CompiledPlugin result;
    readLaunch(expressions, inputs, outputs, shapes, result.launch);
    readKernel(staticDescs(inputs), staticDescs(outputs), result);
    return result;
  }

  size_t workspaceBytes(const PluginDescs&, const PluginDescs&) override { return 0; }
  std::string state() override { return {}; }
  std::unique_ptr<PluginAdapter> attach(nv::IPluginResourceContext&) override { throw notAsked("attach"); }
  void changeShapes(const PluginDescs&, const PluginDescs&) override { throw notAsked("changeShapes"); }
  void enqueue(const PluginExecution&) override { throw notAsked("enqueue"); }

 private:
  InternalError notAsked(const char* what) const {
    return InternalError("{}: {} of a plugin whose kernel stands in the plan", identity_.text(), what);
  }

  void readLaunch(Expressions& expressions, const PluginDescs& inputs, const PluginDescs& outputs,
                  std::span<const Shape> shapes, ops::CompiledLaunch& launch) {
    PluginDescs operands = inputs;
    operands.insert(operands.end(), outputs.begin(), outputs.end());
    const auto given = expressions.shapes(shapes);
    LaunchParams params(expressions);
    LaunchArgumentList arguments(expressions);
    const int32_t status = build().getLaunchParams(given.data(), operands.data(), sizeOf(inputs), sizeOf(outputs),
                                                   &params, &arguments, expressions);
    expressions.rethrow();
    try {
      params.write(launch);
      arguments.write(launch);
    } catch (const UserError& error) {
      throw UserError("{}: {}", identity_.text(), error.what());
    }
    succeeds(status, "getLaunchParams");
  }

  void readKernel(const std::vector<nv::PluginTensorDesc>& inputs, const std::vector<nv::PluginTensorDesc>& outputs,
                  CompiledPlugin& result) {
    const char* name = nullptr;
    char* code = nullptr;
    int32_t size = 0;
    succeeds(build().getKernel(inputs.data(), sizeOf(inputs), outputs.data(), sizeOf(outputs), &name, &code, &size),
             "getKernel");
    checkUser(name != nullptr && *name != '\0' && code != nullptr && size > 0,
              "{}: getKernel() gave the name '{}' and {} bytes of code; expected both", identity_.text(), orEmpty(name),
              code != nullptr ? size : 0);
    result.launch.kernel = name;
    const auto* bytes = reinterpret_cast<const std::byte*>(code);
    result.code.assign(bytes, bytes + size);
  }

  std::vector<Shape> values_;  // of the shape inputs, when it was asked for shapes last
};

}  // namespace

std::unique_ptr<PluginAdapter> adaptCompiled(std::unique_ptr<nv::IPluginV3> plugin) {
  return std::make_unique<CompiledAdapter>(std::move(plugin));
}

}  // namespace tenon::api
