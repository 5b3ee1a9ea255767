// Resizing, axis by axis, with taps computed once per shape.
#include "ops/op/resize.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/simd/quantize_simd.h"
#include "backends/cpu/kernels/simd/row_simd.h"
#include "backends/cpu/kernels/simd/typed_simd.h"
#include "core/platform/threads.h"
#include "core/strided.h"
#include "ops/resize_taps.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kGrain = 8192;

// One axis: [outer, in, inner] becomes [outer, out, inner] in memory.
struct Pass {
  int64_t outer = 1, in = 1, out = 1, inner = 1;
  int64_t step = 1;            // floats from one row of `inner` of the result to the next
  size_t at = 0;               // the axis, in the order of memory
  std::vector<int32_t> first;  // per output position, where its taps begin; one more at the end
  std::vector<int64_t> indices;
  std::vector<float> weights;
  struct Run {
    int64_t begin, end, taps;
  };
  std::vector<Run> runs;  // of positions with as many taps

  // Where positions in turns have different numbers of taps, all get as many: the first one is taken as two halves,
  // whose sum is the same to the bit.
  void evenOut() {
    constexpr size_t kShort = 8;  // positions of a run
    if (runs.size() * kShort < static_cast<size_t>(out)) return;
    const auto longest = std::max_element(runs.begin(), runs.end(), [](auto& a, auto& b) { return a.taps < b.taps; });
    const auto most = static_cast<size_t>(longest->taps);
    std::vector<int64_t> allIndices;
    std::vector<float> allWeights;
    for (size_t o = 0; o < static_cast<size_t>(out); ++o) {
      const auto begin = static_cast<size_t>(first[o]);
      const auto end = static_cast<size_t>(first[o + 1]);
      const size_t missing = most - (end - begin);
      // w / 4, w / 4, w / 2 and so on: each sum on the way is the next weight.
      float weight = weights[begin];
      for (size_t i = 0; i < missing; ++i) weight /= 2;
      for (size_t i = 0; i < missing; ++i) {
        allIndices.push_back(indices[begin]);
        allWeights.push_back(weight);
        if (i > 0) weight *= 2;
      }
      first[o] = static_cast<int32_t>(o * most);
      allIndices.insert(allIndices.end(), indices.begin() + static_cast<std::ptrdiff_t>(begin),
                        indices.begin() + static_cast<std::ptrdiff_t>(end));
      allWeights.push_back(missing == 0 ? weights[begin] : weights[begin] / 2);
      allWeights.insert(allWeights.end(), weights.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
                        weights.begin() + static_cast<std::ptrdiff_t>(end));
    }
    first.back() = static_cast<int32_t>(allIndices.size());
    indices = std::move(allIndices);
    weights = std::move(allWeights);
    runs = {{0, out, static_cast<int64_t>(most)}};
  }

  void findRuns() {
    for (int64_t o = 0; o < out; ++o) {
      const auto at = static_cast<size_t>(o);
      const int64_t taps = first[at + 1] - first[at];
      if (runs.empty() || runs.back().taps != taps) runs.push_back({o, o, taps});
      runs.back().end = o + 1;
    }
  }

  void run(const float* from, float* to) const {
    if (inner == 1 && step == 1) return runElements(from, to);
    platform::parallelFor(outer * out, std::max<int64_t>(1, kGrain / inner), [&](int64_t begin, int64_t end) {
      const auto combine = rowFunctions().combine;
      for (int64_t row = begin; row < end; ++row) {
        const auto o = static_cast<size_t>(row % out);
        const float* source = from + row / out * in * inner;
        float* target = to + row * step;
        const auto tap = static_cast<size_t>(first[o]);
        const auto taps = static_cast<size_t>(first[o + 1]) - tap;
        if (taps == 1 && weights[tap] == 1.f) {
          std::memcpy(target, source + indices[tap] * inner, static_cast<size_t>(inner) * sizeof(float));
        } else {
          combine(source, indices.data() + tap, weights.data() + tap, taps, static_cast<size_t>(inner), target,
                  static_cast<size_t>(inner));
        }
      }
    });
  }

