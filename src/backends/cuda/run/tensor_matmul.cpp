// Forms of products by tensor cores, and which come first.
#include "backends/cuda/run/tensor_matmul.h"

#include <algorithm>

#include "backends/cuda/run/direct.h"
#include "core/text.h"

namespace tenon::backends::cuda {
namespace {

constexpr TensorForm kForms[] = {{16, 64, 1, 2, 4}, {32, 32, 1, 1, 4}, {32, 64, 1, 2, 4}, {64, 32, 2, 1, 4},
                                 {64, 64, 2, 2, 2}, {128, 64, 4, 2, 1}, {128, 128, 2, 4, 1}};
constexpr int kSplits[] = {1, 2, 3, 4, 6, 8};
constexpr size_t kMostForms = 8;               // each is measured
constexpr size_t kMostCodes = 4;               // each costs a compilation
constexpr int64_t kMostRows = 2048;
constexpr int kInnerTile = 64;
constexpr size_t kMostSharedBytes = 99 << 10;  // of a block on the chips that have least (sm_86, sm_89, sm_120)

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Cycles, roughly, for an order: what a multiprocessor reads of operands, and what its tensor cores do.
double estimate(const TensorForm& form, const ProductExtents& e) {
  constexpr int64_t kProcessors = 132;
  constexpr double kBytesPerCycle = 48, kProductsPerCycle = 1300;
  constexpr double kBlock = 1500, kSplit = 1000;
  const int64_t blocks = ceilDiv(e.rows, form.rows) * ceilDiv(e.columns, form.columns) * form.splits;
  const double steps = static_cast<double>(ceilDiv(ceilDiv(e.inner, kInnerTile), form.splits));
  const double bytes = (form.rows + form.columns) * kInnerTile * 2;
  const double products = static_cast<double>(form.rows) * form.columns * kInnerTile;
  const double step = std::max({bytes / kBytesPerCycle, products / kProductsPerCycle, 120.0});
  const double perProcessor = static_cast<double>(ceilDiv(blocks, kProcessors));
  const double join = form.splits == 1 ? 0 : kSplit + form.splits * static_cast<double>(form.rows) * form.columns * 4 / kBytesPerCycle;
  return kBlock + perProcessor * steps * step + join;
}

}  // namespace

int TensorForm::stages() const {
  const size_t stage = std::max(sharedBytes(true), sharedBytes(false));  // of a single one
  return static_cast<int>(std::clamp<size_t>(kMostSharedBytes / stage, 2, 4));
}

size_t TensorForm::sharedBytes(bool transposeB) const {
  const auto pitched = [](int rowsOf, int columnsOf) { return static_cast<size_t>(rowsOf) * (static_cast<size_t>(columnsOf) + 8) * 2; };
  return pitched(rows, kInnerTile) + (transposeB ? pitched(columns, kInnerTile) : pitched(kInnerTile, columns));
}

bool TensorForm::sameCode(const TensorForm& other) const {
  return rows == other.rows && columns == other.columns && rowWarps == other.rowWarps && columnWarps == other.columnWarps &&
         innerWarps == other.innerWarps;
}

std::string TensorForm::text() const { return fmt::format("{}x{},{}x{}x{},{}", rows, columns, rowWarps, columnWarps, innerWarps, splits); }

TensorForm TensorForm::parse(std::string_view text) {
  TextReader in(text, "the form of a product by tensor cores");
  TensorForm form;
  const auto number = [&](const char* before) {
    if (*before != '\0') in.expect(before);
    const int64_t value = in.integer();
    if (value < 1 || value > 128) in.fail(fmt::format("{} is not in [1,128]", value));
    return static_cast<int>(value);
  };
  form.rows = number("");
  form.columns = number("x");
  form.rowWarps = number(",");
  form.columnWarps = number("x");
  form.innerWarps = number("x");
  form.splits = number(",");
  if (!in.atEnd()) in.fail("there is more than a form");
  if (std::none_of(std::begin(kForms), std::end(kForms), [&](const TensorForm& known) { return known.sameCode(form); })) in.fail("there is no such form");
  return form;
}

Code tensorCode(const ops::MatMul& op, const Types& types, const TensorForm& form, bool constantB) {
  auto code = directCode("tensor_matmul.cuh", "multiplyTiles", "TensorProductParameters", op.epilogue, types, 2, {}, "KERNEL_EARLY");
  const auto define = [&](std::string_view macro, int value) { code.defines.push_back(fmt::format("{}={}", macro, value)); };
  define("ROW_TILE", form.rows);
  define("COLUMN_TILE", form.columns);
  define("ROW_WARPS", form.rowWarps);
  define("COLUMN_WARPS", form.columnWarps);
  define("INNER_WARPS", form.innerWarps);
  define("STAGES", form.stages());
  define("B_BY_COLUMNS", op.transposeB ? 1 : 0);
  define("B_IS_CONSTANT", constantB ? 1 : 0);
  return code;
}

std::vector<TensorForm> tensorForms(const ProductExtents& extents) {
  if (extents.rows > kMostRows || extents.rows < 1 || extents.columns < 1 || extents.inner < 1) return {};
  std::vector<std::pair<double, TensorForm>> order;
  for (auto form : kForms) {
    for (const int splits : kSplits) {
      form.splits = splits;
      if (splits > 1 && ceilDiv(extents.inner, kInnerTile) < 2 * splits) continue;
      order.emplace_back(estimate(form, extents), form);
    }
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<TensorForm> result;
  size_t codes = 0;
  for (const auto& [cost, form] : order) {
    const bool known = std::any_of(result.begin(), result.end(), [&](const TensorForm& other) { return other.sameCode(form); });
    if (!known && codes == kMostCodes) continue;
    codes += known ? 0 : 1;
    result.push_back(form);
    if (result.size() == kMostForms) break;
  }
  return result;
}

std::string TensorChoice::text() const { return fmt::format("{};{};{}", types.text(), form.text(), constantB ? "constant" : "computed"); }

TensorChoice TensorChoice::read(const plan::KernelRecord& record) {
  const std::string_view params = record.params;
  const auto first = params.find(';');
  const auto second = params.rfind(';');
  const auto last = second == std::string_view::npos ? std::string_view() : params.substr(second + 1);
  if (first == second || (last != "constant" && last != "computed")) {
    throw UserError("parameters of a product by tensor cores: '{}' is not 'types;form;constant' or 'types;form;computed'", params);
  }
  return {Types::read(record), TensorForm::parse(params.substr(first + 1, second - first - 1)), last == "constant"};
}

}  // namespace tenon::backends::cuda
