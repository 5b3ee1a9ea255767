// Evaluates operations on constants while the graph is imported: shape arithmetic, and weights that a model computes.
#pragma once

#include "weight_store.h"

namespace tenon::parsers {

// Each returns nullptr when it does not fold (too large, or a type without a numeric reading); the caller then emits
// the layer. Results follow the definition of the TensorRT operation of the same name.
constexpr int64_t kArithmeticLimit = int64_t{1} << 20;  // elements: beyond, the builder folds faster than this
constexpr int64_t kMovementLimit = int64_t{1} << 26;

const WeightBytes* foldUnary(WeightStore& store, const WeightBytes& input, nvinfer1::UnaryOperation operation);
const WeightBytes* foldBinary(WeightStore& store, const WeightBytes& a, const WeightBytes& b,
                              nvinfer1::ElementWiseOperation operation);
const WeightBytes* foldSelect(WeightStore& store, const WeightBytes& condition, const WeightBytes& a,
                              const WeightBytes& b);
const WeightBytes* foldCast(WeightStore& store, const WeightBytes& input, DataType type);
const WeightBytes* foldReduce(WeightStore& store, const WeightBytes& input, nvinfer1::ReduceOperation operation,
                              uint32_t axes, bool keepDimensions);

const WeightBytes* foldTranspose(WeightStore& store, const WeightBytes& input, const std::vector<int32_t>& order);
const WeightBytes* foldConcat(WeightStore& store, const std::vector<const WeightBytes*>& inputs, int32_t axis);
// Element i of an axis is start + i * stride of the input; a stride of 0 repeats.
const WeightBytes* foldSlice(WeightStore& store, const WeightBytes& input, const Dimensions& start,
                             const Dimensions& size, const Dimensions& stride);
const WeightBytes* foldGather(WeightStore& store, const WeightBytes& input, const WeightBytes& indices, int32_t axis);

// The shape of two operands that broadcast (aligned at their last axes); fails when they do not.
Dimensions broadcastShape(const Dimensions& a, const Dimensions& b);

}  // namespace tenon::parsers
