// Products by warpgroups whose columns are the channels of several pixels of the result, a cell: of deconvolutions, and
// of convolutions to few channels, for which a tile of 64 columns would be mostly empty.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backends/cuda/kernels/mma90/mma90_kernel.h"
#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/spatial.h"

namespace tenon::backends::cuda {

// Of deconvolutions: along an axis of stride s, output place i s + p - before of the kernel's tap p + d s meets x[i -
// d]: a window of as many places of x as there are such d makes all s pixels of cell i. Of convolutions: a window over
// all that a cell's pixels read, with strides of its size.
struct Mma90CellProduct {
  ops::MatMul product;
  std::vector<runtime::TensorShape> inputs, outputs;  // of the product, windows as rows of their channels
  Mma90Image image;
  Mma90Cells cells;
  Mma90Subpixels subpixels;
  std::string refusal;  // why there is no such product, or empty

  Mma90CellProduct(const ops::Deconvolution& op, const runtime::Shapes& shapes);
  Mma90CellProduct(const ops::Convolution& op, const runtime::Shapes& shapes);
  runtime::Shapes shapes(const SymbolValues* symbols) const { return {inputs, outputs, symbols}; }
  Mma90Weights weights() const;
  static ops::MatMul productOf(const ops::Deconvolution& op);
  static ops::MatMul productOf(const ops::Convolution& op);

 private:
  void setCells(const ops::Windows& windows, int64_t channels);  // of a convolution
  void setWindows(const ops::Windows& windows);                  // of a deconvolution
  void setProduct(const runtime::Shapes& shapes, int64_t channels, bool hasBias);
};

template <typename Op>
class Mma90CellInstance final : public runtime::KernelInstance {
 public:
  Mma90CellInstance(const Op& op, const Mma90Record& record, CUfunction function)
      : op_(op), record_(record), launcher_(record, function) {}
  size_t configure(const runtime::Shapes& shapes) override {
    const Mma90CellProduct product(op_, shapes);
    if (!product.refusal.empty()) throw Unsupported("a product of cells by warpgroups: {}", product.refusal);
    checkUser(record_.weights.subpixels && product.cells.text() == record_.weights.subpixels->text(),
              "a product of cells by warpgroups: made for other strides or another kernel than {}",
              product.cells.text());
    launcher_.configure(product.shapes(shapes.symbols), product.image);
    launcher_.spread(product.subpixels);
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override { launcher_.launch(arguments); }

 private:
  const Op& op_;
  const Mma90Record& record_;
  Mma90Launcher launcher_;
};

template <typename Op>
class Mma90CellKernel final : public Mma90Kernel {
 public:
  Mma90CellKernel(Op op, const runtime::KernelLoad& load)
      : Mma90Kernel({Mma90CellProduct::productOf(op), load.record}, load), op_(std::move(op)) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<Mma90CellInstance<Op>>(op_, record_, function_);
  }

 private:
  Op op_;
};

template <typename Op>
KernelRow mma90CellRow(std::string_view name) {
  return {name, 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<Mma90CellKernel<Op>>(descriptionOf<Op>(load), load);
          },
          [](const plan::KernelRecord& record) {
            return Mma90Record(Mma90CellProduct::productOf(descriptionOf<Op>(record)), record).code();
          }};
}

}  // namespace tenon::backends::cuda
