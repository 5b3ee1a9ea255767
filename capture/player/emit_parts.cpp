// What every emitted program holds, as text.
#include "player/emit_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>

namespace tenon::capture {

const char kEmittedPrologue[] = R"(// Makes the calls of a captured build again.
//   program FILE.bin ENGINE [LIBRARY_OF_PLUGINS ...]     writes ENGINE0, ENGINE1, ...
#include <NvInfer.h>
#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace nvinfer1;

namespace {

class Logger final : public ILogger {
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kWARNING) std::fprintf(stderr, "%s\n", message);
  }
} logger;

std::vector<char> bin;
std::string engineName;
int engines = 0;
int failures = 0;

Weights weights(DataType type, const void* values, int64_t count) {
  Weights result{type, values, count};
  return result;
}

const void* copyOf(size_t offset, size_t size) {
  char* copy = new char[size];
  std::memcpy(copy, &bin[offset], size);
  return copy;
}

void save(const void* bytes, size_t size) {
  const std::string name = engineName + std::to_string(engines++);
  if (bytes == nullptr) {
    std::printf("%s: no engine\n", name.c_str());
    ++failures;
    return;
  }
  std::ofstream file(name, std::ios::binary);
  file.write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  file.close();
  if (!file) {
    std::fprintf(stderr, "cannot write %s\n", name.c_str());
    ++failures;
  }
}

void save(IHostMemory* engine) { save(engine != nullptr ? engine->data() : nullptr, engine != nullptr ? engine->size() : 0); }

void save(ICudaEngine* engine) {
  IHostMemory* bytes = engine != nullptr ? engine->serialize() : nullptr;
  save(bytes);
  delete bytes;
  delete engine;
}

)";

const char kEmittedUsers[] = R"(// In place of what the application implemented: they answer as it answered.
using Stops = std::set<std::tuple<std::string, int32_t, uint64_t>>;

class Monitor final : public IProgressMonitor {
 public:
  explicit Monitor(Stops stops) : stops_(std::move(stops)) {}
  void phaseStart(const char*, const char*, int32_t) noexcept override {}
  bool stepComplete(const char* name, int32_t step) noexcept override {
    const std::string phase = name != nullptr ? name : "";
    return stops_.count({phase, step, steps_[{phase, step}]++}) == 0;
  }
  void phaseFinish(const char*) noexcept override {}

 private:
  Stops stops_;
  std::map<std::pair<std::string, int32_t>, uint64_t> steps_;
};

class ErrorRecorder final : public IErrorRecorder {
 public:
  explicit ErrorRecorder(std::vector<bool> answers) : answers_(std::move(answers)) {}
  int32_t getNbErrors() const noexcept override { return static_cast<int32_t>(errors_.size()); }
  ErrorCode getErrorCode(int32_t index) const noexcept override { return errors_.at(static_cast<size_t>(index)).first; }
  ErrorDesc getErrorDesc(int32_t index) const noexcept override { return errors_.at(static_cast<size_t>(index)).second.c_str(); }
  bool hasOverflowed() const noexcept override { return false; }
  void clear() noexcept override { errors_.clear(); }
  bool reportError(ErrorCode code, ErrorDesc text) noexcept override {
    errors_.emplace_back(code, text);
    logger_.log(ILogger::Severity::kERROR, text);
    return next_ < answers_.size() && answers_[next_++];
  }
  RefCount incRefCount() noexcept override { return ++uses_; }
  RefCount decRefCount() noexcept override { return --uses_; }

 private:
  ILogger& logger_ = logger;
  std::vector<bool> answers_;
  size_t next_ = 0;
  std::vector<std::pair<ErrorCode, std::string>> errors_;
  RefCount uses_ = 0;
};

using Selections = std::map<std::pair<std::string, int32_t>, std::vector<int32_t>>;

