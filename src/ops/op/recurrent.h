// Steps of an LSTM, a GRU or a plain recurrent network over a sequence.
#pragma once

#include "ops/operator.h"

namespace tenon::ops {

enum class Cell : uint8_t { kRnn, kGru, kLstm };
constexpr std::array<std::string_view, 3> enumNames(Cell) { return {"rnn", "gru", "lstm"}; }

// ONNX's, of x with a and b (Affine: a x + b; ScaledTanh: a tanh(b x); HardSigmoid: max(0, min(1, a x + b))).
enum class GateFunction : uint8_t {
  kSigmoid,
  kTanh,
  kRelu,
  kAffine,
  kLeakyRelu,
  kThresholdedRelu,
  kScaledTanh,
  kHardSigmoid,
  kElu,
  kSoftsign,
  kSoftplus
};
constexpr std::array<std::string_view, 11> enumNames(GateFunction) {
  return {"sigmoid",     "tanh",         "relu", "affine",   "leaky_relu", "thresholded_relu",
          "scaled_tanh", "hard_sigmoid", "elu",  "softsign", "softplus"};
}
double evaluate(GateFunction function, double a, double b, double x);

// Inputs, floating and of one type: products [S, B, D, G * H] of each step's input with the gates' weights, with all
// biases that stand outside of gates; weights [D, G * H, H] of the state; then, where the flags say so, bias [D, H]
// (GRU: with the state's product of the last gate), peepholes [D, 3 * H] (LSTM: i, o, f), first [D, B, H] and
// firstCell [D, B, H] (else zeros), and lengths, i32 or i64 [B]. D is 1 or 2, the second direction runs backwards; G is
// 1, 3 (z, r, h) or 4 (i, o, f, c). Outputs: y [S, B, D, H]; the last state [D, B, H]; the last cell [D, B, H] (LSTM).
// With takesInput the products are the node's own: input 0 is x [S, B, I], and last stand inputWeights [D, G * H, I]
// and, with hasInputBias, inputBias [D, G * H]: p = W x + inputBias.
//   rnn:  h = f0(p + R h)
//   gru:  z = f0(p + R h), r = f0(p + R h), h = (1 - z) f1(p + R (r h) + bias) + z h;
//         late: h = (1 - z) f1(p + r (R h + bias)) + z h
//   lstm: i = f0(p + R h + P c), f likewise (coupled: 1 - i), c = f c + i f1(p + R h), o = f0(p + R h + P c),
//         h = o f2(c)
// clip, where it is above 0, bounds the operands of f0, f1 and f2. Behind its length a row of the batch keeps its
// states, and y is 0; a row without a length has all steps. States are not rounded from step to step in the reference;
// kernels hold them in f32.
struct Recurrent {
  static constexpr std::string_view kName = "recurrent";
  Cell cell = Cell::kLstm;
  bool reverse = false;  // of one direction only
  bool late = false;
  bool coupled = false;
  double clip = 0;
  bool hasBias = false;
  bool hasPeepholes = false;
  bool hasFirst = false;
  bool hasFirstCell = false;
  bool hasLengths = false;
  bool takesInput = false;
  bool hasInputBias = false;
  std::vector<GateFunction> functions;  // of the cell; empty: sigmoid and tanh, of an rnn tanh
  std::vector<double> a;                // of each function; empty: zeros
  std::vector<double> b;
  static constexpr auto fields = std::tuple{field("cell", &Recurrent::cell),
                                            field("reverse", &Recurrent::reverse),
                                            field("late", &Recurrent::late),
                                            field("coupled", &Recurrent::coupled),
                                            field("clip", &Recurrent::clip),
                                            field("hasBias", &Recurrent::hasBias),
                                            field("hasPeepholes", &Recurrent::hasPeepholes),
                                            field("hasFirst", &Recurrent::hasFirst),
                                            field("hasFirstCell", &Recurrent::hasFirstCell),
                                            field("hasLengths", &Recurrent::hasLengths),
                                            field("takesInput", &Recurrent::takesInput),
                                            field("hasInputBias", &Recurrent::hasInputBias),
                                            field("functions", &Recurrent::functions),
                                            field("a", &Recurrent::a),
                                            field("b", &Recurrent::b)};

  int64_t gates() const { return cell == Cell::kLstm ? 4 : cell == Cell::kGru ? 3 : 1; }
  // The function at `index` of the cell, 0 to 2, with its parameters.
  struct Function {
    GateFunction kind = GateFunction::kTanh;
    double a = 0, b = 0;
  };
  Function function(size_t index) const;

  // Where the operands stand among the inputs; -1: absent.
  struct Places {
    int bias = -1, peepholes = -1, first = -1, firstCell = -1, lengths = -1, inputWeights = -1, inputBias = -1;
    int count = 2;
  };
  Places places() const;

  Facts facts() const;
  void infer(InferContext& context) const;
  void evaluate(const EvalContext& context) const;
};

}  // namespace tenon::ops
