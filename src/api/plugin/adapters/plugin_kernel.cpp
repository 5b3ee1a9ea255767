// Calls of a plugin at run time, in TensorRT's order: initialize with the engine, attach with the context, shapes,
// enqueue.
#include "api/plugin/adapters/plugin_kernel.h"

#include <algorithm>

#include "api/common/convert.h"
#include "api/plugin/registry.h"
#include "runtime/aliased_inputs.h"
#include "runtime/device_memory.h"
#include "runtime/recording.h"

namespace tenon::api {
namespace {

// What a plugin may allocate from: the engine's allocator, or the memory of its device.
class DeviceAllocator final : public nv::IGpuAllocator {
 public:
  DeviceAllocator(runtime::Device& device, runtime::AllocatorHook* allocator)
      : device_(device), allocator_(allocator) {}
  void* allocate(uint64_t size, uint64_t alignment, nv::AllocatorFlags) noexcept override {
    if (size == 0) return nullptr;
    try {
      const auto atLeast = std::max<uint64_t>(alignment, alignof(std::max_align_t));
      return allocator_ != nullptr ? allocator_->allocate(size, atLeast, nullptr) : device_.allocate(size, atLeast);
    } catch (const std::exception&) {
      return nullptr;
    }
  }
  bool deallocate(void* memory) noexcept override {
    if (memory == nullptr) return true;
    if (allocator_ != nullptr) {
      allocator_->free(memory, nullptr);
    } else {
      device_.free(memory);
    }
    return true;
  }

 private:
  runtime::Device& device_;
  runtime::AllocatorHook* const allocator_;
};

class ResourceContext final : public nv::IPluginResourceContext {
 public:
  explicit ResourceContext(runtime::Device& device) : allocator_(device, runtime::AllocatorScope::allocator()) {}
  nv::IGpuAllocator* getGpuAllocator() const noexcept override { return &allocator_; }
  nv::IErrorRecorder* getErrorRecorder() const noexcept override { return nullptr; }

 private:
  mutable DeviceAllocator allocator_;
};

struct Shared {
  std::unique_ptr<PluginAdapter> adapter;
  ops::Plugin op;
  PluginParameters parameters;
  std::mutex mutex;  // contexts are made on any thread
};

template <typename Body>
auto ofLayer(const Shared& shared, Body&& body) {
  try {
    return body();
  } catch (const UserError& error) {
    throw UserError("layer '{}': {}", shared.op.layer, error.what());
  }
}

class Instance final : public runtime::KernelInstance, public runtime::Recordable {
 public:
  Instance(Shared& shared, runtime::Device& device)
      : shared_(shared),
        device_(device),
        onHost_(device.isHost()),
        mayBeRecorded_(
            processRegistry().mayReplay(shared.op.type.c_str(), shared.op.version.c_str(), shared.op.space.c_str())),
        context_(device) {
    const std::lock_guard lock(shared_.mutex);
    ofLayer(shared_, [&] {
      adapter_ = shared_.adapter->attach(context_);
      adapter_->setTactic(shared_.parameters.tactic);
    });
  }

  bool mayBeRecorded() const override { return mayBeRecorded_; }

  size_t configure(const runtime::Shapes& shapes) override {
    inputs_ = descsOf(shapes.inputs);
    outputs_ = descsOf(shapes.outputs);
    for (size_t i = 0; i < std::min(outputs_.size(), shared_.op.outputRanks.size()); ++i)
      hideComputed(shared_.op, i, outputs_[i].dims);
    checkUser(inputs_.size() == shared_.op.inputTypes.size() && outputs_.size() == shared_.op.outputTypes.size(),
              "layer '{}': the plugin has {} inputs and {} outputs, got {} and {}", shared_.op.layer,
              shared_.op.inputTypes.size(), shared_.op.outputTypes.size(), inputs_.size(), outputs_.size());
    const auto fixed = [](const std::vector<nv::PluginTensorDesc>& descs) {
      PluginDescs result;
      for (const auto& desc : descs) result.push_back({desc, desc.dims, desc.dims, desc.dims});
      return result;
    };
    aliased_.configure(shapes, shared_.op.aliases);
    ofLayer(shared_, [&] { adapter_->changeShapes(fixed(inputs_), fixed(outputs_)); });
    return shared_.parameters.workspace;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    const auto* inputs = aliased_.share(arguments, device_);
    try {
      adapter_->enqueue(
          {inputs_.data(), outputs_.data(), inputs, arguments.outputs, arguments.workspace, arguments.stream});
    } catch (const UserError& error) {
      throw UserError("layer '{}': {}{}", shared_.op.layer, error.what(),
                      onHost_ ? ". The engine runs on the processor, where launches of CUDA kernels fail" : "");
    }
  }

 private:
  static std::vector<nv::PluginTensorDesc> descsOf(std::span<const runtime::TensorShape> shapes) {
    std::vector<nv::PluginTensorDesc> result;
    for (const auto& shape : shapes) result.push_back(describe(shape.dtype, shape.layout, toApi(shape.dims)));
    return result;
  }

  Shared& shared_;  // of the kernel, which outlives its instances
  runtime::Device& device_;
  const bool onHost_;
  const bool mayBeRecorded_;
  ResourceContext context_;
  std::unique_ptr<PluginAdapter> adapter_;
  std::vector<nv::PluginTensorDesc> inputs_;
  std::vector<nv::PluginTensorDesc> outputs_;
  runtime::AliasedInputs aliased_;
};

// Answers for the plugin without its object.
class Sizes final : public runtime::KernelInstance {
 public:
  explicit Sizes(size_t workspace) : workspace_(workspace) {}
  size_t configure(const runtime::Shapes&) override { return workspace_; }
  void launch(const runtime::LaunchArguments&) override {
    throw InternalError("a plugin that was asked for its sizes only is launched");
  }

 private:
  size_t workspace_;
};

class PluginKernel final : public runtime::Kernel {
 public:
  PluginKernel(std::unique_ptr<PluginAdapter> adapter, ops::Plugin op, PluginParameters parameters,
               runtime::Device& device, bool sizesOnly)
      : device_(device), sizesOnly_(sizesOnly) {
    shared_->adapter = std::move(adapter);
    shared_->op = std::move(op);
    shared_->parameters = std::move(parameters);
    if (!sizesOnly_) ofLayer(*shared_, [&] { shared_->adapter->initialize(); });
  }

  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    if (sizesOnly_) return std::make_unique<Sizes>(shared_->parameters.workspace);
    return std::make_unique<Instance>(*shared_, device_);
  }

 private:
  const std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  runtime::Device& device_;
  const bool sizesOnly_;
};

}  // namespace

std::unique_ptr<runtime::Kernel> makePluginKernel(std::unique_ptr<PluginAdapter> adapter, ops::Plugin op,
                                                  PluginParameters parameters, runtime::Device& device,
                                                  bool sizesOnly) {
  return std::make_unique<PluginKernel>(std::move(adapter), std::move(op), std::move(parameters), device, sizesOnly);
}

}  // namespace tenon::api
