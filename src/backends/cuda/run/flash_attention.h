// Attention by tensor cores: which problems it takes, in which forms, and their code (kernels/flash_attention.cu).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/run/attention_problem.h"
#include "backends/cuda/run/compiler.h"

namespace tenon::backends::cuda {

// How a block is cut: 16 rows of queries for each of `rowWarps`, tiles of `keys` keys, of which each of `keyWarps`
// takes its part (a multiple of 16). Many key warps for little work, many row warps for much.
struct FlashForm {
  int rowWarps = 1;
  int keyWarps = 1;
  int keys = 64;
  int splits = 1;  // blocks that share the keys of a head, where rows are few

  int rows() const { return 16 * rowWarps; }
  int threads() const { return 32 * rowWarps * keyWarps; }
};

// How products are computed: f32 values as they are, or rounded to TF32; halves have no choice.
enum class FlashMath : uint8_t { kF16, kBF16, kTF32, kF32 };

// What the kernel is made from, as records write it: "f16,64,4x1x64x1".
struct FlashChoice {
  FlashMath math = FlashMath::kF16;
  int width = 64;  // columns of a head, rounded up to a multiple of 16
  FlashForm form;

  DataType type() const;      // of all operands
  size_t sharedBytes() const;
  size_t partialFloats() const {  // of a block, with splits
    return static_cast<size_t>(form.rows()) * (static_cast<size_t>(width) + 2);
  }
  std::string text() const;
  static FlashChoice parse(std::string_view text);  // UserError when the text is wrong
  Code code() const;
};

constexpr int kMostFlashColumns = 256;
inline int flashWidth(int64_t columns) { return static_cast<int>((columns + 15) / 16 * 16); }

// Why the kernel cannot compute the problem, or empty.
std::string flashRefusal(const dnn::AttentionProblem& problem);

// Kernels worth measuring for a problem that is not refused, the one that should be fastest first.
std::vector<FlashChoice> flashChoices(const dnn::AttentionProblem& problem, bool tf32);

}  // namespace tenon::backends::cuda