class Selector final : public IAlgorithmSelector {
 public:
  explicit Selector(Selections selections) : selections_(std::move(selections)) {}
  int32_t selectAlgorithms(const IAlgorithmContext& context, const IAlgorithm* const*, int32_t count,
                           int32_t* selection) noexcept override {
    const auto found = selections_.find({context.getName(), count});
    if (found == selections_.end() || found->second.size() > static_cast<size_t>(count)) {
      for (int32_t i = 0; i < count; ++i) selection[i] = i;
      return count;
    }
    for (size_t i = 0; i < found->second.size(); ++i) selection[i] = found->second[i];
    return static_cast<int32_t>(found->second.size());
  }
  void reportAlgorithms(const IAlgorithmContext* const*, const IAlgorithm* const*, int32_t) noexcept override {}

 private:
  Selections selections_;
};

class Calibrator final : public IInt8LegacyCalibrator {
 public:
  Calibrator(int32_t batch, int algorithm, size_t offset, size_t size)
      : batch_(batch), algorithm_(static_cast<CalibrationAlgoType>(algorithm)), offset_(offset), size_(size) {}
  int32_t getBatchSize() const noexcept override { return batch_; }
  bool getBatch(void*[], const char*[], int32_t) noexcept override { return false; }
  const void* readCalibrationCache(std::size_t& length) noexcept override {
    length = size_;
    return size_ > 0 ? &bin[offset_] : nullptr;
  }
  void writeCalibrationCache(const void*, std::size_t) noexcept override {}
  CalibrationAlgoType getAlgorithm() noexcept override { return algorithm_; }
  double getQuantile() const noexcept override { return 1; }
  double getRegressionCutoff() const noexcept override { return 1; }
  const void* readHistogramCache(std::size_t& length) noexcept override {
    length = 0;
    return nullptr;
  }
  void writeHistogramCache(const void*, std::size_t) noexcept override {}

 private:
  int32_t batch_;
  CalibrationAlgoType algorithm_;
  size_t offset_, size_;
};

class Writer final : public IStreamWriter {
 public:
  explicit Writer(std::map<int64_t, int64_t> refusals) : refusals_(std::move(refusals)) {}
  int64_t write(const void* data, int64_t count) noexcept override {
    const auto refused = refusals_.find(writes_++);
    const int64_t answer = refused != refusals_.end() ? refused->second : count;
    if (answer > 0) bytes.append(static_cast<const char*>(data), static_cast<size_t>(answer < count ? answer : count));
    return answer;
  }
  std::string bytes;

 private:
  std::map<int64_t, int64_t> refusals_;
  int64_t writes_ = 0;
};

void save(Writer& writer, bool done) {
  save(done ? writer.bytes.data() : nullptr, writer.bytes.size());
  writer.bytes.clear();
}

)";

const char kEmittedAllocator[] = R"(}  // namespace

#include <cuda_runtime_api.h>  // link with the CUDA runtime

namespace {

class Allocator final : public IGpuAllocator {
 public:
  explicit Allocator(std::set<uint64_t> refused) : refused_(std::move(refused)) {}
  void* allocate(uint64_t size, uint64_t, AllocatorFlags) noexcept override {
    void* memory = nullptr;
    return refused_.count(requests_++) == 0 && cudaMalloc(&memory, size) == cudaSuccess ? memory : nullptr;
  }
  bool deallocate(void* memory) noexcept override { return cudaFree(memory) == cudaSuccess; }

 private:
  std::set<uint64_t> refused_;
  uint64_t requests_ = 0;
};

)";

const char kEmittedPlugins[] = R"(}  // namespace

#include <impl/NvInferPythonPlugin.h>

