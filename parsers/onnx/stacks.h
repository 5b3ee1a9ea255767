// Lists of tensors whose number only the run knows.
#pragma once

#include "common/term.h"

namespace tenon::parsers::onnx {

// The tensors of a list, which is not empty, behind each other along a new first axis; fails where their shapes differ.
Term stackOf(NetworkWriter& writer, const ParsedValue& list);

// The list with all of `more`, a tensor as stackOf gives it, behind its end.
ParsedValue withMore(NetworkWriter& writer, const ParsedValue& list, const Term& more);

}  // namespace tenon::parsers::onnx
