// Attention of few queries over many keys: supported problems, forms, code (row_attention.cu).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/driver/compiler.h"
#include "backends/cuda/kernels/attention/attention_problem.h"

namespace tenon::backends::cuda {

// What the kernel is made from and launched with, as records write it: "f16,128,8,8x9", with a soft cap
// "f16,128,8,8x9,capped".
struct RowAttentionChoice {
  static constexpr int kKeys = 16;  // that a warp takes at a time

  DataType type = DataType::kF16;
  int width = 64;       // columns of a head, rounded up to a multiple of 16
  int rows = 16;        // of queries that a block takes, or 8
  int blocks = 1;       // of a cluster, which share the keys
  int warps = 1;        // of a block
  bool capped = false;  // scores have a soft cap

  int mostWarps() const { return width > 64 ? 12 : 16; }  // by registers
  // For so many rows that a block has, of which each of a cluster finishes a part of the results.
  int64_t chunksOfBlock(int64_t present) const;
  int64_t sharedBytes(int64_t present, int64_t warpsOfBlock) const;
  int warpsFor(int64_t present) const;  // at most `warps`, and so many as shared memory has room for
  std::string text() const;
  static RowAttentionChoice parse(std::string_view text);  // UserError when the text is wrong
  Code code() const;
  // Why the kernel cannot compute the problem, or empty.
  std::string refusal(const dnn::AttentionProblem& problem) const;
};

// Why no such kernel computes the problem, or empty.
std::string rowAttentionRefusal(const dnn::AttentionProblem& problem);

// Kernels worth measuring for a problem that is not refused, the one that should be fastest first.
std::vector<RowAttentionChoice> rowAttentionChoices(const dnn::AttentionProblem& problem);

}  // namespace tenon::backends::cuda
