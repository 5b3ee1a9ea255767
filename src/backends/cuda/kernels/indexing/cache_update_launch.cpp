// Cache updates: a copy of the cache, unless it is there already, and the new rows over it.
#include "ops/op/cache_update.h"

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/indexing/indexing_parameters.h"

namespace tenon::backends::cuda {
namespace {

class CacheUpdateInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::CacheUpdate&, const Types& types) {
    return {"cache_update.cu", {typeDefine("I", types.inputs.at(2))}, {}};
  }
  CacheUpdateInstance(const ops::CacheUpdate&, const Types& types, const Module& module)
      : module_(module), elementBytes_(bits(types.inputs.at(0)) / 8) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const Dims& cache = shapes.inputs[0].dims;
    const Dims& update = shapes.inputs[1].dims;
    bytes_ = cache.count() * elementBytes_;
    updateBytes_ = update.count() * elementBytes_;
    rowBytes_ = cache[3] * elementBytes_;
    parameters_.heads = cache[1];
    parameters_.rows = update[2];
    parameters_.capacity = cache[2];
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    void* const y = arguments.outputs[0];
    if (bytes_ > 0 && arguments.inputs[0] != y) {
      cudaDevice().copy(y, arguments.inputs[0], static_cast<size_t>(bytes_), runtime::CopyKind::kDeviceToDevice,
                        arguments.stream);
    }
    if (updateBytes_ == 0) return;
    const int64_t unit = unitOf(rowBytes_, elementBytes_, y, arguments.inputs[1]);
    parameters_.inner = rowBytes_ / unit;
    parameters_.count = updateBytes_ / unit;
    parameters_.y = y;
    parameters_.update = arguments.inputs[1];
    parameters_.start = arguments.inputs[2];
    if (unit != unit_) function_ = module_.function(fmt::format("tenon_cache_update_{}", unit));
    unit_ = unit;
    launchThreads(function_, parameters_.count, &parameters_, arguments.stream, blockSize(parameters_.count));
  }

 private:
  const Module& module_;
  int64_t elementBytes_;
  int64_t bytes_ = 0;
  int64_t updateBytes_ = 0;
  int64_t rowBytes_ = 0;
  int64_t unit_ = 0;
  CUfunction function_ = nullptr;
  CacheUpdateParameters parameters_;
};

}  // namespace

KernelRow kernelRow_cache_update() { return ownRow<ops::CacheUpdate, CacheUpdateInstance>("cache_update"); }

}  // namespace tenon::backends::cuda
