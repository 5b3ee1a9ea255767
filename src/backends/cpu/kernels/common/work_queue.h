// Loops of jobs, of which threads take a few at a time, so that one delayed thread does not delay the others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/platform/threads.h"

namespace tenon::backends::cpu {

// Calls body(job) or body(job, place) for each job in [0, jobs), on as many threads as `work` (in multiply-adds or the
// like) is worth. `place`: see platform::LoopBody.
template <typename Body>
void runJobs(int64_t jobs, int64_t work, Body&& body) {
  constexpr int64_t kWorkPerThread = 200'000;  // about five microseconds
  constexpr int64_t kPiecesPerThread = 16;
  using Callable = std::remove_reference_t<Body>;
  const auto piece = [&](int64_t begin, int64_t end, int place) {
    for (int64_t job = begin; job < end; ++job) {
      if constexpr (std::is_invocable_v<Callable&, int64_t, int>) {
        body(job, place);
      } else {
        static_cast<void>(place);
        body(job);
      }
    }
  };
  const int64_t threads = std::clamp<int64_t>(std::min(work / kWorkPerThread, jobs), 1, platform::teamSize());
  if (threads == 1) return piece(0, jobs, 0);
  platform::parallelPieces(jobs, kPiecesPerThread * threads, threads, piece);
}

}  // namespace tenon::backends::cpu
