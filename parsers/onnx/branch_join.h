// Branches of an If whose results have different extents, or extents that only execution knows: a conditional of the
// network cannot give them, so both branches are computed and what the condition names is kept.
#pragma once

#include "../common/network_writer.h"
#include "model.h"
#include "onnx_node.h"

namespace tenon::parsers::onnx {

// Whether results of the graph may have another shape than those of its sibling: an operator in it, at any depth,
// counts its results, or the shapes that the two graphs declare differ.
bool needsJoin(const pb::GraphProto& thenBranch, const pb::GraphProto& elseBranch);

// What exporters make of a squeeze of an axis whose extent they do not know: a result of one rank or another.
bool isOptionalSqueeze(const OnnxNode& node);
bool hasOptionalSqueeze(const pb::ModelProto& model);

// Which of these squeeze, in the order in which they are imported. Such an If is taken as one that does not, until the
// import fails: what stands behind it shows which rank is meant.
class SqueezeChoices {
 public:
  bool next();     // whether the next one squeezes
  bool advance();  // after an import that failed: another choice for the next one; false when all were tried
  void rewind() { at_ = 0; }

 private:
  std::vector<bool> squeezes_;
  size_t at_ = 0;
};

// `a` where the condition holds, else `b`: of the same type and rank. The condition has to be computed from shapes.
ParsedValue joinBranches(NetworkWriter& writer, const ParsedValue& condition, const ParsedValue& a,
                         const ParsedValue& b);

}  // namespace tenon::parsers::onnx
