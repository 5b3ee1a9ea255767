// Pointwise nodes of one operand that change the format, too.
#include "backends/cuda/kernels/pointwise/turned_pointwise.h"

#include "backends/cuda/kernels/common/own_kernel.h"
#include "ops/op/pointwise.h"

namespace tenon::backends::cuda {

Code turnedPointwiseCode(const ops::ScalarExpr& expr, DataType input, DataType output) {
  std::string result;
  const auto body = scalarStatements(expr, std::span(&input, 1), result);
  return {
      "",
      {},
      fmt::format("#include \"backends/cuda/kernels/pointwise/pointwise_parameters.h\"\n"
                  "#include \"scalar.cuh\"\n"
                  "typedef {} X;\ntypedef {} Y;\n"
                  "__device__ inline void compute(Scalar<X>::Value x0, Y& y) {{\n{}  y = Scalar<Y>::store({});\n}}\n"
                  "#include \"turned_pointwise.cuh\"\n",
                  cudaName(input), cudaName(output), body, result)};
}

namespace {

class TurnedPointwiseInstance final : public runtime::KernelInstance {
 public:
  static Code code(const ops::Pointwise& op, const Types& types) {
    return turnedPointwiseCode(op.expr, types.inputs.at(0), types.outputs.at(0));
  }
  TurnedPointwiseInstance(const ops::Pointwise&, const Types&, const Module& module)
      : function_(module.function("tenon_turned_pointwise")) {}

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& x = shapes.inputs[0];
    const auto& y = shapes.outputs[0];
    const int64_t count = y.dims.count();
    blocks_ = 0;
    if (count == 0) return 0;
    const int64_t images = y.dims[0];
    const int64_t channels = y.dims[1];
    const int64_t pixels = count / (images * channels);
    const bool toLast = y.layout == Layout::kChannelsLast;
    auto& p = parameters_;
    p.a = toLast ? channels : pixels;
    p.b = toLast ? pixels : channels;
    const auto tilesOf = [](int64_t extent) { return (extent + kTurnedTile - 1) / kTurnedTile; };
    p.tilesA = dividerBy(tilesOf(p.a));
    p.tilesB = dividerBy(tilesOf(p.b));
    blocks_ = images * tilesOf(p.a) * tilesOf(p.b);
    checkUser(blocks_ < int64_t{1} << 31, "turned pointwise: {} tiles of {}; below 2^31 are supported", blocks_,
              y.dims.text());
    xPack_ = p.b % kTurnedPack == 0 ? static_cast<size_t>(kTurnedPack * bits(x.dtype) / 8) : 0;
    yPack_ = p.a % kTurnedPack == 0 ? static_cast<size_t>(kTurnedPack * bits(y.dtype) / 8) : 0;
    return 0;
  }
  void launch(const runtime::LaunchArguments& arguments) override {
    if (blocks_ == 0) return;
    constexpr unsigned kThreads = 256;
    auto& p = parameters_;
    p.x = arguments.inputs[0];
    p.y = arguments.outputs[0];
    p.xInPacks = xPack_ != 0 && isAligned(p.x, xPack_) ? 1 : 0;
    p.yInPacks = yPack_ != 0 && isAligned(p.y, yPack_) ? 1 : 0;
    launchGrid(function_, static_cast<unsigned>(blocks_), 1, 1, kThreads, &p, arguments.stream);
  }

 private:
  CUfunction function_;
  TurnedParameters parameters_;
  int64_t blocks_ = 0;
  size_t xPack_ = 0, yPack_ = 0;  // bytes of packs; 0: rows are no whole packs
};

}  // namespace

KernelRow kernelRow_turned_pointwise() { return ownRow<ops::Pointwise, TurnedPointwiseInstance>("turned_pointwise"); }

}  // namespace tenon::backends::cuda
