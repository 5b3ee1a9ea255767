// One row for each operator that TensorRT's inspector has names for; others show their own fields.
#include "plan/layer_parameters.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "core/error.h"
#include "ops/op/composite.h"
#include "ops/op/concat.h"
#include "ops/op/convolution.h"
#include "ops/op/deconvolution.h"
#include "ops/op/dequantize.h"
#include "ops/op/gather.h"
#include "ops/op/matmul.h"
#include "ops/op/multi_pointwise.h"
#include "ops/op/normalization.h"
#include "ops/op/plugin.h"
#include "ops/op/pointwise.h"
#include "ops/op/pooling.h"
#include "ops/op/quantize.h"
#include "ops/op/reduce.h"
#include "ops/op/reformat.h"
#include "ops/op/resize.h"
#include "ops/op/scatter.h"
#include "ops/op/slice.h"
#include "ops/op/softmax.h"
#include "ops/op/topk.h"
#include "ops/op/transpose.h"
#include "plan/parameter_writer.h"

namespace tenon::plan {
namespace {

Shape orZeros(const Shape& shape, size_t count) { return shape.empty() ? Shape(count, Extent(0)) : shape; }
std::vector<int64_t> orOnes(const std::vector<int64_t>& values, size_t count) {
  return values.empty() ? std::vector<int64_t>(count, 1) : values;
}

// Of convolutions and deconvolutions, whose weights are [K, C / groups, ...] and [C, K / groups, ...].
template <typename Op>
void contraction(const Op& op, ParameterWriter& out, bool transposed) {
  const TensorRecord* weights = out.input(1);
  if (weights == nullptr || weights->shape.size() < 3) return;
  const Shape kernel(weights->shape.begin() + 2, weights->shape.end());
  const size_t axes = kernel.size();
  out.extents("Kernel", kernel);
  out.text("PaddingMode", "kEXPLICIT_ROUND_DOWN");
  out.extents("PrePadding", orZeros(op.prePadding, axes));
  out.extents("PostPadding", orZeros(op.postPadding, axes));
  out.json("Stride", jsonList(orOnes(op.strides, axes)));
  out.json("Dilation", jsonList(orOnes(op.dilations, axes)));
  out.number("OutMaps",
             knownExtent(transposed ? weights->shape[1] * Extent(op.groups) : weights->shape[0], out.symbols()));
  out.number("Groups", op.groups);
  if (out.isConstantInput(1)) out.constant("Weights", *weights);
  if (op.hasBias && out.isConstantInput(2)) out.constant("Bias", *out.input(2));
  bool adds = false;
  out.flag("HasBias", op.hasBias);
  out.flag("HasReLU", activationOf(op.epilogue, adds) == "RELU");
  out.flag("HasSparseWeights", false);  // no kernel here skips zeros
  out.flag("HasDynamicFilter", !out.isConstantInput(1));
  out.flag("HasDynamicBias", op.hasBias && !out.isConstantInput(2));
  out.epilogue(op.epilogue, op.hasBias ? 3 : 2);
}

void fieldsOf(const ops::Convolution& op, ParameterWriter& out) { contraction(op, out, false); }
void fieldsOf(const ops::Deconvolution& op, ParameterWriter& out) { contraction(op, out, true); }

void fieldsOf(const ops::MatMul& op, ParameterWriter& out) {
  out.text("MatrixOpA", op.transposeA ? "TRANSPOSE" : "NONE");
  out.text("MatrixOpB", op.transposeB ? "TRANSPOSE" : "NONE");
  if (out.isConstantInput(1)) out.constant("Weights", *out.input(1));
  bool adds = false;
  const auto kind = activationOf(op.epilogue, adds);
  out.flag("HasBias", adds && out.isConstantInput(2));
  out.flag("HasReLU", kind == "RELU");
  out.epilogue(op.epilogue, 2);
}

void fieldsOf(const ops::Pooling& op, ParameterWriter& out) {
  const size_t axes = op.window.size();
  out.text("PoolingType", upperName(op.type));
  out.json("WindowSize", jsonList(op.window));
  out.text("PaddingMode", op.ceilMode ? "kEXPLICIT_ROUND_UP" : "kEXPLICIT_ROUND_DOWN");
  out.extents("PrePadding", orZeros(op.prePadding, axes));
  out.extents("PostPadding", orZeros(op.postPadding, axes));
  out.json("Stride", jsonList(orOnes(op.strides, axes)));
  if (op.isDilated()) out.json("Dilation", jsonList(op.dilations));  // which TensorRT's layer does not have
  out.number("BlendFactor", op.blend);
  out.flag("AverageCountExcludesPadding", op.exclusive);
}

void fieldsOf(const ops::Slice& op, ParameterWriter& out) {
  out.extents("Start", op.start);
  out.extents("Size", op.size);
  out.extents("Stride", op.stride.empty() ? Shape(op.start.size(), Extent(1)) : op.stride);
  out.text("Mode", op.mode == ops::SliceMode::kStrict ? "STRICT_BOUNDS" : upperName(op.mode));
  out.flag("negativeInfinityPadding", false);
}

void fieldsOf(const ops::Transpose& op, ParameterWriter& out) {
  std::vector<int64_t> identity(op.permutation.size());
  std::iota(identity.begin(), identity.end(), 0);
  out.json("FirstTranspose", jsonList(op.permutation));
  out.text("Reshape", "nbDims=-1");
  out.json("SecondTranspose", jsonList(identity));
  out.flag("ZeroIsPlaceholder", true);
}

void fieldsOf(const ops::Resize& op, ParameterWriter& out) {
  out.text("ResizeMode", "k" + upperName(op.mode));
  if (op.scaleBits.empty()) out.json("ResizeScales", jsonList(op.scales));
  else out.extents("ResizeScaleBits", op.scaleBits);
  out.extents("Size", op.shape);
  out.text("NNRounding", "k" + upperName(op.rounding));
  out.text("CoordTransform", "k" + upperName(op.coordinates));
  out.text("ResizeSelector", "k" + upperName(op.selector));
  out.flag("ExcludeOutside", op.excludeOutside);
  if (op.mode == ops::ResizeMode::kCubic) out.number("CubicCoeff", op.cubicCoeff);
}

void fieldsOf(const ops::Softmax& op, ParameterWriter& out) {
  out.axes({op.axis});
  out.flag("HasLog", false);
}

void fieldsOf(const ops::Reduce& op, ParameterWriter& out) {
  out.text("Operation", upperName(op.op));
  out.axes(op.axes);
  out.flag("KeepDimensions", op.keepDims);
}

void fieldsOf(const ops::TopK& op, ParameterWriter& out) {
  out.text("TopKOperation", op.largest ? "MAX" : "MIN");
  out.number("K", knownExtent(op.k, out.symbols()));
  out.axes({op.axis});
}

void fieldsOf(const ops::Normalization& op, ParameterWriter& out) {
  out.axes(op.axes);
  out.number("Epsilon", op.epsilon);
  out.number("NbGroups", op.groups);
  out.flag("IsCentered", op.centered);
  out.flag("HasResidual", op.skip);
}

void fieldsOf(const ops::Gather& op, ParameterWriter& out) {
  out.text("Mode", upperName(op.mode));
  out.number("Axis", op.axis);
  out.number("NbElementWiseDims", op.batchDims);
}

void fieldsOf(const ops::Scatter& op, ParameterWriter& out) {
  out.text("Mode", upperName(op.mode));
  out.number("Axis", op.axis);
}

void fieldsOf(const ops::Concat& op, ParameterWriter& out) { out.number("Axis", op.axis); }
void fieldsOf(const ops::Pointwise& op, ParameterWriter& out) { out.expression(op.expr, {}, ""); }
void fieldsOf(const ops::MultiPointwise& op, ParameterWriter& out) { out.expression(op.expr, op.results, ""); }
void fieldsOf(const ops::Quantize&, ParameterWriter& out) { out.text("Origin", "QDQ"); }
void fieldsOf(const ops::Dequantize&, ParameterWriter& out) { out.text("Origin", "QDQ"); }
void fieldsOf(const ops::Reformat&, ParameterWriter& out) { out.text("Origin", "REFORMAT"); }

void fieldsOf(const ops::Plugin& op, ParameterWriter& out) {
  out.text("PluginType", op.type);
  out.text("PluginVersion", op.version);
  out.text("PluginNamespace", op.space);
  out.text("Interface", op.interfaceName);
}

void fieldsOf(const ops::Composite& op, ParameterWriter& out) {
  std::vector<std::string> parts;
  for (const auto& part : op.parts) parts.push_back(fmt::format("\"{}\"", camelCase(part.op.name())));
  out.json("Parts", jsonList(parts));
}

struct Row {
  std::string_view op;
  std::string_view layerType;
  std::string_view parameterType;
  void (*fields)(const ops::Operator& op, ParameterWriter& out);
};

template <typename T>
Row row(std::string_view layerType, std::string_view parameterType) {
  return {T::kName, layerType, parameterType,
          [](const ops::Operator& op, ParameterWriter& out) { fieldsOf(*op.as<T>(), out); }};
}
template <typename T>
Row row(std::string_view type) {
  return row<T>(type, type);
}

const Row* findRow(std::string_view op) {
  static const Row kRows[] = {
      row<ops::Convolution>("Convolution"),
      row<ops::Deconvolution>("Deconvolution"),
      row<ops::MatMul>("MatrixMultiply"),
      row<ops::Pooling>("Pooling"),
      row<ops::Slice>("Slice"),
      row<ops::Transpose>("Shuffle"),
      row<ops::Resize>("Resize"),
      row<ops::Softmax>("SoftMax"),
      row<ops::Reduce>("Reduce"),
      row<ops::TopK>("TopK"),
      row<ops::Normalization>("Normalization"),
      row<ops::Gather>("Gather"),
      row<ops::Scatter>("Scatter"),
      row<ops::Concat>("Concatenation"),
      row<ops::Pointwise>("PointWiseV2", "PointWise"),
      row<ops::MultiPointwise>("PointWiseV2", "PointWise"),
      row<ops::Quantize>("Reformat"),
      row<ops::Dequantize>("Reformat"),
      row<ops::Reformat>("Reformat"),
      row<ops::Plugin>("PluginV3"),
      row<ops::Composite>("Composite"),
  };
  const auto found = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& row) { return row.op == op; });
  return found == std::end(kRows) ? nullptr : found;
}

