// Random numbers: when an execution comes there, the host takes the next place in the context's sequence, also in
// graphs that are launched again and again; the numbers are made on the device.
#include "ops/op/random.h"

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/pinned_memory.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/random/random_parameters.h"
#include "ops/philox.h"
#include "ops/random_draws.h"
#include "runtime/control.h"

namespace tenon::backends::cuda {
namespace {

class RandomInstance final : public runtime::KernelInstance, public runtime::CallsHost {
 public:
  static Code code(const ops::Random&, const Types&) { return {"random.cu", {}, {}}; }
  RandomInstance(const ops::Random& op, const Types&, const Module& module)
      : op_(op), function_(module.function("tenon_random")) {
    for (size_t i = 0; i < 2; ++i) {
      parameters_.factors[i] = ops::kPhiloxFactors[i];
      parameters_.steps[i] = ops::kPhiloxSteps[i];
    }
    parameters_.rounds = ops::kPhiloxRounds;
  }
  ~RandomInstance() override {  // work on some stream may still draw
    if (draws_ != nullptr) driver().contextSynchronize();
  }

  size_t configure(const runtime::Shapes& shapes) override {
    makeCurrent();
    draw_.reserve(sizeof(RandomDraw));
    parameters_.count = shapes.outputs[0].dims.count();
    return sizeof(RandomDraw);
  }

  // A draw without numbers takes a place too, as everywhere.
  void launch(const runtime::LaunchArguments& arguments) override {
    const auto stream = static_cast<CUstream>(arguments.stream);
    draws_ = &ops::Draws::ofThread();
    check(driver().launchHostFunction(stream, &RandomInstance::draw, this), "cuLaunchHostFunc");
    check(driver().memcpyAsync(reinterpret_cast<CUdeviceptr>(arguments.workspace),
                               reinterpret_cast<CUdeviceptr>(draw_.data()), sizeof(RandomDraw), stream),
          "cuMemcpyAsync");
    parameters_.draw = static_cast<const RandomDraw*>(arguments.workspace);
    parameters_.y = static_cast<float*>(arguments.outputs[0]);
    launchThreads(function_, (parameters_.count + 3) / 4, &parameters_, arguments.stream);
  }

 private:
  // On a thread of the driver.
  static void CUDA_CB draw(void* instance) {
    const auto& self = *static_cast<RandomInstance*>(instance);
    const ops::Draws::Use draws(*self.draws_);
    const auto [key, place] = self.op_.draw();
    *reinterpret_cast<RandomDraw*>(self.draw_.data()) = {key, place};
  }

  const ops::Random& op_;
  CUfunction function_;
  PinnedMemory draw_;
  ops::Draws* draws_ = nullptr;  // of the context, which outlives its instances
  RandomParameters parameters_;
};

}  // namespace

KernelRow kernelRow_random() { return ownRow<ops::Random, RandomInstance>("random"); }

}  // namespace tenon::backends::cuda
