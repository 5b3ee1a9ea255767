// Recurrent networks over the elements of a value, each of which is a step.
#include "random_generator.h"

#include "ops/op/reshape.h"

namespace tenon::passes {

void Generator::anyRecurrent(ValueId x) {
  const Shape in = shape(x);
  const int64_t steps = elements(x);
  if (in.empty() || !isConstantFrom(x, 0) || steps == 0 || steps > 60) return unary(x);
  const int64_t kind = pick(3);
  const int64_t gates = kind == 0 ? 1 : kind == 1 ? 3 : 4;
  const int64_t hidden = 1 + pick(5);
  const int64_t directions = 1 + pick(2);
  const char* const cells[] = {"rnn", "gru", "lstm"};
  std::string fields = fmt::format("cell={}", cells[kind]);
  ops::Reshape sequence;
  sequence.shape = {Extent(steps), Extent(1), Extent(1), Extent(1)};
  const ValueId rows = graph_.add(sequence, "", {x});
  const ValueId products = binaryOf("mul(x0,x1)", rows, weights({1, 1, directions, gates * hidden}));
  std::vector<ValueId> inputs{products, weights({directions, gates * hidden, hidden})};
  const auto flag = [&](bool holds, const char* text) {
    if (holds) fields += fmt::format(" {}=true", text);
    return holds;
  };
  flag(directions == 1 && pick(2) == 0, "reverse");
  if (kind == 1) {
    flag(pick(2) == 0, "late");
    if (flag(pick(2) == 0, "hasBias")) inputs.push_back(weights({directions, hidden}));
  }
  if (kind == 2 && flag(pick(2) == 0, "hasPeepholes")) inputs.push_back(weights({directions, 3 * hidden}));
  if (flag(pick(2) == 0, "hasFirst")) inputs.push_back(weights({directions, 1, hidden}));
  if (kind == 2 && flag(pick(2) == 0, "hasFirstCell")) inputs.push_back(weights({directions, 1, hidden}));
  if (kind == 2) flag(pick(3) == 0, "coupled");
  if (pick(3) == 0) fields += " clip=0.75";
  put(ops::Operator::parse("recurrent{" + fields + "}"), std::move(inputs));
}

}  // namespace tenon::passes
