// Loading, and what an engine says about itself.
#include "runtime/engine.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <future>
#include <map>

#include "core/error.h"
#include "plan/blob.h"
#include "plan/file.h"
#include "plan/inspect.h"
#include "plan/verify.h"
#include "runtime/engine_parts.h"

namespace tenon::runtime {
namespace {

std::shared_ptr<const Engine> fromVerified(plan::Plan plan, const PlanSource* source, const LoadOptions& options,
                                           Log& log) {
  return std::make_shared<const Engine>(
      loadParts(std::move(plan), source, options.device, options.hostCodeAllowed, options.allocator, log));
}

bool isHost(std::string_view kind) {
  const auto all = backends();
  return std::any_of(all.begin(), all.end(), [&](Backend* backend) {
    auto& device = backend->device();
    return device.kind() == kind && device.isHost();
  });
}

// What is left to check is checked beside the load where the device has copies of the constants; a host gives pages of
// theirs back meanwhile. Damage is told of before whatever it has led to.
std::shared_ptr<const Engine> fromSource(const PlanSource& source, const LoadOptions& options, Log& log) {
  std::function<void()> check;
  auto plan = plan::read(source.blob, &check);
  std::future<void> checked;
  if (check != nullptr) {
    if (isHost(options.device.empty() ? plan.target.device : options.device)) {
      check();
    } else {
      checked = std::async(std::launch::async | std::launch::deferred, std::move(check));
    }
  }
  std::shared_ptr<const Engine> engine;
  std::exception_ptr failure;
  try {
    engine = fromVerified(std::move(plan), &source, options, log);
  } catch (...) {
    failure = std::current_exception();
  }
  if (checked.valid()) checked.get();
  if (failure != nullptr) std::rethrow_exception(failure);
  return engine;
}

// Fills `to`; a reader may give less than asked for.
void readAll(StreamReader& reader, std::byte* to, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const size_t got = reader.read(to + done, bytes - done);
    checkUser(got != 0, "engine: the stream ended after {} of {} bytes", done, bytes);
    checkUser(got <= bytes - done, "engine: the stream reader says it read {} bytes, asked for {}", got, bytes - done);
    done += got;
  }
}

// Weights that entered a plan unchanged are the caller's, there during the build only: they have no owner (use_count()
// is 0). Copies them, each place once.
void ownConstants(plan::Plan& plan) {
  std::map<std::pair<const void*, uint64_t>, std::shared_ptr<const void>> copies;
  for (auto& constant : plan.constants) {
    if (constant.data.use_count() != 0 || constant.bytes == 0) continue;
    auto& copy = copies[{constant.data.get(), constant.bytes}];
    if (copy == nullptr)
      copy = plan::Blob::copyOf({static_cast<const std::byte*>(constant.data.get()), constant.bytes}).share(0);
    constant.data = copy;
  }
}

}  // namespace

std::shared_ptr<const Engine> Engine::load(std::span<const std::byte> blob, const LoadOptions& options, Log& log) {
  const auto facts = plan::peek(blob);  // what is no plan at all is not copied
  checkUser(facts.fileBytes == blob.size(), "plan: {} bytes are given, its header says {}{}", blob.size(),
            facts.fileBytes, blob.size() < facts.fileBytes ? "; it is cut off" : "");
  constexpr uintptr_t kAlignment = 64;  // of sections and constants
  const bool isLent = reinterpret_cast<uintptr_t>(blob.data()) % kAlignment == 0;
  return fromSource({isLent ? plan::Blob::lend(blob) : plan::Blob::copyOf(blob), isLent}, options, log);
}

std::shared_ptr<const Engine> Engine::loadFrom(StreamReader& reader, const LoadOptions& options, Log& log) {
  std::byte start[plan::kHeaderBytes];
  readAll(reader, start, sizeof(start));
  const auto facts = plan::peek(start);
  checkUser(facts.fileBytes >= plan::kHeaderBytes, "plan: its header gives it {} bytes", facts.fileBytes);
  const auto blob = plan::Blob::allocate(facts.fileBytes);
  std::copy(std::begin(start), std::end(start), blob.data());
  readAll(reader, blob.data() + plan::kHeaderBytes, facts.fileBytes - plan::kHeaderBytes);
  return fromSource({blob, false}, options, log);
}

