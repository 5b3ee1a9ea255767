// Goes through the lines of a capture.
#include "player/replay.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <unistd.h>
#include <xxhash.h>

#include <fstream>

#include "dispatch.h"
#include "player/interruptible.h"
#include "player/step.h"
#include "player/values.h"
#include "process/whole_file.h"

namespace tenon::capture {
namespace {

std::string hashText(const void* bytes, size_t size) {
  const XXH128_hash_t hash = XXH3_128bits(bytes, size);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

void writeFile(const std::string& name, const void* bytes, size_t size) {
  if (const std::string reason = tools::writeWholeFile(name, bytes, size); !reason.empty()) {
    throw CaptureError(fmt::format("cannot write {} bytes to '{}': {}", size, name, reason));
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

void Replay::differs(const Line& line, const std::string& what) {
  if (differences_++ == 0) {
    firstDifference_ = fmt::format("line {}: {}", line.number, what);
  }
}

void Replay::failsAgain(const Line& line, std::string_view method) {
  if (failures_++ == 0) {
    firstFailure_ = fmt::format("line {}: {}: {}", line.number, method, lastError());
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
    result.method = info.name;
    result.failedThen = line.value.contains("r") && (line.value["r"].is_null() || line.value["r"] == false);
    builds_.push_back(result);
  }
  if (!info.isBuild) {
    callMethod(method->second, step);
    return;
  }
  nvinfer1::IBuilderConfig* config = configOf(line);
  const bool hasCache = config != nullptr && !options_.timingCache.empty();
  if (hasCache) {
    applyTimingCache(*config);
  }
  try {
    const Interruptible scope(config);
    callMethod(method->second, step);
  } catch (...) {
    if (hasCache) {
      saveTimingCache(*config);  // what was measured is kept where the engine could not be written
    }
    throw;
  }
  if (hasCache) {
    saveTimingCache(*config);
  }
  if (tools::wasInterrupted()) {
    throw CaptureError(fmt::format("line {}: the build was ended by {}; no engine is written for it{}", line.number,
                                   tools::interruptName(), hasCache ? ", and its timings are kept" : ""));
  }
  if (builds_.back().file.empty()) {
    builds_.back().error = lastError();
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

void Replay::finish(const Line& line, const void* bytes, size_t size) {
  BuildResult& result = builds_.back();
  const Json then = line.value.value("engine", Json());
  result.bytes = size;
  result.comparable = then.is_object();
  result.identical = then.is_object() && then.value("xxh3", Json()) == hashText(bytes, size);
  result.file = options_.output.empty() ? "-" : engineName(result.build);
  if (!options_.output.empty()) {
    writeFile(result.file, bytes, size);
  }
}

void Replay::finishBuild(const Line& line, const nvinfer1::IHostMemory* engine) {
  if (engine != nullptr && engine->data() != nullptr) {
    finish(line, engine->data(), engine->size());
  }
}

void Replay::finishStream(const Line& line, bool done) {
  if (done) {
    finish(line, users_.writer().bytes.data(), users_.writer().bytes.size());
  }
}

// The configuration of a build; null when the line names none, which the call itself refuses.
nvinfer1::IBuilderConfig* Replay::configOf(const Line& line) const {
  const Json& values = line.value["a"];
  const Entry* config = values.size() > 1 && values[1].is_number_unsigned() ? find(values[1].get<uint64_t>()) : nullptr;
  return config != nullptr && config->type == kIndex_IBuilderConfig
             ? static_cast<nvinfer1::IBuilderConfig*>(config->face)
             : nullptr;
}

namespace {

std::string bytesOf(const nvinfer1::ITimingCache& cache) {
  const std::unique_ptr<nvinfer1::IHostMemory> memory(cache.serialize());
  return memory != nullptr ? std::string(static_cast<const char*>(memory->data()), memory->size()) : std::string();
}

}  // namespace

// Just before the build: the application may have set a cache of its own, which this one is added to.
void Replay::applyTimingCache(nvinfer1::IBuilderConfig& config) {
  // Before the first build there is none yet.
  const bool isThere = ::access(options_.timingCache.c_str(), F_OK) == 0;
  const files::InputFile file = isThere ? openFile(options_.timingCache, "timing cache") : files::InputFile();
  const std::string_view bytes = file.bytes();
  std::unique_ptr<nvinfer1::ITimingCache> cache(config.createTimingCache(bytes.data(), bytes.size()));
  const std::unique_ptr<nvinfer1::ITimingCache> empty(config.createTimingCache(nullptr, 0));
  // A library that cannot read the bytes begins with an empty cache; written back, it would take the file's place.
  const std::string none = empty != nullptr ? bytesOf(*empty) : std::string();
  if (!bytes.empty() && cache != nullptr && bytes != none && bytesOf(*cache) == none) {
    throw CaptureError(fmt::format(
        "'{}' is not a timing cache that this library accepts: {}. The file is not changed: name another one, or "
        "delete it",
        options_.timingCache, lastError().empty() ? "its entries are not read" : lastError()));
  }
  auto* there = const_cast<nvinfer1::ITimingCache*>(config.getTimingCache());
  const bool isTaken =
      cache != nullptr && (there != nullptr ? there->combine(*cache, false) : config.setTimingCache(*cache, false));
  if (!isTaken) {
    throw CaptureError(fmt::format("the timing cache '{}' is refused: {}", options_.timingCache, lastError()));
  }
  if (there == nullptr) {
    timingCaches_.push_back(std::move(cache));  // the configuration refers to it
  }
}

void Replay::saveTimingCache(nvinfer1::IBuilderConfig& config) {
  const nvinfer1::ITimingCache* cache = config.getTimingCache();
  const std::unique_ptr<nvinfer1::IHostMemory> bytes(cache != nullptr ? cache->serialize() : nullptr);
  if (bytes != nullptr) {
    writeFile(options_.timingCache, bytes->data(), bytes->size());
  }
}

}  // namespace tenon::capture
