// The elements that are kept, behind those of the other branch, of which none are.
#include "branch_join.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "node_import.h"

namespace tenon::parsers::onnx {
namespace {

using nvinfer1::ElementWiseOperation;

constexpr std::array<std::string_view, 4> kCounting{"NonZero", "NonMaxSuppression", "Compress", "Unique"};

// Nesting is bounded when the model is loaded (wire.h).
bool counts(const pb::GraphProto& graph) {
  return std::any_of(graph.node().begin(), graph.node().end(), [](const pb::NodeProto& node) {
    return std::find(kCounting.begin(), kCounting.end(), node.op_type()) != kCounting.end() ||
           std::any_of(node.attribute().begin(), node.attribute().end(),
                       [](const pb::AttributeProto& attribute) { return attribute.has_g() && counts(attribute.g()); });
  });
}

// Nothing is computed, so that nothing can be refused.
bool isGiven(const pb::GraphProto& graph) {
  return std::all_of(graph.node().begin(), graph.node().end(), [](const pb::NodeProto& node) {
    return node.op_type() == "Constant" || node.op_type() == "Identity" || node.op_type() == "Cast" ||
           node.op_type() == "ConstantOfShape";
  });
}

// Whether the graph has one node of this type, and constants.
bool isOneNode(const pb::GraphProto& graph, const char* type) {
  int nodes = 0;
  for (const pb::NodeProto& node : graph.node()) {
    if (node.op_type() == "Constant") {
      continue;
    }
    ++nodes;
    if (node.op_type() != type) {
      return false;
    }
  }
  return nodes == 1;
}

const pb::GraphProto* branchOf(const pb::NodeProto& node, const char* name) {
  for (const pb::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == name && attribute.has_g()) {
      return &attribute.g();
    }
  }
  return nullptr;
}

template <typename Nodes>
bool haveOptionalSqueeze(const Nodes& nodes) {
  return std::any_of(nodes.begin(), nodes.end(), [](const pb::NodeProto& node) {
    const pb::GraphProto* then = branchOf(node, "then_branch");
    const pb::GraphProto* otherwise = branchOf(node, "else_branch");
    if (then != nullptr && otherwise != nullptr && isOneNode(*then, "Squeeze") && isOneNode(*otherwise, "Identity")) {
      return true;
    }
    return std::any_of(node.attribute().begin(), node.attribute().end(), [](const pb::AttributeProto& attribute) {
      return attribute.has_g() && haveOptionalSqueeze(attribute.g().node());
    });
  });
}

}  // namespace

bool hasOptionalSqueeze(const pb::ModelProto& model) {
  return haveOptionalSqueeze(model.graph().node()) ||
         std::any_of(model.functions().begin(), model.functions().end(),
                     [](const pb::FunctionProto& function) { return haveOptionalSqueeze(function.node()); });
}

bool SqueezeChoices::next() {
  if (at_ == squeezes_.size()) {
    squeezes_.push_back(false);
  }
  return squeezes_[at_++];
}

bool SqueezeChoices::advance() {
  squeezes_.resize(at_);
  while (!squeezes_.empty() && squeezes_.back()) {
    squeezes_.pop_back();
  }
  rewind();
  if (squeezes_.empty()) {
    return false;
  }
  squeezes_.back() = true;
  return true;
}

bool needsJoin(const pb::GraphProto& thenBranch, const pb::GraphProto& elseBranch) {
  return (counts(thenBranch) && isGiven(elseBranch)) || (counts(elseBranch) && isGiven(thenBranch));
}

bool isOptionalSqueeze(const OnnxNode& node) {
  return isOneNode(node.graph("then_branch"), "Squeeze") && isOneNode(node.graph("else_branch"), "Identity");
}

