// The table of operators: each file of ops/ contributes rows, and the build joins them from the files present.
#pragma once

#include <string_view>
#include <vector>

#include "onnx_node.h"

namespace tenon::parsers::onnx {

// Imports one node and returns its outputs in order; outputs past the end of the list stay unset. Throws ParseError.
using ImportFunction = ParsedValues (*)(OnnxNode& node);

struct OperatorImporter {
  std::string_view name;
  int32_t firstOpset;  // of the model, not of the operator
  int32_t lastOpset;
  ImportFunction import;
  std::string_view how;          // for docs/onnx.md: the API calls, and what is refused
  std::string_view domain = {};  // empty: the standard one
};

// What a file ops/<file>.cpp defines, in the namespace ops_<file>.
struct OperatorRows {
  const OperatorImporter* rows;
  size_t count;
};
template <size_t N>
constexpr OperatorRows rowsOf(const OperatorImporter (&rows)[N]) {
  return {rows, N};
}

// All rows, sorted by name and opset.
const std::vector<OperatorImporter>& operatorTable();

// The row for an operator of a domain; nullptr when there is none for this opset.
const OperatorImporter* findImporter(std::string_view domain, std::string_view name, int32_t opset);
// Whether the table has a node, as a model of that opset means it (0: does not say).
bool isPlainOperator(const pb::NodeProto& node, int64_t opset);
// The opset as which a model is read: models newer than this parser are read as its newest.
int32_t readAsOpset(int64_t opset);
// Whether any opset has it.
bool hasImporter(std::string_view domain, std::string_view name);

// The table as the Markdown page docs/onnx.md; a test compares the page with it.
std::string operatorPage();

}  // namespace tenon::parsers::onnx
