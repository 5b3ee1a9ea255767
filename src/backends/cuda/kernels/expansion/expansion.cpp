// Which composites are pointwise and depthwise convolutions, their tiles, and their code.
#include "backends/cuda/kernels/expansion/expansion.h"

#include <algorithm>

#include "backends/cuda/driver/chip.h"
#include "core/text.h"
#include "ops/contraction.h"
#include "ops/op/composite.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kMostInputs = 256;        // channels, whose pixels have room in shared memory
constexpr int64_t kMostTaps = 25;           // which a thread keeps in registers, for two channels
constexpr int64_t kMostSlice = 96;          // channels of a block
constexpr int64_t kMostShared = 100 << 10;  // bytes, so that two blocks share a multiprocessor
constexpr size_t kMostShapes = 4;

bool isUnpadded(const ops::Convolution& op) {
  for (const auto* padding : {&op.prePadding, &op.postPadding}) {
    for (const auto& extent : *padding) {
      if (!extent.isConstant(0)) return false;
    }
  }
  return true;
}

bool areAll(const std::vector<int64_t>& values, int64_t value) {
  return std::all_of(values.begin(), values.end(), [&](int64_t v) { return v == value; });
}

int64_t up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

}  // namespace

ExpansionOp::ExpansionOp(const ops::Operator& op) {
  refusal = "it computes composites of a pointwise and a depthwise convolution";
  const auto* composite = op.as<ops::Composite>();
  if (composite == nullptr || composite->parts.size() != 2 || composite->outputs != std::vector<int32_t>{1}) return;
  const auto* first = composite->parts[0].op.as<ops::Convolution>();
  const auto* second = composite->parts[1].op.as<ops::Convolution>();
  if (first == nullptr || second == nullptr) return;
  expand = *first;
  window = *second;
  int32_t next = 1;
  const auto reads = [&](const ops::CompositePart& part, int32_t from, bool hasBias) {
    std::vector<int32_t> expected{from};
    for (int i = 0; i < (hasBias ? 2 : 1); ++i) expected.push_back(next++);
    return part.inputs == expected;
  };
  if (!reads(composite->parts[0], 0, expand.hasBias) || !reads(composite->parts[1], -1, window.hasBias)) return;
  if (expand.groups != 1 || !areAll(expand.strides, 1) || !isUnpadded(expand)) return;
  const auto& strides = window.strides;
  // Of stride one it is right on an emulated GPU and was never measured on one.
  const bool areAlike = areAll(strides, 2) && stride() == 2;
  const bool isPlain = areAlike && areAll(window.dilations, 1) &&
                       std::all_of(window.prePadding.begin(), window.prePadding.end(),
                                   [](const Extent& extent) { return extent.isConstant(); });
  refusal = isPlain ? "" : "depthwise convolutions of other strides, dilations or padding";
}

std::string ExpansionOp::shapesRefusal(const runtime::Shapes& shapes) const {
  const auto& x = shapes.inputs[0];
  const auto& y = shapes.outputs[0];
  const auto& w = shapes.inputs[1].dims;
  const auto& v = shapes.inputs[secondWeights()].dims;
  if (x.dtype != DataType::kF16 && x.dtype != DataType::kBF16) return fmt::format("an image of {}", name(x.dtype));
  for (const auto& input : shapes.inputs) {
    if (input.dtype != x.dtype) return fmt::format("operands of {} and {}", name(x.dtype), name(input.dtype));
  }
  if (y.dtype != x.dtype || x.dims.rank != 4 || y.dims.rank != 4 || w.rank != 4 || v.rank != 4)
    return fmt::format("an image {} and a result {} of {}", x.dims.text(), y.dims.text(), name(y.dtype));
  const int64_t channels = w[0];
  if (w[1] != x.dims[1] || w[2] != 1 || w[3] != 1 || v[0] != channels || v[1] != 1 || window.groups != channels)
    return fmt::format("weights {} and {}", w.text(), v.text());
  if (w[1] % 8 != 0 || channels % 8 != 0 || w[1] < 8 || channels < 8 || w[1] > kMostInputs)
    return fmt::format("{} and {} channels; only multiples of 8 are supported, at most {} of the image", w[1], channels,
                       kMostInputs);
  if (v[2] * v[3] > kMostTaps || v[2] * v[3] < 1) return fmt::format("windows {}", v.text());
  if (x.dims[0] > 65535) return fmt::format("{} images exceed the grid", x.dims[0]);
  if (x.dims.count(2, 4) >= int64_t{1} << 28 || y.dims.count(2, 4) >= int64_t{1} << 28)
    return fmt::format("images of {}", x.dims.text());
  return {};
}

