// Fields of a description, said once: equality, hash and the text form (which plans, caches and tests use) derive from
// one tuple. A field's name is its identity for ever; a field at its default is not written, so that a new field whose
// default means the old behaviour changes no stored text.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/dtype.h"
#include "core/error.h"
#include "core/extent.h"
#include "core/text.h"

namespace tenon {

template <typename T, typename M>
struct Field {
  std::string_view name;
  M T::*member;
};

template <typename T, typename M>
constexpr Field<T, M> field(std::string_view name, M T::*member) {
  return {name, member};
}

// How a type of field is written and read. Specialised below; enums need enumNames(E) beside their declaration, a
// function that returns a std::array of names in order of value.
template <typename M, typename = void>
struct FieldText;

template <>
struct FieldText<bool> {
  static std::string write(bool value) { return value ? "true" : "false"; }
  static bool read(TextReader& in) {
    if (in.acceptWord("true")) return true;
    if (in.acceptWord("false")) return false;
    in.fail("expected true or false");
  }
};

template <typename M>
struct FieldText<M, std::enable_if_t<std::is_integral_v<M> && !std::is_same_v<M, bool>>> {
  static std::string write(M value) { return std::to_string(value); }
  static M read(TextReader& in) {
    const int64_t value = in.integer();
    if (!std::in_range<M>(value)) in.fail(fmt::format("{} is out of range", value));
    return static_cast<M>(value);
  }
};

template <typename M>
struct FieldText<M, std::enable_if_t<std::is_floating_point_v<M>>> {
  static std::string write(M value) { return fmt::format("{}", value); }  // shortest text that reads back the same
  static M read(TextReader& in) { return static_cast<M>(in.number()); }
};

template <>
struct FieldText<std::string> {
  static std::string write(const std::string& value) { return quote(value); }
  static std::string read(TextReader& in) { return in.quoted(); }
};

template <>
struct FieldText<DataType> {
  static std::string write(DataType value) { return std::string(name(value)); }
  static DataType read(TextReader& in) { return parseDataType(in.identifier()); }
};

template <>
struct FieldText<Extent> {
  static std::string write(const Extent& value) { return value.text(); }
  static Extent read(TextReader& in) { return Extent::parse(in.until(",] }")); }
};

template <typename M>
struct FieldText<M, std::enable_if_t<std::is_enum_v<M> && !std::is_same_v<M, DataType>>> {
  static std::string write(M value) { return std::string(enumNames(M{})[static_cast<size_t>(value)]); }
  static M read(TextReader& in) {
    const auto text = in.identifier();
    const auto names = enumNames(M{});
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i] == text) return static_cast<M>(i);
    }
    in.fail(fmt::format("'{}' is not one of {}", text, fmt::join(names, ", ")));
  }
};

template <typename E>
struct FieldText<std::vector<E>> {
  static std::string write(const std::vector<E>& value) {
    std::string result = "[";
    for (size_t i = 0; i < value.size(); ++i) result += (i == 0 ? "" : ",") + FieldText<E>::write(value[i]);
    return result + "]";
  }
  static std::vector<E> read(TextReader& in) {
    std::vector<E> result;
    in.expect("[");
    while (!in.accept("]")) {
      if (!result.empty()) in.expect(",");
      result.push_back(FieldText<E>::read(in));
    }
    return result;
  }
};

// Equality of fields: what has the same text is the same, so NaN equals NaN and 0 differs from -0.
template <typename M>
bool sameField(const M& a, const M& b) {
  return a == b;
}
inline bool sameField(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }
inline bool sameField(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) { return sameField(x, y); });
}

// name=value name=value of the fields that are not at their default.
template <typename T>
std::string writeFields(const T& value) {
  [[maybe_unused]] static const T defaults{};
  std::string result;
  std::apply(
      [&](const auto&... fields) {
        [[maybe_unused]] const auto one = [&](const auto& f) {
          if (sameField(value.*f.member, defaults.*f.member)) return;
          using M = std::remove_cvref_t<decltype(value.*f.member)>;
          result += fmt::format("{}{}={}", result.empty() ? "" : " ", f.name, FieldText<M>::write(value.*f.member));
        };
        (one(fields), ...);
      },
      T::fields);
  return result;
}

// Reads name=value pairs up to the closing brace (not consumed).
template <typename T>
T readFields(TextReader& in) {
  T value{};
  while (in.peek() != '}' && in.peek() != '\0') {
    const auto name = in.identifier();
    in.expect("=");
    bool known = false;
    std::apply(
        [&](const auto&... fields) {
          [[maybe_unused]] const auto one = [&](const auto& f) {
            if (known || f.name != name) return;
            using M = std::remove_cvref_t<decltype(value.*f.member)>;
            value.*f.member = FieldText<M>::read(in);
            known = true;
          };
          (one(fields), ...);
        },
        T::fields);
    if (!known) in.fail(fmt::format("unknown field '{}'", name));
  }
  return value;
}

template <typename T>
bool equalFields(const T& a, const T& b) {
  return std::apply([&](const auto&... f) { return (sameField(a.*f.member, b.*f.member) && ...); }, T::fields);
}

// 64-bit FNV-1a: a stable hash of bytes for keys in plans and caches (never for security).
inline uint64_t hashBytes(std::string_view bytes, uint64_t seed = 14695981039346656037ull) noexcept {
  for (const char c : bytes) seed = (seed ^ static_cast<uint8_t>(c)) * 1099511628211ull;
  return seed;
}

}  // namespace tenon
