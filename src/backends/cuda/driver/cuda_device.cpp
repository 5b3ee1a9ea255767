// Memory, streams and timing of one GPU.
#include "backends/cuda/driver/cuda_device.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "backends/cuda/cudnn/cudnn_requirement.h"
#include "backends/cuda/driver/compiler.h"
#include "backends/cuda/driver/kept_blocks.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/kernels/distance/distance.h"
#include "core/environment.h"
#include "core/error.h"
#include "runtime/branching.h"
#include "runtime/device_cache.h"
#include "runtime/half_precision.h"
#include "runtime/kept_memory.h"
#include "runtime/recording.h"
#include "runtime/stream_facts.h"
#include "runtime/tensor_distance.h"

namespace tenon::backends::cuda {
namespace {

struct Gpu {
  std::string reason;
  CUdevice device = 0;
  CUcontext context = nullptr;
  std::string name;
  int capability = 0;
  bool translates = false;  // code for another chip
  size_t cacheBytes = 0;
};

const Gpu& gpu() {
  static const auto* const kGpu = [] {
    auto* g = new Gpu;
    const auto& d = driver();
    const char* choice = std::getenv("TENON_DEVICE");
    int count = 0;
    if (choice != nullptr && std::string_view(choice) == "cpu") {
      g->reason = "TENON_DEVICE=cpu hides the GPU";
    } else if (!d.missing.empty()) {
      g->reason = "no CUDA driver: " + d.missing;
    } else if (d.init(0) != CUDA_SUCCESS || d.deviceGetCount(&count) != CUDA_SUCCESS || count == 0) {
      g->reason = "the CUDA driver reports no GPU";
    } else {
      char name[128] = {};
      int major = 0;
      int minor = 0;
      check(d.deviceGet(&g->device, 0), "cuDeviceGet");
      check(d.deviceGetName(name, sizeof name, g->device), "cuDeviceGetName");
      check(d.deviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, g->device),
            "cuDeviceGetAttribute");
      check(d.deviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, g->device),
            "cuDeviceGetAttribute");
      check(d.primaryContextRetain(&g->context, g->device), "cuDevicePrimaryCtxRetain");
      int cache = 0;
      check(d.deviceGetAttribute(&cache, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, g->device), "cuDeviceGetAttribute");
      g->cacheBytes = static_cast<size_t>(std::max(cache, 0));
      g->name = name;
      g->capability = 10 * major + minor;
      // As if it were an older chip, so that its kernels can be tested on a newer one.
      const auto asked = numberSetting("TENON_CUDA_CAPABILITY");
      if (asked && *asked > g->capability)
        g->reason =
            fmt::format("TENON_CUDA_CAPABILITY is {}, expected at most that of the GPU, {}", *asked, g->capability);
      g->translates = asked && *asked < g->capability;
      if (g->translates) g->capability = static_cast<int>(*asked);
    }
    return g;
  }();
  return *kGpu;
}

CUstream streamOf(runtime::StreamHandle stream) { return static_cast<CUstream>(stream); }
CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

