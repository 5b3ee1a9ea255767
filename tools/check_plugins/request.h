// SPDX-License-Identifier: Apache-2.0
// What the user says of a plugin: its inputs and its fields.
#pragma once

#include <NvInfer.h>

#include <string>
#include <vector>

namespace tenon::check {

namespace nv = nvinfer1;

struct Operand {
  nv::DataType type = nv::DataType::kFLOAT;
  nv::Dims dims{};
};

struct Field {
  std::string name;
  nv::PluginFieldType type = nv::PluginFieldType::kUNKNOWN;
  std::vector<char> bytes;
  int32_t length = 0;
  nv::PluginField native() const { return {name.c_str(), bytes.empty() ? nullptr : bytes.data(), type, length}; }
};

struct Request {
  std::vector<Operand> inputs;
  std::vector<Field> fields;
};

// "f32:2x8x6x5"; std::invalid_argument says what was expected.
Operand parseInput(const std::string& text);
// "pads:i32=1,2,3" or "mode:char=text".
Field parseField(const std::string& text);

int64_t volume(const nv::Dims& dims);
std::string text(const nv::Dims& dims);
const char* name(nv::DataType type);
const char* name(nv::TensorFormat format);

}  // namespace tenon::check
