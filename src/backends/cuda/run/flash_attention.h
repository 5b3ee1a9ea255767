// Attention by tensor cores: which problems it takes, in which forms, and their code (kernels/flash_attention.cu).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/run/attention_problem.h"
#include "backends/cuda/run/compiler.h"

namespace tenon::backends::cuda {

// How a block is cut: 16 rows of queries for each of `rowWarps`, tiles of `keys` keys, of which each of `keyWarps` takes
// its part (a multiple of 16). Many key warps for little work, many row warps for much.
struct FlashForm {
  int rowWarps = 1;
  int keyWarps = 1;
  int keys = 64;

  int rows() const { return 16 * rowWarps; }
  int threads() const { return 32 * rowWarps * keyWarps; }
  size_t sharedBytes(int width) const;  // of heads of so many columns
  bool operator==(const FlashForm& other) const = default;
};

// What the code is made from, as records write it: "f16,64,4x1x64".
struct FlashChoice {
  DataType type = DataType::kF16;
  int width = 64;  // columns of a head, rounded up to a multiple of 16
  FlashForm form;

  std::string text() const;
  static FlashChoice parse(std::string_view text);  // UserError when the text is wrong
  Code code() const;
};

constexpr int kMostFlashColumns = 256;
inline int flashWidth(int64_t columns) { return static_cast<int>((columns + 15) / 16 * 16); }

// Why the kernel cannot compute the problem, or empty.
std::string flashRefusal(const dnn::AttentionProblem& problem);

// Forms worth measuring for a problem that is not refused, the one that should be fastest first.
std::vector<FlashForm> flashForms(const dnn::AttentionProblem& problem);

}  // namespace tenon::backends::cuda
