// Operators of Tenon that no layer of the public interface says.
#pragma once

#include <string>
#include <vector>

#include "../common/term.h"

namespace tenon::parsers::onnx {

// Output 0 of an operator in its text form, such as quantize{axis=1 type=u8}, over `inputs`: a plugin of the parser's
// own says to the builder that it is this operator, so that neither the graph nor the plan holds a plugin. The builder
// checks types and shapes, and refuses the layer with the operator's reason.
Term addOperator(const std::string& text, const std::vector<Term>& inputs);
// All of its outputs, of which there are so many.
std::vector<Term> addOperator(const std::string& text, const std::vector<Term>& inputs, int32_t outputs);

}  // namespace tenon::parsers::onnx
