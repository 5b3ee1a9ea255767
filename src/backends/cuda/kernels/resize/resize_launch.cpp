// Interpolation along the axes that change, from tables of taps.
#include "ops/op/resize.h"

#include <algorithm>
#include <numeric>

#include "backends/cuda/kernels/common/device_table.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/common/space.h"
#include "backends/cuda/kernels/common/window.h"
#include "backends/cuda/kernels/resize/resize_parameters.h"
#include "ops/resize_taps.h"

namespace tenon::backends::cuda {
namespace {

class ResizeInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Resize& op, const Types& types) {
    return {
        "resize.cu",
        {typeDefine("X", types.inputs.at(0)), fmt::format("NEAREST={}", op.mode == ops::ResizeMode::kNearest ? 1 : 0)},
        {}};
  }
  ResizeInstance(const ops::Resize& op, const Types&, const Module& module) : given_(op), op_(op), module_(module) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    parameters_ = {};
    parameters_.count = y.dims.count();
    if (parameters_.count == 0) return 0;
    op_ = given_.bound(shapes.symbols);
    checkUser(x.dims.count() > 0, "resize: the input {} is empty, the output {} is not", x.dims.text(), y.dims.text());
    parameters_.rank = y.dims.rank;
    const auto from = stridesOf(x.dims, x.layout);
    const auto to = stridesOf(y.dims, y.layout);
    std::vector<size_t> order(static_cast<size_t>(y.dims.rank));
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return to[a] > to[b]; });
    int tapAxes = 0;
    for (size_t place = 0; place < order.size(); ++place) {
      const size_t axis = order[place];
      const int64_t in = x.dims[static_cast<int>(axis)];
      const int64_t out = y.dims[static_cast<int>(axis)];
      parameters_.extent[place] = out;
      parameters_.yStride[place] = to[axis];
      parameters_.xStride[place] = from[axis];
      parameters_.tapAxis[place] = -1;
      const auto taps = tapsOf(axis, in, out);
      if (taps.empty()) continue;
      checkUser(tapAxes < kTapAxes, "resize: more than {} axes change size", kTapAxes);
      parameters_.xStride[place] = 0;
      parameters_.tapAxis[place] = tapAxes;
      tables_[tapAxes].write(taps.data(), taps.size() * sizeof(ResizeTap));
      parameters_.taps[tapAxes] = static_cast<const ResizeTap*>(tables_[tapAxes].data());
      parameters_.tapCount[tapAxes] = static_cast<int32_t>(static_cast<int64_t>(taps.size()) / out);
      parameters_.tapStride[tapAxes] = from[axis];
      ++tapAxes;
    }
    chooseForm(16 / (bits(x.dtype) / 8));
    choosePairs(16 / (bits(x.dtype) / 8));
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    parameters_.x = arguments.inputs[0];
    parameters_.y = arguments.outputs[0];
    if (parameters_.count == 0) return;
    const bool packs = form_ == Form::kPacked || parameters_.wholeRuns != 0;
    const bool whole = !packs || (isAligned(parameters_.x, 16) && isAligned(parameters_.y, 16));
    const int64_t threads = whole ? threads_ : parameters_.count;
    launchThreads(whole ? function_ : single_, threads, &parameters_, arguments.stream, blockSize(threads));
  }

 private:
  enum class Form : uint8_t { kSingle, kPacked, kRun };

  // Packs of an innermost axis that stays as it is; runs of one that changes.
  void chooseForm(int64_t pack) {
    const auto& p = parameters_;
    const auto last = static_cast<size_t>(p.rank - 1);
    single_ = function_ = module_.function("tenon_resize");
    threads_ = p.count;
    form_ = Form::kSingle;
    if (p.tapAxis[last] >= 0) {
      form_ = Form::kRun;
      function_ = module_.function("tenon_resize_run");
      threads_ = p.count / p.extent[last] * ((p.extent[last] + kResizeRun - 1) / kResizeRun);
      return;
    }
    bool packs = p.xStride[last] == 1 && p.yStride[last] == 1 && p.extent[last] % pack == 0;
    for (size_t place = 0; place < last; ++place)
      packs = packs && p.xStride[place] % pack == 0 && p.yStride[place] % pack == 0;
    for (const int64_t stride : p.tapStride) packs = packs && stride % pack == 0;
    if (!packs) return;
    form_ = Form::kPacked;
    function_ = module_.function("tenon_resize_packed");
    threads_ = p.count / pack;
  }

  // Nearest elements, or two taps along at most two axes, and few enough threads: without branches.
  void choosePairs(int64_t pack) {
    auto& p = parameters_;
    const auto last = static_cast<size_t>(p.rank - 1);
    const auto isPair = [](int32_t count) { return count == 0 || count == 2; };
    if (form_ == Form::kSingle || threads_ >= int64_t{1} << 31) return;
    const bool nearest = op_.mode == ops::ResizeMode::kNearest;
    if (!nearest && (p.tapCount[2] != 0 || !isPair(p.tapCount[0]) || !isPair(p.tapCount[1]))) return;
    for (size_t place = 0; place <= last; ++place) p.divider[place] = dividerBy(p.extent[place]);
    const bool packed = form_ == Form::kPacked;
    p.divider[last] = dividerBy(packed ? p.extent[last] / pack : (p.extent[last] + kResizeRun - 1) / kResizeRun);
    p.threads = threads_;
    bool whole = p.yStride[last] == 1 && p.extent[last] % kResizeRun == 0 && pack >= kResizeRun;
    for (size_t place = 0; place < last; ++place) whole = whole && p.yStride[place] % kResizeRun == 0;
    p.wholeRuns = whole ? 1 : 0;
    if (nearest) {
      function_ = module_.function(packed ? "tenon_resize_nearest_packed" : "tenon_resize_nearest_run");
      return;
    }
    function_ = module_.function(packed ? "tenon_resize_pairs_packed" : "tenon_resize_pairs_run");
    chooseLines(pack);
  }

  // Packs down several rows of planes, where that leaves enough threads.
  void chooseLines(int64_t pack) {
    constexpr int64_t kMostPack = 8, kLeastThreads = int64_t{1} << 15;
    auto& p = parameters_;
    const auto last = static_cast<size_t>(p.rank - 1);
    bool fits = form_ == Form::kRun && last > 0 && pack <= kMostPack && p.yStride[last] == 1 && p.tapAxis[last] == 1;
    fits = fits && p.tapAxis[last - 1] == 0 && p.tapCount[0] == 2 && p.tapCount[1] == 2 && p.extent[last] % pack == 0;
    for (size_t place = 0; place < last; ++place) fits = fits && p.yStride[place] % pack == 0;
    if (!fits) return;
    const int64_t packs = p.extent[last] / pack, runs = (p.extent[last - 1] + kResizeRows - 1) / kResizeRows;
    const int64_t threads = p.count / (p.extent[last] * p.extent[last - 1]) * packs * runs;
    if (threads < kLeastThreads) return;
    p.divider[last] = dividerBy(packs);
    p.divider[last - 1] = dividerBy(runs);
    p.threads = threads_ = threads;
    p.wholeRuns = 1;
    function_ = module_.function("tenon_resize_lines");
  }

  // The taps of every position, as many for each (missing ones weigh nothing); none where positions stay as they are.
  std::vector<ResizeTap> tapsOf(size_t axis, int64_t in, int64_t out) const {
    std::vector<std::vector<ops::ResizeTap>> all;
    size_t most = 1;
    bool same = in == out;
    for (int64_t o = 0; o < out; ++o) {
      all.push_back(ops::resizeTaps(op_, axis, o, in, out));
      std::erase_if(all.back(), [](const auto& tap) { return tap.weight == 0; });
      most = std::max(most, all.back().size());
      same = same && all.back().size() == 1 && all.back()[0].index == o && all.back()[0].weight == 1;
    }
    std::vector<ResizeTap> taps;
    if (same) return taps;
    if (op_.mode == ops::ResizeMode::kLinear) most = std::max<size_t>(most, 2);  // also where one is enough everywhere
    for (const auto& position : all) {
      for (size_t k = 0; k < most; ++k) {
        taps.push_back(k < position.size()
                           ? ResizeTap{int32Of(position[k].index), static_cast<float>(position[k].weight)}
                           : ResizeTap{0, 0.f});
      }
    }
    return taps;
  }

  const ops::Resize given_;
  ops::Resize op_;
  const Module& module_;
  CUfunction function_ = nullptr;
  CUfunction single_ = nullptr;
  Form form_ = Form::kSingle;
  int64_t threads_ = 0;
  ResizeParameters parameters_;
  DeviceTable tables_[kTapAxes];
};

}  // namespace

KernelRow kernelRow_resize() { return ownRow<ops::Resize, ResizeInstance>("resize"); }

}  // namespace tenon::backends::cuda
