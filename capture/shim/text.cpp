// Writes values as JSON text.
#include "shim/text.h"

#include <charconv>
#include <cmath>
#include <cstring>

#include "common/method.h"

namespace tenon::capture::text {
namespace {

template <typename T>
void appendNumber(std::string& out, T value) {
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  out.append(buffer, end);
}

template <typename T>
void appendFloating(std::string& out, T value) {
  if (std::isnan(value)) {
    out += std::signbit(value) ? "\"-nan\"" : "\"nan\"";
  } else if (std::isinf(value)) {
    out += value < 0 ? "\"-inf\"" : "\"inf\"";
  } else {
    appendNumber(out, value);
  }
}

// The length of the well-formed UTF-8 sequence at `at`, 0 when there is none.
size_t sequenceLength(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) {
    return 1;
  }
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + length > text.size()) {
    return 0;
  }
  const unsigned char low = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned char high = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(at + 1) < low || byte(at + 1) > high) {
    return 0;
  }
  for (size_t i = 2; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) {
      return 0;
    }
  }
  return length;
}

bool isUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = sequenceLength(text, at);
    if (length == 0) {
      return false;
    }
    at += length;
  }
  return true;
}

}  // namespace

void appendInteger(std::string& out, int64_t value) { appendNumber(out, value); }
void appendUnsigned(std::string& out, uint64_t value) { appendNumber(out, value); }
void appendReal(std::string& out, float value) { appendFloating(out, value); }
void appendReal(std::string& out, double value) { appendFloating(out, value); }

void appendHex(std::string& out, const void* bytes, size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto* data = static_cast<const unsigned char*>(bytes);
  for (size_t i = 0; i < size; ++i) {
    out += kDigits[data[i] >> 4];
    out += kDigits[data[i] & 15];
  }
}

void appendString(std::string& out, const char* value) {
  if (value == nullptr) {
    out += "null";
    return;
  }
  const std::string_view text = value;
  if (!isUtf8(text)) {
    out += "{\"hex\":\"";
    appendHex(out, text.data(), text.size());
    out += "\"}";
    return;
  }
  out += '"';
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      appendHex(out, &c, 1);
    } else {
      out += c;
    }
  }
  out += '"';
}

void appendDims(std::string& out, const nvinfer1::Dims& dims) {
  if (dims.nbDims < 0 || dims.nbDims > nvinfer1::Dims::MAX_DIMS) {
    out += "{\"nbDims\":";
    appendInteger(out, dims.nbDims);
    out += '}';
    return;
  }
  out += '[';
  for (int i = 0; i < dims.nbDims; ++i) {
    if (i > 0) {
      out += ',';
    }
    appendInteger(out, dims.d[i]);
  }
  out += ']';
}

void appendEnum(std::string& out, int enumeration, int64_t value) {
  const std::string_view name = enumName(enumeration, value);
  if (name.empty()) {
    appendInteger(out, value);
  } else {
    out += '"';
    out += name;
    out += '"';
  }
}

}  // namespace tenon::capture::text
