// Reads the values of flags; every refusal repeats what was read.
#include "values.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <stdexcept>

namespace tenon::trtexec {

namespace {

using nvinfer1::DataType;
using nvinfer1::TensorFormat;

template <typename T>
struct Named {
  std::string_view name;
  T value;
};

constexpr Named<DataType> kDataTypes[] = {
    {"fp32", DataType::kFLOAT},  {"fp16", DataType::kHALF}, {"bf16", DataType::kBF16},   {"int32", DataType::kINT32},
    {"int64", DataType::kINT64}, {"int8", DataType::kINT8}, {"uint8", DataType::kUINT8}, {"bool", DataType::kBOOL},
    {"fp8", DataType::kFP8},     {"int4", DataType::kINT4}, {"fp4", DataType::kFP4},     {"e8m0", DataType::kE8M0},
};

constexpr Named<TensorFormat> kFormats[] = {
    {"chw", TensorFormat::kLINEAR},        {"chw2", TensorFormat::kCHW2},     {"chw4", TensorFormat::kCHW4},
    {"chw16", TensorFormat::kCHW16},       {"chw32", TensorFormat::kCHW32},   {"hwc", TensorFormat::kHWC},
    {"hwc8", TensorFormat::kHWC8},         {"hwc16", TensorFormat::kHWC16},   {"dhwc", TensorFormat::kDHWC},
    {"dhwc8", TensorFormat::kDHWC8},       {"cdhw32", TensorFormat::kCDHW32}, {"dla_linear", TensorFormat::kDLA_LINEAR},
    {"dla_hwc4", TensorFormat::kDLA_HWC4},
};

template <typename T, size_t kCount>
T readNamed(std::string_view text, const Named<T> (&table)[kCount], std::string_view what) {
  std::vector<std::string_view> names;
  for (const Named<T>& row : table) {
    if (row.name == text) {
      return row.value;
    }
    names.push_back(row.name);
  }
  throw std::invalid_argument(fmt::format("'{}' is not a {}; expected one of {}", text, what, fmt::join(names, ", ")));
}

std::string withoutQuotes(std::string_view text) {
  if (text.size() >= 2 && text.front() == '\'' && text.back() == '\'') {
    text = text.substr(1, text.size() - 2);
  }
  return std::string(text);
}

size_t lastColon(std::string_view text) {
  bool quoted = false;
  size_t found = std::string_view::npos;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'') {
      quoted = !quoted;
    } else if (text[i] == ':' && !quoted) {
      found = i;
    }
  }
  return found;
}

size_t suffixFactor(char suffix) {
  switch (std::toupper(static_cast<unsigned char>(suffix))) {
    case 'B': return 1;
    case 'K': return size_t{1} << 10;
    case 'M': return size_t{1} << 20;
    case 'G': return size_t{1} << 30;
    default: return 0;
  }
}

}  // namespace

std::vector<std::string> splitList(std::string_view text, char separator) {
  std::vector<std::string> parts;
  if (text.empty()) {
    return parts;
  }
  bool quoted = false;
  parts.emplace_back();
  for (const char c : text) {
    quoted = c == '\'' ? !quoted : quoted;
    if (c == separator && !quoted) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (quoted) {
    throw std::invalid_argument(fmt::format("'{}' opens a quote and does not close it", text));
  }
  return parts;
}

std::pair<std::string, std::string> splitNameAndValue(std::string_view text) {
  const size_t colon = lastColon(text);
  if (colon == std::string_view::npos) {
    return {withoutQuotes(text), std::string()};
  }
  return {withoutQuotes(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

int32_t readInt(std::string_view text, int32_t least, int32_t most) {
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    throw std::invalid_argument(fmt::format("'{}' is not a whole number from {} to {}", text, least, most));
  }
  return value;
}

double readNumber(std::string_view text, double least, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most)) {
    throw std::invalid_argument(
        fmt::format("'{}' is not a number from {:.15g} to {:.15g}, without a unit", text, least, most));
  }
  return value;
}

size_t readSize(std::string_view text, size_t unit) {
  std::string_view digits = text;
  if (!digits.empty() && suffixFactor(digits.back()) != 0) {
    unit = suffixFactor(digits.back());
    digits.remove_suffix(1);
  }
  double count = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  const double bytes = count * static_cast<double>(unit);
  if (error != std::errc() || end != digits.data() + digits.size() || !(bytes >= 0) || bytes >= 0x1p63) {
    throw std::invalid_argument(
        fmt::format("'{}' is not a size; expected a number, which may end in B, K, M or G", text));
  }
  return static_cast<size_t>(bytes);
}

Shape readShape(std::string_view text) {
  Shape shape;
  if (text == "scalar") {
    return shape;
  }
  for (const std::string& part : splitList(text, 'x')) {
    int64_t extent = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), extent);
    if (error != std::errc() || end != part.data() + part.size()) {
      throw std::invalid_argument(
          fmt::format("'{}' is not a shape; expected extents joined by x, as 1x3x224x224", text));
    }
    shape.push_back(extent);
  }
  return shape;
}

ShapeMap readShapes(std::string_view text) {
  ShapeMap shapes;
  for (const std::string& entry : splitList(text, ',')) {
    if (lastColon(entry) == std::string_view::npos) {
      throw std::invalid_argument(
          fmt::format("'{}' has no colon; expected <name>:<shape>, as input:1x3x224x224", entry));
    }
    auto [name, value] = splitNameAndValue(entry);
    if (std::count(name.begin(), name.end(), '*') > 1) {
      throw std::invalid_argument(fmt::format("the name '{}' holds more than one *", name));
    }
    if (!shapes.emplace(name, readShape(value)).second) {
      throw std::invalid_argument(fmt::format("'{}' is given twice", name));
    }
  }
  return shapes;
}

DataType readDataType(std::string_view text) { return readNamed(text, kDataTypes, "data type"); }

IoFormat readIoFormat(std::string_view text) {
  IoFormat format;
  const auto [type, layouts] = splitNameAndValue(text);
  format.type = readDataType(type);
  if (!layouts.empty()) {
    format.formats = 0;
    for (const std::string& layout : splitList(layouts, '+')) {
      format.formats |= 1U << static_cast<uint32_t>(readNamed(layout, kFormats, "memory format"));
    }
  }
  return format;
}

size_t readChoice(std::string_view text, const std::vector<std::string_view>& words) {
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) {
    throw std::invalid_argument(fmt::format("'{}' is not one of {}", text, fmt::join(words, ", ")));
  }
  return static_cast<size_t>(found - words.begin());
}

std::string expandHome(std::string_view path) {
  const char* home = std::getenv("HOME");
  if (home != nullptr && (path == "~" || path.substr(0, 2) == "~/")) {
    return std::string(home) + std::string(path.substr(1));
  }
  return std::string(path);
}

std::vector<std::pair<std::string, std::string>> readPairs(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const std::string& entry : splitList(text, ',')) {
    pairs.push_back(splitNameAndValue(entry));
    if (pairs.back().first.empty() || pairs.back().second.empty()) {
      throw std::invalid_argument(fmt::format("'{}' is not of the form <name>:<value>", entry));
    }
  }
  return pairs;
}

std::string_view dataTypeName(DataType type) {
  for (const auto& row : kDataTypes) {
    if (row.value == type) {
      return row.name;
    }
  }
  return "unknown";
}

std::string shapeText(const Shape& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "x"));
}

}  // namespace tenon::trtexec