std::shared_ptr<const Engine> Engine::make(plan::Plan plan, const LoadOptions& options, Log& log) {
  plan::verify(plan);
  ownConstants(plan);
  return fromVerified(std::move(plan), nullptr, options, log);
}

Engine::Engine(std::unique_ptr<const EngineParts> parts) : parts_(std::move(parts)) {}
Engine::~Engine() = default;

const plan::Plan& Engine::plan() const noexcept { return parts_->plan; }
LargeVector<std::byte> Engine::serialize() const {
  return parts_->held.empty() ? plan::write(parts_->plan) : plan::write(restored(parts_->plan, parts_->held));
}
Device& Engine::device() const noexcept { return *parts_->device; }
AllocatorHook* Engine::allocator() const noexcept { return parts_->allocator; }

const std::vector<plan::Io>& Engine::io() const noexcept { return parts_->plan.io; }

int Engine::findIo(std::string_view name) const noexcept {
  const auto found = std::find_if(io().begin(), io().end(), [&](const plan::Io& x) { return x.name == name; });
  return found == io().end() ? -1 : static_cast<int>(found - io().begin());
}

Dims Engine::ioDims(int index) const {
  Dims dims;
  for (const auto& extent : io().at(static_cast<size_t>(index)).shape)
    dims.push(extent.isConstant() ? extent.constant() : -1);
  return dims;
}

int Engine::profileCount() const noexcept { return static_cast<int>(parts_->plan.programs.size()); }

const plan::Program& Engine::program(int profile) const {
  checkUser(profile >= 0 && profile < profileCount(), "profile {} does not exist, the engine has {}", profile,
            profileCount());
  return parts_->plan.programs[static_cast<size_t>(profile)];
}

const plan::InputRange* Engine::range(int profile, int index) const {
  (void)program(profile);
  if (static_cast<size_t>(profile) >= parts_->plan.profiles.size()) return nullptr;
  const auto& ranges = parts_->plan.profiles[static_cast<size_t>(profile)];
  const auto found = ranges.find(io().at(static_cast<size_t>(index)).name);
  return found == ranges.end() ? nullptr : &found->second;
}

uint64_t Engine::arenaBytes(int profile) const { return program(profile).arenaBytes; }

uint64_t Engine::arenaBytes() const {
  uint64_t most = 0;
  for (const auto& program : parts_->plan.programs) most = std::max(most, program.arenaBytes);
  return most;
}

int32_t Engine::auxStreams() const noexcept {
  int32_t most = 0;
  for (const auto& program : parts_->plan.programs) most = std::max(most, program.auxStreams);
  return most;
}

uint64_t Engine::constantBytes() const noexcept { return parts_->constantBytes; }

int Engine::layerCount(int profile) const { return static_cast<int>(program(profile).steps.size()); }

std::string Engine::layerText(int profile, int layer, const SymbolValues* symbols) const {
  checkUser(layer >= 0 && layer < layerCount(profile), "layer {} does not exist, the engine has {}", layer,
            layerCount(profile));
  return plan::layerText(plan(), static_cast<size_t>(profile), static_cast<size_t>(layer), symbols);
}

std::string Engine::layerJson(int profile, int layer, const SymbolValues* symbols) const {
  checkUser(layer >= 0 && layer < layerCount(profile), "layer {} does not exist, the engine has {}", layer,
            layerCount(profile));
  return plan::layerJson(plan(), static_cast<size_t>(profile), static_cast<size_t>(layer), symbols);
}

std::string Engine::engineText(int profile, const SymbolValues* symbols) const {
  (void)program(profile);
  return plan::engineText(plan(), static_cast<size_t>(profile), symbols);
}

std::string Engine::engineJson(int profile, const SymbolValues* symbols) const {
  (void)program(profile);
  return plan::engineJson(plan(), static_cast<size_t>(profile), symbols);
}

}  // namespace tenon::runtime