 private:
  // Elements [begin, end), each of kTaps taps.
  template <size_t kTaps>
  void elements(const float* source, float* target, int64_t begin, int64_t end) const {
    const auto at = static_cast<size_t>(first[static_cast<size_t>(begin)]);
    const int64_t* index = indices.data() + at;
    const float* weight = weights.data() + at;
    for (int64_t o = begin; o < end; ++o, index += kTaps, weight += kTaps) {
      float sum = weight[0] * source[index[0]];
      for (size_t t = 1; t < kTaps; ++t) sum += weight[t] * source[index[t]];
      target[o] = sum;
    }
  }
  void anyElements(const float* source, float* target, int64_t begin, int64_t end) const {
    for (auto o = static_cast<size_t>(begin); o < static_cast<size_t>(end); ++o) {
      auto tap = static_cast<size_t>(first[o]);
      const auto last = static_cast<size_t>(first[o + 1]);
      float sum = weights[tap] * source[indices[tap]];
      for (++tap; tap < last; ++tap) sum += weights[tap] * source[indices[tap]];
      target[o] = sum;
    }
  }

  // Runs of elements with as many taps; where the weights of some are 0 they have fewer.
  void runElements(const float* from, float* to) const {
    platform::parallelFor(outer, std::max<int64_t>(1, kGrain / (2 * out)), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        for (const auto& [runBegin, runEnd, taps] : runs) {
          const float* const source = from + row * in;
          float* const target = to + row * out;
          switch (taps) {
            case 1: elements<1>(source, target, runBegin, runEnd); break;
            case 2: elements<2>(source, target, runBegin, runEnd); break;
            case 3: elements<3>(source, target, runBegin, runEnd); break;
            case 4: elements<4>(source, target, runBegin, runEnd); break;
            case 5: elements<5>(source, target, runBegin, runEnd); break;
            case 6: elements<6>(source, target, runBegin, runEnd); break;
            case 7: elements<7>(source, target, runBegin, runEnd); break;
            case 8: elements<8>(source, target, runBegin, runEnd); break;
            default: anyElements(source, target, runBegin, runEnd); break;
          }
        }
      }
    });
  }
};

// The nearest whole numbers, saturated.
template <DataType kType>
void rounded(const void* from, const void*, const void*, void* to, size_t count) {
  static const auto kQuantize = quantizeFunctions(kType).quantize;
  constexpr double kScale = 1;
  constexpr double kZero = 0;
  kQuantize(static_cast<const float*>(from), &kScale, &kZero, 0, to, count);
}

VectorFunction fromF32(DataType to) {
  if (to == DataType::kU8) return rounded<DataType::kU8>;
  return to == DataType::kI8 ? rounded<DataType::kI8> : castFunction(DataType::kF32, to);
}

