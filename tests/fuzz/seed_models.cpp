// Small ONNX models, one per operator of a list: most are right, all are near to right ones.
#include "seed_models.h"

#include "onnx/model_maker.h"

namespace tenon::fuzz {

using parsers::onnx::ModelMaker;

namespace {

constexpr const char* kUnary[] = {"Relu",
                                  "Sigmoid",
                                  "Tanh",
                                  "Exp",
                                  "Softmax",
                                  "Identity",
                                  "Transpose",
                                  "Flatten",
                                  "Shape",
                                  "Neg",
                                  "Erf",
                                  "HardSwish",
                                  "GlobalAveragePool",
                                  "ReduceMean",
                                  "ReduceSum",
                                  "ArgMax",
                                  "Squeeze",
                                  "LeakyRelu",
                                  "Cast",
                                  "LogSoftmax",
                                  "Dropout",
                                  "InstanceNormalization",
                                  "LRN",
                                  "DepthToSpace",
                                  "CumSum"};
constexpr const char* kBinary[] = {"Add",   "Mul",   "Sub",    "Div",    "MatMul", "Pow",  "Max",
                                   "Where", "Equal", "Gather", "Concat", "PRelu",  "Gemm", "Mod"};
constexpr const char* kShaped[] = {"Reshape", "Expand", "Tile", "Unsqueeze", "Slice",
                                   "Resize",  "TopK",   "Pad",  "Split",     "ConstantOfShape"};

std::string unary(const char* type) {
  ModelMaker maker;
  maker.input("x", {-2, 3, 4, 4});
  ModelMaker::set(maker.node(type, {"x"}, {"y"}), "axis", int64_t{1});
  maker.output("y");
  return maker.bytes();
}

std::string binary(const char* type) {
  ModelMaker maker;
  maker.input("x", {2, 3});
  maker.floats("w", {3, 3}, std::vector<float>(9, 0.5F));
  maker.node(type, {"x", "w"}, {"y"});
  maker.output("y");
  return maker.bytes();
}

std::string shaped(const char* type) {
  ModelMaker maker;
  maker.input("x", {2, 3, 4});
  maker.ints("s", {3}, {1, 2, 3});
  maker.node(type, {"x", "s"}, {"y"});
  maker.output("y");
  return maker.bytes();
}

std::string convolution() {
  ModelMaker maker;
  maker.input("x", {-2, 3, 5, 5});
  maker.floats("w", {4, 3, 3, 3}, std::vector<float>(108, 0.25F));
  ModelMaker::set(maker.node("Conv", {"x", "w"}, {"c"}), "pads", std::vector<int64_t>{1, 1, 1, 1});
  maker.node("Relu", {"c"}, {"r"});
  ModelMaker::set(maker.node("MaxPool", {"r"}, {"y"}), "kernel_shape", std::vector<int64_t>{2, 2});
  maker.output("y");
  return maker.bytes();
}

}  // namespace

std::vector<std::string> seedModels() {
  std::vector<std::string> result{convolution()};
  for (const char* type : kUnary) result.push_back(unary(type));
  for (const char* type : kBinary) result.push_back(binary(type));
  for (const char* type : kShaped) result.push_back(shaped(type));
  return result;
}

}  // namespace tenon::fuzz
