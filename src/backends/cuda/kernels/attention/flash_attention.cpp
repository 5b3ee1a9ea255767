// Forms of attention by tensor cores, and which come first.
#include "backends/cuda/kernels/attention/flash_attention.h"

#include <algorithm>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "core/error.h"
#include "core/text.h"

namespace tenon::backends::cuda {
namespace {

constexpr FlashForm kForms[] = {{1, 1, 32}, {1, 2, 64},  {1, 4, 64}, {1, 4, 128}, {1, 8, 128},
                                {2, 1, 32}, {2, 2, 64},  {2, 4, 64}, {2, 4, 128}, {4, 1, 32},
                                {4, 1, 64}, {4, 1, 128}, {4, 2, 64}, {8, 1, 32},  {8, 1, 64}};
constexpr int kSplits[] = {1, 2, 4, 8, 16, 32};
constexpr size_t kMostChoices = 8;  // each costs a compilation
constexpr size_t kMostSharedBytes =
    96 << 10;                   // of a block on the chips that have least (sm_86, sm_89, sm_120), beside what is static
constexpr int kMostKeys = 256;  // of a tile
constexpr int64_t kLeastColumns = 8;
constexpr std::string_view kMathNames[] = {"f16", "bf16", "tf32", "f32"};  // as kernels call them

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Cycles, roughly, for an order: blocks in waves over the chip, each of which loads, walks its tiles and joins.
double estimate(const FlashChoice& choice, const dnn::AttentionProblem& p) {
  constexpr int64_t kWarps = 12;     // at some 170 registers per thread
  constexpr double kBlock = 2500;    // launch, first loads and the end
  constexpr double kTile = 300;      // its barriers
  constexpr double kMeeting = 2500;  // of blocks that share keys
  constexpr double kPeakWarps = 8;   // that keep the tensor cores busy
  constexpr double kCostOfMath[] = {1, 1, 3, 8};
  const auto& form = choice.form;
  const int64_t warps = form.threads() / 32;
  const int64_t blocks = p.batch * p.heads * ceilDiv(p.queries, form.rows()) * form.splits;
  const int64_t fitting =
      std::min(sharedBytesOfMultiprocessor() / static_cast<int64_t>(choice.sharedBytes()), kWarps / warps);
  const int64_t resident =
      std::clamp<int64_t>(ceilDiv(blocks, multiprocessors()), 1, std::clamp<int64_t>(fitting, 1, 32));
  const double waves = std::max(1.0, static_cast<double>(blocks) / static_cast<double>(multiprocessors() * resident));
  const auto tiles = static_cast<double>(ceilDiv(ceilDiv(p.keys, form.keys), form.splits));
  const double steps = tiles * form.keys / form.keyWarps / 16;
  const double contention = std::max(1.0, static_cast<double>(resident * warps) / kPeakWarps);
  const double join = 40.0 * form.keyWarps * choice.width / 64 + (form.splits > 1 ? kMeeting + 100.0 * form.splits : 0);
  const double step = 4 * choice.width * kCostOfMath[static_cast<size_t>(choice.math)] + 100;
  return waves * (kBlock + join + tiles * kTile + steps * step * contention);
}

bool aligned(const dnn::AttentionOperand& operand, int64_t piece, int64_t bytes) {
  const auto whole = [&](int64_t stride) { return stride % piece == 0; };
  return whole(operand.batchStride) && whole(operand.headStride) && whole(operand.rowStride) &&
         static_cast<int64_t>(operand.source.offsetBytes) % (piece * bytes) == 0;
}

FlashMath mathOf(DataType type, bool tf32) {
  if (type == DataType::kF32) return tf32 ? FlashMath::kTF32 : FlashMath::kF32;
  return type == DataType::kF16 ? FlashMath::kF16 : FlashMath::kBF16;
}

}  // namespace

DataType FlashChoice::type() const {
  if (math == FlashMath::kF16) return DataType::kF16;
  return math == FlashMath::kBF16 ? DataType::kBF16 : DataType::kF32;
}

size_t FlashChoice::sharedBytes() const {
  if (groups) return groupSharedBytes(*this);
  constexpr size_t kStages = 2;
  const auto columns = static_cast<size_t>(width);
  const size_t rowBytes = columns * (type() == DataType::kF32 ? 4 : 2) + 16;
  const size_t loaded = (static_cast<size_t>(form.rows()) + 2 * kStages * static_cast<size_t>(form.keys)) * rowBytes;
  const size_t joined = static_cast<size_t>(form.threads()) / 32 * 16 * (columns + 8 + 2) * sizeof(float);
  return std::max(loaded, joined);
}

std::string FlashChoice::text() const {
  const auto base = fmt::format("{},{},{}x{}x{}x{}", kMathNames[static_cast<size_t>(math)], width, form.rowWarps,
                                form.keyWarps, form.keys, form.splits);
  if (groups) return fmt::format("{},groups{}", base, static_cast<int>(mask));
  return fmt::format("{}{}{}", base, piece == 0 ? "" : fmt::format(",pieces{}", piece), capped ? ",capped" : "");
}

FlashChoice FlashChoice::parse(std::string_view text) {
  TextReader in(text, "parameters of flash attention");
  FlashChoice choice;
  const auto number = [&](int most, const char* behind) {
    const int64_t value = in.integer();
    if (value < 1 || value > most) in.fail(fmt::format("{} is not in [1,{}]", value, most));
    if (behind != nullptr) in.expect(behind);
    return static_cast<int>(value);
  };
  const auto math = std::find(std::begin(kMathNames), std::end(kMathNames), in.identifier());
  if (math == std::end(kMathNames)) in.fail("expected the math type f16, bf16, tf32 or f32");
  choice.math = static_cast<FlashMath>(math - std::begin(kMathNames));
  in.expect(",");
  choice.width = number(kMostFlashColumns, ",");
  if (choice.width % 16 != 0) in.fail(fmt::format("{} columns are not a multiple of 16", choice.width));
  auto& form = choice.form;
  form.rowWarps = number(8, "x");
  form.keyWarps = number(8, "x");
  form.keys = number(kMostKeys, "x");
  form.splits = number(kSplits[std::size(kSplits) - 1], nullptr);
  if (in.accept(",pieces")) choice.piece = number(4, nullptr);
  if (choice.piece == 3) in.fail("pieces of 3 elements; expected 1, 2 or 4");
  choice.capped = in.accept(",capped");
  if (!choice.capped && in.accept(",")) {
    parseGroups(choice, in);
    return choice;
  }
  const auto alike = [&](const FlashForm& known) {
    return known.rowWarps == form.rowWarps && known.keyWarps == form.keyWarps && known.keys == form.keys;
  };
  if (!in.atEnd() || std::none_of(std::begin(kForms), std::end(kForms), alike))
    in.fail("no variant of the kernel has these parameters");
  return choice;
}

Code FlashChoice::code() const {
  const auto define = [](std::string_view macro, int value) { return fmt::format("{}={}", macro, value); };
  if (groups) {
    return {"group_attention.cu",
            {typeDefine("X", type()), define("ROW_GROUPS", form.rowWarps), define("KEY_GROUPS", form.keyWarps),
             define("KEYS", form.keys), define("MASK", static_cast<int>(mask))},
            {}};
  }
  return {"flash_attention.cu",
          {typeDefine("X", type()), fmt::format("MATH={}", kMathNames[static_cast<size_t>(math)]),
           define("WIDTH", width), define("ROW_WARPS", form.rowWarps), define("KEY_WARPS", form.keyWarps),
           define("KEYS", form.keys), define("CAPPED", capped ? 1 : 0), define("PIECE", piece)},
          {}};
}

int flashPiece(const dnn::AttentionProblem& p) {
  int64_t piece = flashPack(p.type);
  const int64_t bytes = 16 / piece;
  const auto fits = [&] {
    return p.width % piece == 0 && aligned(p.q, piece, bytes) && aligned(p.k, piece, bytes) &&
           aligned(p.v, piece, bytes) && aligned(p.output, piece, bytes);
  };
  while (piece > 1 && !fits()) piece /= 2;
  return static_cast<int>(piece);
}

std::string flashRefusal(const dnn::AttentionProblem& p) {
  constexpr int64_t kMost = int64_t{1} << 31;
  if (p.type != DataType::kF16 && p.type != DataType::kBF16 && p.type != DataType::kF32) {
    return fmt::format("values of {}; f16, bf16 and f32 are supported", name(p.type));
  }
  if (p.width != p.valueWidth)
    return fmt::format("keys have {} columns and values {}; expected equal numbers", p.width, p.valueWidth);
  if (p.width < kLeastColumns || p.width > kMostFlashColumns)
    return fmt::format("heads of {} columns; {} to {} are supported", p.width, kLeastColumns, kMostFlashColumns);
  if (p.hasMask && !p.maskInOrder) return std::string(dnn::kMaskRefusal);
  const bool many =
      p.queries >= kMost - 128 || p.keys >= kMost - 128 || p.batch * p.heads * ceilDiv(p.queries, 16) >= kMost;
  if (many) return "more than 2^31 rows are not supported";
  return {};
}

std::vector<FlashChoice> flashChoices(const dnn::AttentionProblem& p, bool tf32, bool anySize) {
  std::vector<std::pair<double, FlashChoice>> order;
  for (const auto& form : kForms) {
    // Splits cost no compilation: the best number of each form.
    FlashChoice best{mathOf(p.type, tf32), flashWidth(p.width), form};
    best.capped = p.softcap != 0;
    if (const int piece = flashPiece(p); piece < flashPack(p.type)) best.piece = piece;
    if (best.sharedBytes() > kMostSharedBytes) continue;
    double least = estimate(best, p);
    for (const int splits : kSplits) {
      auto choice = best;
      choice.form.splits = splits;
      if (splits > ceilDiv(p.keys, form.keys) || estimate(choice, p) >= least) continue;
      least = estimate(choice, p);
      best = choice;
    }
    order.emplace_back(least, best);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<FlashChoice> choices;
  if (!anySize) choices = groupChoices(p);
  for (size_t i = 0; i < order.size() && choices.size() < kMostChoices; ++i) choices.push_back(order[i].second);
  return choices;
}

}  // namespace tenon::backends::cuda
