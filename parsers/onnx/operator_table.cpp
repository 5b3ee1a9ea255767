// Joins the rows of the operator files and finds the one for a node.
#include "operator_table.h"

#include <algorithm>
#include <tuple>

#include "operator_files.inc"

namespace tenon::parsers::onnx {
namespace {

// "ai.onnx" is the standard domain too, whose rows say nothing.
std::string_view plain(std::string_view domain) {
  return isStandardDomain(std::string(domain)) ? std::string_view() : domain;
}

std::vector<OperatorImporter> joinRows() {
  std::vector<OperatorImporter> table;
  for (const OperatorRows& rows : operatorFiles()) {
    table.insert(table.end(), rows.rows, rows.rows + rows.count);
  }
  std::sort(table.begin(), table.end(), [](const OperatorImporter& a, const OperatorImporter& b) {
    return std::tie(a.domain, a.name, a.firstOpset) < std::tie(b.domain, b.name, b.firstOpset);
  });
  return table;
}

}  // namespace

const std::vector<OperatorImporter>& operatorTable() {
  static const auto* const kTable = new std::vector<OperatorImporter>(joinRows());  // static objects may parse at exit
  return *kTable;
}

const OperatorImporter* findImporter(std::string_view domain, std::string_view name, int32_t opset) {
  for (const OperatorImporter& row : operatorTable()) {
    if (row.name == name && row.domain == plain(domain) && row.firstOpset <= opset && opset <= row.lastOpset) {
      return &row;
    }
  }
  return nullptr;
}

int32_t readAsOpset(int64_t opset) {
  return static_cast<int32_t>(std::clamp<int64_t>(opset == 0 ? kNewestOpset : opset, 0, kNewestOpset));
}

bool isPlainOperator(const pb::NodeProto& node, int64_t opset) {
  return findImporter(node.domain(), node.op_type(), readAsOpset(opset)) != nullptr;
}

bool hasImporter(std::string_view domain, std::string_view name) {
  const auto& table = operatorTable();
  return std::any_of(table.begin(), table.end(),
                     [&](const OperatorImporter& row) { return row.name == name && row.domain == plain(domain); });
}

std::string operatorPage() {
  std::string page =
      "# ONNX operators\n\n"
      "What `libnvonnxparser` imports. This page is printed from the table of importers (`parsers/onnx/ops/*.cpp`); a test\n"
      "compares the two, and `TENON_UPDATE_DOCS=1 test_onnx --gtest_filter=Docs.*` writes it anew.\n\n"
      "Opsets are those a model imports for the standard domain. Models of opsets below 7 or above 28 are tried, with one\n"
      "warning; nodes whose operator has no row for the opset are refused. DOUBLE tensors become FLOAT, with clamping. What depends\n"
      "only on constants and known extents is computed while parsing. An operator without a row is looked up among the\n"
      "functions of the model, then among the plugin creators: the operator is the plugin's name, attributes\n"
      "`plugin_version` and `plugin_namespace` choose the version, every other attribute becomes a field. Operators of other\n"
      "domains stand at the end, behind their domain.\n\n"
      "| Operator | Opsets | How |\n|---|---|---|\n";
  for (const OperatorImporter& row : operatorTable()) {
    const std::string opsets = row.domain.empty() ? fmt::format("{} to {}", row.firstOpset, row.lastOpset) : "any";
    page +=
        fmt::format("| {}{}{} | {} | {} |\n", row.domain, row.domain.empty() ? "" : ": ", row.name, opsets, row.how);
  }
  page +=
      "\n## Operators that are left out\n\n"
      "Of the standard domain, with the reason in the error: `ImageDecoder`; those of texts (`RegexFullMatch`, `StringConcat`,\n"
      "`StringNormalizer`, `StringSplit`). Lists of tensors and optional values exist while parsing alone, and are no inputs or outputs of the\n"
      "graph; whether an optional value is there is known then. A list whose length only the run knows holds tensors of one shape and is one\n"
      "tensor of the network: the parts of an open axis (`SplitToSequence` by 1), what `SequenceMap` gives for them, and a list into which each\n"
      "iteration of a `Loop` inserts a tensor behind the end. A place in a list may be computed where its tensors have one shape.\n"
      "\n## What of ONNX's node tests is left\n\n"
      "`tests/onnx/node_tests.py` runs those whose types the interface can carry; `tests/onnx/left.txt` lists the ones that fail:\n\n"
      "| tests | why |\n|---|---|\n"
      "| `image_decoder` | files of pictures: decode them before the network |\n"
      "| `resize_downsample_scales` with `align_corners` | ONNX's reference takes the product of extent and scale without rounding "
      "it; PyTorch, ONNX Runtime and this library take the extent of the result |\n"
      "| `attention_4d_causal_fp16_expanded` | the expected values are rounded after each step; ours are nearer to those of FP64 |\n";
  return page;
}

}  // namespace tenon::parsers::onnx
