// Scatters that combine updates with what is there, which the scatter layer cannot say.
#pragma once

#include "onnx_node.h"

namespace tenon::parsers::onnx {

enum class ScatterReduction : uint8_t { kNone, kAdd, kMul, kMax, kMin };

// The attribute "reduction".
ScatterReduction readScatterReduction(const OnnxNode& node);
// Updates that meet are combined one after the other; negative indices count from the end.
Term scatterElementsReduced(const Term& data, const Term& indices, const Term& updates, int64_t axis,
                            ScatterReduction reduction);
Term scatterNdReduced(const Term& data, const Term& indices, const Term& updates, ScatterReduction reduction);

}  // namespace tenon::parsers::onnx
