// Graphs within nodes and functions that are refused, one model for each message; messages.py lists those that nobody
// asks for.
#include "refusals.h"

namespace tenon::parsers::onnx {
namespace {

// A scan of three steps whose body has one node, of this type.
Make scanOf(const std::string& type, bool takesAll = true) {
  return [=](ModelMaker& m) {
    ModelMaker body;
    body.input("row", {2});
    if (!takesAll) body.input("more", {2});
    body.node(type, {"row"}, {"result"}, "inner");
    body.output("result", {2});
    auto& made = node(m, "Scan", {{3, 2}});
    ModelMaker::set(made, "num_scan_inputs", int64_t{1});
    setGraph(made, "body", body);
  };
}

TEST(Refusals, GraphsWithinNodes) {
  expectRefused("node 0 'inner' of its body 0 cannot be imported", scanOf("Trilu"));
  expectRefused("the graph of attribute 'body' has 2 inputs; the node gives 1", scanOf("Relu", false));
  expectRefused("attribute 'then_branch' has no graph", [](ModelMaker& m) {
    m.initializer("yes", {}, 9).set_raw_data("\1", 1);
    m.node("If", {"yes"}, {"y"});
    m.output("y");
  });
}

// Each function calls the one before; beyond some depth they are not inlined.
TEST(Refusals, FunctionsThatNestTooDeep) {
  expectRefused("nest 200 deep; expected 32 at most. Inline the functions before export", [](ModelMaker& m) {
    m.proto().add_opset_import()->set_domain("mine");
    m.proto().mutable_opset_import(1)->set_version(1);
    for (int i = 0; i < 200; ++i) {
      auto* function = m.proto().add_functions();
      function->set_name("F" + std::to_string(i));
      function->set_domain("mine");
      function->add_input("a");
      function->add_output("b");
      auto* call = function->add_node();
      call->set_op_type(i == 0 ? "Relu" : "F" + std::to_string(i - 1));
      call->set_domain(i == 0 ? "" : "mine");
      call->add_input("a");
      call->add_output("b");
      for (const char* domain : {"", "mine"}) {
        auto* import = function->add_opset_import();
        import->set_domain(domain);
        import->set_version(std::string(domain).empty() ? 17 : 1);
      }
    }
    node(m, "F199", {{2}}, "mine");
  });
}

// A function F from a to b of one node of this type, whose output has this name.
void addFunction(ModelMaker& m, const char* type, const char* output) {
  m.proto().add_opset_import()->set_domain("mine");
  m.proto().mutable_opset_import(1)->set_version(1);
  auto* function = m.proto().add_functions();
  function->set_name("F");
  function->set_domain("mine");
  function->add_input("a");
  function->add_output("b");
  function->add_opset_import()->set_version(17);
  auto* inner = function->add_node();
  inner->set_op_type(type);
  inner->add_input("a");
  inner->add_output(output);
}

TEST(Refusals, FunctionsWhoseOutputNothingMakes) {
  expectRefused("output 'b' of function 'F' is not the output of any of its nodes", [](ModelMaker& m) {
    addFunction(m, "Relu", "c");
    node(m, "F", {{2}}, "mine");
  });
}

TEST(Refusals, FunctionsAreCheckedOnce) {
  expectRefused("function 'F' is rejected, as at its first call", [](ModelMaker& m) {
    addFunction(m, "ImageDecoder", "b");
    node(m, "F", {{2}}, "mine");
    m.node("F", {"x0"}, {"z"}).set_domain("mine");
  });
}

}  // namespace
}  // namespace tenon::parsers::onnx
