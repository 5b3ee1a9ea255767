// Writes small ONNX models for the tests.
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "tenon_onnx.pb.h"

namespace tenon::parsers::onnx {

namespace pb = tenon::onnx;

class ModelMaker {
 public:
  explicit ModelMaker(int64_t opset = 17) {
    model_.set_ir_version(8);
    auto* import = model_.add_opset_import();
    import->set_version(opset);
    model_.mutable_graph()->set_name("test");
  }

  pb::ModelProto& proto() { return model_; }
  pb::GraphProto& graph() { return *model_.mutable_graph(); }
  std::string bytes() const { return model_.SerializeAsString(); }

  // Extents below 0 are dynamic; -1 has no name, -2 is "N", -3 is "M", -4 is "?".
  static void describe(pb::ValueInfoProto& info, const std::string& name, const std::vector<int64_t>& shape,
                       int32_t type) {
    info.set_name(name);
    auto* tensor = info.mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    tensor->mutable_shape();
    for (const int64_t extent : shape) {
      auto* dim = tensor->mutable_shape()->add_dim();
      if (extent >= 0) {
        dim->set_dim_value(extent);
      } else if (extent < -1) {
        dim->set_dim_param(extent == -2 ? "N" : extent == -3 ? "M" : "?");
      }
    }
  }
  void input(const std::string& name, const std::vector<int64_t>& shape, int32_t type = 1) {
    describe(*graph().add_input(), name, shape, type);
  }
  void output(const std::string& name, const std::vector<int64_t>& shape = {}, int32_t type = 1) {
    describe(*graph().add_output(), name, shape, type);
  }
  void valueInfo(const std::string& name, const std::vector<int64_t>& shape, int32_t type = 1) {
    describe(*graph().add_value_info(), name, shape, type);
  }

  pb::TensorProto& initializer(const std::string& name, const std::vector<int64_t>& shape, int32_t type = 1) {
    auto* tensor = graph().add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(type);
    for (const int64_t extent : shape) {
      tensor->add_dims(extent);
    }
    return *tensor;
  }
  void floats(const std::string& name, const std::vector<int64_t>& shape, const std::vector<float>& values) {
    initializer(name, shape).set_raw_data(values.data(), values.size() * sizeof(float));
  }
  void ints(const std::string& name, const std::vector<int64_t>& shape, const std::vector<int64_t>& values) {
    initializer(name, shape, 7).set_raw_data(values.data(), values.size() * sizeof(int64_t));
  }

  pb::NodeProto& node(const std::string& type, const std::vector<std::string>& inputs,
                      const std::vector<std::string>& outputs, const std::string& name = "") {
    auto* node = graph().add_node();
    node->set_op_type(type);
    node->set_name(name.empty() ? type + "_node" + std::to_string(graph().node_size()) : name);
    for (const std::string& input : inputs) {
      node->add_input(input);
    }
    for (const std::string& output : outputs) {
      node->add_output(output);
    }
    return *node;
  }

  static void set(pb::NodeProto& node, const std::string& name, int64_t value) {
    auto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(2);
    attribute->set_i(value);
  }
  static void set(pb::NodeProto& node, const std::string& name, float value) {
    auto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(1);
    attribute->set_f(value);
  }
  static void set(pb::NodeProto& node, const std::string& name, const std::string& value) {
    auto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(3);
    attribute->set_s(value);
  }
  static void set(pb::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
    auto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(7);
    for (const int64_t value : values) {
      attribute->add_ints(value);
    }
  }

 private:
  pb::ModelProto model_;
};

// What a call throws, as text; empty when it does not throw.
template <typename Action>
std::string messageOf(const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace tenon::parsers::onnx
