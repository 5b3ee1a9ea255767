// Attention of any number of keys by warpgroups: supported problems, tile shapes, code (stream_attention.cuh).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/driver/compiler.h"
#include "backends/cuda/kernels/attention/attention_problem.h"

namespace tenon::backends::cuda {

// Masks that a kernel is made for: none, any, one that all rows of queries share.
enum class StreamMask : uint8_t { kNone, kOfRows, kOfKeys };

// What the kernel is made from, as records write it: "f16,128,2x128x3,1,0", or with ",once" behind it.
struct StreamChoice {
  DataType type = DataType::kF16;
  int width = 64;      // columns of a head, rounded up to a multiple of 16
  int groups = 2;      // of four warps, with 64 rows of queries each
  int keys = 128;      // of a stage
  int stages = 2;      // in shared memory
  bool turns = false;  // groups begin their products one after another
  StreamMask mask = StreamMask::kNone;
  bool once = false;  // each block has one tile of rows

  int rows() const { return 64 * groups; }
  int threads() const { return 128 * (groups + 1); }
  int tilesHeld() const { return width <= 128 && !once ? 2 : 1; }  // of queries, in shared memory
  size_t sharedBytes() const;
  std::string text() const;
  static StreamChoice parse(std::string_view text);  // UserError when the text is wrong
  Code code() const;
  // Why the kernel cannot compute the problem, or empty.
  std::string refusal(const dnn::AttentionProblem& problem) const;
};

// Why no such kernel computes the problem, or empty.
std::string streamRefusal(const dnn::AttentionProblem& problem);

// Kernels worth measuring for a problem that is not refused, the one that should be fastest first. `maskMayGrow`: a
// mask that is the same for all rows may become another one at run time.
std::vector<StreamChoice> streamChoices(const dnn::AttentionProblem& problem, bool maskMayGrow = false);

// Why this machine has no such kernels, or empty.
std::string streamMissing();

}  // namespace tenon::backends::cuda
