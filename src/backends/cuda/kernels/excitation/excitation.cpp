// Which composites are squeeze-and-excitations, and their code.
#include "backends/cuda/kernels/excitation/excitation.h"

#include <algorithm>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/driver/cuda_device.h"
#include "core/text.h"
#include "ops/contraction.h"
#include "ops/op/composite.h"
#include "ops/op/pointwise.h"
#include "ops/op/reduce.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kMostChannels = 8192;  // their sums and gates have room in shared memory
constexpr int64_t kMostSqueezed = 2048;

bool isMeanOfPixels(const ops::Operator& op) {
  const auto* reduce = op.as<ops::Reduce>();
  if (reduce == nullptr || reduce->op != ops::ReduceOp::kAvg || !reduce->keepDims) return false;
  return reduce->axes == std::vector<int64_t>{2, 3} || reduce->axes == std::vector<int64_t>{-2, -1};
}

bool isUnpadded(const ops::Convolution& op) {
  for (const auto* padding : {&op.prePadding, &op.postPadding}) {
    for (const auto& extent : *padding) {
      if (!extent.isConstant(0)) return false;
    }
  }
  return op.groups == 1;
}

bool areSingle(const Dims& w) { return w.rank == 4 && w[2] == 1 && w[3] == 1; }

}  // namespace

ExcitationOp::ExcitationOp(const ops::Operator& op) {
  refusal = "it computes composites of means, two convolutions of them and what scales the image";
  const auto* composite = op.as<ops::Composite>();
  if (composite == nullptr || composite->parts.size() != 4 || composite->outputs != std::vector<int32_t>{3}) return;
  const auto& parts = composite->parts;
  const auto* first = parts[1].op.as<ops::Convolution>();
  const auto* second = parts[2].op.as<ops::Convolution>();
  const auto* behind = parts[3].op.as<ops::Pointwise>();
  if (!isMeanOfPixels(parts[0].op) || first == nullptr || second == nullptr || behind == nullptr) return;
  squeeze = *first;
  excite = *second;
  scale = behind->expr;
  int32_t next = 1;
  const auto reads = [&](const ops::CompositePart& part, int32_t from, bool hasBias) {
    std::vector<int32_t> expected{from};
    for (int i = 0; i < (hasBias ? 2 : 1); ++i) expected.push_back(next++);
    return part.inputs == expected;
  };
  const bool inOrder = parts[0].inputs == std::vector<int32_t>{0} && reads(parts[1], -1, squeeze.hasBias) &&
                       reads(parts[2], -2, excite.hasBias);
  gateFirst = parts[3].inputs == std::vector<int32_t>{-3, 0};
  if (!inOrder || (!gateFirst && parts[3].inputs != std::vector<int32_t>{0, -3})) return;
  refusal = isUnpadded(squeeze) && isUnpadded(excite) ? "" : "convolutions with padding or groups";
}

std::string ExcitationOp::shapesRefusal(const runtime::Shapes& shapes) const {
  const auto& x = shapes.inputs[0];
  const auto& first = shapes.inputs[1].dims;
  const auto& second = shapes.inputs[secondWeights()].dims;
  if (x.dtype != DataType::kF16 && x.dtype != DataType::kBF16 && x.dtype != DataType::kF32)
    return fmt::format("an image of {}", name(x.dtype));
  for (const auto& input : shapes.inputs) {
    if (input.dtype != x.dtype) return fmt::format("operands of {} and {}", name(x.dtype), name(input.dtype));
  }
  if (x.dims.rank != 4 || shapes.outputs[0].dims != x.dims || shapes.outputs[0].dtype != x.dtype)
    return fmt::format("an image {} and a result {}", x.dims.text(), shapes.outputs[0].dims.text());
  if (!areSingle(first) || !areSingle(second)) return "windows of more than a pixel";
  const int64_t channels = x.dims[1];
  if (first[1] != channels || second[0] != channels || second[1] != first[0])
    return fmt::format("weights {} and {} for {} channels", first.text(), second.text(), channels);
  if (channels < 1 || channels > kMostChannels || first[0] < 1 || first[0] > kMostSqueezed)
    return fmt::format("{} channels squeezed to {}; at most {} and {} are supported", channels, first[0], kMostChannels,
                       kMostSqueezed);
  if (x.dims[0] > 65535) return fmt::format("{} images exceed the grid", x.dims[0]);
  if (x.dims[2] * x.dims[3] >= int64_t{1} << 30) return fmt::format("images of {}", x.dims.text());
  return {};
}

