// Every operator in the types, sizes and forms that its kernels tell apart; one list for all that runs operators.
#pragma once

#include <string>
#include <vector>

#include "ops/operator.h"

namespace tenon::test {

struct OperatorCase {
  std::string op;                   // as in graph text
  std::vector<std::string> inputs;  // "f32[2,3]"
  int64_t indexLimit = 0;           // above zero: input 1 holds indices in [-limit, limit)
  bool positive = false;            // floating inputs but the first are in [0.5, 1)
  double tolerance = 0;             // 0: by the type of the output
  bool constantWeights = false;     // input 1 is a constant
  std::vector<double> scalars;      // the values of inputs of rank 0, in their order
};

ops::TensorType parseType(const std::string& text);
std::string graphOf(const OperatorCase& c);  // the operator between inputs and outputs, as graph text

struct OperatorCases {
  std::string name;
  std::vector<OperatorCase> cases;
};

std::vector<OperatorCases> operatorCases();
std::vector<OperatorCases> contractionCases();  // some of those
OperatorCases selectionCases();                 // likewise
OperatorCases drawingCases();                   // results that differ each time: for what only looks at their code

inline const std::vector<std::string> kFloats{"f32", "f16", "bf16"};

// One operator over several lists of inputs.
void add(OperatorCases& to, const std::string& op, const std::vector<std::vector<std::string>>& inputs);

// Large tensors whose time is worth knowing.
std::vector<OperatorCase> speedCases();

}  // namespace tenon::test
