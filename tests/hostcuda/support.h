// What the tests of the host runtime share: checked calls, a gate that holds a stream, owned handles.
#pragma once

#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace hostcuda_test {

#define EXPECT_OK(call) EXPECT_EQ(cudaSuccess, call) << cudaGetErrorString(cudaPeekAtLastError())
#define ASSERT_OK(call) ASSERT_EQ(cudaSuccess, call) << cudaGetErrorString(cudaPeekAtLastError())
// An expected error, which must be the thread's last error too and is taken from it.
#define EXPECT_ERROR(error, call)         \
  do {                                    \
    EXPECT_EQ(error, call);               \
    EXPECT_EQ(error, cudaGetLastError()); \
  } while (false)

// Holds the stream that it is put in until open() is called.
class Gate {
 public:
  // Waits for the host functions too: they refer to the gate.
  ~Gate() {
    open();
    std::unique_lock held(mutex_);
    changed_.wait(held, [this] { return pending_ == 0; });
  }

  void open() {
    const std::lock_guard held(mutex_);
    isOpen_ = true;
    changed_.notify_all();
  }

  void put(cudaStream_t stream) {
    {
      const std::lock_guard held(mutex_);
      ++pending_;
    }
    ASSERT_OK(cudaLaunchHostFunc(stream, &Gate::wait, this));
  }

 private:
  static void wait(void* gate) {
    auto* self = static_cast<Gate*>(gate);
    std::unique_lock held(self->mutex_);
    self->changed_.wait(held, [self] { return self->isOpen_; });
    --self->pending_;
    self->changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  bool isOpen_ = false;
  int pending_ = 0;
};

class Stream {
 public:
  explicit Stream(unsigned flags = cudaStreamDefault) { EXPECT_OK(cudaStreamCreateWithFlags(&handle_, flags)); }
  ~Stream() { cudaStreamDestroy(handle_); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return handle_; }

 private:
  cudaStream_t handle_ = nullptr;
};

class Event {
 public:
  explicit Event(unsigned flags = cudaEventDefault) { EXPECT_OK(cudaEventCreateWithFlags(&handle_, flags)); }
  ~Event() { cudaEventDestroy(handle_); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  operator cudaEvent_t() const { return handle_; }

 private:
  cudaEvent_t handle_ = nullptr;
};

// A host function that appends its number to a shared list.
struct Log {
  struct Entry {
    Log* log;
    int number;
  };

  void put(cudaStream_t stream, int number) {
    entries_.push_back(std::make_unique<Entry>(Entry{this, number}));
    ASSERT_OK(cudaLaunchHostFunc(stream, &Log::write, entries_.back().get()));
  }

  static void write(void* entry) {
    auto* self = static_cast<Entry*>(entry);
    const std::lock_guard held(self->log->mutex_);
    self->log->numbers_.push_back(self->number);
  }

  std::vector<int> numbers() {
    const std::lock_guard held(mutex_);
    return numbers_;
  }

  size_t position(int number) {
    const std::vector<int> all = numbers();
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] == number) return i;
    }
    ADD_FAILURE() << number << " never ran";
    return all.size();
  }

 private:
  std::vector<std::unique_ptr<Entry>> entries_;
  std::mutex mutex_;
  std::vector<int> numbers_;
};

// Waits for a condition without asking the runtime for anything.
template <class Condition>
bool comesTrue(Condition&& condition, std::chrono::milliseconds patience = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

}  // namespace hostcuda_test
