// Access to inputs and attributes of a node, with messages that name what is wrong.
#include "node.h"

namespace tenon::onnxparser {
namespace {

// AttributeProto.AttributeType of the schema.
enum AttributeType : int32_t { kFLOAT = 1, kINT = 2, kSTRING = 3, kFLOATS = 6, kINTS = 7 };

}  // namespace

const Value& Node::input(size_t index) const {
  if (!hasInput(index)) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("input {} is required, but the node has {} inputs{}", index,
                                               inputs_.size(), index < inputs_.size() ? " and this one is empty" : ""));
  }
  return inputs_[index];
}

const Constant& Node::constant(size_t index, const char* what) const {
  const Value& value = input(index);
  if (!value.isConstant()) {
    fail(ErrorCode::kUNSUPPORTED_NODE_INPUT,
         fmt::format(
             "{} (input {} '{}') is computed at run time; expected an initializer or a value that can be computed "
             "while parsing. Simplify the model, or fix the input shapes it depends on",
             what, index, proto_.input(static_cast<int>(index))));
  }
  return value.constant();
}

const pb::AttributeProto* Node::find(const std::string& name) const {
  for (const pb::AttributeProto& attribute : proto_.attribute()) {
    if (attribute.name() == name) {
      return resolve(attribute);
    }
  }
  return nullptr;
}

const pb::AttributeProto* Node::resolve(const pb::AttributeProto& own) const {
  if (own.ref_attr_name().empty()) {
    return &own;
  }
  if (bound_ == nullptr) {
    return nullptr;
  }
  const auto found = bound_->find(own.ref_attr_name());
  return found == bound_->end() ? nullptr : found->second;
}

const pb::AttributeProto* Node::checked(const char* name, int32_t type, const char* typeText) const {
  const pb::AttributeProto* attribute = find(name);
  // Type 0: written by exporters older than the field.
  if (attribute != nullptr && attribute->type() != type && attribute->type() != 0) {
    fail(ErrorCode::kINVALID_NODE, fmt::format("attribute '{}' has AttributeProto type {}; expected {} ({})", name,
                                               attribute->type(), type, typeText));
  }
  return attribute;
}

int64_t Node::integer(const char* name, int64_t fallback) const {
  const auto* attribute = checked(name, kINT, "INT");
  return attribute == nullptr ? fallback : attribute->i();
}

float Node::real(const char* name, float fallback) const {
  const auto* attribute = checked(name, kFLOAT, "FLOAT");
  return attribute == nullptr ? fallback : attribute->f();
}

std::string Node::text(const char* name, const std::string& fallback) const {
  const auto* attribute = checked(name, kSTRING, "STRING");
  return attribute == nullptr ? fallback : attribute->s();
}

std::vector<int64_t> Node::integers(const char* name) const {
  const auto* attribute = checked(name, kINTS, "INTS");
  return attribute == nullptr ? std::vector<int64_t>{}
                              : std::vector<int64_t>(attribute->ints().begin(), attribute->ints().end());
}

std::vector<float> Node::reals(const char* name) const {
  const auto* attribute = checked(name, kFLOATS, "FLOATS");
  return attribute == nullptr ? std::vector<float>{}
                              : std::vector<float>(attribute->floats().begin(), attribute->floats().end());
}

}  // namespace tenon::onnxparser
