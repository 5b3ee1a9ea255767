// Deconvolution whose windows do not overlap (the stride is the window), over channels-last images: one matmul of
// pixels and channels per row of the window, whose columns lie side by side in the result.
#include <cstring>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/tile_epilogue.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "core/error.h"
#include "ops/op/deconvolution.h"
#include "runtime/packer.h"

namespace tenon::backends::cpu {
namespace {

struct UpsampleKernel final : runtime::Kernel, runtime::Packer {
  UpsampleKernel(const ops::Deconvolution& op, const runtime::KernelLoad& load) : op(op) {
    const auto& w = load.constants[1];
    if (!isConstantF32(w) || w.dims.rank != 4 || op.groups != 1)
      throw Unsupported("cpu.upsample needs constant weights of 2 spatial dimensions and one group");
    if (op.hasBias && !isConstantF32(load.constants[2]))
      throw Unsupported("cpu.upsample needs a bias that is a constant");
    weights = w.dims;
    columns = w.dims[1] * w.dims[3];
    if (!op.hasBias) return;
    const auto* const values = static_cast<const float*>(load.constants[2].data);
    for (int64_t s = 0; s < w.dims[3]; ++s) bias.insert(bias.end(), values, values + w.dims[1]);
    bias.resize(static_cast<size_t>(panelCount(columns) * tileGeometry().columns), 0.f);
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;

  // [row of the window][panel][channel][column]
  std::vector<runtime::PackedForm> packedForms(Layout) const override {
    return {{{1},
             fmt::format("rows of a window in panels of {}, {}", tileGeometry().columns, weights.text()),
             static_cast<uint64_t>(weights[2]) * panelBytes(weights[0], columns),
             true}};
  }
  void pack(const runtime::PackedForm&, std::span<const void* const> sources, void* to) const override;
  void restore(const runtime::PackedForm&, size_t, const void* packed, void* to) const override;

  ops::Deconvolution op;
  Dims weights;
  int64_t columns = 0;      // taps of a row of the window times output channels
  std::vector<float> bias;  // filled up to whole panels; empty without
};

// Element (channel c, output channel k, row r, column s of the window) of the weights, as an index.
template <typename See>
void eachWeight(const Dims& weights, int64_t r, const See& see) {
  const int64_t columns = weights[1] * weights[3];
  for (int64_t i = 0; i < weights[0] * columns; ++i) {
    const int64_t c = i / columns, s = i % columns / weights[1], k = i % weights[1];
    see(static_cast<size_t>(i), ((c * weights[1] + k) * weights[2] + r) * weights[3] + s);
  }
}

void UpsampleKernel::pack(const runtime::PackedForm&, std::span<const void* const> sources, void* to) const {
  const auto* const data = static_cast<const float*>(sources[0]);
  std::vector<float> matrix(
      static_cast<size_t>(weights[0] * columns));  // of one row of the window: [channel][tap, column]
  const auto step = panelBytes(weights[0], columns) / sizeof(float);
  for (int64_t r = 0; r < weights[2]; ++r) {
    eachWeight(weights, r, [&](size_t i, int64_t from) { matrix[i] = data[from]; });
    packPanelsInto({matrix.data(), weights[0], columns, columns, 1},
                   static_cast<float*>(to) + static_cast<size_t>(r) * step, weights[0] * tileGeometry().columns);
  }
}

void UpsampleKernel::restore(const runtime::PackedForm&, size_t, const void* packed, void* to) const {
  auto* const data = static_cast<float*>(to);
  std::vector<float> matrix(static_cast<size_t>(weights[0] * columns));
  const auto step = panelBytes(weights[0], columns) / sizeof(float);
  for (int64_t r = 0; r < weights[2]; ++r) {
    unpackPanels(static_cast<const float*>(packed) + static_cast<size_t>(r) * step, matrix.data(), weights[0], columns,
                 columns, 1);
    eachWeight(weights, r, [&](size_t i, int64_t at) { std::memcpy(data + at, &matrix[i], sizeof(float)); });
  }
}

class UpsampleInstance final : public runtime::KernelInstance {
 public:
  explicit UpsampleInstance(const UpsampleKernel& kernel) : kernel_(kernel), epilogue_(kernel.op.epilogue) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0].dims;
    const auto& y = shapes.outputs[0].dims;
    const auto extras = shapes.inputs.subspan(kernel_.op.hasBias ? 3 : 2);
    if (extras.size() > kMostExtras) throw Unsupported("cpu.upsample: {} operands of the epilogue", extras.size());
    epilogue_.configure("cpu.upsample", y, extras, 1);
    operands_ = epilogue_.operands();
    if (std::find(operands_.begin(), operands_.end(), TileEpilogue::Operand::kMatrix) != operands_.end()) {
      throw Unsupported("cpu.upsample: an epilogue operand has the size of the result {}", y.text());
    }
    rows_ = x[0] * x[2];
    width_ = x[3];
    channels_ = x[1];
    outChannels_ = y[1];
    const bool oneForAll = std::all_of(operands_.begin(), operands_.end(),
                                       [](auto operand) { return operand == TileEpilogue::Operand::kValue; });
    isLate_ = oneForAll && !epilogue_.isDirect() && 2 * kernel_.columns <= tileGeometry().columns;
    return operands_.size() * static_cast<size_t>(kernel_.columns) * sizeof(float);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (width_ * outChannels_ == 0) return;
    const auto* const x = static_cast<const float*>(arguments.inputs[0]);
    auto* const out = static_cast<float*>(arguments.outputs[0]);
    const auto* const weights = static_cast<const float*>(arguments.inputs[1]);
    std::array<void*, kMostExtras> extras{};
    stretch(arguments.inputs + (kernel_.op.hasBias ? 3 : 2), static_cast<float*>(arguments.workspace), extras.data());
    runJobs(rows_, rows_ * width_ * channels_ * kernel_.columns * kernel_.weights[2], [&](int64_t row) {
      line(row, {x, weights}, out, extras.data());
    });
  }

