// Flash attention on tensor cores: supported problems, tile shapes, and their code (flash_attention.cu).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/driver/compiler.h"
#include "backends/cuda/kernels/attention/attention_problem.h"
#include "core/text.h"

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

// Masks that a kernel of groups is made for: none, one that all rows of queries share, any.
enum class FlashMask : uint8_t { kNone, kOfKeys, kOfRows };

// What the kernel is made from, as records write it: "f16,64,4x1x64x1", with a soft cap "f16,64,4x1x64x1,capped";
// "f16,16,4x1x64x1,pieces2" reads rows of which only two elements at a time are aligned to their size;
// "f16,64,1x2x64x1,groups1" is one where groups of four warps work together (group_attention.cu): groups for rows, 64
// each, groups for keys, keys of a group, times that a block does so for further rows; and the kind of mask.
struct FlashChoice {
  FlashMath math = FlashMath::kF16;
  int width = 64;  // columns of a head, rounded up to a multiple of 16
  FlashForm form;
  bool groups = false;
  FlashMask mask = FlashMask::kNone;  // with groups
  bool capped = false;                // scores have a soft cap; without groups
  int piece = 0;                      // elements that lie together, where those are no 16 bytes; without groups

  int rows() const { return groups ? 4 * form.rows() : form.rows(); }
  int threads() const { return groups ? 4 * form.threads() : form.threads(); }
  int parts() const { return groups ? 1 : form.splits; }      // blocks that share the keys of a head
  int mostKeys() const { return form.keys * form.keyWarps; }  // with groups
  DataType type() const;                                      // of all operands
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

// The same of kernels of groups (group_attention.cpp).
size_t groupSharedBytes(const FlashChoice& choice);
std::string groupRefusal(const FlashChoice& choice, const dnn::AttentionProblem& problem);
void parseGroups(FlashChoice& choice, TextReader& in);  // behind ","
std::vector<FlashChoice> groupChoices(const dnn::AttentionProblem& problem);

// How many neighbouring elements, at most 16 bytes, are aligned to their size in rows of all operands.
int flashPiece(const dnn::AttentionProblem& problem);
inline int flashPack(DataType type) { return type == DataType::kF32 ? 4 : 8; }

// Why the kernel cannot compute the problem, or empty.
std::string flashRefusal(const dnn::AttentionProblem& problem);

// Kernels worth measuring for a problem that is not refused, the one that should be fastest first. With
// `anySize`, sequences may become longer than those of the problem.
std::vector<FlashChoice> flashChoices(const dnn::AttentionProblem& problem, bool tf32, bool anySize);

}  // namespace tenon::backends::cuda