// A step whose result is where its input was.
bool isNoOp(const Program& program, const Step& step) {
  const auto isTensor = [&](int32_t i) {
    return i >= 0 && program.tensors[static_cast<size_t>(i)].storage != Storage::kConstant;
  };
  return step.kind == StepKind::kView && std::count_if(step.inputs.begin(), step.inputs.end(), isTensor) == 1;
}

}  // namespace

int64_t knownExtent(const Extent& extent, const SymbolValues* symbols) {
  if (extent.isConstant()) return extent.constant();
  std::set<std::string> names;
  extent.collectSymbols(names);
  const bool bound = symbols != nullptr &&
                     std::all_of(names.begin(), names.end(), [&](const auto& name) { return symbols->contains(name); });
  return bound ? extent.evaluate(*symbols) : -1;
}

std::string knownExtents(const Shape& shape, const SymbolValues* symbols) {
  std::vector<int64_t> numbers;
  for (const auto& extent : shape) numbers.push_back(knownExtent(extent, symbols));
  return jsonList(numbers);
}

std::string_view inspectorName(DataType type) noexcept {
  // In the order of DataType.
  static constexpr std::string_view kNames[] = {"Float", "Half",  "BFloat16", "FP8",   "FP4",  "E8M0",
                                                "Int64", "Int32", "Int8",     "UInt8", "Int4", "Bool"};
  static_assert(std::size(kNames) == static_cast<size_t>(DataType::kBool) + 1);
  return kNames[static_cast<size_t>(type)];
}

