// Evaluates operations on constants while the graph is imported: shape arithmetic, and weights that a model computes.
#pragma once

#include "weights.h"

namespace tenon::onnxparser {

// Each returns nullptr when it does not fold (too large, or a type without a numeric reading); the caller then emits
// the layer. Results follow the definition of the TensorRT operation of the same name.
constexpr int64_t kArithmeticLimit = int64_t{1} << 20;  // elements: beyond, the builder folds faster than this
constexpr int64_t kMovementLimit = int64_t{1} << 26;

const Constant* foldUnary(WeightStore& store, const Constant& input, nvinfer1::UnaryOperation operation);
const Constant* foldBinary(WeightStore& store, const Constant& a, const Constant& b,
                           nvinfer1::ElementWiseOperation operation);
const Constant* foldSelect(WeightStore& store, const Constant& condition, const Constant& a, const Constant& b);
const Constant* foldCast(WeightStore& store, const Constant& input, DataType type);
const Constant* foldReduce(WeightStore& store, const Constant& input, nvinfer1::ReduceOperation operation,
                           uint32_t axes, bool keepDimensions);

const Constant* foldTranspose(WeightStore& store, const Constant& input, const std::vector<int32_t>& order);
const Constant* foldConcat(WeightStore& store, const std::vector<const Constant*>& inputs, int32_t axis);
// Element i of an axis is start + i * stride of the input; a stride of 0 repeats.
const Constant* foldSlice(WeightStore& store, const Constant& input, const Shape& start, const Shape& size,
                          const Shape& stride);
const Constant* foldGather(WeightStore& store, const Constant& input, const Constant& indices, int32_t axis);

// The shape of two operands that broadcast by ONNX's rule; fails when they do not.
Shape broadcastShape(const Shape& a, const Shape& b);

}  // namespace tenon::onnxparser
