// Kernel and instance: the plan for the shapes, the addresses of one launch, the epilogue where it is a separate
// kernel.
#include "backends/cuda/cudnn/cudnn_kernel.h"

#include <mutex>
#include <span>

#include "backends/cuda/cudnn/cudnn_window.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/common/channels_last_weights.h"
#include "backends/cuda/kernels/common/device_table.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/pointwise/pointwise_kernel.h"
#include "core/error.h"
#include "runtime/packer.h"
#include "runtime/preparation.h"

namespace tenon::backends::cuda {
namespace {

using dnn::Fusion;

class DnnKernel final : public runtime::Kernel, public runtime::Packer, public runtime::PreparedOnce {
 public:
  DnnKernel(const runtime::KernelLoad& load, dnn::Program itsProgram)
      : program(std::move(itsProgram)),
        choice(dnn::Choice::parse(load.record.params)),
        code_(load.nativeCode.begin(), load.nativeCode.end()) {
    if (!dnn::library().missing.empty()) throw Unsupported("cuda.{}: {}", load.record.name, dnn::library().missing);
    if (!program.hasFilters) return;
    const auto& w = load.constants[1];
    if (w.data != nullptr && w.count() > 0 && dnn::needsPacking(w.dims)) weights_ = {nullptr, w.dtype, w.dims};
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;

  void prepare(const runtime::Shapes& shapes) const override {
    if (shapes.outputs[0].dims.count() == 0) return;
    makeCurrent();
    (void)plan(program.graph(dnn::Chip::here(), shapes, choice.fusion).graph);
  }

  std::vector<runtime::PackedForm> packedForms(Layout output) const override {
    if (!canPack() || output != Layout::kChannelsLast) return {};
    return {{{1}, channelsLastRecipe(weights_.dtype, weights_.dims), weights_.bytes(), false}};
  }
  void pack(const runtime::PackedForm&, std::span<const void* const> sources, void* to) const override {
    packChannelsLast({const_cast<void*>(sources[0]), weights_.dtype, weights_.dims}, to);
  }
  // The recorded plan, as far as the build has put it into the record.
  std::shared_ptr<const dnn::ExecutionPlan> plan(const dnn::OperationGraph& graph) const {
    return graph.plan(choice.engine, planCode());
  }
  bool mustCompile(const dnn::OperationGraph& graph) const { return graph.mustCompile(choice.engine, planCode()); }
  // Whether the weights are constant; where the output is channels-last, an instance finds them so too then.
  bool canPack() const { return weights_.dims.rank != 0; }

  std::shared_ptr<const GeneratedPointwise> generatedEpilogue(DataType type) const {
    const std::lock_guard lock(mutex_);
    if (generated_ == nullptr) {
      const std::vector<DataType> types(static_cast<size_t>(program.epilogue.inputCount()), type);
      const bool isIts = choice.fusion == Fusion::kBare;
      generated_ = std::make_shared<const GeneratedPointwise>(program.epilogue, types, type,
                                                              isIts ? code_ : std::vector<std::byte>());
    }
    return generated_;
  }

  const dnn::Program program;
  const dnn::Choice choice;

 private:
  std::span<const std::byte> planCode() const {
    return choice.fusion == Fusion::kWhole ? std::span<const std::byte>(code_) : std::span<const std::byte>();
  }

  std::vector<std::byte> code_;  // of the epilogue behind a bare product; else the plan, where it is compiled
  TensorView weights_;           // of rank 0 where there is nothing to pack
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const GeneratedPointwise> generated_;
};

class DnnInstance final : public runtime::KernelInstance, public runtime::Preparable {
 public:
  explicit DnnInstance(const DnnKernel& kernel) : kernel_(kernel) {}

  // The plan of the recorded engine, where that is compiled.
  std::function<void()> preparation(const runtime::Shapes& shapes) override {
    prepared_.reset();
    if (shapes.outputs[0].dims.count() == 0) return {};
    try {
      makeCurrent();
      prepared_ =
          std::make_unique<dnn::SourcedGraph>(kernel_.program.graph(dnn::Chip::here(), shapes, kernel_.choice.fusion));
      if (!kernel_.mustCompile(prepared_->graph)) return {};
    } catch (const Error&) {
      prepared_.reset();
      return {};
    }
    return [this] { (void)kernel_.plan(prepared_->graph); };
  }

  size_t configure(const runtime::Shapes& shapes) override {
    empty_ = shapes.outputs[0].dims.count() == 0;
    if (empty_) return 0;
    makeCurrent();
    pack_.reset();
    findPlan(shapes);
    const auto& y = shapes.outputs[0];
    if (kernel_.program.hasFilters && y.layout == Layout::kChannelsLast && dnn::needsPacking(shapes.inputs[1].dims) &&
        !kernel_.canPack()) {
      throw Unsupported("cuDNN: weights of {} that are not constant, in a channels-last kernel",
                        shapes.inputs[1].dims.text());
    }
    pointers_.assign(graph_->ids.size(), nullptr);
    for (size_t i = 0; i < graph_->scalars.values.size(); ++i)
      pointers_[graph_->sources.size() + i] = &graph_->scalars.values[i];
    placeDeviceScalars();
    apart_ = fusion_ == Fusion::kBare && !kernel_.program.epilogue.empty();
    if (apart_) configureEpilogue(shapes);
    return plan_->workspaceBytes();
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (empty_) return;
    bool changed = pack_ == nullptr || workspace_ != arguments.workspace;
    for (size_t i = 0; i < graph_->sources.size(); ++i) {
      const auto& source = graph_->sources[i];
      if (source.deviceScalar >= 0) continue;  // set when it was configured
      void* pointer = source.input < 0 ? arguments.outputs[0] : arguments.inputs[source.input];
      pointer = static_cast<std::byte*>(pointer) + source.offsetBytes;
      changed = changed || pointers_[i] != pointer;
      pointers_[i] = pointer;
    }
    if (changed) makePack(arguments.workspace);
    plan_->execute(*pack_, arguments.stream);
    if (!apart_) return;
    operands_[0] = arguments.outputs[0];
    for (size_t i = 1; i < operands_.size(); ++i) operands_[i] = arguments.inputs[i + 1];
    launcher_->launch(operands_.data(), arguments.outputs[0], arguments.stream);
  }