class Event {
 public:
  explicit Event(unsigned flags = CU_EVENT_DEFAULT) { check(driver().eventCreate(&event_, flags), "cuEventCreate"); }
  ~Event() { driver().eventDestroy(event_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  CUevent get() const { return event_; }

 private:
  CUevent event_ = nullptr;
};

class CudaTimer final : public runtime::StepTimer {
 public:
  explicit CudaTimer(size_t marks) {
    for (size_t i = 0; i < marks; ++i) events_.push_back(std::make_unique<Event>());
  }
  void mark(size_t index, runtime::StreamHandle stream) override {
    check(driver().eventRecord(events_.at(index)->get(), streamOf(stream)), "cuEventRecord");
  }
  double milliseconds(size_t from, size_t to) override {
    float result = 0;
    check(driver().eventElapsedTime(&result, events_.at(from)->get(), events_.at(to)->get()), "cuEventElapsedTime");
    return static_cast<double>(result);
  }

 private:
  std::vector<std::unique_ptr<Event>> events_;
};

class Stream {
 public:
  Stream() { check(driver().streamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate"); }
  ~Stream() { driver().streamDestroy(stream_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  CUstream get() const { return stream_; }

 private:
  CUstream stream_ = nullptr;
};

class CudaStreams final : public runtime::StreamSet {
 public:
  CudaStreams(size_t streams, size_t events) {
    for (size_t i = 0; i < streams; ++i) streams_.push_back(std::make_unique<Stream>());
    for (size_t i = 0; i < events; ++i) events_.push_back(std::make_unique<Event>(CU_EVENT_DISABLE_TIMING));
  }
  runtime::StreamHandle stream(size_t index) const override { return streams_.at(index)->get(); }
  void signal(size_t event, runtime::StreamHandle stream) override {
    check(driver().eventRecord(events_.at(event)->get(), streamOf(stream)), "cuEventRecord");
  }
  void wait(size_t event, runtime::StreamHandle stream) override {
    check(driver().streamWaitEvent(streamOf(stream), events_.at(event)->get(), 0), "cuStreamWaitEvent");
    launchNextInOrder();
  }

 private:
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<std::unique_ptr<Event>> events_;
};

class GraphRecording final : public runtime::Recording {
 public:
  ~GraphRecording() override {
    if (executable_ != nullptr) driver().graphExecDestroy(executable_);
  }
  // Takes the graph's work over; an executable of the same topology is updated, which is cheaper than a new one.
  bool set(CUgraph graph) {
    if (executable_ != nullptr) {
      CUgraphExecUpdateResultInfo info{};
      if (driver().graphUpdate(executable_, graph, &info) == CUDA_SUCCESS) return true;
      driver().graphExecDestroy(std::exchange(executable_, nullptr));
    }
    return driver().graphInstantiate(&executable_, graph, 0) == CUDA_SUCCESS;
  }
  void replay(runtime::StreamHandle stream) override {
    makeCurrent();
    check(driver().graphLaunch(executable_, streamOf(stream)), "cuGraphLaunch");
  }

 private:
  CUgraphExec executable_ = nullptr;
};

thread_local bool recording = false;  // what `work` of CudaDevice::record() launches

struct RecordingScope {
  RecordingScope() noexcept { recording = true; }
  ~RecordingScope() { recording = false; }
  RecordingScope(const RecordingScope&) = delete;
  RecordingScope& operator=(const RecordingScope&) = delete;
};

class CudaDevice final : public runtime::Device,
                         public runtime::HalfPrecision,
                         public runtime::Recorder,
                         public runtime::DeviceCache,
                         public runtime::Branching,
                         public runtime::KeptMemory,
                         public runtime::StreamFacts,
                         public runtime::TensorDistances {
 public:
  std::string kind() const override { return "cuda"; }
  std::string name() const override { return gpu().name; }
  bool meets(const std::string& requirement) const override {
    // The library is opened where somebody asks for it only.
    if (requirement.starts_with("cudnn:")) return requirement == cudnnRequirement();
    const auto offered = properties();
    return std::find(offered.begin(), offered.end(), requirement) != offered.end();
  }
  std::vector<std::string> properties() const override { return {fmt::format("sm:{}", gpu().capability)}; }
  bool isHost() const override { return false; }
  size_t cacheBytes() const override { return gpu().cacheBytes; }

  void* allocate(size_t bytes, size_t) override {  // the driver aligns to 256 bytes and more
    makeCurrent();
    void* const pointer = blocks_.allocate(bytes);
    if (pointer == nullptr) throw OutOfMemory("cannot allocate {} bytes of GPU memory", bytes);
    return pointer;
  }
  void free(void* pointer) noexcept override {
    if (pointer == nullptr) return;
    driver().contextSetCurrent(gpu().context);
    blocks_.free(pointer);
  }
  void keep() override { blocks_.keep(); }
  void letGo() noexcept override {
    driver().contextSetCurrent(gpu().context);
    blocks_.letGo();
  }

  void submit(runtime::StreamHandle, void (*work)(void*), void* argument, void (*release)(void*)) override {
    makeCurrent();
    work(argument);
    if (release != nullptr) release(argument);
  }
  void copy(void* to, const void* from, size_t bytes, runtime::CopyKind, runtime::StreamHandle stream) override {
    if (bytes == 0) return;
    makeCurrent();
    check(driver().memcpyAsync(address(to), address(from), bytes, streamOf(stream)), "cuMemcpyAsync");
  }
  void synchronize(runtime::StreamHandle stream) override {
    makeCurrent();
    check(driver().streamSynchronize(streamOf(stream)), "cuStreamSynchronize");
  }
  void recordEvent(void* event, runtime::StreamHandle stream) override {
    check(driver().eventRecord(static_cast<CUevent>(event), streamOf(stream)), "cuEventRecord");
  }
  std::unique_ptr<runtime::StepTimer> makeTimer(size_t marks) override {
    makeCurrent();
    return std::make_unique<CudaTimer>(marks);
  }
  std::unique_ptr<runtime::Recording> record(void (*work)(void* argument, runtime::StreamHandle stream), void* argument,
                                             std::unique_ptr<runtime::Recording> reuse) override {
    makeCurrent();
    const Stream stream;
    if (driver().streamBeginCapture(stream.get(), CU_STREAM_CAPTURE_MODE_RELAXED) != CUDA_SUCCESS) return nullptr;
    bool complete = true;
    try {
      const RecordingScope scope;
      work(argument, stream.get());
    } catch (const Error&) {
      complete = false;  // something that no graph can hold
    }
    CUgraph graph = nullptr;
    complete = driver().streamEndCapture(stream.get(), &graph) == CUDA_SUCCESS && complete && graph != nullptr;
    std::unique_ptr<GraphRecording> result(static_cast<GraphRecording*>(reuse.release()));
    if (complete && result == nullptr) result = std::make_unique<GraphRecording>();
    complete = complete && result->set(graph);
    if (graph != nullptr) driver().graphDestroy(graph);
    if (!complete) return nullptr;
    return result;
  }
  std::unique_ptr<runtime::StreamSet> makeStreams(size_t streams, size_t events) override {
    makeCurrent();
    return std::make_unique<CudaStreams>(streams, events);
  }
  bool isCapturing(runtime::StreamHandle stream) override {
    makeCurrent();
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    // The legacy stream cannot say so while another one captures; then the launch itself will.
    return driver().streamIsCapturing(streamOf(stream), &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
  }
  uint64_t bytesBehind(const void* pointer) override {
    makeCurrent();
    CUdeviceptr base = 0;
    size_t bytes = 0;
    const auto at = reinterpret_cast<CUdeviceptr>(pointer);
    const bool known = driver().memGetAddressRange != nullptr &&
                       driver().memGetAddressRange(&base, &bytes, at) == CUDA_SUCCESS && at - base <= bytes;
    return known ? bytes - (at - base) : UINT64_MAX;
  }
  bool measures(DataType type) const override { return measuresDistance(type); }
  void prepare(DataType type) override { prepareDistance(type); }
  runtime::TensorDistance distance(DataType type, const void* got, const void* expected, int64_t count,
                                   const runtime::DistanceRule& rule) override {
    makeCurrent();
    return measureDistance(type, got, expected, count, rule);
  }
  // In a graph, so that what launching costs the host is not measured.
  double measure(void (*work)(void* argument, runtime::StreamHandle stream), void* argument) override {
    makeCurrent();
    static auto* const kStream = new Stream;
    const auto recorded = record(work, argument, nullptr);
    const Event start;
    const Event stop;
    check(driver().eventRecord(start.get(), kStream->get()), "cuEventRecord");
    if (recorded != nullptr) {
      recorded->replay(kStream->get());
    } else {
      work(argument, kStream->get());
    }
    check(driver().eventRecord(stop.get(), kStream->get()), "cuEventRecord");
    check(driver().eventSynchronize(stop.get()), "kernel under measurement");
    float milliseconds = 0;
    check(driver().eventElapsedTime(&milliseconds, start.get(), stop.get()), "cuEventElapsedTime");
    return static_cast<double>(milliseconds) * 1e-3;
  }

 private:
  KeptBlocks blocks_;
};

}  // namespace

const std::string& unavailableReason() { return gpu().reason; }

runtime::Device& cudaDevice() {
  static auto* const kDevice = new CudaDevice;
  return *kDevice;
}

void makeCurrent() {
  if (!gpu().reason.empty()) throw Unsupported("{}", gpu().reason);
  CUcontext current = nullptr;
  check(driver().contextGetCurrent(&current), "cuCtxGetCurrent");
  if (current != gpu().context) check(driver().contextSetCurrent(gpu().context), "cuCtxSetCurrent");
}

void writeAtOnce(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return;
  makeCurrent();
  static auto* const kStream = new Stream;
  check(driver().memcpyAsync(address(to), address(from), bytes, kStream->get()), "cuMemcpyAsync");
  check(driver().streamSynchronize(kStream->get()), "cuStreamSynchronize");
}

int computeCapability() { return gpu().capability; }
bool translatesCode() { return gpu().translates; }

bool isRecording() noexcept { return recording; }

}  // namespace tenon::backends::cuda
