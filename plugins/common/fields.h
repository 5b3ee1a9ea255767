// The fields that a plugin was made with: kept, read by name, written into plans.
#pragma once

#include <NvInferRuntime.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::plugins {

namespace nv = nvinfer1;

// What a user did wrong, with what was expected.
class PluginError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct FieldValue {
  std::string name;
  nv::PluginFieldType type = nv::PluginFieldType::kUNKNOWN;
  int32_t length = 0;
  std::vector<char> bytes;
};

class Fields {
 public:
  Fields() = default;
  explicit Fields(const nv::PluginFieldCollection* collection);  // throws PluginError
  static Fields parse(const void* bytes, size_t count);          // what text() gave; throws PluginError

  bool has(std::string_view name) const { return find(name) != nullptr; }
  // The first element, or the default where the field is not there. Whole numbers are taken for floats and the other
  // way around where nothing is lost; anything else is a PluginError.
  int64_t integer(std::string_view name, int64_t otherwise = 0) const;
  bool flag(std::string_view name, bool otherwise = false) const { return integer(name, otherwise ? 1 : 0) != 0; }
  double real(std::string_view name, double otherwise = 0) const;
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> otherwise = {}) const;
  std::vector<double> reals(std::string_view name, std::vector<double> otherwise = {}) const;
  std::string text(std::string_view name, std::string otherwise = {}) const;
  // Elements in FP32, of FP32 or FP16 weights.
  std::vector<float> weights(std::string_view name) const;

  const std::vector<FieldValue>& all() const noexcept { return values_; }
  std::string serialize() const;

 private:
  const FieldValue* find(std::string_view name) const;
  std::vector<FieldValue> values_;
};

}  // namespace tenon::plugins
