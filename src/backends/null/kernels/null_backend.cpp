// A device without hardware: kernels compute nothing and take a time that follows from what they are, so that builds
// and tuning give the same result on every machine.
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "core/fields.h"
#include "core/storage.h"
#include "runtime/half_precision.h"
#include "runtime/kernel.h"

namespace tenon::backends {
namespace {

using runtime::LaunchArguments;
using runtime::Shapes;
using runtime::StreamHandle;

// Seconds that passed on the fake clock of this thread; only launches make them pass.
thread_local double fakeSeconds = 0;
thread_local uint64_t lastForm = 0;  // of the kernel that was launched last; 0: none was

class NullTimer final : public runtime::StepTimer {
 public:
  explicit NullTimer(size_t marks) : seconds_(marks) {}
  void mark(size_t index, StreamHandle) override { seconds_.at(index) = fakeSeconds; }
  double milliseconds(size_t from, size_t to) override { return (seconds_.at(to) - seconds_.at(from)) * 1e3; }

 private:
  std::vector<double> seconds_;
};

class NullDevice final : public runtime::Device, public runtime::HalfPrecision {
 public:
  std::string kind() const override { return "null"; }
  std::string name() const override { return "no hardware"; }
  bool meets(const std::string&) const override { return true; }
  std::vector<std::string> properties() const override { return {}; }
  bool isHost() const override { return true; }

  void* allocate(size_t bytes, size_t alignment) override {
    alignment = alignment < 64 ? 64 : alignment;
    void* memory = bytes > SIZE_MAX / 2 ? nullptr : std::aligned_alloc(alignment, (bytes / alignment + 1) * alignment);
    if (memory == nullptr) throw OutOfMemory("cannot allocate {} bytes", bytes);
    return memory;
  }
  void free(void* pointer) noexcept override { std::free(pointer); }

  void submit(StreamHandle, void (*work)(void*), void* argument, void (*release)(void*)) override {
    work(argument);
    if (release != nullptr) release(argument);
  }
  void copy(void* to, const void* from, size_t bytes, runtime::CopyKind, StreamHandle) override {
    if (bytes != 0) std::memmove(to, from, bytes);
  }
  void synchronize(StreamHandle) override {}
  void recordEvent(void*, StreamHandle) override {}
  std::unique_ptr<runtime::StepTimer> makeTimer(size_t marks) override { return std::make_unique<NullTimer>(marks); }

  double measure(void (*work)(void*, StreamHandle), void* argument) override {
    const double start = fakeSeconds;
    work(argument, nullptr);
    return fakeSeconds - start;
  }
};

uint64_t bytesOf(std::span<const runtime::TensorShape> shapes) {
  uint64_t bytes = 0;
  for (const auto& shape : shapes) bytes += storageBytes(shape.dtype, shape.dims, shape.layout);
  return bytes;
}

class NullInstance final : public runtime::KernelInstance {
 public:
  NullInstance(uint64_t hash, uint64_t form) : hash_(hash), form_(form) {}

  // One microsecond, one more per 10 KB moved, and up to as much again by the record's hash.
  size_t configure(const Shapes& shapes) override {
    const double bytes = static_cast<double>(bytesOf(shapes.inputs) + bytesOf(shapes.outputs));
    seconds_ = 1e-6 * (1 + bytes / 1e4) * (1 + static_cast<double>(hash_ % 1000) / 1000);
    return 0;
  }
  // Half as long again behind another variant, so that a whole is not what its parts are.
  void launch(const LaunchArguments&) override {
    fakeSeconds += lastForm == 0 || lastForm == form_ ? seconds_ : 1.5 * seconds_;
    lastForm = form_;
  }

 private:
  uint64_t hash_;
  uint64_t form_;
  double seconds_ = 0;
};

class NullKernel final : public runtime::Kernel {
 public:
  NullKernel(uint64_t hash, uint64_t form) : hash_(hash), form_(form) {}
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<NullInstance>(hash_, form_);
  }

 private:
  uint64_t hash_;
  uint64_t form_;
};

class NullBackend final : public runtime::Backend {
 public:
  std::string_view name() const override { return "null"; }
  runtime::Device& device() override { return device_; }
  std::string unavailable() const override { return {}; }
  std::unique_ptr<runtime::Kernel> load(const runtime::KernelLoad& load) override {
    const auto& record = load.record;
    if (record.name != "nothing") throw Unsupported("backend null has no kernel '{}', it has 'nothing'", record.name);
    load.log.verbose("null: loaded '{}' of {}", record.params, record.op);
    return std::make_unique<NullKernel>(hashBytes(record.op + "\n" + record.params), hashBytes(record.params));
  }

 private:
  NullDevice device_;
};

}  // namespace

runtime::Backend& runBackend_null() {
  static auto* const kBackend = new NullBackend;
  return *kBackend;
}

}  // namespace tenon::backends
