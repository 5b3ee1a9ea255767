// Operators of the domain ai.onnx.ml that are arithmetic on tensors.
#include "operator_table.h"

namespace tenon::parsers::onnx {
namespace {

// 1 above the threshold, else 0.
ParsedValues importBinarizer(OnnxNode& node) {
  const Term x = node.term(0);
  return {(x > static_cast<double>(node.real("threshold", 0.0f))).cast(x.type())};
}

// Elements of the last axis. A list counts as one row.
ParsedValues importFeatureExtractor(OnnxNode& node) {
  const Term x = node.term(0);
  const Term places = node.term(1);
  if (x.rank() < 1) {
    fail(FaultKind::kUnsupportedShape, "the data has no dimensions; expected at least one");
  }
  const Term flat = places.reshape({ParsedExtent::of(-1)});
  const Term rows = x.rank() == 1 ? x.unsqueeze({0}) : x;
  return {rows.gather(flat, rows.rank() - 1)};
}

constexpr const char* kDomain = "ai.onnx.ml";

const OperatorImporter kRows[] = {
    {"Binarizer", 1, kNewestOpset, importBinarizer, "addElementWise kGREATER, addCast", kDomain},
    {"ArrayFeatureExtractor", 1, kNewestOpset, importFeatureExtractor, "addGather", kDomain},
};

}  // namespace

namespace ops_classic {
OperatorRows importers() { return rowsOf(kRows); }
}  // namespace ops_classic
}  // namespace tenon::parsers::onnx
