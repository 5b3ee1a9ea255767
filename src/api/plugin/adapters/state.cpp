// Little-endian lengths before each part; every length is checked before it is believed.
#include "api/plugin/adapters/state.h"

#include <array>
#include <cstring>

#include "core/error.h"

namespace tenon::api {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// What a digit stands for; -1 for what is none.
constexpr std::array<int8_t, 256> kValues = [] {
  std::array<int8_t, 256> values{};
  values.fill(-1);
  for (size_t i = 0; i < kDigits.size(); ++i) values[static_cast<uint8_t>(kDigits[i])] = static_cast<int8_t>(i);
  return values;
}();

// Bytes of `length` elements; UserError for types outside the enumeration and negative lengths.
size_t bytesOf(nv::PluginFieldType type, int32_t length, std::string_view name) {
  // In the order of the enumeration; 0 stands for half a byte.
  constexpr std::array<size_t, 14> kBytes{2, 4, 8, 1, 2, 4, 1, sizeof(nv::Dims), 1, 2, 8, 1, 0, 0};
  const auto number = static_cast<int32_t>(type);
  checkUser(number >= 0 && number < static_cast<int32_t>(kBytes.size()), "field '{}' has the type {}; expected 0 to {}",
            name, number, kBytes.size() - 1);
  checkUser(length >= 0, "field '{}' has the length {}", name, length);
  const auto count = static_cast<size_t>(length);
  const size_t bytes = kBytes.at(static_cast<size_t>(number));
  return bytes == 0 ? (count + 1) / 2 : count * bytes;
}

template <typename T>
void put(std::string& bytes, T value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof value);
}

class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}
  std::string_view take(size_t count) {
    checkUser(count <= bytes_.size(), "the fields of the plugin end early: {} bytes are wanted, {} are left", count,
              bytes_.size());
    const auto taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }
  int32_t number() {
    int32_t value = 0;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  bool atEnd() const noexcept { return bytes_.empty(); }

 private:
  std::string_view bytes_;
};

}  // namespace

std::string toBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j) group = group << 8 | (j < count ? static_cast<uint8_t>(bytes[i + j]) : 0U);
    for (size_t j = 0; j < 4; ++j) text += j <= count ? kDigits[group >> (18 - 6 * j) & 63U] : '=';
  }
  return text;
}

std::string fromBase64(std::string_view text) {
  checkUser(text.size() % 4 == 0, "the state of the plugin has {} digits; expected a multiple of 4", text.size());
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    uint32_t group = 0;
    size_t count = 3;
    for (size_t j = 0; j < 4; ++j) {
      const char digit = text[i + j];
      const auto value = kValues[static_cast<uint8_t>(digit)];
      const bool isPadding = digit == '=' && j >= 2 && i + 4 == text.size();
      checkUser(value >= 0 || isPadding, "the state of the plugin is no text in base 64");
      if (isPadding) count = std::min(count, j - 1);
      group = group << 6 | (isPadding ? 0U : static_cast<uint32_t>(value));
    }
    for (size_t j = 0; j < count; ++j) bytes += static_cast<char>(group >> (16 - 8 * j) & 255U);
  }
  return bytes;
}

std::string packFields(const nv::PluginFieldCollection* fields, const PluginIdentity& plugin) {
  std::string bytes;
  checkUser(fields != nullptr, "{}: getFieldsToSerialize() returned null; expected a list, which may be empty",
            plugin.text());
  checkUser(fields->nbFields >= 0 && (fields->nbFields == 0 || fields->fields != nullptr),
            "{}: getFieldsToSerialize() returned {} fields at {}", plugin.text(), fields->nbFields,
            fmt::ptr(fields->fields));
  put(bytes, fields->nbFields);
  for (int32_t i = 0; i < fields->nbFields; ++i) {
    const auto& field = fields->fields[i];
    checkUser(field.name != nullptr, "getFieldsToSerialize(): field {} has no name", i);
    const size_t count = bytesOf(field.type, field.length, field.name);
    checkUser(count == 0 || field.data != nullptr, "getFieldsToSerialize(): field '{}' has {} bytes at null",
              field.name, count);
    put(bytes, static_cast<int32_t>(std::strlen(field.name)));
    bytes += field.name;
    put(bytes, static_cast<int32_t>(field.type));
    put(bytes, field.length);
    if (count != 0) bytes.append(static_cast<const char*>(field.data), count);
  }
  return bytes;
}

UnpackedFields::UnpackedFields(std::string_view bytes) {
  Cursor cursor(bytes);
  const int32_t count = cursor.number();
  checkUser(count >= 0, "the plugin has {} fields", count);
  for (int32_t i = 0; i < count; ++i) {
    const int32_t nameLength = cursor.number();
    checkUser(nameLength >= 0, "the name of field {} of the plugin has {} characters", i, nameLength);
    names_.push_back(std::make_unique<std::string>(cursor.take(static_cast<size_t>(nameLength))));
    const auto type = static_cast<nv::PluginFieldType>(cursor.number());
    const int32_t length = cursor.number();
    const auto elements = cursor.take(bytesOf(type, length, *names_.back()));
    const size_t units = (elements.size() + sizeof(std::max_align_t) - 1) / sizeof(std::max_align_t);
    elements_.push_back(std::make_unique<std::max_align_t[]>(std::max<size_t>(units, 1)));
    if (!elements.empty()) std::memcpy(elements_.back().get(), elements.data(), elements.size());
    fields_.emplace_back(names_.back()->c_str(), elements_.back().get(), type, length);
  }
  checkUser(cursor.atEnd(), "more bytes than the {} fields of the plugin follow", count);
  collection_ = {static_cast<int32_t>(fields_.size()), fields_.data()};
}

}  // namespace tenon::api