LayerParameters layerParameters(const Program& program, const Step& step, const SymbolValues* symbols) {
  if (isNoOp(program, step)) return {"NoOp", "", {}};
  if (step.kind == StepKind::kCopy) return {"Reformat", "Reformat", {{"Origin", "REFORMAT", true}}};
  ParameterWriter out(program, step, symbols);
  const Row* row = findRow(step.layerType);
  const auto type = row != nullptr ? std::string(row->layerType) : camelCase(step.layerType);
  const auto parameterType = row != nullptr ? std::string(row->parameterType) : type;
  const auto& text = step.kernel.op;
  if (text.empty()) return {type, parameterType, {}};  // a concatenation in place
  const auto op = ops::Operator::parse(text);
  if (row != nullptr && op.name() == row->op) {
    row->fields(op, out);
    const auto* plugin = op.as<ops::Plugin>();
    if (plugin != nullptr && !plugin->interfaceName.starts_with("IPluginV3"))
      return {"PluginV2", "PluginV2", std::move(out.fields)};
  } else if (const auto brace = text.find('{'); brace != std::string::npos) {
    out.ownFields(std::string_view(text).substr(brace + 1, text.rfind('}') - brace - 1));
  }
  return {type, parameterType, std::move(out.fields)};
}

}  // namespace tenon::plan
