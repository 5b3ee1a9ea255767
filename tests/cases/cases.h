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
//   values=A,B  the values of the operands of rank 0, in their order
//   tolerance=T in place of what the output's type allows
//   constant    operand 1 is a constant of the network; constant=1,4: these operands are
//   by=TEXT     on an emulated GPU, where candidates have the text, only they run: for cases too large for the others
//   drawn       results are drawn at random: run, and compared with nothing
// and, as the last fact of a line, one of
//   refused DEVICE: TEXT           a build for the device is refused, and the error holds the text
//   fails DEVICE CANDIDATE: WHY    candidates whose text begins so run and are wrong, for a reason that is known; one
//                                  that is right is a failure
//
// A line that ends in a backslash goes on in the next one; # begins a comment.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/storage.h"
#include "ops/operator.h"

namespace tenon::test {

struct ExpectedFailure {
  std::string candidate;  // how its text begins
  std::string reason;
};

struct Case {
  std::string place;  // "movement.cases:12"
  std::string op;
  std::vector<std::string> operands;
  int64_t indexLimit = 0;
  bool positive = false;
  std::vector<int64_t> constants;  // operands
  bool drawn = false;
  std::string by;
  double tolerance = 0;  // 0: by the type of the output
  std::vector<double> scalars;
  std::map<std::string, std::string> refused;    // by device: what the error says
  std::map<std::string, ExpectedFailure> fails;  // by device
  std::string text() const;
  double toleranceOf(DataType output) const;
};

// Throws UserError with file and line for what it does not understand, and for a file without cases.
std::vector<Case> parseCases(const std::string& file, std::string_view text);
std::vector<Case> readCases(const std::string& path);
// Of a file of the checkout: below the working directory, or else where this was compiled.
std::string pathOf(const std::string& file);
// The names of the files of this folder, and the cases of one of them.
std::vector<std::string> caseFiles();
bool isConstant(const Case& c, size_t operand);
std::vector<Case> casesOf(const std::string& name);

// "f32[2,3]".
ops::TensorType parseType(std::string_view text);
// The operator between inputs and outputs, as graph text.
std::string graphOf(const Case& c);
// What the inputs of that graph are given: random, but for what the facts of the case say.
std::vector<HostTensor> inputsOf(const Case& c);

}  // namespace tenon::test