 private:
  static constexpr size_t kMostExtras = 24;

  // One value per channel becomes one per column.
  void stretch(void* const* inputs, float* to, void** extras) const {
    for (size_t k = 0; k < operands_.size(); ++k) {
      extras[k] = inputs[k];
      if (operands_[k] != TileEpilogue::Operand::kRow) continue;
      extras[k] = to;
      for (int64_t s = 0; s < kernel_.weights[3]; ++s, to += outChannels_) {
        std::memcpy(to, inputs[k], static_cast<size_t>(outChannels_) * sizeof(float));
      }
    }
  }

  // The output is a matrix: a row for each pixel of the input and row of the window, of `kernel_.columns` columns.
  struct Operands {
    const float* x;
    const float* weights;
  };

  void line(int64_t row, const Operands& operands, float* out, void* const* extras) const {
    const int64_t tileRows = tileGeometry().rows;
    for (int64_t first = 0; first < width_; first += tileRows) {
      const auto count = static_cast<int>(std::min<int64_t>(tileRows, width_ - first));
      const float* sources[kMaxTileRows];
      for (int i = 0; i < count; ++i) sources[i] = operands.x + (row * width_ + first + i) * channels_;
      for (int64_t r = 0; r < kernel_.weights[2]; ++r)
        tile(sources, count, operands.weights + r * rowFloats(), (row * kernel_.weights[2] + r) * width_ + first, out,
             extras);
    }
    if (!isLate_) return;
    const int64_t floats = kernel_.weights[2] * width_ * kernel_.columns;
    epilogue_.finishInPlace(out + row * floats, floats, extras);
  }

  // Packed weights of one row of the window.
  int64_t rowFloats() const { return panelCount(kernel_.columns) * channels_ * tileGeometry().columns; }

  void tile(const float* const* sources, int count, const float* weights, int64_t outRow, float* out,
            void* const* extras) const {
    const int64_t tileColumns = tileGeometry().columns;
    const auto function = tileFunctions()[static_cast<size_t>(count)];
    const int64_t panels = panelCount(kernel_.columns);
    for (int64_t p = 0; p < panels; ++p) {
      TileCall call;
      call.sources = sources;
      call.depth = channels_;
      call.panel = weights + p * channels_ * tileColumns;
      call.bias = kernel_.bias.empty() ? nullptr : kernel_.bias.data() + p * tileColumns;
      call.width = std::min<int64_t>(tileColumns, kernel_.columns - p * tileColumns);
      if (!isLate_) {
        epilogue_.run(function, count, call, out, extras, outRow, p * tileColumns, kernel_.columns);
        continue;
      }
      call.out = out + outRow * kernel_.columns;
      call.outStride = kernel_.columns;
      function(call);
    }
  }

  const UpsampleKernel& kernel_;
  TileEpilogue epilogue_;
  std::vector<TileEpilogue::Operand> operands_;
  int64_t rows_ = 0, width_ = 0, channels_ = 0, outChannels_ = 0;
  bool isLate_ = false;  // the epilogue runs over whole lines, because a tile would be mostly columns that do not exist
};

std::unique_ptr<runtime::KernelInstance> UpsampleKernel::instantiate() const {
  return std::make_unique<UpsampleInstance>(*this);
}

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  const auto* description = op.as<ops::Deconvolution>();
  if (description == nullptr) throw Unsupported("cpu.upsample cannot compute {}", op.name());
  return std::make_unique<UpsampleKernel>(*description, request);
}

}  // namespace

KernelRow kernelRow_upsample() { return {"upsample", 1, &load}; }

}  // namespace tenon::backends::cpu
