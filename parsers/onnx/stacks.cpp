// A list of tensors of one shape as one tensor, of which a run may have any number.
#include "stacks.h"

namespace tenon::parsers::onnx {

Term stackOf(NetworkWriter& writer, const ParsedValue& list) {
  if (list.isStack()) {
    return {writer, list.stack()};
  }
  std::vector<Term> parts;
  for (const ParsedValue& value : list.list()) {
    const Term part(writer, value);
    if (part.shape() != writer.shapeOf(list.list()[0])) {
      fail(FaultKind::kUnsupportedInput,
           fmt::format("a place in the list is known at run time only, and the list has tensors of shapes {} and {}; "
                       "expected one shape",
                       toString(writer.shapeOf(list.list()[0])), toString(part.shape())));
    }
    parts.push_back(part.unsqueeze({0}));
  }
  if (parts.empty()) {
    fail(FaultKind::kInvalidNode, "the list has no tensors; expected one or more");
  }
  return concat(parts, 0);
}

ParsedValue withMore(NetworkWriter& writer, const ParsedValue& list, const Term& more) {
  const bool isEmpty = !list.isStack() && list.list().empty();
  return ParsedValue::ofStack(isEmpty ? more : concat({stackOf(writer, list), more}, 0));
}

}  // namespace tenon::parsers::onnx
