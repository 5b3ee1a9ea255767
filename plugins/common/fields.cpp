// Fields: copies of what the caller gave, conversions, and a plain form of them for plans.
#include "common/fields.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

namespace tenon::plugins {
namespace {

size_t elementBytes(nv::PluginFieldType type) {
  using Type = nv::PluginFieldType;
  switch (type) {
    case Type::kFLOAT64:
    case Type::kINT64: return 8;
    case Type::kFLOAT32:
    case Type::kINT32: return 4;
    case Type::kFLOAT16:
    case Type::kBF16:
    case Type::kINT16: return 2;
    case Type::kDIMS: return sizeof(nv::Dims);
    default: return 1;
  }
}

float fromHalf(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half >> 15) << 31;
  const int exponent = half >> 10 & 0x1f;
  const int fraction = half & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000U | static_cast<uint32_t>(fraction) << 13);
  const float value = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                                    : std::ldexp(static_cast<float>(fraction + 1024), exponent - 25);
  return sign != 0 ? -value : value;
}

template <typename T>
T elementOf(const FieldValue& field, size_t i) {
  T value{};
  std::memcpy(&value, field.bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

double numberOf(const FieldValue& field, size_t i) {
  using Type = nv::PluginFieldType;
  switch (field.type) {
    case Type::kFLOAT32: return elementOf<float>(field, i);
    case Type::kFLOAT64: return elementOf<double>(field, i);
    case Type::kFLOAT16: return fromHalf(elementOf<uint16_t>(field, i));
    case Type::kBF16: return std::bit_cast<float>(static_cast<uint32_t>(elementOf<uint16_t>(field, i)) << 16);
    case Type::kINT8: return elementOf<int8_t>(field, i);
    case Type::kINT16: return elementOf<int16_t>(field, i);
    case Type::kINT32: return elementOf<int32_t>(field, i);
    case Type::kINT64: return static_cast<double>(elementOf<int64_t>(field, i));
    default:
      throw PluginError(
          fmt::format("field '{}' has the type {}; expected a number", field.name, static_cast<int>(field.type)));
  }
}

size_t countOf(const FieldValue& field) { return field.bytes.size() / elementBytes(field.type); }

int64_t wholeOf(const FieldValue& field, size_t i) {
  const double number = numberOf(field, i);
  if (number != std::floor(number) || std::abs(number) > 9e15) {
    throw PluginError(fmt::format("field '{}' is {}; expected a whole number", field.name, number));
  }
  return static_cast<int64_t>(number);
}

void append(std::string& to, const void* bytes, size_t count) { to.append(static_cast<const char*>(bytes), count); }

// Reads what append() wrote.
class Reader {
 public:
  Reader(const void* bytes, size_t count) : at_(static_cast<const char*>(bytes)), left_(count) {}
  const char* take(size_t count) {
    if (count > left_) throw PluginError("the state of the plugin is damaged: it ends too early");
    const char* const from = at_;
    at_ += count;
    left_ -= count;
    return from;
  }
  template <typename T>
  T number() {
    T value{};
    std::memcpy(&value, take(sizeof(T)), sizeof(T));
    return value;
  }
  bool atEnd() const noexcept { return left_ == 0; }

 private:
  const char* at_;
  size_t left_;
};

}  // namespace

Fields::Fields(const nv::PluginFieldCollection* collection) {
  for (int32_t i = 0; collection != nullptr && i < collection->nbFields; ++i) {
    const nv::PluginField& field = collection->fields[i];
    if (field.name == nullptr) throw PluginError(fmt::format("field {} has no name", i));
    if (field.length < 0 || (field.data == nullptr && field.length != 0)) {
      throw PluginError(fmt::format("field '{}' has the length {} and {}data", field.name, field.length,
                                    field.data == nullptr ? "no " : ""));
    }
    // Of scalars many programs leave the length at 0 or do not know the type.
    const bool one = field.data != nullptr && field.length == 0 && field.type != nv::PluginFieldType::kUNKNOWN;
    const int32_t length = one ? 1 : field.length;
    const auto* const data = static_cast<const char*>(field.data);
    FieldValue value{field.name, field.type, length, {}};
    if (length != 0) value.bytes.assign(data, data + static_cast<size_t>(length) * elementBytes(field.type));
    values_.push_back(std::move(value));
  }
}

const FieldValue* Fields::find(std::string_view name) const {
  for (const FieldValue& value : values_) {
    if (value.name == name && !value.bytes.empty()) return &value;
  }
  return nullptr;
}

int64_t Fields::integer(std::string_view name, int64_t otherwise) const {
  const FieldValue* field = find(name);
  return field == nullptr ? otherwise : wholeOf(*field, 0);
}

double Fields::real(std::string_view name, double otherwise) const {
  const FieldValue* field = find(name);
  return field == nullptr ? otherwise : numberOf(*field, 0);
}

std::vector<int64_t> Fields::integers(std::string_view name, std::vector<int64_t> otherwise) const {
  const FieldValue* field = find(name);
  if (field == nullptr) return otherwise;
  std::vector<int64_t> result;
  for (size_t i = 0; i < countOf(*field); ++i) result.push_back(wholeOf(*field, i));
  return result;
}

std::vector<double> Fields::reals(std::string_view name, std::vector<double> otherwise) const {
  const FieldValue* field = find(name);
  if (field == nullptr) return otherwise;
  std::vector<double> result;
  for (size_t i = 0; i < countOf(*field); ++i) result.push_back(numberOf(*field, i));
  return result;
}

std::string Fields::text(std::string_view name, std::string otherwise) const {
  const FieldValue* field = find(name);
  if (field == nullptr) return otherwise;
  std::string result(field->bytes.begin(), field->bytes.end());
  while (!result.empty() && result.back() == '\0') result.pop_back();
  return result;
}

std::vector<float> Fields::weights(std::string_view name) const {
  std::vector<float> result;
  const FieldValue* field = find(name);
  if (field == nullptr) return result;
  result.resize(countOf(*field));
  if (field->type == nv::PluginFieldType::kFLOAT32) {  // may be a table of words
    std::memcpy(result.data(), field->bytes.data(), result.size() * sizeof(float));
  } else {
    for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<float>(numberOf(*field, i));
  }
  return result;
}

std::string Fields::serialize() const {
  std::string result;
  const auto put32 = [&](int32_t value) { append(result, &value, sizeof value); };
  put32(static_cast<int32_t>(values_.size()));
  for (const FieldValue& value : values_) {
    put32(static_cast<int32_t>(value.name.size()));
    result += value.name;
    put32(static_cast<int32_t>(value.type));
    put32(value.length);
    const auto bytes = static_cast<uint64_t>(value.bytes.size());
    append(result, &bytes, sizeof bytes);
    append(result, value.bytes.data(), value.bytes.size());
  }
  return result;
}

Fields Fields::parse(const void* bytes, size_t count) {
  Reader in(bytes, bytes == nullptr ? 0 : count);
  Fields result;
  const auto fields = in.number<int32_t>();
  for (int32_t i = 0; i < fields; ++i) {
    FieldValue value;
    const auto length = in.number<int32_t>();
    if (length < 0) throw PluginError("the state of the plugin is damaged: a name has a negative length");
    value.name.assign(in.take(static_cast<size_t>(length)), static_cast<size_t>(length));
    value.type = static_cast<nv::PluginFieldType>(in.number<int32_t>());
    value.length = in.number<int32_t>();
    const auto size = static_cast<size_t>(in.number<uint64_t>());
    const char* const data = in.take(size);
    value.bytes.assign(data, data + size);
    result.values_.push_back(std::move(value));
  }
  if (!in.atEnd()) throw PluginError("the state of the plugin is damaged: there is more than its fields");
  return result;
}

}  // namespace tenon::plugins
