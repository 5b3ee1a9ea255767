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

void setGraph(parsers::onnx::pb::NodeProto& node, const std::string& name, ModelMaker& inner) {
  auto* attribute = node.add_attribute();
  attribute->set_name(name);
  attribute->set_type(5);
  *attribute->mutable_g() = inner.graph();
}

// One node from x, which it takes from the graph around it, to `output`.
ModelMaker branch(const char* type, const std::string& output) {
  ModelMaker inner;
  inner.node(type, {"x"}, {output});
  inner.output(output);
  return inner;
}

// A branch of the If has another If where it is nested.
std::string conditional(bool isNested) {
  ModelMaker maker;
  maker.input("x", {-2, 3});
  maker.input("c", {}, 9);
  ModelMaker yes = branch("Relu", "a");
  ModelMaker no = branch("Neg", "b");
  if (isNested) {
    ModelMaker both;
    auto& choice = both.node("If", {"c"}, {"t"});
    setGraph(choice, "then_branch", yes);
    setGraph(choice, "else_branch", no);
    both.output("t");
    yes = both;
  }
  auto& choice = maker.node("If", {"c"}, {"y"});
  setGraph(choice, "then_branch", yes);
  setGraph(choice, "else_branch", no);
  maker.output("y");
  return maker.bytes();
}

// Of a count that is an input, or of three iterations, which are written out; a call of a function in its body.
std::string loop(bool isCounted, bool calls) {
  ModelMaker maker;
  maker.input("x", {-2, 3});
  if (isCounted) {
    maker.ints("k", {}, {3});
  } else {
    maker.input("k", {}, 7);
  }
  ModelMaker body;
  body.input("i", {}, 7);
  body.input("go", {}, 9);
  body.input("s", {-2, 3});
  body.node("Identity", {"go"}, {"on"});
  if (calls) {
    body.node("Twice", {"s"}, {"t"}).set_domain("mine");
  } else {
    body.node("Add", {"s", "x"}, {"t"});
  }
  body.node("Relu", {"t"}, {"row"});
  body.output("on", {}, 9);
  body.output("t", {-2, 3});
  body.output("row", {-2, 3});
  setGraph(maker.node("Loop", {"k", "", "x"}, {"last", "y"}), "body", body);
  maker.output("y");
  if (calls) {
    auto* import = maker.proto().add_opset_import();
    import->set_domain("mine");
    import->set_version(1);
    auto* function = maker.proto().add_functions();
    function->set_name("Twice");
    function->set_domain("mine");
    function->add_input("a");
    function->add_output("b");
    function->add_opset_import()->set_version(17);
    auto* sum = function->add_node();
    sum->set_op_type("Add");
    sum->add_input("a");
    sum->add_input("a");
    sum->add_output("b");
  }
  return maker.bytes();
}

std::string scan(int64_t steps) {
  ModelMaker maker;
  maker.input("x", {steps, 3});
  maker.input("first", {3});
  ModelMaker body;
  body.input("s", {3});
  body.input("e", {3});
  body.node("Add", {"s", "e"}, {"t"});
  body.node("Relu", {"t"}, {"o"});
  body.output("t", {3});
  body.output("o", {3});
  auto& node = maker.node("Scan", {"first", "x"}, {"last", "y"});
  setGraph(node, "body", body);
  ModelMaker::set(node, "num_scan_inputs", int64_t{1});
  ModelMaker::set(node, "scan_input_directions", std::vector<int64_t>{1});
  maker.output("y");
  return maker.bytes();
}

// Of a domain of its own: one calls the other and hands an attribute on.
std::string functions() {
  ModelMaker maker;
  maker.input("x", {-2, 3});
  auto* import = maker.proto().add_opset_import();
  import->set_domain("mine");
  import->set_version(1);
  for (const char* name : {"Inner", "Outer"}) {
    const bool isOuter = std::string(name) == "Outer";
    auto* function = maker.proto().add_functions();
    function->set_name(name);
    function->set_domain("mine");
    function->add_input("a");
    function->add_output("b");
    function->add_attribute("slope");
    function->add_opset_import()->set_version(17);
    auto* own = function->add_opset_import();
    own->set_domain("mine");
    own->set_version(1);
    auto* node = function->add_node();
    node->set_op_type(isOuter ? "Inner" : "LeakyRelu");
    node->set_domain(isOuter ? "mine" : "");
    node->add_input("a");
    node->add_output("b");
    auto* attribute = node->add_attribute();
    attribute->set_name(isOuter ? "slope" : "alpha");
    attribute->set_ref_attr_name("slope");
    attribute->set_type(1);
  }
  auto& call = maker.node("Outer", {"x"}, {"y"});
  call.set_domain("mine");
  ModelMaker::set(call, "slope", 0.25F);
  maker.output("y");
  return maker.bytes();
}

std::string recurrent(const char* type, int64_t gates) {
  ModelMaker maker;
  maker.input("x", {5, -2, 2});
  const auto count = static_cast<size_t>(gates);
  maker.floats("w", {2, gates * 3, 2}, std::vector<float>(count * 12, 0.5F));
  maker.floats("r", {2, gates * 3, 3}, std::vector<float>(count * 18, 0.25F));
  maker.floats("b", {2, gates * 6}, std::vector<float>(count * 12, 0.125F));
  auto& node = maker.node(type, {"x", "w", "r", "b"}, {"y", "h"});
  ModelMaker::set(node, "hidden_size", int64_t{3});
  ModelMaker::set(node, "direction", std::string("bidirectional"));
  maker.output("y");
  return maker.bytes();
}

}  // namespace

std::vector<std::string> seedModels() {
  std::vector<std::string> result{convolution()};
  for (const char* type : kUnary) result.push_back(unary(type));
  for (const char* type : kBinary) result.push_back(binary(type));
  for (const char* type : kShaped) result.push_back(shaped(type));
  for (const bool is : {false, true}) {
    result.push_back(conditional(is));
    result.push_back(loop(is, false));
    result.push_back(loop(is, true));
  }
  constexpr int64_t kWritten = 3, kLooped = 70;
  result.push_back(scan(kWritten));
  result.push_back(scan(kLooped));
  result.push_back(functions());
  result.push_back(recurrent("LSTM", 4));
  result.push_back(recurrent("GRU", 3));
  result.push_back(recurrent("RNN", 1));
  return result;
}

}  // namespace tenon::fuzz
