// Products of a few rows by constant weights (row_matmul.cuh).
#include "backends/cuda/cublas/flat_product.h"
#include "backends/cuda/kernels/direct/direct.h"
#include "backends/cuda/kernels/skinny/skinny_parameters.h"
#include "runtime/packer.h"

namespace tenon::backends::cuda {
namespace {

constexpr int kRowsAtOnce[] = {1, 2, 4};
constexpr int64_t kWarps = 8;
constexpr size_t kPackBytes = 16;

// Parameters of the record: columns of a warp, then the types.
struct Record {
  int columns = 1;
  Types types;

  explicit Record(plan::KernelRecord record) {
    const auto split = record.params.find(':');
    checkUser(split != std::string::npos, "cuda.row_matmul: parameters '{}', expected columns and types",
              record.params);
    const std::string text = record.params.substr(0, split);
    TextReader in(text, "a product of a few rows");
    columns = static_cast<int>(in.integer());
    if (columns != 1 && columns != 2 && columns != 4) in.fail("expected 1, 2 or 4 columns of a warp");
    record.params.erase(0, split + 1);
    types = Types::read(record);
  }
};

Code codeOf(const ops::MatMul& op, const Record& record) {
  std::vector<int> variants;
  for (const int rows : kRowsAtOnce) variants.push_back(10 * rows + record.columns);
  return directCode("row_matmul.cuh", "multiplyRows", "SkinnyParameters", op.epilogue, record.types, 2, variants,
                    "KERNEL_WITHOUT_WAIT(, ");
}

class RowMatMulInstance final : public runtime::KernelInstance {
 public:
  RowMatMulInstance(const ops::MatMul& op, const Record& record, const Module& module)
      : op_(op), record_(record), module_(module) {}

  size_t configure(const runtime::Shapes& shapes) override {
    parameters_ = {};
    extras_ = setFlatProduct(parameters_, op_, shapes);
    const int64_t packed = parameters_.inner * bits(shapes.inputs[0].dtype) / 8;
    checkUser(packed % static_cast<int64_t>(kPackBytes) == 0 && packed < int64_t{1} << 31,
              "cuda.row_matmul: rows of {} bytes, expected a multiple of {}", packed, kPackBytes);
    rowsAtOnce_ = kRowsAtOnce[0];
    for (const int rows : kRowsAtOnce) {
      if (rowsAtOnce_ < parameters_.rows) rowsAtOnce_ = rows;
    }
    function_ = module_.function(fmt::format("tenon_direct_{}", 10 * rowsAtOnce_ + record_.columns));
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    auto& p = parameters_;
    if (p.rows == 0 || p.columns == 0) return;
    p.x = arguments.inputs[0];
    p.w = arguments.inputs[1];
    p.data[0] = arguments.outputs[0];
    for (size_t k = 0; k < extras_; ++k) p.data[k + 1] = arguments.inputs[k + 2];
    checkUser(isAligned(p.x, kPackBytes) && isAligned(p.w, kPackBytes),
              "cuda.row_matmul: an operand is not aligned to {} bytes", kPackBytes);
    const int64_t columns = kWarps * record_.columns;
    const int64_t groups = (p.rows + rowsAtOnce_ - 1) / rowsAtOnce_;
    checkUser(groups <= 65535, "a matmul of {} rows exceeds the grid of cuda.row_matmul", p.rows);
    launchGrid(function_, static_cast<unsigned>((p.columns + columns - 1) / columns), static_cast<unsigned>(groups), 1,
               static_cast<unsigned>(32 * kWarps), &p, arguments.stream);
  }

 private:
  const ops::MatMul& op_;
  const Record& record_;
  const Module& module_;
  SkinnyParameters parameters_;
  size_t extras_ = 0;
  int rowsAtOnce_ = 1;
  CUfunction function_ = nullptr;
};

// [inner][columns] to [columns][inner], in squares that stay in the cache.
template <size_t kBytes>
void transposeTo(const std::byte* from, std::byte* to, int64_t inner, int64_t columns) {
  constexpr int64_t kSide = 64;
  for (int64_t i0 = 0; i0 < inner; i0 += kSide) {
    for (int64_t c0 = 0; c0 < columns; c0 += kSide) {
      for (int64_t c = c0; c < std::min(c0 + kSide, columns); ++c) {
        for (int64_t i = i0; i < std::min(i0 + kSide, inner); ++i)
          std::memcpy(to + static_cast<size_t>(c * inner + i) * kBytes,
                      from + static_cast<size_t>(i * columns + c) * kBytes, kBytes);
      }
    }
  }
}

class RowMatMulKernel final : public runtime::Kernel, public runtime::Packer {
 public:
  explicit RowMatMulKernel(const runtime::KernelLoad& load)
      : op_(descriptionOf<ops::MatMul>(load)), record_(load.record), module_(load.nativeCode, codeOf(op_, record_)) {
    if (load.constants.size() < 2 || load.constants[1].data == nullptr)
      throw Unsupported("cuda.row_matmul: the weights are no constant");
    const auto& w = load.constants[1];
    checkUser(w.dims.rank >= 2 && (bits(w.dtype) == 16 || bits(w.dtype) == 32), "cuda.row_matmul: weights of {} {}",
              name(w.dtype), w.dims.text());
    weights_ = {nullptr, w.dtype, w.dims};
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<RowMatMulInstance>(op_, record_, module_);
  }
  std::vector<runtime::PackedForm> packedForms(Layout) const override {
    if (op_.transposeB) return {};
    return {{{1}, fmt::format("by_column {} {}", bits(weights_.dtype), weights_.dims.text()), weights_.bytes(), false}};
  }
  void pack(const runtime::PackedForm&, std::span<const void* const> sources, void* to) const override {
    const auto* from = static_cast<const std::byte*>(sources[0]);
    const int64_t columns = weights_.dims[weights_.dims.rank - 1];
    const int64_t inner = weights_.dims[weights_.dims.rank - 2];
    if (bits(weights_.dtype) == 16) transposeTo<2>(from, static_cast<std::byte*>(to), inner, columns);
    else transposeTo<4>(from, static_cast<std::byte*>(to), inner, columns);
  }

 private:
  ops::MatMul op_;
  Record record_;
  Module module_;
  TensorView weights_;  // without data
};

}  // namespace

KernelRow kernelRow_row_matmul() {
  return {"row_matmul", 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<RowMatMulKernel>(load);
          },
          [](const plan::KernelRecord& record) { return codeOf(descriptionOf<ops::MatMul>(record), Record(record)); }};
}

}  // namespace tenon::backends::cuda
