// Deconvolution whose windows do not overlap (the stride is the window), over channels-last images: one product of
// pixels and channels per tap, written where the tap lands.
#include "backends/cpu/run/kernel_row.h"
#include "backends/cpu/run/tile_epilogue.h"
#include "backends/cpu/run/work_queue.h"
#include "core/error.h"
#include "ops/op/deconvolution.h"

namespace tenon::backends::cpu {
namespace {

struct UpsampleKernel final : runtime::Kernel {
  UpsampleKernel(const ops::Deconvolution& op, const runtime::KernelLoad& load) : op(op) {
    const auto& w = load.constants[1];
    if (w.data == nullptr || w.dims.rank != 4 || op.groups != 1) throw Unsupported("cpu.upsample needs constant weights of images and one group");
    if (op.hasBias && load.constants[2].data == nullptr) throw Unsupported("cpu.upsample needs a bias that is a constant");
    weights = w.dims;
    const int64_t taps = w.dims.count(2, 4);
    for (int64_t t = 0; t < taps; ++t) {
      const auto panel = packPanels(static_cast<const float*>(w.data) + t, w.dims[0], w.dims[1], w.dims[1] * taps, taps);
      panels.insert(panels.end(), panel.begin(), panel.end());
    }
    if (!op.hasBias) return;
    const auto* const values = static_cast<const float*>(load.constants[2].data);
    bias.assign(values, values + w.dims[1]);
    bias.resize(static_cast<size_t>(panelCount(w.dims[1]) * tileGeometry().columns), 0.f);
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;

  ops::Deconvolution op;
  Dims weights;
  Panels panels;              // [tap][panel][channel][column]
  std::vector<float> bias;    // filled up to whole panels; empty without
};

class UpsampleInstance final : public runtime::KernelInstance {
 public:
  explicit UpsampleInstance(const UpsampleKernel& kernel) : kernel_(kernel), epilogue_(kernel.op.epilogue) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0].dims;
    const auto& y = shapes.outputs[0].dims;
    std::vector<TileEpilogue::Operand> operands;
    for (const auto& extra : shapes.inputs.subspan(kernel_.op.hasBias ? 3 : 2)) {
      TileEpilogue::Operand operand{};
      if (!classifyOperand(extra.dims, y, 1, operand) || operand == TileEpilogue::Operand::kMatrix) {
        throw Unsupported("cpu.upsample: an operand {} of the epilogue for a result {}", extra.dims.text(), y.text());
      }
      operands.push_back(operand);
    }
    if (!epilogue_.configure(std::move(operands))) throw Unsupported("cpu.upsample: the epilogue {} is too long", text(kernel_.op.epilogue));
    rows_ = x[0] * x[2];
    width_ = x[3];
    channels_ = x[1];
    outChannels_ = y[1];
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (width_ * outChannels_ == 0) return;
    const auto* const x = static_cast<const float*>(arguments.inputs[0]);
    auto* const out = static_cast<float*>(arguments.outputs[0]);
    void* const* const extras = arguments.inputs + (kernel_.op.hasBias ? 3 : 2);
    runJobs(rows_, rows_ * width_ * channels_ * outChannels_ * kernel_.weights.count(2, 4), [&](int64_t row) { line(row, x, out, extras); });
  }

 private:
  // In units of the horizontal stride an output row is a matrix of `width_` rows: pixel i of tap s stands at row i, s pixels in.
  void line(int64_t row, const float* x, float* out, void* const* extras) const {
    const auto [tileRows, tileColumns] = tileGeometry();
    const auto& functions = tileFunctions();
    const int64_t down = kernel_.weights[2];
    const int64_t across = kernel_.weights[3];
    const int64_t panels = panelCount(outChannels_);
    for (int64_t first = 0; first < width_; first += tileRows) {
      const auto count = static_cast<int>(std::min<int64_t>(tileRows, width_ - first));
      const float* sources[kMaxTileRows];
      for (int i = 0; i < count; ++i) sources[i] = x + (row * width_ + first + i) * channels_;
      for (int64_t tap = 0; tap < down * across; ++tap) {
        const int64_t outRow = row * down + tap / across;
        for (int64_t p = 0; p < panels; ++p) {
          TileCall call;
          call.sources = sources;
          call.depth = channels_;
          call.panel = kernel_.panels.data() + (tap * panels + p) * channels_ * tileColumns;
          call.bias = kernel_.bias.empty() ? nullptr : kernel_.bias.data() + p * tileColumns;
          call.width = std::min<int64_t>(tileColumns, outChannels_ - p * tileColumns);
          epilogue_.run(functions[static_cast<size_t>(count)], count, call, out + tap % across * outChannels_, extras, outRow * width_ + first,
                        p * tileColumns, outChannels_ * across);
        }
      }
    }
  }

  const UpsampleKernel& kernel_;
  TileEpilogue epilogue_;
  int64_t rows_ = 0, width_ = 0, channels_ = 0, outChannels_ = 0;
};

std::unique_ptr<runtime::KernelInstance> UpsampleKernel::instantiate() const { return std::make_unique<UpsampleInstance>(*this); }

std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& request) {
  const auto op = ops::Operator::parse(request.record.op);
  const auto* description = op.as<ops::Deconvolution>();
  if (description == nullptr) throw Unsupported("cpu.upsample cannot compute {}", op.name());
  return std::make_unique<UpsampleKernel>(*description, request);
}

}  // namespace

KernelRow kernelRow_upsample() { return {"upsample", 1, &load}; }

}  // namespace tenon::backends::cpu
