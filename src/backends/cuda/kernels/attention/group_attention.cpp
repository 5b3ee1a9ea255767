// Attention of few keys by warpgroups (wgmma): supported tile shapes and their shared memory (group_attention.cu).
#include <algorithm>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/attention/flash_attention.h"

namespace tenon::backends::cuda {
namespace {

constexpr int kColumns = 64;  // of a head
constexpr int kGroupRows = 64;
constexpr int kMostOwnKeys = 208;   // of a group: their scores are in registers
constexpr int64_t kMostTiles = 32;  // of a block, one after another
constexpr int kMostThreads = 1024;

// Shared memory of a block.
size_t mostSharedBytes() {
  constexpr int64_t kSpare = 3 << 10;
  return static_cast<size_t>(sharedBytesOfMultiprocessor() - kSpare);
}

// Of a thread, as the kernel is compiled.
int registersFor(const FlashChoice& choice) {
  const int keys = choice.form.keys;
  if (keys <= 64) return keys <= 32 ? 72 : 96;
  return keys <= (choice.mask == FlashMask::kOfRows ? 112 : 128) ? 128 : 168;
}

bool fits(const FlashChoice& choice) {
  return choice.form.keys <= kMostOwnKeys && choice.threads() <= kMostThreads &&
         choice.threads() * registersFor(choice) <= registersOfMultiprocessor();
}

FlashMask maskOf(const dnn::AttentionProblem& p) {
  if (!p.hasMask) return FlashMask::kNone;
  return p.mask[2] == 1 ? FlashMask::kOfKeys : FlashMask::kOfRows;
}

bool takes(const dnn::AttentionProblem& p) {
  const bool halves = p.type == DataType::kF16 || p.type == DataType::kBF16;
  return halves && p.width == kColumns && p.valueWidth == kColumns && p.keys > 0 && !p.causal && p.softcap == 0 &&
         flashPiece(p) == flashPack(p.type);
}

}  // namespace

size_t groupSharedBytes(const FlashChoice& choice) {
  const auto keys = static_cast<size_t>(choice.mostKeys());
  const auto rows = static_cast<size_t>(choice.rows());
  const auto results = rows * static_cast<size_t>(choice.form.keyWarps);  // of all groups
  const size_t loaded = (rows + 2 * keys) * kColumns * 2;
  const size_t joined = choice.form.keyWarps == 1 ? 0 : results * (kColumns + 8) * sizeof(float);
  return std::max(loaded, joined) + (keys + 2 * results) * sizeof(float);
}

std::string groupRefusal(const FlashChoice& choice, const dnn::AttentionProblem& p) {
  if (p.causal) return "the kernel lets every row see all keys";
  if (p.softcap != 0) return "the kernel has no soft cap";
  if (!takes(p) && p.keys > 0)
    return fmt::format(
        "heads of {} columns, aligned to {} elements; the kernel was compiled for {}, aligned to 16 bytes", p.width,
        flashPiece(p), kColumns);
  if (p.keys > choice.mostKeys())
    return fmt::format("{} keys; the kernel was compiled for {}", p.keys, choice.mostKeys());
  if (maskOf(p) != choice.mask) return "the mask is of another kind than the kernel was compiled for";
  return {};
}

void parseGroups(FlashChoice& choice, TextReader& in) {
  in.expect("groups");
  const int64_t mask = in.integer();
  if (mask < 0 || mask > 2) in.fail("expected the mask kind 0, 1 or 2");
  choice.groups = true;
  choice.mask = static_cast<FlashMask>(mask);
  const bool halves = choice.math == FlashMath::kF16 || choice.math == FlashMath::kBF16;
  const bool walks = choice.form.splits == 1 || choice.form.keyWarps == 1;
  const bool known = halves && walks && choice.width == kColumns && choice.form.keys % 16 == 0 && fits(choice);
  if (!in.atEnd() || !known) in.fail("no variant of the warpgroup kernel has these parameters");
}

std::vector<FlashChoice> groupChoices(const dnn::AttentionProblem& p) {
  const int64_t manyHeads = multiprocessors();  // a block for each uses the chip
  constexpr size_t kMostChoices = 3;
  std::vector<FlashChoice> choices;
  if (!takes(p) || p.queries <= kGroupRows / 4) return choices;  // few rows are work for single warps
  for (int parts = 1; parts <= 4 && (parts - 1) * 16 < p.keys; ++parts) {
    const auto share = (p.keys + parts - 1) / parts;
    if (share > kMostOwnKeys) continue;
    FlashChoice choice;
    choice.math = p.type == DataType::kF16 ? FlashMath::kF16 : FlashMath::kBF16;
    choice.width = kColumns;
    choice.form = {1, parts, static_cast<int>((share + 15) / 16 * 16), 1};
    choice.groups = true;
    choice.mask = maskOf(p);
    if (!fits(choice) || groupSharedBytes(choice) > mostSharedBytes()) continue;
    choices.push_back(choice);
    const int64_t tiles = (p.queries + kGroupRows - 1) / kGroupRows;
    if (parts > 1 || tiles == 1 || tiles > kMostTiles || p.batch * p.heads < manyHeads) continue;
    choice.form.splits = static_cast<int>(tiles);
    choices.push_back(choice);
  }
  if (choices.size() > kMostChoices) choices.resize(kMostChoices);
  return choices;
}

}  // namespace tenon::backends::cuda
