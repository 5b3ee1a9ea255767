// Forms of attention by tensor cores, and which come first.
#include "backends/cuda/run/flash_attention.h"

#include <algorithm>

#include "backends/cuda/run/own_kernel.h"
#include "core/error.h"
#include "core/text.h"

namespace tenon::backends::cuda {
namespace {

constexpr FlashForm kForms[] = {{1, 1, 32}, {1, 2, 64}, {1, 4, 64},  {1, 4, 128}, {1, 8, 128}, {2, 1, 32}, {2, 2, 64}, {2, 4, 64},
                                {2, 4, 128}, {4, 1, 32}, {4, 1, 64}, {4, 1, 128}, {4, 2, 64},  {8, 1, 32}, {8, 1, 64}};
constexpr size_t kMostForms = 8;                  // each costs a compilation
constexpr size_t kMostSharedBytes = 99 << 10;     // of a block on the chips that have least (sm_86, sm_89, sm_120)

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Cycles, roughly, for an order: blocks in waves over a large chip, each of which loads, walks its tiles and joins.
double estimate(const FlashForm& form, const dnn::AttentionProblem& p) {
  constexpr int64_t kProcessors = 132;
  constexpr int64_t kSharedBytes = 227 << 10;
  constexpr int64_t kWarps = 12;                  // at some 170 registers per thread
  constexpr double kBlock = 2500, kTile = 300;    // cycles: launch, first loads and the end; barriers
  constexpr double kPeakWarps = 8;                // that keep the tensor cores busy
  const int width = flashWidth(p.width);
  const int64_t warps = form.threads() / 32;
  const int64_t blocks = p.batch * p.heads * ceilDiv(p.queries, form.rows());
  const int64_t most = std::clamp<int64_t>(std::min(kSharedBytes / static_cast<int64_t>(form.sharedBytes(width)), kWarps / warps), 1, 32);
  const int64_t resident = std::clamp<int64_t>(ceilDiv(blocks, kProcessors), 1, most);
  const double waves = std::max(1.0, static_cast<double>(blocks) / static_cast<double>(kProcessors * resident));
  const double steps = static_cast<double>(ceilDiv(p.keys, form.keys)) * form.keys / form.keyWarps / 16;
  const double contention = std::max(1.0, static_cast<double>(resident * warps) / kPeakWarps);
  const double join = 40.0 * form.keyWarps * width / 64;
  return waves * (kBlock + join + static_cast<double>(ceilDiv(p.keys, form.keys)) * kTile + steps * (4 * width + 100) * contention);
}

bool aligned(const dnn::AttentionOperand& operand) {
  return operand.batchStride % 8 == 0 && operand.headStride % 8 == 0 && operand.rowStride % 8 == 0 && operand.source.offsetBytes % 16 == 0;
}

}  // namespace

size_t FlashForm::sharedBytes(int width) const {
  constexpr size_t kStages = 2;
  const auto pitch = static_cast<size_t>(width) + 8;
  const size_t loaded = (static_cast<size_t>(rows()) + 2 * kStages * static_cast<size_t>(keys)) * pitch * 2;
  const size_t joined = static_cast<size_t>(threads()) / 32 * 16 * (pitch + 2) * sizeof(float);
  return std::max(loaded, joined);
}

std::string FlashChoice::text() const {
  return fmt::format("{},{},{}x{}x{}", name(type), width, form.rowWarps, form.keyWarps, form.keys);
}

FlashChoice FlashChoice::parse(std::string_view text) {
  TextReader in(text, "parameters of an attention by tensor cores");
  FlashChoice choice;
  const auto number = [&](int most) {
    const int64_t value = in.integer();
    if (value < 1 || value > most) in.fail(fmt::format("{} is not in [1,{}]", value, most));
    return static_cast<int>(value);
  };
  choice.type = parseDataType(in.identifier());
  if (choice.type != DataType::kF16 && choice.type != DataType::kBF16) in.fail(fmt::format("there is no code for {}", name(choice.type)));
  in.expect(",");
  choice.width = number(kMostFlashColumns);
  in.expect(",");
  choice.form.rowWarps = number(8);
  in.expect("x");
  choice.form.keyWarps = number(8);
  in.expect("x");
  choice.form.keys = number(128);
  if (!in.atEnd()) in.fail("there is more than a form");
  if (choice.width % 16 != 0) in.fail(fmt::format("{} columns are no multiple of 16", choice.width));
  if (std::find(std::begin(kForms), std::end(kForms), choice.form) == std::end(kForms)) in.fail("there is no such form");
  return choice;
}

Code FlashChoice::code() const {
  const auto define = [](std::string_view macro, int value) { return fmt::format("{}={}", macro, value); };
  return {"flash_attention.cu",
          {typeDefine("X", type), define("WIDTH", width), define("ROW_WARPS", form.rowWarps), define("KEY_WARPS", form.keyWarps),
           define("KEYS", form.keys)},
          {}};
}

std::string flashRefusal(const dnn::AttentionProblem& p) {
  constexpr int64_t kMost = int64_t{1} << 31;
  if (p.type != DataType::kF16 && p.type != DataType::kBF16) return fmt::format("values of {}; it takes f16 and bf16", name(p.type));
  if (p.width != p.valueWidth) return fmt::format("keys of {} columns and values of {}", p.width, p.valueWidth);
  if (p.width % 8 != 0 || p.width < 8 || p.width > kMostFlashColumns) {
    return fmt::format("heads of {} columns; it takes multiples of 8 up to {}", p.width, kMostFlashColumns);
  }
  if (!aligned(p.q) || !aligned(p.k) || !aligned(p.v) || !aligned(p.output)) return "rows that do not begin at multiples of 16 bytes";
  if (p.hasMask && p.mask[0] != 1 && p.mask[0] != p.batch) return "a mask over some of the leading axes";
  if (p.queries >= kMost - 128 || p.keys >= kMost - 128 || p.batch * p.heads * ceilDiv(p.queries, 16) >= kMost) return "more than 2^31 rows";
  return {};
}

std::vector<FlashForm> flashForms(const dnn::AttentionProblem& p) {
  std::vector<std::pair<double, FlashForm>> order;
  for (const auto& form : kForms) {
    if (form.sharedBytes(flashWidth(p.width)) <= kMostSharedBytes) order.emplace_back(estimate(form, p), form);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<FlashForm> forms;
  for (size_t i = 0; i < std::min(order.size(), kMostForms); ++i) forms.push_back(order[i].second);
  return forms;
}

}  // namespace tenon::backends::cuda
