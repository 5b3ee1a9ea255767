// Loops on the pool for tests: with any callable, and one that checks itself.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "core/platform/pool.h"

namespace tenon::platform {

template <typename Body>
void loop(int64_t count, int64_t pieces, int threads, Body&& body) {
  using Callable = std::remove_reference_t<Body>;
  runLoop(
      count, pieces, threads,
      [](void* argument, int64_t begin, int64_t end, int place) {
        (*static_cast<Callable*>(argument))(begin, end, place);
      },
      &body);
}

// Each element exactly once; places below the number of threads, and never one on two threads.
inline void checkLoop(int64_t count, int64_t pieces, int threads) {
  std::vector<uint8_t> seen(static_cast<size_t>(count));
  std::vector<std::atomic<int>> inside(static_cast<size_t>(threads));
  std::atomic<bool> areRight{true};
  std::atomic<int64_t> calls{0};
  loop(count, pieces, threads, [&](int64_t begin, int64_t end, int place) {
    ++calls;
    if (begin < 0 || begin >= end || end > count || place < 0 || place >= threads) {
      areRight = false;
      return;
    }
    if (inside[static_cast<size_t>(place)].fetch_add(1) != 0) areRight = false;
    for (int64_t i = begin; i < end; ++i) ++seen[static_cast<size_t>(i)];
    inside[static_cast<size_t>(place)].fetch_sub(1);
  });
  ASSERT_TRUE(areRight) << count << " elements, " << pieces << " pieces, " << threads << " threads";
  ASSERT_LE(calls, std::max<int64_t>(1, pieces));
  ASSERT_EQ(std::count(seen.begin(), seen.end(), 1), count) << pieces << " pieces, " << threads << " threads";
}

}  // namespace tenon::platform
