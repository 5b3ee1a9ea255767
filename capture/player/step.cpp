// Arguments of one recorded call.
#include "player/step.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "player/replay.h"
#include "player/values.h"

namespace tenon::capture {
namespace {

constexpr int64_t kMostElements = 1 << 20;  // of a list in a line: more is damage

int digit(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

bool fromHex(const std::string& text, std::string& bytes) {
  if (text.size() % 2 != 0) {
    return false;
  }
  bytes.resize(text.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) {
      return false;
    }
    bytes[i] = static_cast<char>(high * 16 + low);
  }
  return true;
}

bool isA(int type, int wanted) {
  for (; type >= 0; type = playedClasses()[static_cast<size_t>(type)].base) {
    if (type == wanted) {
      return true;
    }
  }
  return false;
}

}  // namespace

Step::Step(Replay& replay, const Line& line, const MethodInfo& method) : replay_(replay), line_(line), method_(method) {
  const auto found = line.value.find("a");
  if (found == line.value.end() || !found->is_array() || found->size() != method.parameters.size()) {
    throw CaptureError(
        fmt::format("line {}: {} takes {} arguments", line.number, method.name, method.parameters.size()));
  }
}

const Json& Step::argument(int index) const { return line_.value["a"][static_cast<size_t>(index)]; }

void Step::wrong(int index, const std::string& expected) const {
  throw CaptureError(fmt::format("line {}: {}, argument {} ({}): expected {}, got {}", line_.number, method_.name,
                                 index, method_.parameters[static_cast<size_t>(index)].type, expected,
                                 argument(index).dump().substr(0, 80)));
}

void* Step::objectAddress(const Json& value, int type) const {
  if (value.is_null()) {
    return nullptr;
  }
  const Replay::Entry* entry = value.is_number_unsigned() ? replay_.find(value.get<uint64_t>()) : nullptr;
  if (entry == nullptr || !isA(entry->type, type)) {
    throw CaptureError(fmt::format("line {}: {}: {} is not a {} that exists here", line_.number, method_.name,
                                   value.dump().substr(0, 80), playedClasses()[static_cast<size_t>(type)].name));
  }
  return entry->face;
}

void* Step::selfAddress(int type) const {
  void* address = objectAddress(line_.value.value("o", Json()), type);
  if (address == nullptr) {
    throw CaptureError(fmt::format("line {}: {} needs an object", line_.number, method_.name));
  }
  return address;
}

bool Step::boolean(int index) const {
  if (!argument(index).is_boolean()) {
    wrong(index, "true or false");
  }
  return argument(index).get<bool>();
}

double Step::real(int index) const {
  double result = 0;
  if (!asReal(argument(index), result)) {
    wrong(index, "a number");
  }
  return result;
}

int64_t Step::number(int index, int64_t low, int64_t high) const {
  const Json& value = argument(index);
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(high)) ||
      value.get<int64_t>() < low || value.get<int64_t>() > high) {
    wrong(index, fmt::format("an integer from {} to {}", low, high));
  }
  return value.get<int64_t>();
}

uint64_t Step::unsignedNumber(int index, uint64_t high) const {
  const Json& value = argument(index);
  if (!value.is_number_unsigned() || value.get<uint64_t>() > high) {
    wrong(index, fmt::format("an integer from 0 to {}", high));
  }
  return value.get<uint64_t>();
}

const char* Step::text(int index) {
  const Json& value = argument(index);
  if (value.is_null()) {
    return nullptr;
  }
  std::string& kept = textStore_.emplace_back();
  if (value.is_string()) {
    kept = value.get<std::string>();
  } else if (!value.is_object() || !value.value("hex", Json()).is_string() ||
             !fromHex(value["hex"].get<std::string>(), kept)) {
    wrong(index, "a text or null");
  }
  return kept.c_str();
}

