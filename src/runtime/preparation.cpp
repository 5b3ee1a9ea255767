// A few threads and a counter.
#include "runtime/preparation.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <system_error>
#include <thread>

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
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  try {
    for (size_t i = 1; i < std::min({pieces.size(), cores, kMostThreads}); ++i) threads.emplace_back(run);
  } catch (const std::system_error&) {
    // As many threads as the system gives.
  }
  run();
  for (auto& thread : threads) thread.join();
}

}  // namespace tenon::runtime
