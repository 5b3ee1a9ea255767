// Forms of attention of few queries: how many blocks and warps share the keys of a head, and their code.
#include "backends/cuda/kernels/attention/row_attention.h"

#include <algorithm>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/attention/attention_parameters.h"
#include "backends/cuda/kernels/attention/flash_attention.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "core/text.h"

namespace tenon::backends::cuda {
namespace {

using Choice = RowAttentionChoice;

constexpr int kMostRows = 16;
constexpr int kMostColumns = 128;  // whose results have room in registers
constexpr int kMostBlocks = 8;     // of a cluster
constexpr int kChunk = 4;          // results that a thread joins
constexpr int64_t kMostGrid = 65535;

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Microseconds, roughly, for an order: each round of a warp waits for memory, blocks of a cluster for each other.
double estimate(const Choice& choice, const dnn::AttentionProblem& p) {
  constexpr double kStart = 2, kRound = 0.9, kMeeting = 0.8, kBytesAMicrosecond = 4e6;
  const int64_t blocks = p.batch * p.heads * divided(p.queries, choice.rows) * choice.blocks;
  const int64_t resident = std::max<int64_t>(choice.mostWarps() / choice.warps, 1);
  const auto waves = static_cast<double>(divided(blocks, multiprocessors() * resident));
  const auto rounds =
      static_cast<double>(divided(divided(p.keys, Choice::kKeys), int64_t{choice.blocks} * choice.warps));
  const int64_t bytes = 2 * p.batch * (p.heads / p.sharing) * p.keys * p.width * 2;
  const double least = static_cast<double>(bytes) / kBytesAMicrosecond;
  return kStart + std::max(waves * rounds * kRound, least) + (choice.blocks > 1 ? kMeeting : 0);
}

}  // namespace

int64_t Choice::chunksOfBlock(int64_t present) const { return divided(present * width / kChunk, blocks); }

int64_t Choice::sharedBytes(int64_t present, int64_t warpsOfBlock) const {
  constexpr int64_t kHead = 16, kPiece = 64, kPad = 4, kNumbers = 2, kFloat = 4;
  const int64_t pitch = divided(width, kPiece) * kPiece + kPad;
  const int64_t received = blocks == 1 ? 0 : blocks * chunksOfBlock(present) * 2 * kChunk;
  return kHead + kFloat * (received + warpsOfBlock * present * (pitch + kNumbers));
}

int Choice::warpsFor(int64_t present) const {
  int result = warps;
  while (result > 1 && sharedBytes(present, result) > kRowAttentionMostShared) --result;
  return result;
}

std::string Choice::text() const {
  return fmt::format("{},{},{},{}x{}{}", name(type), width, rows, blocks, warps, capped ? ",capped" : "");
}

Choice Choice::parse(std::string_view text) {
  TextReader in(text, "parameters of attention of few queries");
  Choice choice;
  const auto number = [&](int least, int most) {
    const int64_t value = in.integer();
    if (value < least || value > most) in.fail(fmt::format("{} is not in [{},{}]", value, least, most));
    return static_cast<int>(value);
  };
  const auto type = in.identifier();
  if (type != "f16" && type != "bf16") in.fail("expected the type f16 or bf16");
  choice.type = type == "f16" ? DataType::kF16 : DataType::kBF16;
  in.expect(",");
  choice.width = number(16, kMostColumns);
  if (choice.width % 16 != 0) in.fail(fmt::format("{} columns are not a multiple of 16", choice.width));
  in.expect(",");
  choice.rows = number(8, kMostRows);
  if (choice.rows % 8 != 0) in.fail(fmt::format("{} rows of queries; expected 8 or 16", choice.rows));
  in.expect(",");
  choice.blocks = number(1, kMostBlocks);
  in.expect("x");
  choice.warps = number(1, choice.mostWarps());
  choice.capped = in.accept(",capped");
  if (!in.atEnd()) in.fail("expected \",capped\" or the end");
  return choice;
}

Code Choice::code() const {
  return {"row_attention.cu",
          {typeDefine("X", type), fmt::format("WIDTH={}", width), fmt::format("ROWS={}", rows),
           fmt::format("CAPPED={}", capped ? 1 : 0)},
          {}};
}

std::string Choice::refusal(const dnn::AttentionProblem& p) const {
  if (auto why = rowAttentionRefusal(p); !why.empty()) return why;
  if (p.type != type) return fmt::format("values of {}; the kernel was compiled for {}", name(p.type), name(type));
  if (p.width > width) return fmt::format("heads of {} columns; the kernel was compiled for {}", p.width, width);
  if (capped != (p.softcap != 0)) return "the kernel was compiled for scores with a soft cap, or without";
  if (blocks > 1 && computeCapability() < 90)
    return "the chip has no clusters of blocks, which compute capability 9.0 brings";
  return {};
}

std::string rowAttentionRefusal(const dnn::AttentionProblem& p) {
  if (p.type != DataType::kF16 && p.type != DataType::kBF16)
    return fmt::format("values of {}; f16 and bf16 are supported", name(p.type));
  if (p.width > kMostColumns) return fmt::format("heads of {} columns; {} are supported", p.width, kMostColumns);
  if (flashPiece(p) < flashPack(p.type)) return "rows are not aligned to 16 bytes";
  if (p.batch > kMostGrid || p.heads * divided(p.queries, 8) > kMostGrid)
    return fmt::format("more than {} batches, or tiles of rows of a batch, are not supported", kMostGrid);
  return flashRefusal(p);
}

std::vector<Choice> rowAttentionChoices(const dnn::AttentionProblem& p) {
  constexpr int64_t kLeastKeys = 16;
  constexpr size_t kMostChoices = 3;
  if (p.queries > kMostRows || p.keys < kLeastKeys) return {};
  std::vector<Choice> choices;
  for (int blocks = 1; blocks <= (computeCapability() >= 90 ? kMostBlocks : 1); blocks *= 2) {
    Choice choice{p.type, flashWidth(p.width), p.queries > 8 ? kMostRows : 8, blocks, 1, p.softcap != 0};
    const int64_t steps = divided(divided(p.keys, Choice::kKeys), blocks);
    if (blocks > 1 && steps < 2) break;  // a warp has the keys that the block would
    choice.warps = static_cast<int>(std::min<int64_t>(steps, choice.mostWarps()));
    choice.warps = choice.warpsFor(p.queries);
    choices.push_back(choice);
  }
  std::stable_sort(choices.begin(), choices.end(),
                   [&](const auto& a, const auto& b) { return estimate(a, p) < estimate(b, p); });
  if (choices.size() > kMostChoices) choices.resize(kMostChoices);
  return choices;
}

}  // namespace tenon::backends::cuda
