// Pointwise (1x1) convolution of few channels, whose weights are packed for tensor cores.
#include "backends/cuda/kernels/narrow_convolution/narrow_convolution.h"

#include "backends/cuda/kernels/common/packed_kernel.h"
#include "core/text.h"

namespace tenon::backends::cuda {
namespace {

constexpr size_t kPackBytes = 16;

size_t bytesOfPart(DataType type) { return static_cast<size_t>(bits(type)); }  // of 8 channels

// Parameters are "[K,C,group]kinds types".
struct Record {
  static constexpr std::string_view kName = "narrow_convolution";
  static constexpr const char* kFunction = "tenon_narrow";

  explicit Record(const plan::KernelRecord& record) : op(descriptionOf<ops::Convolution>(record)) {
    const ShapeAndTypes params(record);
    TextReader in(params.shape, "parameters of a kernel of backend cuda");
    in.expect("[");
    outputs = in.integer();
    in.expect(",");
    inputs = in.integer();
    in.expect(",");
    group = in.integer();
    in.expect("]");
    kinds = params.shape.substr(in.position());
    types = params.types;
    if (types.outputs.size() != 1 || types.inputs.size() != (op.hasBias ? 3u : 2u) + kinds.size() ||
        kinds.find_first_not_of("wcs") != std::string::npos) {
      throw UserError("parameters of a kernel of backend cuda: '{}' are not those of a convolution", record.params);
    }
  }
  NarrowForm form() const {
    NarrowForm result(op, {outputs, inputs, 1, 1}, group, kinds, types.outputs[0]);
    if (!result.refusal.empty()) throw Unsupported("cuda.narrow_convolution: {}", result.refusal);
    return result;
  }
  Code code(const NarrowForm& form) const { return narrowCode(form, op, types); }
  void checkWeights(const TensorView& w) const {
    const bool fits = w.dims.rank >= 2 && w.dims[0] == outputs && w.dims[1] == inputs;
    checkUser(fits && w.dims.count() == w.dims[0] * w.dims[1],
              "cuda.narrow_convolution: parameters [{},{}] do not fit weights {}", outputs, inputs, w.dims.text());
    checkUser(bits(w.dtype) == 16, "cuda.narrow_convolution: weights of {}; expected f16 or bf16", name(w.dtype));
  }
  std::string recipe(const NarrowForm&) const { return fmt::format("narrow {},{}", outputs, inputs); }

  ops::Convolution op;
  int64_t outputs = 0, inputs = 0, group = 0;
  std::string kinds;
  Types types;
};

class NarrowInstance final : public runtime::KernelInstance {
 public:
  NarrowInstance(const Record& record, const NarrowForm& form, CUfunction function)
      : op_(record.op), form_(form), function_(function) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    const int64_t rows = y.dims.count() == 0 ? 0 : y.dims[0] * y.dims.count(2, y.dims.rank);
    if (rows != y.dims[0] && (x.layout != Layout::kChannelsLast || y.layout != Layout::kChannelsLast)) {
      throw Unsupported("cuda.narrow_convolution: the tensors are not channels-last");
    }
    checkUser(rows < int64_t{1} << 30, "cuda.narrow_convolution: {} output positions exceed the limit of 2^30", rows);
    parameters_.rows = static_cast<int32_t>(rows);
    for (size_t k = 0; k < form_.kinds.size(); ++k) {
      const auto& extra = shapes.inputs[first() + k];
      if (rows != 0 && !narrowFits(form_.kinds[k], extra, y)) {
        throw Unsupported("cuda.narrow_convolution: an epilogue operand of {}, which the kernel was not compiled for",
                          extra.dims.text());
      }
    }
    blocks_ = static_cast<unsigned>(form_.blocksFor(rows));
    alignment_.clear();
    for (size_t k = 0; k < form_.kinds.size(); ++k) {
      const auto type = shapes.inputs[first() + k].dtype;
      alignment_.push_back(form_.kinds[k] == 's' ? 1 : bytesOfPart(type));
    }
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (blocks_ == 0) return;
    auto& p = parameters_;
    p.x = arguments.inputs[0];
    p.w = arguments.inputs[1];
    p.bias = op_.hasBias ? arguments.inputs[2] : nullptr;
    p.data[0] = arguments.outputs[0];
    bool aligned = isAligned(p.x, kPackBytes) && isAligned(p.data[0], kPackBytes);
    for (size_t k = 0; k < alignment_.size(); ++k) {
      p.data[k + 1] = arguments.inputs[first() + k];
      aligned = aligned && isAligned(p.data[k + 1], alignment_[k]);
    }
    checkUser(aligned, "pointwise convolution: a tensor is not aligned to the bytes of 8 channels");
    const auto threads = static_cast<unsigned>(32 * form_.warps);
    launchGrid(function_, blocks_, static_cast<unsigned>(form_.groups()), 1, threads, &p, arguments.stream,
               static_cast<unsigned>(form_.sharedBytes()));
  }

 private:
  size_t first() const { return op_.hasBias ? 3 : 2; }  // of the epilogue's inputs

  const ops::Convolution& op_;
  const NarrowForm& form_;
  CUfunction function_;
  unsigned blocks_ = 0;
  std::vector<size_t> alignment_;  // of the epilogue's inputs
  NarrowParameters parameters_;
};

}  // namespace

KernelRow kernelRow_narrow_convolution() { return packedRow<Record, NarrowForm, NarrowInstance>(1); }

}  // namespace tenon::backends::cuda