 private:
  // The recorded engine, else another one of the same kind, else one for the bare product.
  void findPlan(const runtime::Shapes& shapes) {
    const auto chip = dnn::Chip::here();
    const auto& wanted = kernel_.choice;
    std::string refusals;
    const auto attempt = [&](Fusion fusion, bool recorded) {
      try {
        auto graph = recorded && prepared_ != nullptr
                         ? std::move(prepared_)
                         : std::make_unique<dnn::SourcedGraph>(kernel_.program.graph(chip, shapes, fusion));
        std::vector<dnn::EngineChoice> engines{wanted.engine};
        if (!recorded) {
          engines = graph->graph.propose(dnn::HeuristicMode::kA, wanted.math, 8);
          for (auto& more : graph->graph.propose(dnn::HeuristicMode::kFallback, wanted.math, 8))
            engines.push_back(std::move(more));
        }
        for (const auto& engine : engines) {
          try {
            plan_ = recorded ? kernel_.plan(graph->graph) : graph->graph.plan(engine);
          } catch (const Unsupported& error) {
            refusals += fmt::format("\n  engine {}: {}", engine.text(), error.what());
            continue;
          }
          graph_ = std::move(graph);
          fusion_ = fusion;
          return true;
        }
      } catch (const Unsupported& error) {
        refusals += fmt::format("\n  {}", error.what());
      }
      return false;
    };
    if (attempt(wanted.fusion, true)) return;
    if (attempt(wanted.fusion, false) || attempt(Fusion::kBare, false)) return;
    throw Unsupported("cuDNN has no engine for operands of {} and {}:{}", shapes.inputs[0].dims.text(),
                      shapes.inputs.back().dims.text(), refusals);
  }

  void placeDeviceScalars() {
    constexpr size_t kSlot = 4;  // floats: addresses of tensors are multiples of 16 bytes
    const auto& values = graph_->deviceScalars;
    if (values.empty()) return;
    std::vector<float> slots(values.size() * kSlot);
    for (size_t i = 0; i < values.size(); ++i) slots[i * kSlot] = values[i];
    scalars_.write(slots.data(), slots.size() * sizeof(float));
    for (size_t i = 0; i < graph_->sources.size(); ++i) {
      const int scalar = graph_->sources[i].deviceScalar;
      if (scalar >= 0) pointers_[i] = static_cast<float*>(scalars_.data()) + static_cast<size_t>(scalar) * kSlot;
    }
  }

  void configureEpilogue(const runtime::Shapes& shapes) {
    const auto& y = shapes.outputs[0];
    launcher_ = std::make_unique<PointwiseLauncher>(kernel_.generatedEpilogue(y.dtype));
    std::vector<runtime::TensorShape> operands{y};
    operands.insert(operands.end(), shapes.inputs.begin() + 2, shapes.inputs.end());
    if (kernel_.program.channelBias) {
      for (int axis = 2; axis < y.dims.rank; ++axis) operands[1].dims.push(1);
    }
    operands_.assign(operands.size(), nullptr);
    launcher_->configure(operands, y);
  }

  void makePack(void* workspace) {
    auto pack = std::make_unique<dnn::Descriptor>(dnn::Kind::kVariantPack);
    pack->set(dnn::Attribute::kPackIds, std::span<const int64_t>(graph_->ids));
    pack->setPointers(dnn::Attribute::kPackPointers, pointers_);
    pack->setPointers(dnn::Attribute::kPackWorkspace, std::span<void* const>(&workspace, 1));
    pack->finalize("the operands of a launch");
    pack_ = std::move(pack);
    workspace_ = workspace;
  }

  const DnnKernel& kernel_;
  bool empty_ = false;
  bool apart_ = false;
  Fusion fusion_ = Fusion::kWhole;
  std::unique_ptr<dnn::SourcedGraph> prepared_;  // for the shapes that configure() is about to get
  std::unique_ptr<dnn::SourcedGraph> graph_;
  std::shared_ptr<const dnn::ExecutionPlan> plan_;
  DeviceTable scalars_;
  std::vector<void*> pointers_;
  std::unique_ptr<dnn::Descriptor> pack_;
  void* workspace_ = nullptr;
  std::unique_ptr<PointwiseLauncher> launcher_;
  std::vector<void*> operands_;
};

std::unique_ptr<runtime::KernelInstance> DnnKernel::instantiate() const { return std::make_unique<DnnInstance>(*this); }

}  // namespace

std::unique_ptr<runtime::Kernel> loadDnn(const runtime::KernelLoad& load, dnn::Program program) {
  return std::make_unique<DnnKernel>(load, std::move(program));
}

}  // namespace tenon::backends::cuda
