// The program's side of NVTX's injection: a tool's library is handed tables of function pointers, and writes its own
// there.
#include "runtime/nvtx.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstddef>
#include <cstdlib>

namespace tenon::runtime {
namespace {

using Function = void (*)();

// Numbers of the interface: tables of functions, and the places of those that are called here.
enum Table : unsigned { kCore = 1, kCuda = 2, kOpenCl = 3, kCudaRuntime = 4, kDomains = 5, kSync = 6, kTables = 7 };
constexpr std::array<unsigned, kTables> kFunctions{0, 16, 9, 15,
                                                   7, 16, 7};  // in each table, the unused first one included
constexpr size_t kMostFunctions = 16;
enum DomainFunction : unsigned { kRangePush = 4, kRangePop = 5, kDomainCreate = 12 };
constexpr uint32_t kInterfaceVersion = 3;

// What a tool writes to, and the list that it finds that through, with a null at its end.
struct FunctionTable {
  std::array<Function, kMostFunctions> functions{};
  std::array<Function*, kMostFunctions + 1> places{};
};
std::array<FunctionTable, kTables> tables;

struct CallbackExports {
  size_t bytes;
  int (*functionTable)(unsigned table, Function*** places, unsigned* count);
};

struct VersionExports {
  size_t bytes;
  uint32_t version;
  uint32_t reserved;
  void (*setToolVersion)(uint32_t version);
};

// An event as NVTX lays it out, with a text of bytes.
struct EventAttributes {
  uint16_t version = kInterfaceVersion;
  uint16_t bytes = 48;
  uint32_t category = 0;
  int32_t colorType = 0;
  uint32_t color = 0;
  int32_t payloadType = 0;
  int32_t reserved = 0;
  uint64_t payload = 0;
  int32_t messageType = 1;
  const char* message = nullptr;
};
static_assert(sizeof(EventAttributes) == 48 && offsetof(EventAttributes, message) == 40);

int functionTable(unsigned table, Function*** places, unsigned* count) {
  if (table == 0 || table >= kTables) return 0;
  auto& entry = tables[table];
  for (unsigned i = 1; i < kFunctions[table]; ++i) entry.places[i] = &entry.functions[i];
  if (places != nullptr) *places = entry.places.data();
  if (count != nullptr) *count = kFunctions[table];
  return 1;
}

const void* exportTable(uint32_t id) {
  static const CallbackExports kCallbacks{sizeof(CallbackExports), &functionTable};
  static const VersionExports kVersion{sizeof(VersionExports), kInterfaceVersion, 0, [](uint32_t) {}};
  if (id == 1) return &kCallbacks;
  return id == 3 ? static_cast<const void*>(&kVersion) : nullptr;
}

Function domainFunction(DomainFunction which) { return tables[kDomains].functions[which]; }

// Whether a tool is there that follows ranges. Its library stays open: it has threads of its own.
bool attach() {
  const char* path = std::getenv("NVTX_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') return false;
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) return false;
  using Initialize = int (*)(const void* (*exports)(uint32_t));
  const auto initialize = reinterpret_cast<Initialize>(dlsym(library, "InitializeInjectionNvtx2"));
  return initialize != nullptr && initialize(&exportTable) != 0 && domainFunction(kRangePush) != nullptr &&
         domainFunction(kRangePop) != nullptr;
}

}  // namespace

const NvtxTool* NvtxTool::attached() {
  static const NvtxTool* const kTool = []() -> const NvtxTool* {
    if (!attach()) return nullptr;
    auto* tool = new NvtxTool;
    // The name by which users of such tools choose what they want to see of an engine.
    const auto create = reinterpret_cast<void* (*)(const char*)>(domainFunction(kDomainCreate));
    if (create != nullptr) tool->domain_ = create("TensorRT");
    return tool;
  }();
  return kTool;
}

void NvtxTool::push(const char* text) const noexcept {
  EventAttributes event;
  event.message = text;
  reinterpret_cast<int (*)(void*, const EventAttributes*)>(domainFunction(kRangePush))(domain_, &event);
}

void NvtxTool::pop() const noexcept { reinterpret_cast<int (*)(void*)>(domainFunction(kRangePop))(domain_); }

std::shared_ptr<const RangeTexts> rangeTexts(const plan::Plan& plan, const plan::Program& program, RangeDetail detail) {
  auto texts = std::make_shared<RangeTexts>();
  texts->execution = plan.name.empty() ? "enqueue" : "enqueue " + plan.name;
  for (const auto& step : program.steps) {
    texts->steps.push_back(
        detail == RangeDetail::kDetailed
            ? fmt::format("{} [{}, {}, of {}]", step.name, step.layerType, step.tactic, fmt::join(step.origins, " + "))
            : step.name);
  }
  return texts;
}

}  // namespace tenon::runtime
