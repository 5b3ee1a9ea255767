// The constants of a batch normalization as one factor and one shift for each channel, for import and refit alike.
#pragma once

#include "weight_store.h"

namespace tenon::parsers {

// scale * (x - mean) / sqrt(variance + epsilon) + bias = x * factor + shift
struct FoldedNormalization {
  const WeightBytes* factor = nullptr;
  const WeightBytes* shift = nullptr;
};

// The results have `type` and are named after `output`, the node's first output. Fails when the lengths differ.
FoldedNormalization foldBatchNormalization(WeightStore& store, const WeightBytes& scale, const WeightBytes& bias,
                                           const WeightBytes& mean, const WeightBytes& variance, double epsilon,
                                           DataType type, const std::string& output);

std::string factorName(const std::string& output);
std::string shiftName(const std::string& output);

}  // namespace tenon::parsers
