// Points grouped by the cells of a grid.
#include "ops/op/pillars.h"

#include <algorithm>

#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/kernels/common/key_sort.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/points/pillar_grid.h"
#include "backends/cuda/kernels/points/pillars_parameters.h"

namespace tenon::backends::cuda {
namespace {

class PillarsInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Pillars&, const Types&) { return {"pillars.cu", {}, {}}; }
  PillarsInstance(const ops::Pillars& op, const Types&, const Module& module)
      : keys_(module.function("tenon_pillars_keys")),
        heads_(module.function("tenon_pillars_heads")),
        number_(module.function("tenon_pillars_number")),
        write_(module.function("tenon_pillars")),
        sort_(module) {
    auto& p = parameters_;
    p.pillars = op.pillars;
    p.perPillar = op.points;
    p.width = op.features;
    p.columns = static_cast<int64_t>(cellsAlong(op, 0));
    std::copy_n(op.range.begin(), 6, p.range);
    std::copy_n(op.size.begin(), 3, p.size);
  }

  size_t configure(const runtime::Shapes& shapes) override {
    auto& p = parameters_;
    p.clouds = shapes.inputs[0].dims[0];
    p.most = shapes.inputs[0].dims[1];
    p.numbers = shapes.inputs[0].dims[2];
    checkUser(p.most < int64_t{1} << 31 && p.clouds * p.pillars < int64_t{1} << 31,
              "pillars: clouds of {} points, {} pillars in {} clouds; it takes 2^31 - 1 of each", p.most, p.pillars,
              p.clouds);
    p.capacity = sort_.configure(p.clouds, p.most);
    return static_cast<size_t>(p.clouds * p.capacity) * sizeof(uint64_t) +
           static_cast<size_t>(p.clouds * (p.most + p.pillars)) * sizeof(uint32_t);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    auto& p = parameters_;
    if (p.clouds == 0) return;
    p.points = static_cast<const float*>(arguments.inputs[0]);
    p.counts = static_cast<const int32_t*>(arguments.inputs[1]);
    p.features = static_cast<float*>(arguments.outputs[0]);
    p.cells = static_cast<int32_t*>(arguments.outputs[1]);
    p.written = static_cast<int32_t*>(arguments.outputs[2]);
    p.keys = static_cast<uint64_t*>(arguments.workspace);
    p.heads = reinterpret_cast<uint32_t*>(p.keys + p.clouds * p.capacity);
    p.starts = p.heads + p.clouds * p.most;
    const int64_t points = p.clouds * p.most;
    if (points != 0) {
      check(
          driver().memsetAsync(reinterpret_cast<CUdeviceptr>(p.heads), 0xff,
                               static_cast<size_t>(points) * sizeof(uint32_t), static_cast<CUstream>(arguments.stream)),
          "cuMemsetD8Async");
      launchThreads(keys_, points, &p, arguments.stream);
      sort_.launch(p.keys, nullptr, arguments.stream);
      launchThreads(heads_, points, &p, arguments.stream);
    }
    launchThreads(number_, p.clouds * kNumberThreads, &p, arguments.stream, kNumberThreads);
    launchThreads(write_, p.clouds * p.pillars * kPillarThreads, &p, arguments.stream, kPillarThreads);
  }

 private:
  CUfunction keys_;
  CUfunction heads_;
  CUfunction number_;
  CUfunction write_;
  KeySort sort_;
  PillarsParameters parameters_;
};

}  // namespace

KernelRow kernelRow_pillars() { return ownRow<ops::Pillars, PillarsInstance>("pillars"); }

}  // namespace tenon::backends::cuda
