// One recorded call: takes the arguments one by one and gives what the library shall see, then the result likewise.
#pragma once

#include <NvInfer.h>

#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <type_traits>
#include <vector>

#include "common/method.h"
#include "shim/object.h"
#include "shim/users.h"

namespace tenon::capture {

// The generated wrappers use it so: Call c(self, 17); auto* a = c.object(tensor); c.integer(n); c.forward();
// return c.boolean(real->f(*a, n)); From the constructor to the end the order of the recorder is held; for long calls
// not while the library works.
class Call {
 public:
  Call(const Object& self, int method);
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  // Arguments before forward(), the result after it; each returns what it was given.
  bool boolean(bool value);
  int64_t integer(int64_t value);
  uint64_t unsignedInteger(uint64_t value);
  float real(float value);
  double real(double value);
  const char* text(const char* value);
  int64_t enumeration(int type, int64_t value);
  const nvinfer1::Dims& dims(const nvinfer1::Dims& value);
  const nvinfer1::Permutation& permutation(const nvinfer1::Permutation& value);
  nvinfer1::Weights weights(nvinfer1::Weights value);
  const nvinfer1::TimingCacheKey& key(const nvinfer1::TimingCacheKey& value);
  const nvinfer1::TimingCacheValue& value(const nvinfer1::TimingCacheValue& value);
  cudaStream_t stream(cudaStream_t value);
  const void* pointer(const void* value);  // only whether there is one

  // The library's object behind the application's.
  template <typename I>
  I* object(I* face) {
    return static_cast<I*>(unwrapped(const_cast<void*>(static_cast<const void*>(face))));
  }
  nvinfer1::ITensor* const* objects(nvinfer1::ITensor* const* faces, int64_t count);
  const int32_t* ints32(const int32_t* values, int64_t count) { return list(values, count); }
  const int64_t* ints64(const int64_t* values, int64_t count) { return list(values, count); }
  const float* floats(const float* values, int64_t count) { return list(values, count); }
  const char* const* texts(const char* const* values, int64_t count);
  const void* blob(const void* bytes, int64_t size);
  nvinfer1::IPluginV2& plugin(nvinfer1::IPluginV2& value);
  nvinfer1::IPluginV3& plugin(nvinfer1::IPluginV3& value);

  // The stand-in for what the application implements, and back.
  template <typename U>
  U* user(U* value) {
    separate();
    uint64_t id = 0;
    U* standIn = standInFor(value, id);
    number(id);
    return standIn;
  }
  template <typename U>
  U* userResult(U* standIn) {
    separate();
    uint64_t id = 0;
    U* value = originalOf(standIn, id);
    number(id);
    return value;
  }

  void forward();  // the arguments are complete

  template <typename I>
  I* objectResult(I* real, const ClassInfo& type) {
    return static_cast<I*>(wrapped(const_cast<void*>(static_cast<const void*>(real)), type));
  }
  nvinfer1::ILayer* layerResult(nvinfer1::ILayer* real);
  void built(const nvinfer1::IHostMemory* real);  // tells the engine's hash
  void objectOutput(nvinfer1::IHostMemory*& real, const ClassInfo& type);
  void floatsOutput(const float* values, int64_t count);
  void keysOutput(const nvinfer1::TimingCacheKey* keys, int64_t count);

 private:
  void separate();  // a comma between arguments; the name of the member before the result
  void number(uint64_t id);
  void* unwrapped(void* face);
  void* wrapped(void* real, const ClassInfo& type);
  template <typename T>
  const T* list(const T* values, int64_t count);

  Object& self_;
  const MethodInfo& method_;
  std::unique_lock<std::recursive_mutex> lock_;
  std::string line_;
  std::string extra_;  // members that follow the result
  size_t place_ = 0;
  int arguments_ = 0;
  bool isForwarded_ = false;
  std::deque<std::vector<nvinfer1::ITensor*>> arrays_;  // stay where they are until the call is over
};

}  // namespace tenon::capture
