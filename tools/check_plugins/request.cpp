// SPDX-License-Identifier: Apache-2.0
// Inputs and fields as the command line writes them.
#include "request.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace tenon::check {
namespace {

struct TypeRow {
  const char* name;
  nv::DataType type;
};
constexpr TypeRow kTypes[] = {
    {"f32", nv::DataType::kFLOAT}, {"f16", nv::DataType::kHALF},  {"bf16", nv::DataType::kBF16},
    {"i8", nv::DataType::kINT8},   {"i32", nv::DataType::kINT32}, {"i64", nv::DataType::kINT64},
    {"bool", nv::DataType::kBOOL}, {"u8", nv::DataType::kUINT8},
};

struct FieldRow {
  const char* name;
  nv::PluginFieldType type;
};
constexpr FieldRow kFields[] = {
    {"f32", nv::PluginFieldType::kFLOAT32}, {"f64", nv::PluginFieldType::kFLOAT64},
    {"i8", nv::PluginFieldType::kINT8},     {"i16", nv::PluginFieldType::kINT16},
    {"i32", nv::PluginFieldType::kINT32},   {"i64", nv::PluginFieldType::kINT64},
    {"char", nv::PluginFieldType::kCHAR},
};

std::vector<std::string> split(const std::string& text, char sign) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, sign);) parts.push_back(part);
  return parts;
}

template <typename T>
T number(const std::string& text, const std::string& whole) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw std::invalid_argument(fmt::format("'{}' in '{}' is no number of its type", text, whole));
  return value;
}

template <typename T>
void put(Field& field, const std::string& list, const std::string& whole) {
  for (const auto& part : split(list, ',')) {
    const T value = number<T>(part, whole);
    const size_t at = field.bytes.size();
    field.bytes.resize(at + sizeof value);
    std::memcpy(field.bytes.data() + at, &value, sizeof value);
    ++field.length;
  }
}

}  // namespace

Operand parseInput(const std::string& text) {
  const auto colon = text.find(':');
  Operand operand;
  for (const auto& row : kTypes) {
    if (text.substr(0, colon) != row.name) continue;
    operand.type = row.type;
    if (colon == std::string::npos) return operand;  // a scalar
    for (const auto& part : split(text.substr(colon + 1), 'x')) {
      if (operand.dims.nbDims == nv::Dims::MAX_DIMS)
        throw std::invalid_argument(fmt::format("'{}' has more than 8 extents", text));
      const auto extent = number<int64_t>(part, text);
      if (extent < 0) throw std::invalid_argument(fmt::format("'{}': an extent of {}", text, extent));
      operand.dims.d[operand.dims.nbDims++] = extent;
    }
    return operand;
  }
  throw std::invalid_argument(fmt::format(
      "'{}' is no input; expected TYPE:EXTENTS such as f32:2x8x6x5, with the types f32, f16, bf16, i8, i32, "
      "i64, bool, u8",
      text));
}

Field parseField(const std::string& text) {
  const auto colon = text.find(':');
  const auto equals = text.find('=');
  if (colon != std::string::npos && equals != std::string::npos && colon < equals) {
    Field field;
    field.name = text.substr(0, colon);
    const std::string type = text.substr(colon + 1, equals - colon - 1);
    const std::string values = text.substr(equals + 1);
    for (const auto& row : kFields) {
      if (type != row.name) continue;
      field.type = row.type;
      switch (row.type) {
        case nv::PluginFieldType::kFLOAT32: put<float>(field, values, text); break;
        case nv::PluginFieldType::kFLOAT64: put<double>(field, values, text); break;
        case nv::PluginFieldType::kINT8: put<int8_t>(field, values, text); break;
        case nv::PluginFieldType::kINT16: put<int16_t>(field, values, text); break;
        case nv::PluginFieldType::kINT32: put<int32_t>(field, values, text); break;
        case nv::PluginFieldType::kINT64: put<int64_t>(field, values, text); break;
        default: field.bytes.assign(values.begin(), values.end()); field.length = static_cast<int32_t>(values.size());
      }
      return field;
    }
  }
  throw std::invalid_argument(
      fmt::format("'{}' is no field; expected NAME:TYPE=VALUES such as pads:i32=1,2, with the types f32, f64, i8, i16, "
                  "i32, i64, char",
                  text));
}

int64_t volume(const nv::Dims& dims) {
  int64_t count = 1;
  for (int32_t i = 0; i < dims.nbDims; ++i) count *= dims.d[i];
  return count;
}

std::string text(const nv::Dims& dims) {
  std::string result = "[";
  for (int32_t i = 0; i < dims.nbDims; ++i) result += fmt::format("{}{}", i > 0 ? "x" : "", dims.d[i]);
  return result + "]";
}

const char* name(nv::DataType type) {
  for (const auto& row : kTypes) {
    if (row.type == type) return row.name;
  }
  return "another type";
}

const char* name(nv::TensorFormat format) {
  constexpr const char* kNames[] = {"LINEAR", "CHW2", "HWC8",       "CHW4",     "CHW16", "CHW32", "DHWC8",
                                    "CDHW32", "HWC",  "DLA_LINEAR", "DLA_HWC4", "HWC16", "DHWC"};
  const auto place = static_cast<size_t>(format);
  return place < std::size(kNames) ? kNames[place] : "another format";
}

}  // namespace tenon::check
