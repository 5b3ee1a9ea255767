// Finds the stand-in of an object of the application, and the object of a stand-in.
#include "shim/users.h"

#define XXH_INLINE_ALL
#include <fmt/format.h>
#include <xxhash.h>

#include <unordered_map>
#include <utility>

#include "shim/stand_ins.h"
#include "shim/writer.h"

namespace tenon::capture {
namespace {

class WriterStandIn final : public StandIn<nvinfer1::IStreamWriter> {
 public:
  WriterStandIn(nvinfer1::IStreamWriter* user, uint64_t id) : StandIn(user, id) { XXH3_128bits_reset(&hash_); }
  APILanguage getAPILanguage() const noexcept override { return user_->getAPILanguage(); }
  int64_t write(const void* data, int64_t count) override {
    const int64_t taken = user_->write(data, count);
    const int64_t number = writes_++;
    if (taken != count) {
      recordAnswer(id_, "IStreamWriter.write", std::to_string(number) + "," + std::to_string(count),
                   std::to_string(taken));
    }
    if (taken > 0 && taken <= count) {
      XXH3_128bits_update(&hash_, data, static_cast<size_t>(taken));
      written_ += taken;
      last() = this;
    }
    return taken;
  }
  std::string take() {
    const XXH128_hash_t digest = XXH3_128bits_digest(&hash_);
    std::string text =
        fmt::format("{{\"bytes\":{},\"xxh3\":\"{:016x}{:016x}\"}}", written_, digest.high64, digest.low64);
    XXH3_128bits_reset(&hash_);
    written_ = 0;
    return text;
  }
  static WriterStandIn*& last() {
    static thread_local WriterStandIn* value = nullptr;
    return value;
  }

 private:
  alignas(64) XXH3_state_t hash_{};
  int64_t written_ = 0;
  int64_t writes_ = 0;
};

// The stand-ins of one interface. An object that dies and another at its address share one: it only forwards.
template <typename I, typename S>
class Room {
 public:
  I* standIn(I* user, uint64_t& id, const char* interface) {
    id = 0;
    if (user == nullptr) {
      return nullptr;
    }
    std::lock_guard lock(Recorder::instance().order());
    if (const auto known = byStandIn_.find(user); known != byStandIn_.end()) {
      id = known->second
               ->id();  // the application was given one where none was taken back: a stand-in of a stand-in is none
      return user;
    }
    S*& made = byUser_[user];
    if (made == nullptr) {
      made = new S(user, Recorder::instance().newId());
      byStandIn_[made] = made;
      Recorder::instance().append(fmt::format("{{\"user\":{},\"interface\":\"{}\"}}", made->id(), interface));
    }
    id = made->id();
    return made;
  }

  I* original(I* standIn, uint64_t& id) {
    std::lock_guard lock(Recorder::instance().order());
    const auto found = byStandIn_.find(standIn);
    id = found != byStandIn_.end() ? found->second->id() : 0;
    return found != byStandIn_.end() ? found->second->user() : standIn;
  }

 private:
  std::unordered_map<const I*, S*> byUser_;
  std::unordered_map<const I*, S*> byStandIn_;
};

template <typename I, typename S>
Room<I, S>& room() {
  static auto& kRoom = *new Room<I, S>;
  return kRoom;
}

}  // namespace

std::string takeStreamedEngine() {
  WriterStandIn* writer = std::exchange(WriterStandIn::last(), nullptr);
  return writer != nullptr ? writer->take() : std::string();
}

#define TENON_USER(I, S)                                                                                            \
  nvinfer1::I* standInFor(nvinfer1::I* user, uint64_t& id) { return room<nvinfer1::I, S>().standIn(user, id, #I); } \
  nvinfer1::I* originalOf(nvinfer1::I* standIn, uint64_t& id) { return room<nvinfer1::I, S>().original(standIn, id); }
TENON_USER(ILogger, LoggerStandIn)
TENON_USER(IErrorRecorder, RecorderStandIn)
TENON_USER(IGpuAllocator, AllocatorStandIn)
TENON_USER(IProgressMonitor, MonitorStandIn)
TENON_USER(IAlgorithmSelector, SelectorStandIn)
TENON_USER(IStreamWriter, WriterStandIn)
TENON_USER(IInt8Calibrator, CalibratorStandIn)
#undef TENON_USER

}  // namespace tenon::capture