class ResizeInstance final : public runtime::KernelInstance {
 public:
  explicit ResizeInstance(const ops::Resize& op) : given_(op), op_(op) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    // Axes in the order of memory.
    std::vector<int> order(static_cast<size_t>(x.dims.rank));
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    if (x.layout == Layout::kChannelsLast) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
    std::vector<int64_t> extents;
    for (const int axis : order) extents.push_back(x.dims[axis]);
    passes_.clear();
    empty_ = y.dims.count() == 0;
    bytes_ = x.dims.count() * static_cast<int64_t>(sizeof(float));
    type_ = x.dtype;
    counts_ = {x.dims.count(), y.dims.count()};
    half_ = 0;
    if (empty_) return 0;
    op_ = given_.bound(shapes.symbols);
    for (size_t at = 0; at < order.size(); ++at) {
      const int axis = order[at];
      Pass pass;
      pass.in = x.dims[axis];
      pass.out = y.dims[axis];
      const bool spreads =
          y.pitch != 0 && at + 2 == order.size();  // the last pass over pixels puts them in their places
      if (pass.in == pass.out && !op_.isScaled(static_cast<size_t>(axis)) && !spreads) continue;
      for (int64_t o = 0; o < pass.out; ++o) {
        pass.first.push_back(static_cast<int32_t>(pass.indices.size()));
        bool any = false;
        for (const auto& tap : ops::resizeTaps(op_, static_cast<size_t>(axis), o, pass.in, pass.out)) {
          if (tap.weight == 0 && any) continue;
          pass.indices.push_back(tap.index);
          pass.weights.push_back(static_cast<float>(tap.weight));
          any = true;
        }
      }
      pass.first.push_back(static_cast<int32_t>(pass.indices.size()));
      if (isIdentity(pass) && !spreads) continue;
      pass.findRuns();
      pass.at = at;
      pass.step = spreads ? y.pitch : 0;
      passes_.push_back(std::move(pass));
    }
    orderPasses(order.size());
    for (auto& pass : passes_) {
      pass.outer = product(extents, 0, pass.at);
      pass.inner = product(extents, pass.at + 1, extents.size());
      if (pass.step == 0) pass.step = pass.inner;
      if (pass.inner == 1 && pass.step == 1) pass.evenOut();
      extents[pass.at] = pass.out;
      half_ = std::max(half_, product(extents, 0, extents.size()));
    }
    // Halves and bytes go through f32 as a whole.
    wide_ = passes_.size() > 1 ? half_ * 2 : 0;
    const int64_t converted = type_ == DataType::kF32 ? 0 : counts_[0] + counts_[1];
    return static_cast<size_t>(wide_ + converted) * sizeof(float);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (empty_) return;
    auto* workspace = static_cast<float*>(arguments.workspace);
    if (type_ == DataType::kF32)
      return compute(static_cast<const float*>(arguments.inputs[0]), static_cast<float*>(arguments.outputs[0]),
                     workspace);
    float* const in = workspace + wide_;
    float* const out = in + counts_[0];
    const int64_t bytes = bits(type_) / 8;
    convert(castFunction(type_, DataType::kF32), arguments.inputs[0], bytes, in, sizeof(float), counts_[0]);
    compute(in, out, workspace);
    convert(fromF32(type_), out, sizeof(float), arguments.outputs[0], bytes, counts_[1]);
  }

 private:
  // The innermost axis, which is computed element by element, comes first where the others make the tensor larger.
  void orderPasses(size_t rank) {
    double growth = 1;
    bool spreads = false;
    for (const auto& pass : passes_) {
      spreads = spreads || pass.step != 0;
      if (pass.at + 1 != rank) growth *= static_cast<double>(pass.out) / static_cast<double>(pass.in);
    }
    if (growth > 1 && !spreads && passes_.size() > 1 && passes_.back().at + 1 == rank)
      std::rotate(passes_.begin(), passes_.end() - 1, passes_.end());
  }

  static void convert(VectorFunction function, const void* from, int64_t fromBytes, void* to, int64_t toBytes,
                      int64_t count) {
    platform::parallelFor(count, kGrain, [&](int64_t begin, int64_t end) {
      function(static_cast<const char*>(from) + begin * fromBytes, nullptr, nullptr,
               static_cast<char*>(to) + begin * toBytes, static_cast<size_t>(end - begin));
    });
  }

  void compute(const float* from, float* out, float* workspace) const {
    if (passes_.empty()) std::memcpy(out, from, static_cast<size_t>(bytes_));
    for (size_t i = 0; i < passes_.size(); ++i) {
      float* to = i + 1 == passes_.size() ? out : workspace + static_cast<int64_t>(i % 2) * half_;
      passes_[i].run(from, to);
      from = to;
    }
  }

  static bool isIdentity(const Pass& pass) {
    if (pass.in != pass.out || pass.indices.size() != static_cast<size_t>(pass.out)) return false;
    for (size_t i = 0; i < pass.indices.size(); ++i) {
      if (pass.indices[i] != static_cast<int64_t>(i) || pass.weights[i] != 1.f) return false;
    }
    return true;
  }
  static int64_t product(const std::vector<int64_t>& extents, size_t first, size_t last) {
    int64_t result = 1;
    for (size_t i = first; i < last; ++i) result *= extents[i];
    return result;
  }

  ops::Resize given_;
  ops::Resize op_;  // with the scales of the shapes that are bound
  std::vector<Pass> passes_;
  int64_t half_ = 0;  // elements of the largest intermediate result
  int64_t bytes_ = 0;
  bool empty_ = false;
  DataType type_ = DataType::kF32;
  std::array<int64_t, 2> counts_{};  // elements of input and output
  int64_t wide_ = 0;                 // elements of intermediate results in the workspace
};

}  // namespace

KernelRow kernelRow_resize() { return {"resize", 1, &loadSimple<ops::Resize, ResizeInstance>}; }

}  // namespace tenon::backends::cpu
