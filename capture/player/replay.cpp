// Goes through the lines of a capture.
#include "player/replay.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include "common/bin_format.h"
#include "dispatch.h"
#include "player/step.h"

namespace tenon::capture {
namespace {

// The values of weights that were not captured: small numbers, the same for the same seed and number of the weights.
std::vector<unsigned char> randomBytes(nvinfer1::DataType type, int64_t count, size_t size, uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<unsigned char> bytes(size);
  std::uniform_real_distribution<float> values(-0.1F, 0.1F);
  for (int64_t i = 0; i < count; ++i) {
    const float value = values(engine);
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    if (type == nvinfer1::DataType::kFLOAT) {
      std::memcpy(&bytes[static_cast<size_t>(i) * 4], &bits, 4);
    } else if (type == nvinfer1::DataType::kBF16) {
      std::memcpy(&bytes[static_cast<size_t>(i) * 2], reinterpret_cast<const char*>(&bits) + 2, 2);
    } else if (type == nvinfer1::DataType::kHALF) {
      // Exponents of 2^-7 to 2^-4 with random fractions and signs.
      const auto half = static_cast<uint16_t>(((bits >> 16) & 0x8000U) | ((8 + (bits >> 13) % 4) << 10) | (bits & 0x3ffU));
      std::memcpy(&bytes[static_cast<size_t>(i) * 2], &half, 2);
    } else {
      const size_t at = static_cast<size_t>(i) * static_cast<size_t>(bitsOf(type)) / 8;
      bytes[at] = static_cast<unsigned char>(bits & 1U);
    }
  }
  return bytes;
}

std::string hashText(const void* bytes, size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, size);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

uint64_t idAt(const Json& value, const char* key) {
  const Json id = value.value(key, Json());
  return id.is_number_unsigned() ? id.get<uint64_t>() : 0;
}

void writeFile(const std::string& name, const void* bytes, size_t size) {
  std::ofstream file(name, std::ios::binary | std::ios::trunc);
  file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  file.close();
  if (!file) {
    throw CaptureError(fmt::format("cannot write '{}'", name));
  }
}

}  // namespace

Replay::Replay(CaptureFile& capture, ReplayOptions options) : capture_(capture), options_(std::move(options)) {
  int index = 0;
  for (const MethodInfo& method : methods()) {
    methods_.emplace(method.name, index++);
  }
}

Replay::~Replay() {
  // What the application never deleted; builders last, since the others may refer to them.
  for (const bool builders : {false, true}) {
    for (auto& [id, entry] : entries_) {
      const PlayedClass& type = playedClasses()[static_cast<size_t>(entry.type)];
      if (entry.isOwned && (type.name == "IBuilder") == builders) {
        type.destroy(entry.face);
      }
    }
  }
}

const Replay::Entry* Replay::find(uint64_t id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

nvinfer1::Weights Replay::weights(uint64_t id) const {
  const auto found = weights_.find(id);
  if (found == weights_.end()) {
    throw CaptureError(fmt::format("weights {} are used but never defined", id));
  }
  return found->second;
}

std::pair<const void*, size_t> Replay::data(uint64_t id) const {
  const auto found = data_.find(id);
  if (found == data_.end()) {
    throw CaptureError(fmt::format("data {} is used but never defined", id));
  }
  return {found->second.bytes, found->second.size};
}

std::pair<const void*, size_t> Replay::dataAnywhere(uint64_t id) {
  if (data_.count(id) == 0 && ahead_.count(id) != 0) {
    Data& row = data_[id];
    row.bytes = capture_.data(ahead_.at(id), row.size);
  }
  return data(id);
}

void Replay::differs(const Line& line, const std::string& what) {
  if (differences_++ == 0) {
    firstDifference_ = fmt::format("line {}: {}", line.number, what);
  }
}

// How many builds will be played, which decides about the names of files; what the application's objects answered.
void Replay::lookAhead() {
  std::unordered_map<uint64_t, Json> networks;  // by object
  Line line;
  while (capture_.next(line)) {
    if (line.value.value("new", Json()) == "INetworkDefinition") {
      networks[idAt(line.value, "r")] = line.value.value("network", Json());
    }
    if (line.value.contains("build")) {
      const Json arguments = line.value.value("a", Json::array());
      const uint64_t network = arguments.is_array() && !arguments.empty() && arguments[0].is_number_unsigned()
                                   ? arguments[0].get<uint64_t>()
                                   : 0;
      buildCount_ += options_.network == 0 || networks[network] == options_.network ? 1 : 0;
    }
    users_.take(line);
    if (line.value.contains("data") && line.value.contains("offset")) {
      ahead_[idAt(line.value, "data")] = line;
    }
  }
  capture_.rewind();
}

void Replay::run() {
  lookAhead();
  Line line;
  while (capture_.next(line)) {
    if (options_.progress) {
      options_.progress(line.number);
    }
    try {
      if (line.value.contains("m")) {
        play(line);
      } else {
        define(line);
      }
    } catch (const Json::exception& error) {
      throw CaptureError(fmt::format("line {}: {}", line.number, error.what()));
    }
  }
}

void Replay::define(const Line& line) {
  if (line.value.contains("data") && line.value.contains("offset")) {
    Data& row = data_[idAt(line.value, "data")];
    row.bytes = capture_.data(line, row.size);
  } else if (line.value.contains("weights")) {
    defineWeights(line);
  } else if (line.value.contains("plugin")) {
    plugins_.define(line, [this](uint64_t id) { return data(id); });
  }
}

void Replay::defineWeights(const Line& line) {
  nvinfer1::Weights weights{nvinfer1::DataType::kFLOAT, nullptr, 0};
  const Json count = line.value.value("count", Json());
  bool isType = false;
  for (int32_t i = 0; i <= static_cast<int32_t>(nvinfer1::DataType::kE8M0); ++i) {
    for (const EnumInfo& info : enums()) {
      if (info.type == "nvinfer1::DataType" && line.value.value("type", Json()) == info.names[static_cast<size_t>(i)]) {
        weights.type = static_cast<nvinfer1::DataType>(info.values[static_cast<size_t>(i)]);
        isType = true;
      }
    }
  }
  if (!isType || !count.is_number_unsigned()) {
    throw CaptureError(fmt::format("line {}: weights need a type and a count", line.number));
  }
  weights.count = count.get<int64_t>();
  const size_t size = bytesOf(weights.type, weights.count);
  const Json text = line.value.value("inline", Json());
  if (const uint64_t id = idAt(line.value, "data"); id != 0) {
    Data& row = data_[id];
    if (row.bytes == nullptr || row.size != size) {
      throw CaptureError(fmt::format("line {}: {} bytes of weights, but data {} has {}", line.number, size, id, row.size));
    }
    weights.values = row.bytes;
    if (std::exchange(row.used, true)) {
      // The same content at another address: weights are named by address, so each keeps one of its own.
      weights.values = ownBytes_.emplace_back(row.bytes, row.bytes + row.size).data();
    }
  } else if (line.value.value("random", Json()) == true) {
    if (size > (size_t{1} << 40)) {
      throw CaptureError(fmt::format("line {}: weights of {} bytes", line.number, size));
    }
    weights.values = ownBytes_.emplace_back(randomBytes(weights.type, weights.count, size,
                                                        options_.randomSeed * 0x9e3779b97f4a7c15ULL + idAt(line.value, "weights")))
                         .data();
  } else if (text.is_string() && text.get_ref<const std::string&>().size() == size * 2) {
    std::vector<unsigned char>& bytes = ownBytes_.emplace_back(size);
    const auto& hex = text.get_ref<const std::string&>();
    for (size_t i = 0; i < size; ++i) {
      bytes[i] = static_cast<unsigned char>(std::strtoul(hex.substr(2 * i, 2).c_str(), nullptr, 16));
    }
    weights.values = bytes.data();
  } else {
    throw CaptureError(fmt::format("line {}: weights without their {} bytes", line.number, size));
  }
  weights_[idAt(line.value, "weights")] = weights;
}

// Whether --network leaves this line out: it belongs to, or speaks of, an object of another network.
bool Replay::isLeftOut(const Line& line) const {
  if (options_.network == 0) {
    return false;
  }
  const auto other = [&](const Json& value) {
    if (!value.is_number_unsigned()) {
      return false;
    }
    return leftOut_.count(value.get<uint64_t>()) != 0;
  };
  if (other(line.value.value("o", Json()))) {
    return true;
  }
  const Json network = line.value.value("network", Json());
  if (network.is_number_integer() && network.get<int64_t>() != options_.network) {
    return true;
  }
  const auto method = methods_.find(line.value.value("m", std::string()));
  if (method == methods_.end()) {
    return false;
  }
  const auto parameters = methods()[static_cast<size_t>(method->second)].parameters;
  const Json& values = line.value.at("a");
  for (size_t i = 0; i < parameters.size() && i < values.size(); ++i) {
    if (parameters[i].kind == "object" && other(values[i])) {
      return true;
    }
  }
  return false;
}

void Replay::play(const Line& line) {
  const Json name = line.value["m"];
  if (!name.is_string() || !line.value.value("a", Json()).is_array()) {
    throw CaptureError(fmt::format("line {}: a call needs a name and a list of arguments", line.number));
  }
  if (isLeftOut(line)) {
    if (line.value.contains("new")) {
      leftOut_.insert(idAt(line.value, "r"));
    }
    return;
  }
  const auto& text = name.get_ref<const std::string&>();
  if (text == "createInferBuilder") {
    return createBuilder(line);
  }
  if (const size_t dot = text.find(".delete"); dot != std::string::npos && dot + 7 == text.size()) {
    return remove(line, text.substr(0, dot));
  }
  if (text.rfind("IPluginRegistry.", 0) == 0) {
    return;  // plugins say themselves how they are made
  }
  const auto method = methods_.find(text);
  if (method == methods_.end()) {
    throw CaptureError(fmt::format("line {}: unknown function '{}'", line.number, text));
  }
  const MethodInfo& info = methods()[static_cast<size_t>(method->second)];
  Step step(*this, line, info);
  if (info.isBuild) {
    users_.writer().bytes.clear();
    BuildResult result;
    result.build = static_cast<int64_t>(builds_.size());
    result.line = line.number;
    result.failedThen = line.value.contains("r") && (line.value["r"].is_null() || line.value["r"] == false);
    builds_.push_back(result);
  }
  callMethod(method->second, step);
  if (text == "IBuilder.createBuilderConfig" && !options_.timingCache.empty()) {
    if (const Entry* config = find(idAt(line.value, "r"))) {
      applyTimingCache(*static_cast<nvinfer1::IBuilderConfig*>(config->face));
    }
  }
  if (info.isBuild && !options_.timingCache.empty()) {
    saveTimingCache(line);
  }
}

void Replay::createBuilder(const Line& line) {
  nvinfer1::IBuilder* builder = nvinfer1::createInferBuilder(users_.logger());
  const uint64_t id = idAt(line.value, "r");
  if (id == 0) {
    delete builder;
    return;
  }
  if (builder == nullptr) {
    throw CaptureError(fmt::format("line {}: no builder could be made: {}", line.number, lastError()));
  }
  bind(id, {builder, kIndex_IBuilder, 0, 0, true});
}

// Deletes the object, and forgets what was reached through it.
void Replay::remove(const Line& line, const std::string& type) {
  const uint64_t id = idAt(line.value, "o");
  const auto found = entries_.find(id);
  if (found == entries_.end() || playedClasses()[static_cast<size_t>(found->second.type)].name != type ||
      !found->second.isOwned) {
    throw CaptureError(fmt::format("line {}: there is no {} {} to delete", line.number, type, id));
  }
  const Entry entry = found->second;
  entries_.erase(found);
  for (auto at = entries_.begin(); at != entries_.end();) {
    const bool isPart = at->second.owner == id || (entry.network != 0 && at->second.network == entry.network);
    at = isPart && !at->second.isOwned ? entries_.erase(at) : std::next(at);
  }
  playedClasses()[static_cast<size_t>(entry.type)].destroy(entry.face);
}

std::string Replay::engineName(int64_t build) const {
  return buildCount_ > 1 ? options_.output + std::to_string(build) : options_.output;
}

void Replay::finishBuild(const Line& line, const nvinfer1::IHostMemory* engine) {
  BuildResult& result = builds_.back();
  if (engine == nullptr || engine->data() == nullptr) {
    return;
  }
  const Json then = line.value.value("engine", Json());
  result.bytes = engine->size();
  result.comparable = then.is_object();
  result.identical = then.is_object() && then.value("xxh3", Json()) == hashText(engine->data(), engine->size());
  if (!options_.output.empty()) {
    result.file = engineName(result.build);
    writeFile(result.file, engine->data(), engine->size());
  } else {
    result.file = "-";
  }
}

void Replay::finishStream(const Line& line, bool done) {
  BuildResult& result = builds_.back();
  if (!done) {
    return;
  }
  const std::string& bytes = users_.writer().bytes;
  const Json then = line.value.value("engine", Json());
  result.bytes = bytes.size();
  result.comparable = then.is_object();
  result.identical = then.is_object() && then.value("xxh3", Json()) == hashText(bytes.data(), bytes.size());
  result.file = options_.output.empty() ? "-" : engineName(result.build);
  if (!options_.output.empty()) {
    writeFile(result.file, bytes.data(), bytes.size());
  }
}

void Replay::applyTimingCache(nvinfer1::IBuilderConfig& config) {
  std::ifstream file(options_.timingCache, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  // It stays with the configuration, which refers to it.
  const nvinfer1::ITimingCache* cache = config.createTimingCache(bytes.data(), bytes.size());
  if (cache == nullptr || !config.setTimingCache(*cache, false)) {
    throw CaptureError(fmt::format("the timing cache '{}' is refused: {}", options_.timingCache, lastError()));
  }
}

void Replay::saveTimingCache(const Line& line) {
  const Json& values = line.value["a"];
  const Entry* config = values.size() > 1 && values[1].is_number_unsigned() ? find(values[1].get<uint64_t>()) : nullptr;
  if (config == nullptr) {
    return;
  }
  const nvinfer1::ITimingCache* cache = static_cast<nvinfer1::IBuilderConfig*>(config->face)->getTimingCache();
  const std::unique_ptr<nvinfer1::IHostMemory> bytes(cache != nullptr ? cache->serialize() : nullptr);
  if (bytes != nullptr) {
    writeFile(options_.timingCache, bytes->data(), bytes->size());
  }
}

}  // namespace tenon::capture
