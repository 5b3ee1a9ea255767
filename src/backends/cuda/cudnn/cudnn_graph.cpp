// Asks the heuristics about graphs, keeps plans.
#include "backends/cuda/cudnn/cudnn_graph.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/driver/in_order.h"
#include "backends/cuda/driver/made_once.h"
#include "core/error.h"
#include "core/fields.h"
#include "core/platform/cores.h"
#include "core/text.h"

namespace tenon::backends::cuda::dnn {
namespace {

constexpr size_t kMostKnobs = 64;
constexpr size_t kMostPlans = 2048;

// Handles that no thread uses; a handle is expensive to make.
struct HandlePool {
  std::mutex mutex;
  std::vector<Handle> resting;
};

HandlePool& handlePool() {
  static auto* const kPool = new HandlePool;
  return *kPool;
}

struct HandleLease {
  Handle handle = nullptr;
  void* stream = nullptr;
  bool streamIsSet = false;
  ~HandleLease() {
    if (handle == nullptr) return;
    auto& pool = handlePool();
    const std::lock_guard lock(pool.mutex);
    pool.resting.push_back(handle);
  }
};

HandleLease& lease() {
  thread_local HandleLease kLease;
  if (kLease.handle != nullptr) return kLease;
  if (!library().missing.empty()) throw Unsupported("{}", library().missing);
  makeCurrent();
  auto& pool = handlePool();
  const std::lock_guard lock(pool.mutex);
  if (!pool.resting.empty()) {
    kLease.handle = pool.resting.back();
    pool.resting.pop_back();
  } else {
    check(library().create(&kLease.handle), "cudnnCreate");
  }
  return kLease;
}

MadeOnce<ExecutionPlan>& planCache() {
  static auto* const kCache = new MadeOnce<ExecutionPlan>(kMostPlans);
  return *kCache;
}

}  // namespace

Chip Chip::here() {
  Chip chip;
  chip.handle_ = lease().handle;
  return chip;
}

Chip Chip::described(std::string_view properties) {
  if (!library().missing.empty()) throw Unsupported("{}", library().missing);
  auto descriptor = std::make_shared<Descriptor>(Kind::kDeviceProperties);
  descriptor->set(Attribute::kDevicePropertiesJson, std::span<const char>(properties.data(), properties.size()));
  descriptor->finalize("properties of a chip");
  Chip chip;
  chip.properties_ = std::move(descriptor);
  return chip;
}

Handle threadHandle(void* stream) {
  auto& own = lease();
  if (!own.streamIsSet || own.stream != stream) {
    check(library().setStream(own.handle, stream), "cudnnSetStream");
    own.stream = stream;
    own.streamIsSet = true;
  }
  return own.handle;
}

std::string EngineChoice::text() const {
  std::string result = fmt::format("{}", engine);
  for (size_t i = 0; i < knobs.size(); ++i)
    result += fmt::format("{}{}={}", i == 0 ? ":" : ",", knobs[i].first, knobs[i].second);
  return result;
}

EngineChoice EngineChoice::parse(std::string_view text) {
  TextReader in(text, "an engine of cuDNN");
  EngineChoice choice;
  choice.engine = in.integer();
  if (in.accept(":")) {
    do {
      const int64_t type = in.integer();
      in.expect("=");
      choice.knobs.emplace_back(type, in.integer());
    } while (in.accept(","));
  }
  return choice;
}

Descriptor OperationGraph::engine(const Chip& chip, int64_t index) const {
  Descriptor engine(Kind::kEngine);
  engine.set(Attribute::kEngineGraph, graph_);
  engine.set(Attribute::kEngineIndex, index);
  if (chip.properties() != nullptr) engine.set(Attribute::kEngineDevice, *chip.properties());
  engine.finalize("an engine");
  return engine;
}

std::vector<EngineChoice> OperationGraph::propose(HeuristicMode mode, Math math, size_t most) const {
  std::vector<EngineChoice> result;
  std::vector<Descriptor> configs;
  try {
    Descriptor heuristic(Kind::kHeuristic);
    heuristic.set(Attribute::kHeuristicGraph, graph_);
    heuristic.set(Attribute::kHeuristicMode, mode);
    if (chip_.properties() != nullptr) heuristic.set(Attribute::kHeuristicDevice, *chip_.properties());
    heuristic.finalize("heuristics");
    configs = heuristic.descriptors(Attribute::kHeuristicResults, Kind::kEngineConfig, most + 16);
  } catch (const Unsupported&) {
    return result;  // the graph is of no pattern that an engine takes
  }
  for (const auto& config : configs) {
    if (result.size() >= most) break;
    const auto engines = config.descriptors(Attribute::kConfigEngine, Kind::kEngine, 1);
    if (engines.empty()) continue;
    const auto notes = engines[0].list<NumericalNote>(Attribute::kEngineNumericalNotes, 16);
    const auto rounds = [math](NumericalNote note) {
      // Sums of halves in halves lose as much as the halves have.
      if (note == NumericalNote::kReducedPrecisionReduction) return true;
      return math == Math::kNoTensorCores &&
             (note == NumericalNote::kTensorCores || note == NumericalNote::kDownConvertsInputs);
    };
    if (std::any_of(notes.begin(), notes.end(), rounds)) continue;
    EngineChoice choice;
    choice.engine = engines[0].get<int64_t>(Attribute::kEngineIndex);
    for (const auto& knob : config.descriptors(Attribute::kConfigKnobs, Kind::kKnobChoice, kMostKnobs)) {
      choice.knobs.emplace_back(static_cast<int64_t>(knob.get<KnobType>(Attribute::kKnobType)),
                                knob.get<int64_t>(Attribute::kKnobValue));
    }
    std::sort(choice.knobs.begin(), choice.knobs.end());
    const auto same = [&](const EngineChoice& other) {
      return other.engine == choice.engine && other.knobs == choice.knobs;
    };
    if (std::none_of(result.begin(), result.end(), same)) result.push_back(std::move(choice));
  }
  return result;
}

Descriptor OperationGraph::configuration(const Chip& chip, const EngineChoice& choice) const {
  const auto chosen = engine(chip, choice.engine);
  Descriptor config(Kind::kEngineConfig);
  config.set(Attribute::kConfigEngine, chosen);
  std::vector<Descriptor> knobs;
  for (const auto& [type, value] : choice.knobs) {
    auto& knob = knobs.emplace_back(Kind::kKnobChoice);
    knob.set(Attribute::kKnobType, static_cast<KnobType>(type));
    knob.set(Attribute::kKnobValue, value);
    knob.finalize("a knob");
  }
  if (!knobs.empty()) config.set(Attribute::kConfigKnobs, knobs);
  config.finalize("an engine's configuration");
  return config;
}

std::string OperationGraph::key(const EngineChoice& choice) const {
  return fmt::format("{}| {} | {}", chip_.handle() != nullptr ? "" : "described ", choice.text(), text_);
}

// What a plan file gave is known by its bytes too: it may serve only who has the same.
std::string OperationGraph::key(const EngineChoice& choice, std::span<const std::byte> code) const {
  const std::string_view text(reinterpret_cast<const char*>(code.data()), code.size());
  if (!text.starts_with(codeHeader(choice))) return key(choice);
  return fmt::format("{} | code {:016x} of {} bytes", key(choice), hashBytes(text), text.size());
}

std::shared_ptr<const ExecutionPlan> OperationGraph::plan(const EngineChoice& choice) const {
  return planCache().get(key(choice), [&] {
    // Some engines are compiled here, which takes long, also when it fails. A handle belongs to its thread.
    const auto chip = chip_.handle() != nullptr ? Chip::here() : chip_;
    return std::make_shared<const ExecutionPlan>(chip, configuration(chip, choice));
  });
}

std::string OperationGraph::codeHeader(const EngineChoice& choice) const {
  return fmt::format("cudnn plan {} {:016x}\n", library().version, hashBytes(choice.text() + " | " + text_));
}

std::vector<std::byte> OperationGraph::codeOf(const EngineChoice& choice) const {
  if (!isCompiled(choice)) return {};
  const auto made = plan(choice);
  const auto header = codeHeader(choice);
  const auto* const bytes = reinterpret_cast<const std::byte*>(header.data());
  std::vector<std::byte> code(bytes, bytes + header.size());
  try {
    const auto serialized = made->serialized();
    code.insert(code.end(), serialized.begin(), serialized.end());
  } catch (const Unsupported&) {
    return {};  // whoever loads it compiles
  }
  return code;
}

std::shared_ptr<const ExecutionPlan> OperationGraph::plan(const EngineChoice& choice,
                                                          std::span<const std::byte> code) const {
  const auto header = codeHeader(choice);
  const std::string_view text(reinterpret_cast<const char*>(code.data()), code.size());
  if (!text.starts_with(header)) return plan(choice);
  return planCache().get(key(choice, code), [&] {
    const auto chip = chip_.handle() != nullptr ? Chip::here() : chip_;
    try {
      return std::make_shared<const ExecutionPlan>(chip, code.subspan(header.size()));
    } catch (const Unsupported&) {
      return plan(choice);
    }
  });
}

bool OperationGraph::isCompiled(const EngineChoice& choice) const {
  const auto notes = engine(chip_, choice.engine).list<BehaviorNote>(Attribute::kEngineBehaviorNotes, 16);
  return std::find(notes.begin(), notes.end(), BehaviorNote::kCompiledAtRunTime) != notes.end();
}

std::vector<NumericalNote> OperationGraph::notesOf(const EngineChoice& choice) const {
  return engine(chip_, choice.engine).list<NumericalNote>(Attribute::kEngineNumericalNotes, 16);
}

bool OperationGraph::mustCompile(const EngineChoice& choice, std::span<const std::byte> code) const {
  return !planCache().knows(key(choice, code)) && isCompiled(choice);
}

void OperationGraph::planAll(const std::vector<EngineChoice>& choices) const {
  constexpr size_t kMostThreads = 12;
  std::atomic<size_t> next{0};
  const auto work = [&] {
    for (size_t i = next++; i < choices.size(); i = next++) {
      try {
        plan(choices[i]);
      } catch (const Error&) {
        // Whoever asks for this one alone is told why.
      }
    }
  };
  std::vector<std::thread> threads;
  const auto cores = static_cast<size_t>(platform::coresOfMask());
  for (size_t i = 1; i < std::min({choices.size(), cores, kMostThreads}); ++i) threads.emplace_back(work);
  work();
  for (auto& thread : threads) thread.join();
}

ExecutionPlan::ExecutionPlan(const Chip& chip, Descriptor config)
    : config_(std::move(config)), plan_(Kind::kExecutionPlan) {
  if (chip.handle() != nullptr) plan_.setHandle(Attribute::kPlanHandle, chip.handle());
  if (chip.properties() != nullptr) plan_.set(Attribute::kPlanDevice, *chip.properties());
  plan_.set(Attribute::kPlanConfig, config_);
  plan_.finalize("an execution plan");
  measure();
}

ExecutionPlan::ExecutionPlan(const Chip& chip, std::span<const std::byte> serialized) : plan_(Kind::kExecutionPlan) {
  if (chip.handle() != nullptr) plan_.setHandle(Attribute::kPlanHandle, chip.handle());
  if (chip.properties() != nullptr) plan_.set(Attribute::kPlanDevice, *chip.properties());
  const std::span text(reinterpret_cast<const char*>(serialized.data()), serialized.size());
  plan_.set(Attribute::kPlanJson, text);
  plan_.finalize("a serialized execution plan");
  measure();
}

void ExecutionPlan::measure() {
  workspaceBytes_ = static_cast<uint64_t>(std::max<int64_t>(plan_.get<int64_t>(Attribute::kPlanWorkspaceBytes), 0));
}

std::vector<std::byte> ExecutionPlan::serialized() const { return plan_.bytes(Attribute::kPlanJson); }

void ExecutionPlan::execute(const Descriptor& pack, void* stream) const {
  InOrder order(stream);
  check(library().execute(threadHandle(stream), plan_.raw(), pack.raw()), "cudnnBackendExecute");
  order.end();
}

}  // namespace tenon::backends::cuda::dnn
