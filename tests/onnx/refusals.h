// Models of one node that the parser or the network refuses, and the message that it is refused with.
#pragma once

#include <functional>

#include "network_run.h"

namespace tenon::parsers::onnx {

using Make = std::function<void(ModelMaker&)>;

// The text for the parser's errors and for the network's.
inline void expectRefused(const std::string& message, const Make& make, int64_t opset = 17) {
  ModelMaker maker(opset);
  make(maker);
  const std::string text = refusal(maker);
  EXPECT_NE(text.find(message), std::string::npos) << "expected: " << message << "\n" << text;
}

// A node of the given inputs: FLOAT of these shapes.
inline pb::NodeProto& node(ModelMaker& maker, const std::string& type, const std::vector<Ints>& shapes,
                           const std::string& domain = "") {
  std::vector<std::string> names;
  for (const Ints& shape : shapes) {
    names.push_back("x" + std::to_string(names.size()));
    maker.input(names.back(), shape);
  }
  auto& made = maker.node(type, names, {"y"}, "node");
  made.set_domain(domain);
  maker.output("y");
  return made;
}

inline pb::NodeProto& withList(ModelMaker& maker, pb::NodeProto& node, const Ints& numbers) {
  const std::string name = "list" + std::to_string(node.input_size());
  maker.ints(name, {static_cast<int64_t>(numbers.size())}, numbers);
  node.add_input(name);
  return node;
}

}  // namespace tenon::parsers::onnx