ExcitationShape ExcitationShape::parse(std::string_view text) {
  TextReader in(text, "the shape of a squeeze-and-excitation");
  ExcitationShape shape;
  shape.blocks = static_cast<int>(in.integer());
  in.expect("x");
  shape.threads = static_cast<int>(in.integer());
  shape.slices = in.accept("s");
  const bool known = shape.blocks >= 1 && shape.blocks <= kExcitationMostBlocks && shape.threads >= 32 &&
                     shape.threads <= kExcitationMostThreads && shape.threads % 32 == 0;
  if (!in.atEnd() || !known) in.fail("no launch of the kernel has these blocks and threads");
  return shape;
}

std::vector<ExcitationShape> excitationShapes(const Dims& x) {
  constexpr int64_t kSlice = 16;  // channels at least, as many as memory gives at once
  const int64_t images = x[0], pixels = x[2] * x[3];
  const bool hasClusters = computeCapability() >= 90;
  const bool isFew = images * kExcitationMostBlocks <= multiprocessors();
  const bool isMany = images * 2 >= multiprocessors();
  std::vector<ExcitationShape> shapes;
  const auto add = [&](int blocks, int threads, bool slices = false) {
    const int64_t parts = slices ? x[1] / kSlice : pixels;
    if (blocks == 1 || (hasClusters && blocks <= parts)) shapes.push_back({blocks, threads, slices});
  };
  // On an H200 the fastest was among these: the fewer images, the more blocks for each.
  if (!isMany) {
    add(8, 512, true);
    add(8, 256, true);
    add(4, 512, true);
    add(8, 512);
    add(8, 256);
    add(4, 256);
  }
  if (!isFew) add(2, 256);
  if (isMany || shapes.empty()) {
    add(1, 512);
    add(1, 256);
  }
  return shapes;
}

Code excitationCode(const ExcitationOp& op, bool slices, DataType type) {
  const auto* x = cudaName(type);
  const auto sum = ops::accumulatorType(type);
  const int pack = 16 / (bits(type) / 8);
  std::string text = fmt::format("#include \"prelude.cuh\"\ntypedef {} X;\n#include \"excitation.cuh\"\n\n", x);
  text += "struct Finish {\n";
  const auto add = [&](const char* name, const char* parameters, const ops::ScalarExpr& expr,
                       std::span<const DataType> types) {
    std::string result;
    const auto statements = scalarStatements(expr, types, result);
    text += fmt::format("  __device__ __forceinline__ static float {}({}) {{\n{}  return as<float>({});\n  }}\n", name,
                        parameters, statements, result);
  };
  const DataType ofSum[] = {sum};
  const DataType ofImage[] = {type, type};
  add("squeeze", "float x0", op.squeeze.epilogue, ofSum);
  add("excite", "float x0", op.excite.epilogue, ofSum);
  add("scale", op.gateFirst ? "float x1, float x0" : "float x0, float x1", op.scale, ofImage);
  text += "};\n\n";
  text += fmt::format(
      "KERNEL_WITHOUT_WAIT(__launch_bounds__({0}, 1), tenon_excitation, ExcitationParameters) {{\n"
      "  CLUSTER_SHARED(memory, kExcitationMostShared);\n"
      "  if (p.channels % {1} == 0) Excitation<{1}, {2}, Finish>(p, memory).run();\n"
      "  else Excitation<1, {2}, Finish>(p, memory).run();\n}}\n",
      kExcitationMostThreads, pack, slices);
  return {"", {}, text};
}

}  // namespace tenon::backends::cuda
