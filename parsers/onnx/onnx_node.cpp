// Access to inputs and attributes of a node, with messages that name what is wrong.
#include "onnx_node.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace tenon::parsers::onnx {
namespace {

// AttributeProto.AttributeType of the schema.
enum AttributeType : int32_t { kFLOAT = 1, kINT = 2, kSTRING = 3, kGRAPH = 5, kFLOATS = 6, kINTS = 7, kSTRINGS = 8 };

}  // namespace

const ParsedValue& OnnxNode::input(size_t index) const {
  if (!hasInput(index)) {
    fail(FaultKind::kInvalidNode, fmt::format("input {} is required, but the node has {} inputs{}", index,
                                              inputs_.size(), index < inputs_.size() ? " and this one is empty" : ""));
  }
  return inputs_[index];
}

const WeightBytes& OnnxNode::constant(size_t index, const char* what) const {
  const ParsedValue& value = input(index);
  if (!value.isConstant()) {
    fail(FaultKind::kUnsupportedInput,
         fmt::format(
             "{} (input {} '{}') is computed at run time; expected an initializer or a value that can be computed "
             "while parsing. Simplify the model, or fix the input shapes it depends on",
             what, index, proto_.input(static_cast<int>(index))));
  }
  return value.constant();
}

const pb::AttributeProto* OnnxNode::find(const std::string& name) const {
  for (const pb::AttributeProto& attribute : proto_.attribute()) {
    if (attribute.name() == name) {
      return resolve(attribute);
    }
  }
  return nullptr;
}

const pb::AttributeProto* OnnxNode::resolve(const pb::AttributeProto& own) const {
  if (own.ref_attr_name().empty()) {
    return &own;
  }
  if (bound_ == nullptr) {
    return nullptr;
  }
  const auto found = bound_->find(own.ref_attr_name());
  return found == bound_->end() ? nullptr : found->second;
}

const pb::AttributeProto* OnnxNode::checked(const char* name, int32_t type, const char* typeText) const {
  const pb::AttributeProto* attribute = find(name);
  // Type 0: written by exporters older than the field.
  if (attribute != nullptr && attribute->type() != type && attribute->type() != 0) {
    fail(FaultKind::kInvalidNode, fmt::format("attribute '{}' has AttributeProto type {}; expected {} ({})", name,
                                              attribute->type(), type, typeText));
  }
  return attribute;
}

int64_t OnnxNode::integer(const char* name, int64_t fallback) const {
  const auto* attribute = checked(name, kINT, "INT");
  return attribute == nullptr ? fallback : attribute->i();
}

float OnnxNode::real(const char* name, float fallback) const {
  const auto* attribute = checked(name, kFLOAT, "FLOAT");
  return attribute == nullptr ? fallback : attribute->f();
}

std::string OnnxNode::text(const char* name, const std::string& fallback) const {
  const auto* attribute = checked(name, kSTRING, "STRING");
  return attribute == nullptr ? fallback : attribute->s();
}

std::vector<int64_t> OnnxNode::integers(const char* name) const {
  const auto* attribute = checked(name, kINTS, "INTS");
  return attribute == nullptr ? std::vector<int64_t>{}
                              : std::vector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

std::vector<float> OnnxNode::reals(const char* name) const {
  const auto* attribute = checked(name, kFLOATS, "FLOATS");
  return attribute == nullptr ? std::vector<float>{}
                              : std::vector<float>(attribute->floats().begin(), attribute->floats().end());
}

std::vector<std::string> OnnxNode::texts(const char* name) const {
  const auto* attribute = checked(name, kSTRINGS, "STRINGS");
  return attribute == nullptr ? std::vector<std::string>{}
                              : std::vector<std::string>(attribute->strings().begin(), attribute->strings().end());
}

std::string OnnxNode::choice(const char* name, const std::string& fallback,
                             const std::vector<std::string>& allowed) const {
  std::string value = text(name, fallback);
  if (std::find(allowed.begin(), allowed.end(), value) == allowed.end()) {
    fail(FaultKind::kUnsupportedAttribute,
         fmt::format("{} = '{}'; expected {}", name, value, fmt::join(allowed, ", ")));
  }
  return value;
}

const pb::GraphProto& OnnxNode::graph(const char* attribute) const {
  const auto* found = checked(attribute, kGRAPH, "GRAPH");
  if (found == nullptr || !found->has_g()) {
    fail(FaultKind::kInvalidNode, fmt::format("attribute '{}' has no graph", attribute));
  }
  return found->g();
}

ParsedValues OnnxNode::importGraph(const char* attribute, const ParsedValues& inputs, const std::string& label) const {
  const pb::GraphProto& body = graph(attribute);
  if (subgraphs_ == nullptr || static_cast<size_t>(body.input_size()) != inputs.size()) {
    fail(FaultKind::kInvalidNode, fmt::format("the graph of attribute '{}' has {} inputs; the node gives {}", attribute,
                                              body.input_size(), inputs.size()));
  }
  return subgraphs_->importGraph(body, inputs, label);
}

}  // namespace tenon::parsers::onnx
