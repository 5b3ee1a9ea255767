// The backend that runs any operator by its reference: slow, right, always there.
#include "core/error.h"
#include "ops/check.h"
#include "ops/operator.h"
#include "runtime/host_device.h"
#include "runtime/kernel.h"

namespace tenon::backends {
namespace {

using runtime::LaunchArguments;
using runtime::Shapes;
using runtime::TensorShape;

class EvaluateInstance final : public runtime::KernelInstance {
 public:
  explicit EvaluateInstance(const ops::Operator& op) : op_(op), bound_(op) {}

  // References trust their tensors, so every new set of shapes is checked.
  size_t configure(const Shapes& shapes) override {
    if (shapes.symbols != nullptr) symbols_ = *shapes.symbols;
    bound_ = op_.bind(symbols_);
    views(shapes.inputs, inputs_);
    views(shapes.outputs, outputs_);
    ops::checkShapes(bound_, bound_.name(), {inputs_, outputs_, &symbols_});
    return 0;
  }

  void launch(const LaunchArguments& arguments) override {
    for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i].data = arguments.inputs[i];
    for (size_t i = 0; i < outputs_.size(); ++i) outputs_[i].data = arguments.outputs[i];
    ops::evaluateWhatIsThere(bound_, {inputs_, outputs_, &symbols_});
  }

 private:
  static void views(std::span<const TensorShape> shapes, std::vector<TensorView>& views) {
    views.clear();
    for (const auto& shape : shapes) {
      if (shape.layout != Layout::kLinear)
        throw Unsupported("ref.evaluate: format {}, expected linear", name(shape.layout));
      views.push_back({nullptr, shape.dtype, shape.dims});
    }
  }

  const ops::Operator& op_;  // of the kernel, which outlives its instances
  ops::Operator bound_;
  SymbolValues symbols_;
  std::vector<TensorView> inputs_;
  std::vector<TensorView> outputs_;
};

class EvaluateKernel final : public runtime::Kernel {
 public:
  explicit EvaluateKernel(std::string_view op) : op_(ops::Operator::parse(op)) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<EvaluateInstance>(op_);
  }

 private:
  ops::Operator op_;
};

class RefBackend final : public runtime::Backend {
 public:
  std::string_view name() const override { return "ref"; }
  runtime::Device& device() override { return runtime::hostDevice(); }
  std::string unavailable() const override { return {}; }

  std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& load) override {
    const auto& record = load.record;
    if (record.name != "evaluate" || record.version != 1) {
      throw Unsupported("backend ref has no kernel '{}' of version {}, it has 'evaluate' of version 1", record.name,
                        record.version);
    }
    return std::make_unique<EvaluateKernel>(record.op);
  }
};

}  // namespace

runtime::Backend& runBackend_ref() {
  static auto* const kBackend = new RefBackend;
  return *kBackend;
}

}  // namespace tenon::backends
