// Plugins on a GPU: their code puts its work on the stream itself. It may wait for the stream or look at what the host
// has, which a recorded graph would not repeat: engines with plugins are launched step by step, unless somebody said
// that a plugin does no such thing (tenon/plugin_replay.h).
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/common/kernel_row.h"
#include "runtime/control.h"
#include "runtime/plugin_host.h"
#include "runtime/recording.h"

namespace tenon::backends::cuda {
namespace {

class Instance final : public runtime::KernelInstance, public runtime::CallsHost {
 public:
  explicit Instance(std::unique_ptr<runtime::KernelInstance> plugin)
      : plugin_(std::move(plugin)), recordable_(dynamic_cast<const runtime::Recordable*>(plugin_.get())) {}

  size_t configure(const runtime::Shapes& shapes) override {
    makeCurrent();
    return plugin_->configure(shapes);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (isRecording() && (recordable_ == nullptr || !recordable_->mayBeRecorded()))
      throw Unsupported("plugins run outside of recorded graphs, unless they are known to be the same each time");
    plugin_->launch(arguments);
  }

 private:
  std::unique_ptr<runtime::KernelInstance> plugin_;
  const runtime::Recordable* recordable_;  // its other face
};

class PluginKernel final : public runtime::Kernel {
 public:
  explicit PluginKernel(std::unique_ptr<runtime::Kernel> plugin) : plugin_(std::move(plugin)) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    makeCurrent();
    return std::make_unique<Instance>(plugin_->instantiate());
  }

 private:
  std::unique_ptr<runtime::Kernel> plugin_;
};

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  makeCurrent();
  return std::make_unique<PluginKernel>(runtime::loadPlugin(request, cudaDevice()));
}

}  // namespace

KernelRow kernelRow_plugin() { return {"plugin", 1, &load}; }

}  // namespace tenon::backends::cuda
