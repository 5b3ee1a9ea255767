// A few threads and a counter.
#include "runtime/preparation.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "core/platform/cores.h"

namespace tenon::runtime {

void runTogether(std::vector<std::function<void()>> pieces) {
  constexpr size_t kMostThreads = 12;
  std::atomic<size_t> next{0};
  const auto run = [&] {
    for (size_t i = next++; i < pieces.size(); i = next++) {
      try {
        pieces[i]();
      } catch (const std::exception&) {
        // Whoever needs the result asks again, and is told.
      }
    }
  };
  std::vector<std::thread> threads;
  const auto cores = static_cast<size_t>(platform::coresOfMask());
  try {
    for (size_t i = 1; i < std::min({pieces.size(), cores, kMostThreads}); ++i) threads.emplace_back(run);
  } catch (const std::system_error&) {
    // As many threads as the system gives.
  }
  run();
  for (auto& thread : threads) thread.join();
}

void runTogetherOrThrow(std::vector<std::function<void()>> pieces) {
  std::mutex mutex;
  std::exception_ptr thrown;
  for (auto& piece : pieces) {
    piece = [&mutex, &thrown, work = std::move(piece)] {
      try {
        work();
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (thrown == nullptr) thrown = std::current_exception();
      }
    };
  }
  runTogether(std::move(pieces));
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

Beside::Beside(std::vector<std::function<void()>> pieces) {
  threads_.reserve(pieces.size());
  try {
    for (auto& piece : pieces) {
      threads_.emplace_back([work = std::move(piece)] {
        try {
          work();
        } catch (const std::exception&) {
          // Whoever needs the result asks again, and is told.
        }
      });
    }
  } catch (const std::exception&) {
    // As many threads as the system gives.
  }
}

Beside::~Beside() {
  for (auto& thread : threads_) thread.join();
}

}  // namespace tenon::runtime
