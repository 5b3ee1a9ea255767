// What the generated tables tell of each recorded function; shared by the library that records and the one that plays.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tenon::capture {

struct ParameterInfo {
  std::string_view type;  // as declared: "const nvinfer1::Dims&"
  std::string_view kind;  // how it is written in a capture: "dims"
};

struct MethodInfo {
  std::string_view name;  // "INetworkDefinition.addInput"
  std::span<const ParameterInfo> parameters;
  ParameterInfo result;
  bool isBuild;  // makes an engine
  bool isLong;   // other threads go on meanwhile
  bool isFresh;  // an object that it returns is a new one
};

// In the order of the generated numbers.
std::span<const MethodInfo> methods();

struct EnumInfo {
  std::string_view type;                    // "nvinfer1::DataType"
  std::span<const std::string_view> names;  // sorted by value
  std::span<const int64_t> values;
};

// The enumerations; kEnum_<name> in the generated enums.h are indices.
std::span<const EnumInfo> enums();
std::string_view enumName(int index, int64_t value);  // empty when no enumerator has this value

}  // namespace tenon::capture
