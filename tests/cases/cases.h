// Operator cases as data: what each operator is tried on, whatever computes it.
//
// A file NAME.cases holds blocks. A block begins at the beginning of a line with an operator as in the text of graphs;
// each line behind it that begins with blanks is a case: the types of its operands, then facts behind a semicolon:
//
//   gather{axis=1}
//     $f[3,5,2] i64[4] ; index=5
//     f32[2,2]*3 i32[0] ; positive tolerance=1e-3
//     f32[4,8] f32[8,3] ; constant refused cuda: has no kernel
//
//   $f          the case for f32, f16 and bf16
//   TYPE*N      N operands of a type; () for an operator without any
//   index=N     operand 1 holds indices in [-N, N)
//   positive    floating operands but the first are in [0.5, 1)
//   tolerance=T in place of what the output's type allows
//   constant    operand 1 is a constant of the network
//   refused DEVICE: TEXT   the last fact of a line: a build for the device is refused, and the error holds the text
//
// A line that ends in a backslash goes on in the next one; # begins a comment.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ops/operator.h"

namespace tenon::test {

struct Case {
  std::string place;  // "movement.cases:12"
  std::string op;
  std::vector<std::string> operands;
  int64_t indexLimit = 0;
  bool positive = false;
  bool constant = false;
  double tolerance = 0;                        // 0: by the type of the output
  std::map<std::string, std::string> refused;  // by device: what the error says
  std::string text() const;
};

// Throws UserError with file and line for what it does not understand, and for a file without cases.
std::vector<Case> parseCases(const std::string& file, std::string_view text);
// "f32[2,3]".
ops::TensorType parseType(std::string_view text);
// The operator between inputs and outputs, as graph text.
std::string graphOf(const Case& c);

}  // namespace tenon::test
