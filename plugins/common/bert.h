// What several of the plugins for BERT have in common.
#pragma once

#include "common/spec.h"

namespace tenon::plugins {

// The types that the plugins know by number: 0 FP32, 1 FP16, 2 INT8. PluginError for others.
void checkTypeId(const Fields& fields);        // of plugins that have no INT8
void checkTypeIdOrInt8(const Fields& fields);  // INT8: the operands are in floating point where the network has them so

// Normalizes the axis whose length the scale has.
Value normalized(const Value& x, int axis, const std::vector<float>& scale, const std::vector<float>& bias);

// The number of the sequence that each of `count` tokens is in; offsets [B + 1] are where they begin and end.
Value sequenceOf(const Value& offsets, const Size& count);

}  // namespace tenon::plugins