ExpansionShape ExpansionShape::parse(std::string_view text) {
  TextReader in(text, "the shape of a pointwise and a depthwise convolution");
  ExpansionShape shape;
  const auto read = [&](const char* before) {
    in.expect(before);
    return in.integer();
  };
  shape.channels = read("[");
  shape.inputs = read(",");
  shape.height = read(",");
  shape.width = read(",");
  shape.rows = static_cast<int>(read("]"));
  shape.columns = static_cast<int>(read("x"));
  shape.slice = static_cast<int>(read("x"));
  const bool known = shape.inputs >= 8 && shape.inputs <= kMostInputs && shape.inputs % 8 == 0 && shape.slice >= 8 &&
                     shape.slice <= kMostSlice && shape.slice % 8 == 0 && shape.channels % shape.slice == 0 &&
                     shape.height >= 1 && shape.width >= 1 && shape.height * shape.width <= kMostTaps &&
                     shape.rows >= 1 && shape.columns >= 1 && shape.rows <= 64 && shape.columns <= 64;
  if (!in.atEnd() || !known) in.fail("no kernel has these tiles");
  return shape;
}

int64_t ExpansionShape::sharedBytes(int64_t stride) const {
  const int64_t pixels = up(((rows - 1) * stride + height) * ((columns - 1) * stride + width), 16);
  const int64_t pitch = up(inputs, 16) + 8;
  return 2 * (pixels * pitch + slice * pitch + pixels * (slice + 8)) + 4 * (height * width + 2) * slice;
}

std::vector<ExpansionShape> expansionShapes(const ExpansionOp& op, const Dims& y, const Dims& w, const Dims& v) {
  const int64_t stride = op.stride();
  ExpansionShape shape{w[0], w[1], v[2], v[3]};
  std::vector<std::pair<double, ExpansionShape>> rated;
  for (const auto& [rows, columns] : {std::pair{14, 14}, {7, 14}, {7, 7}, {4, 14}, {8, 16}, {8, 8}, {4, 7}}) {
    for (int64_t slice = 16; slice <= kMostSlice; slice += 8) {
      if (shape.channels % slice != 0) continue;
      shape.rows = rows;
      shape.columns = columns;
      shape.slice = static_cast<int>(slice);
      const int64_t shared = shape.sharedBytes(stride);
      if (shared > std::min<int64_t>(kMostShared, sharedBytesOfMultiprocessor() - 1024)) continue;
      const int64_t tiles = (y[2] + rows - 1) / rows * ((y[3] + columns - 1) / columns);
      const double blocks = static_cast<double>(y[0] * tiles * (shape.channels / slice));
      const int64_t pixels = up(((rows - 1) * stride + v[2]) * ((columns - 1) * stride + v[3]), 16);
      // Instructions of a block, roughly: pixels are fetched and expanded, results summed.
      const double work = static_cast<double>(pixels * (up(w[1], 16) / 8 + slice * (up(w[1], 16) / 64.0 + 1)) +
                                              1.0 * rows * columns * slice * (1.5 * v[2] * v[3] + 4)) +
                          4000;
      const auto resident = std::min<int64_t>(4, sharedBytesOfMultiprocessor() / (shared + 1024));
      const double slots = multiprocessors() * static_cast<double>(std::max<int64_t>(resident, 1));
      // Blocks side by side share a multiprocessor's time, but hide each other's waiting.
      const double waves = blocks <= slots ? 1 + blocks / slots : 2 * blocks / slots;
      rated.emplace_back(waves * work * static_cast<double>(std::max<int64_t>(resident, 1)), shape);
    }
  }
  std::stable_sort(rated.begin(), rated.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<ExpansionShape> shapes;
  for (size_t i = 0; i < rated.size() && i < kMostShapes; ++i) shapes.push_back(rated[i].second);
  return shapes;
}

Code expansionCode(const ExpansionOp& op, const ExpansionShape& shape, DataType type) {
  std::string text =
      fmt::format("#include \"prelude.cuh\"\ntypedef {} X;\n#include \"expansion.cuh\"\n\n", cudaName(type));
  text += "struct Finish {\n";
  const DataType ofSum[] = {ops::accumulatorType(type)};
  const auto add = [&](const char* name, const ops::ScalarExpr& expr) {
    std::string result;
    const auto statements = scalarStatements(expr, ofSum, result);
    text += fmt::format("  __device__ __forceinline__ static float {}(float x0) {{\n{}  return as<float>({});\n  }}\n",
                        name, statements, result);
  };
  add("expand", op.expand.epilogue);
  add("window", op.window.epilogue);
  text += "};\n\n";
  text += fmt::format("typedef Expansion<{}, {}, {}, {}, {}, {}, {}, {}, Finish> Both;\n", shape.inputs, shape.height,
                      shape.width, op.stride(), shape.rows, shape.columns, shape.slice, kExpansionThreads);
  text += fmt::format("static_assert(Both::kSharedBytes == {}, \"what a launch gives\");\n",
                      shape.sharedBytes(op.stride()));
  text += fmt::format(
      "KERNEL_WITHOUT_WAIT(__launch_bounds__({}), tenon_expansion, ExpansionParameters) {{\n"
      "  DYNAMIC_SHARED(memory, Both::kSharedBytes);\n  Both(p, memory).run();\n}}\n",
      kExpansionThreads);
  return {"", {}, text};
}

}  // namespace tenon::backends::cuda