int64_t Step::enumeration(int index, int type) const {
  const Json& value = argument(index);
  const EnumInfo& info = enums()[static_cast<size_t>(type)];
  if (value.is_string()) {
    for (size_t i = 0; i < info.names.size(); ++i) {
      if (value == info.names[i]) {
        return info.values[i];
      }
    }
    wrong(index, fmt::format("an enumerator of {}", info.type));
  }
  return number(index, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
}

const nvinfer1::Dims& Step::dims(int index) {
  const Json& value = argument(index);
  nvinfer1::Dims& kept = dimsStore_.emplace_back();
  kept = nvinfer1::Dims{0, {}};
  if (value.is_object() && value.value("nbDims", Json()).is_number_integer()) {
    kept.nbDims = value["nbDims"].get<int32_t>();
    return kept;
  }
  if (!value.is_array() || value.size() > nvinfer1::Dims::MAX_DIMS) {
    wrong(index, "at most 8 extents");
  }
  for (const Json& extent : value) {
    if (!extent.is_number_integer()) {
      wrong(index, "integer extents");
    }
    kept.d[kept.nbDims++] = extent.get<int64_t>();
  }
  return kept;
}

const nvinfer1::Permutation& Step::permutation(int index) {
  const nvinfer1::Dims& order = dims(index);
  nvinfer1::Permutation& kept = permutationStore_.emplace_back();
  if (order.nbDims != nvinfer1::Dims::MAX_DIMS) {
    wrong(index, "8 axes");
  }
  std::copy(std::begin(order.d), std::end(order.d), kept.order);
  return kept;
}

nvinfer1::Weights Step::weights(int index) const {
  const Json& value = argument(index);
  if (!value.is_object()) {
    wrong(index, "weights");
  }
  if (value.contains("w")) {
    if (!value["w"].is_number_unsigned()) {
      wrong(index, "the number of weights");
    }
    return replay_.weights(value["w"].get<uint64_t>());
  }
  const Json count = value.value("count", Json());
  if (!count.is_number_integer()) {
    wrong(index, "a count of elements");
  }
  nvinfer1::Weights result{nvinfer1::DataType::kFLOAT, nullptr, count.get<int64_t>()};
  for (const EnumInfo& info : enums()) {
    for (size_t i = 0; info.type == "nvinfer1::DataType" && i < info.names.size(); ++i) {
      if (value.value("type", Json()) == info.names[i]) {
        result.type = static_cast<nvinfer1::DataType>(info.values[i]);
      }
    }
  }
  return result;
}

const nvinfer1::TimingCacheKey& Step::key(int index) {
  nvinfer1::TimingCacheKey& kept = keyStore_.emplace_back();
  std::string bytes;
  if (!argument(index).is_string() || !fromHex(argument(index).get<std::string>(), bytes) ||
      bytes.size() != sizeof kept.data) {
    wrong(index, "a key of 16 bytes in hex");
  }
  std::copy(bytes.begin(), bytes.end(), kept.data);
  return kept;
}

const nvinfer1::TimingCacheValue& Step::value(int index) {
  const Json& value = argument(index);
  double milliseconds = 0;
  if (!value.is_object() || !value.value("tactic", Json()).is_number_unsigned() ||
      !asReal(value.value("ms", Json()), milliseconds)) {
    wrong(index, "a tactic and its time");
  }
  return valueStore_.emplace_back(
      nvinfer1::TimingCacheValue{value["tactic"].get<uint64_t>(), static_cast<float>(milliseconds)});
}

int64_t Step::countAt(int index) const {
  const Json& value = argument(index);
  return value.is_number_integer() ? value.get<int64_t>() : -1;
}

template <typename T>
std::vector<T>& Step::list(std::deque<std::vector<T>>& store, int index, int count) {
  const Json& value = argument(index);
  const int64_t size = countAt(count);
  if (!value.is_array() || static_cast<int64_t>(value.size()) != std::max<int64_t>(size, 0) || size > kMostElements) {
    wrong(index, fmt::format("a list of {}", size));
  }
  return store.emplace_back();
}

nvinfer1::ITensor* const* Step::objects(int index, int count) {
  if (argument(index).is_null()) {
    return nullptr;
  }
  int type = 0;
  while (playedClasses()[static_cast<size_t>(type)].name != "ITensor") {
    ++type;
  }
  auto& kept = list(objectStore_, index, count);
  for (const Json& value : argument(index)) {
    kept.push_back(static_cast<nvinfer1::ITensor*>(objectAddress(value, type)));
  }
  return kept.data();
}

const int32_t* Step::ints32(int index, int count) {
  if (argument(index).is_null()) {
    return nullptr;
  }
  auto& kept = list(int32Store_, index, count);
  for (const Json& value : argument(index)) {
    if (!value.is_number_integer()) {
      wrong(index, "integers");
    }
    kept.push_back(static_cast<int32_t>(value.get<int64_t>()));
  }
  return kept.data();
}

int64_t* Step::ints64(int index, int count) {
  if (argument(index).is_null()) {
    return nullptr;
  }
  auto& kept = list(int64Store_, index, count);
  for (const Json& value : argument(index)) {
    if (!value.is_number_integer()) {
      wrong(index, "integers");
    }
    kept.push_back(value.get<int64_t>());
  }
  return kept.data();
}

const float* Step::floats(int index, int count) {
  if (argument(index).is_null()) {
    return nullptr;
  }
  auto& kept = list(floatStore_, index, count);
  for (const Json& value : argument(index)) {
    double number = 0;
    if (!asReal(value, number)) {
      wrong(index, "numbers");
    }
    kept.push_back(static_cast<float>(number));
  }
  return kept.data();
}

const char* const* Step::texts(int index, int count) {
  if (argument(index).is_null()) {
    return nullptr;
  }
  auto& kept = list(pointerStore_, index, count);
  for (const Json& value : argument(index)) {
    if (!value.is_string()) {
      wrong(index, "texts");
    }
    kept.push_back(textStore_.emplace_back(value.get<std::string>()).c_str());
  }
  return kept.data();
}

const void* Step::blob(int index, int count) {
  const Json& value = argument(index);
  if (value.is_null()) {
    return nullptr;
  }
  if (!value.is_object() || !value.value("data", Json()).is_number_unsigned()) {
    wrong(index, "the number of captured bytes");
  }
  const auto [bytes, size] = replay_.data(value["data"].get<uint64_t>());
  if (static_cast<uint64_t>(countAt(count)) != size) {
    wrong(count, fmt::format("{} bytes", size));
  }
  return bytes;
}

nvinfer1::IPluginV2& Step::plugin2(int index) const {
  const Json& value = argument(index);
  return given(index, value.is_number_unsigned() ? replay_.plugins().plugin2(value.get<uint64_t>()) : nullptr);
}

nvinfer1::IPluginV3& Step::plugin3(int index) const {
  const Json& value = argument(index);
  return given(index, value.is_number_unsigned() ? replay_.plugins().plugin3(value.get<uint64_t>()) : nullptr);
}

nvinfer1::TimingCacheKey* Step::keyRoom() {
  keyRoom_.resize(static_cast<size_t>(std::clamp<int64_t>(countAt(1), 0, kMostElements)));
  return keyRoom_.empty() ? nullptr : keyRoom_.data();
}

// The number of an object of the application; 0 for null.
uint64_t Step::userAt(int index) const {
  const Json& value = argument(index);
  if (!value.is_null() && !value.is_number_unsigned()) {
    wrong(index, "the number of an object or null");
  }
  return value.is_null() ? 0 : value.get<uint64_t>();
}

void Step::standIn(int, nvinfer1::ILogger*& result) { result = &replay_.users().logger(); }
void Step::standIn(int index, nvinfer1::IErrorRecorder*& result) {
  result = userAt(index) != 0 ? replay_.users().errorRecorder(userAt(index)) : nullptr;
}
void Step::standIn(int index, nvinfer1::IGpuAllocator*& result) {
  result = userAt(index) != 0 ? replay_.users().allocator(userAt(index)) : nullptr;
}
void Step::standIn(int index, nvinfer1::IProgressMonitor*& result) {
  result = userAt(index) != 0 ? replay_.users().progressMonitor(userAt(index)) : nullptr;
}
void Step::standIn(int index, nvinfer1::IAlgorithmSelector*& result) {
  result = userAt(index) != 0 ? replay_.users().selector(userAt(index)) : nullptr;
}
void Step::standIn(int index, nvinfer1::IInt8Calibrator*& result) {
  const uint64_t id = userAt(index);
  const uint64_t cache = replay_.users().calibrationCache(id);
  const auto [bytes, size] = cache != 0 ? replay_.dataAnywhere(cache) : std::pair<const void*, size_t>();
  result = id != 0 ? replay_.users().calibrator(id, bytes, size) : nullptr;
}
void Step::standIn(int index, nvinfer1::IStreamWriter*& result) {
  result = userAt(index) != 0 ? replay_.users().streamWriter(userAt(index)) : nullptr;
}

}  // namespace tenon::capture