namespace {

IPluginCreatorInterface* creatorOf(const char* type, const char* version, const char* space) {
  IPluginCreatorInterface* creator = getPluginRegistry()->getCreator(type, version, space);
  if (creator == nullptr) {
    std::fprintf(stderr, "there is no plugin '%s', version '%s', namespace '%s': name its library\n", type, version, space);
    std::exit(1);
  }
  return creator;
}

template <typename P>
P* given(P* plugin, const char* type) {
  if (plugin == nullptr) {
    std::fprintf(stderr, "the creator of the plugin '%s' makes none\n", type);
    std::exit(1);
  }
  return plugin;
}

IPluginV2* plugin2(const char* type, const char* version, const char* space, const char* name,
                   const std::vector<PluginField>& fields) {
  auto* creator = static_cast<IPluginCreator*>(creatorOf(type, version, space));
  const PluginFieldCollection all{static_cast<int32_t>(fields.size()), fields.data()};
  IPluginV2* plugin = given(creator->createPlugin(name, &all), type);
  plugin->setPluginNamespace(space);
  return plugin;
}

IPluginV2* plugin2(const char* type, const char* version, const char* space, const char* name, const void* state, size_t size) {
  auto* creator = static_cast<IPluginCreator*>(creatorOf(type, version, space));
  IPluginV2* plugin = given(creator->deserializePlugin(name, state, size), type);
  plugin->setPluginNamespace(space);
  return plugin;
}

IPluginV3* plugin3(const char* type, const char* version, const char* space, const char* name,
                   const std::vector<PluginField>& fields, int request = 0) {
  IPluginCreatorInterface* creator = creatorOf(type, version, space);
  const PluginFieldCollection all{static_cast<int32_t>(fields.size()), fields.data()};
  if (std::strcmp(creator->getInterfaceInfo().kind, "PLUGIN CREATOR_V3QUICK") == 0) {
    return given(static_cast<IPluginCreatorV3Quick*>(creator)->createPlugin(
                     name, space, &all, TensorRTPhase::kBUILD, static_cast<QuickPluginCreationRequest>(request)),
                 type);
  }
  return given(static_cast<IPluginCreatorV3One*>(creator)->createPlugin(name, &all, TensorRTPhase::kBUILD), type);
}

)";

const char kEmittedEpilogue[] = R"(
}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: %s FILE.bin ENGINE [LIBRARY_OF_PLUGINS ...]\n", argv[0]);
    return 64;
  }
  std::ifstream file(argv[1], std::ios::binary);
  bin.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  if (bin.size() < smallestBin) {
    std::fprintf(stderr, "%s is too short\n", argv[1]);
    return 1;
  }
  bin.push_back(0);  // so that the end has an address
  engineName = argv[2];
  for (int i = 3; i < argc; ++i) {
    if (dlopen(argv[i], RTLD_LAZY | RTLD_GLOBAL) == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
  }
)";

std::string cppText(const Json& value) {
  if (!value.is_string()) {
    return "nullptr";
  }
  std::string out = "\"";
  for (const char c : value.get<std::string>()) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f || c == '?') {
      out += fmt::format("\\{:03o}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string cppName(const Json& value) {
  const std::string name = value.is_string() ? value.get<std::string>() : std::string();
  const auto isOfNames = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  if (name.empty() || !std::all_of(name.begin(), name.end(), isOfNames)) {
    throw CaptureError(fmt::format("--emit-cpp: expected a name, got {}", value.dump().substr(0, 80)));
  }
  return name;
}

std::string cppNumber(const Json& value) {
  if (value == "nan" || value == "-nan" || value == "inf" || value == "-inf") {
    const std::string text = value.get<std::string>();
    const std::string name = text.find("nan") != std::string::npos ? "NAN" : "INFINITY";
    return text[0] == '-' ? "-" + name : name;
  }
  if (!value.is_number()) {
    throw CaptureError(fmt::format("--emit-cpp: expected a number, got {}", value.dump().substr(0, 80)));
  }
  if (value.is_number_integer() && !value.is_number_unsigned() && value.get<int64_t>() == INT64_MIN) {
    return "INT64_MIN";
  }
  const bool isWide = value.is_number_integer() && (value > INT32_MAX || value < INT32_MIN);
  const bool isWidest = value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX);
  return value.dump() + (isWidest ? "ULL" : isWide ? "LL" : "");
}

std::string cppNumbers(const Json& list) {
  std::string out;
  for (const Json& entry : list) {
    out += (out.empty() ? "" : ", ") + cppNumber(entry);
  }
  return out;
}

std::string cppBytes(const Json& hex) {
  const std::string text = hex.is_string() ? hex.get<std::string>() : std::string("none");
  if (text.size() % 2 != 0 || text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    throw CaptureError(fmt::format("--emit-cpp: expected bytes in hex, got {}", hex.dump().substr(0, 80)));
  }
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    bytes += (i > 0 ? ", 0x" : "0x") + text.substr(i, 2);
  }
  return bytes;
}

}  // namespace tenon::capture
