// One recorded call during a replay: its arguments as values of the interface, and what its result is compared with.
#pragma once

#include <NvInfer.h>

#include <deque>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "common/method.h"
#include "player/capture_file.h"

namespace tenon::capture {

class Replay;
class Step;
using Dispatch = void (*)(Step&);

struct PlayedClass {
  std::string_view name;
  int base;                     // index of the class it derives from, -1 for none
  void (*destroy)(void* face);  // null where the application may not
};

// Generated.
std::span<const PlayedClass> playedClasses();
int layerIndex(nvinfer1::LayerType type);
void callMethod(int method, Step& step);

// The accessors throw CaptureError when the line does not hold what the function takes.
class Step {
 public:
  Step(Replay& replay, const Line& line, const MethodInfo& method);

  template <typename I>
  I* self(int type) {
    return static_cast<I*>(selfAddress(type));
  }

  bool boolean(int index) const;
  double real(int index) const;
  const char* text(int index);
  template <typename T>
  T integer(int index) const {
    if constexpr (std::is_unsigned_v<T>) {
      return static_cast<T>(unsignedNumber(index, std::numeric_limits<T>::max()));
    } else {
      return static_cast<T>(number(index, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    }
  }
  int64_t enumeration(int index, int type) const;
  const nvinfer1::Dims& dims(int index);
  const nvinfer1::Permutation& permutation(int index);
  nvinfer1::Weights weights(int index) const;
  const nvinfer1::TimingCacheKey& key(int index);
  const nvinfer1::TimingCacheValue& value(int index);
  template <typename I>
  I* object(int index, int type) const {
    return static_cast<I*>(objectAddress(argument(index), type));
  }
  template <typename T>
  T& given(int index, T* pointer) const {
    if (pointer == nullptr) {
      wrong(index, "an object");
    }
    return *pointer;
  }
  // Arrays; the argument `count` must tell their length.
  nvinfer1::ITensor* const* objects(int index, int count);
  const int32_t* ints32(int index, int count);
  int64_t* ints64(int index, int count);
  const float* floats(int index, int count);
  const char* const* texts(int index, int count);
  const void* blob(int index, int count);
  nvinfer1::IPluginV2& plugin2(int index) const;
  nvinfer1::IPluginV3& plugin3(int index) const;
  template <typename U>
  U* user(int index) {
    U* result = nullptr;
    standIn(index, result);
    return result;
  }
  nvinfer1::IHostMemory*& memory() { return memory_; }
  float* floatRoom() { return floatRoom_; }
  nvinfer1::TimingCacheKey* keyRoom();

  // Results. Each is compared with the recorded one; an object gets the recorded number.
  void booleanResult(bool value);
  void realResult(double value);
  void integerResult(int64_t value) { resultIs(Json(value)); }
  void integerResult(uint64_t value) { resultIs(Json(value)); }
  void integerResult(int32_t value) { resultIs(Json(static_cast<int64_t>(value))); }
  void integerResult(uint32_t value) { resultIs(Json(static_cast<uint64_t>(value))); }
  void textResult(const char* value);
  void enumerationResult(int type, int64_t value);
  void dimsResult(const nvinfer1::Dims& value);
  void permutationResult(const nvinfer1::Permutation& value);
  void weightsResult(const nvinfer1::Weights& value);
  void valueResult(const nvinfer1::TimingCacheValue&) {}  // times differ from run to run
  void engineResult(nvinfer1::ICudaEngine* engine);
  void objectResult(const void* face, int type);
  void ignore(const void*) {}
  void presence(bool isThere);

  const Line& line() const { return line_; }
  const Json& argument(int index) const;
  [[noreturn]] void wrong(int index, const std::string& expected) const;

 private:
  void* selfAddress(int type) const;
  void* objectAddress(const Json& value, int type) const;
  int64_t number(int index, int64_t low, int64_t high) const;
  uint64_t unsignedNumber(int index, uint64_t high) const;
  template <typename T>
  std::vector<T>& list(std::deque<std::vector<T>>& store, int index, int count);
  int64_t countAt(int index) const;
  void resultIs(const Json& value);
  uint64_t userAt(int index) const;
  void standIn(int index, nvinfer1::ILogger*& result);
  void standIn(int index, nvinfer1::IErrorRecorder*& result);
  void standIn(int index, nvinfer1::IGpuAllocator*& result);
  void standIn(int index, nvinfer1::IProgressMonitor*& result);
  void standIn(int index, nvinfer1::IAlgorithmSelector*& result);
  void standIn(int index, nvinfer1::IInt8Calibrator*& result);
  void standIn(int index, nvinfer1::IStreamWriter*& result);

  Replay& replay_;
  const Line& line_;
  const MethodInfo& method_;
  nvinfer1::IHostMemory* memory_ = nullptr;
  float floatRoom_[nvinfer1::Dims::MAX_DIMS] = {};
  // What accessors give by reference stays here until the call is over.
  std::deque<std::string> textStore_;
  std::deque<nvinfer1::Dims> dimsStore_;
  std::deque<nvinfer1::Permutation> permutationStore_;
  std::deque<nvinfer1::TimingCacheKey> keyStore_;
  std::deque<nvinfer1::TimingCacheValue> valueStore_;
  std::deque<std::vector<nvinfer1::ITensor*>> objectStore_;
  std::deque<std::vector<int32_t>> int32Store_;
  std::deque<std::vector<int64_t>> int64Store_;
  std::deque<std::vector<float>> floatStore_;
  std::deque<std::vector<const char*>> pointerStore_;
  std::vector<nvinfer1::TimingCacheKey> keyRoom_;
};

}  // namespace tenon::capture