ParsedValue joinBranches(NetworkWriter& writer, const ParsedValue& condition, const ParsedValue& a,
                         const ParsedValue& b) {
  const Dimensions shapes[] = {writer.shapeOf(a), writer.shapeOf(b)};
  if (shapes[0].size() != shapes[1].size()) {
    fail(FaultKind::kUnsupportedShape,
         fmt::format("the branches give shapes {} and {}; expected the same number of dimensions. Fold the model with "
                     "its input shapes fixed, so that one branch is left",
                     toString(shapes[0]), toString(shapes[1])));
  }
  if (writer.typeOf(a) != writer.typeOf(b)) {
    fail(FaultKind::kInvalidGraph, fmt::format("the branches give types {} and {}; expected one type",
                                               typeName(writer.typeOf(a)), typeName(writer.typeOf(b))));
  }
  const bool areKnown = std::none_of(shapes[0].begin(), shapes[0].end(), [](int64_t extent) { return extent < 0; });
  if (areKnown && shapes[0] == shapes[1]) {
    return writer.select(condition, a, b);
  }
  const ParsedValue holds = writer.cast(writer.reshape(condition, {ParsedExtent::of(1)}), DataType::kINT64);
  const ParsedExtent taken = writer.elements(holds).at(0);
  const ParsedExtent left = writer.combine(ParsedExtent::of(1), taken, ElementWiseOperation::kSUB);
  const auto part = [&](const ParsedExtent& extent, const ParsedExtent& factor) {
    return writer.combine(extent, factor, ElementWiseOperation::kPROD);
  };
  const ParsedExtents extents[] = {writer.dims(a), writer.dims(b)};
  ParsedExtents target;
  for (size_t i = 0; i < shapes[0].size(); ++i) {
    const bool isSame = shapes[0][i] >= 0 && shapes[0][i] == shapes[1][i];
    target.push_back(
        isSame ? extents[0][i]
               : writer.combine(part(extents[0][i], taken), part(extents[1][i], left), ElementWiseOperation::kSUM));
  }
  const auto kept = [&](const ParsedValue& value, const ParsedExtents& of, const ParsedExtent& factor) {
    const ParsedExtent count = writer.product(of, 0, of.size());
    return writer.slice(writer.reshape(value, {count}), {ParsedExtent::of(0)}, {part(count, factor)},
                        {ParsedExtent::of(1)});
  };
  return writer.reshape(writer.concat({kept(a, extents[0], taken), kept(b, extents[1], left)}, 0), target);
}

ParsedValues NodeImport::importJoined(const OnnxNode& node, Scope& scope) {
  const char* const names[] = {"then_branch", "else_branch"};
  ParsedValues results[2];
  for (int i = 0; i < 2; ++i) {
    Scope inner = subgraphScope(node, names[i], scope);
    const size_t errors = environment_.errors.size();
    results[i] = importSubgraph(node.graph(names[i]), inner);
    if (environment_.errors.size() != errors) {
      return {};
    }
    resume(node, scope);
  }
  if (results[0].size() != results[1].size()) {
    fail(FaultKind::kInvalidGraph,
         fmt::format("then_branch has {} results and else_branch {}; expected the same number", results[0].size(),
                     results[1].size()));
  }
  ParsedValues outputs;
  for (size_t i = 0; i < results[0].size(); ++i) {
    outputs.push_back(joinBranches(writer_, node.input(0), results[0][i], results[1][i]));
  }
  return outputs;
}

ParsedValues NodeImport::importOptionalSqueeze(const OnnxNode& node, Scope& scope) {
  if (environment_.squeezes != nullptr && environment_.squeezes->next()) {
    return node.importGraph("then_branch", {}, "then_branch");  // a reshape, which checks the count
  }
  nvinfer1::ITensor& holds = writer_.tensor(writer_.unary(node.input(0), nvinfer1::UnaryOperation::kNOT));
  const auto message = fmt::format("node '{}' squeezes an axis where its extent is 1; it was imported for others",
                                   scope.prefix + node.proto().name());
  writer_.added(writer_.network().addAssertion(holds, message.c_str()), "addAssertion");
  return node.importGraph("else_branch", {}, "else_branch");
}

}  // namespace tenon::parsers::onnx
