// LSTM, GRU and RNN against their equations, one number at a time in double.
#include <cmath>

#include "network_run.h"

namespace tenon::parsers::onnx {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Cell {
  std::string type;
  int64_t gates;
  int64_t steps, batch, width, hidden;
  std::string direction = "forward";
  bool bias = true;
  bool states = false;
  bool peepholes = false;
  bool lengths = false;
  bool late = false;  // linear_before_reset
  bool batchFirst = false;
  bool coupled = false;
  double clip = 0;

  int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
};

struct Data {
  Reals x, w, r, b, h, c, p;
  Ints lengths;
};

Data makeData(const Cell& cell, unsigned seed) {
  const auto count = [](int64_t n) { return static_cast<size_t>(n); };
  const int64_t d = cell.directions();
  const int64_t rows = d * cell.gates * cell.hidden;
  Data data;
  data.x = randomReals(count(cell.steps * cell.batch * cell.width), seed);
  data.w = randomReals(count(rows * cell.width), seed + 1);
  data.r = randomReals(count(rows * cell.hidden), seed + 2);
  data.b = randomReals(count(2 * rows), seed + 3);
  data.h = randomReals(count(d * cell.batch * cell.hidden), seed + 4);
  data.c = randomReals(count(d * cell.batch * cell.hidden), seed + 5);
  data.p = randomReals(count(d * 3 * cell.hidden), seed + 6);
  for (int64_t i = 0; i < cell.batch; ++i) data.lengths.push_back(1 + (i * 2 + 1) % cell.steps);
  return data;
}

struct Answer {
  std::vector<double> y, h, c;  // in the order of the model's layout
};

// One row of the batch in one direction; the states are changed.
void stepRow(const Cell& cell, const Data& data, int64_t d, const double* x, std::vector<double>& h,
             std::vector<double>& c) {
  const int64_t n = cell.hidden;
  const auto bounded = [&](double v) { return cell.clip > 0 ? std::min(std::max(v, -cell.clip), cell.clip) : v; };
  const auto fromInput = [&](int64_t gate, int64_t j) {
    double sum = cell.bias ? data.b[static_cast<size_t>((d * 2 * cell.gates + gate) * n + j)] : 0;
    for (int64_t k = 0; k < cell.width; ++k) {
      sum += x[k] * data.w[static_cast<size_t>(((d * cell.gates + gate) * n + j) * cell.width + k)];
    }
    return sum;
  };
  const auto fromState = [&](int64_t gate, int64_t j, const std::vector<double>& state) {
    double sum = cell.bias ? data.b[static_cast<size_t>((d * 2 * cell.gates + cell.gates + gate) * n + j)] : 0;
    for (int64_t k = 0; k < n; ++k) {
      sum += state[static_cast<size_t>(k)] * data.r[static_cast<size_t>(((d * cell.gates + gate) * n + j) * n + k)];
    }
    return sum;
  };
  const auto at = [](const std::vector<double>& v, int64_t j) { return v[static_cast<size_t>(j)]; };
  const auto peephole = [&](int64_t gate, int64_t j) {
    return cell.peepholes ? data.p[static_cast<size_t>((d * 3 + gate) * n + j)] : 0.0;
  };
  std::vector<double> next(h), nextCell(c);
  if (cell.type == "RNN") {
    for (int64_t j = 0; j < n; ++j)
      next[static_cast<size_t>(j)] = std::tanh(bounded(fromInput(0, j) + fromState(0, j, h)));
  } else if (cell.type == "GRU") {
    std::vector<double> reset(h);
    for (int64_t j = 0; j < n; ++j) {
      reset[static_cast<size_t>(j)] = sigmoid(bounded(fromInput(1, j) + fromState(1, j, h)));
    }
    std::vector<double> gated(h);
    for (int64_t j = 0; j < n; ++j) gated[static_cast<size_t>(j)] *= at(reset, j);
    for (int64_t j = 0; j < n; ++j) {
      const double z = sigmoid(bounded(fromInput(0, j) + fromState(0, j, h)));
      const double inner =
          cell.late ? fromInput(2, j) + at(reset, j) * fromState(2, j, h) : fromInput(2, j) + fromState(2, j, gated);
      next[static_cast<size_t>(j)] = (1 - z) * std::tanh(bounded(inner)) + z * at(h, j);
    }
  } else {
    for (int64_t j = 0; j < n; ++j) {
      const double i = sigmoid(bounded(fromInput(0, j) + fromState(0, j, h) + peephole(0, j) * at(c, j)));
      const double f =
          cell.coupled ? 1 - i : sigmoid(bounded(fromInput(2, j) + fromState(2, j, h) + peephole(2, j) * at(c, j)));
      const double candidate = std::tanh(bounded(fromInput(3, j) + fromState(3, j, h)));
      const double state = f * at(c, j) + i * candidate;
      const double o = sigmoid(bounded(fromInput(1, j) + fromState(1, j, h) + peephole(1, j) * state));
      nextCell[static_cast<size_t>(j)] = state;
      next[static_cast<size_t>(j)] = o * std::tanh(bounded(state));
    }
  }
  h = next;
  c = nextCell;
}

Answer expectedAnswer(const Cell& cell, const Data& data) {
  const int64_t d = cell.directions();
  const int64_t n = cell.hidden;
  Answer answer;
  answer.y.assign(static_cast<size_t>(cell.steps * d * cell.batch * n), 0);
  answer.h.assign(static_cast<size_t>(d * cell.batch * n), 0);
  answer.c = answer.h;
  for (int64_t side = 0; side < d; ++side) {
    const bool reverse = side == 1 || cell.direction == "reverse";
    for (int64_t row = 0; row < cell.batch; ++row) {
      const auto stateAt = static_cast<size_t>((cell.batchFirst ? row * d + side : side * cell.batch + row) * n);
      std::vector<double> h(static_cast<size_t>(n), 0), c(static_cast<size_t>(n), 0);
      for (int64_t j = 0; cell.states && j < n; ++j) {
        h[static_cast<size_t>(j)] = data.h[stateAt + static_cast<size_t>(j)];
        c[static_cast<size_t>(j)] = data.c[stateAt + static_cast<size_t>(j)];
      }
      const int64_t length = cell.lengths ? data.lengths[static_cast<size_t>(row)] : cell.steps;
      for (int64_t t = 0; t < length; ++t) {
        const int64_t step = reverse ? length - 1 - t : t;
        const int64_t place = cell.batchFirst ? row * cell.steps + step : step * cell.batch + row;
        std::vector<double> x(data.x.begin() + place * cell.width, data.x.begin() + (place + 1) * cell.width);
        stepRow(cell, data, side, x.data(), h, c);
        const int64_t out =
            cell.batchFirst ? (row * cell.steps + step) * d + side : (step * d + side) * cell.batch + row;
        std::copy(h.begin(), h.end(), answer.y.begin() + out * n);
      }
      std::copy(h.begin(), h.end(), answer.h.begin() + static_cast<std::ptrdiff_t>(stateAt));
      std::copy(c.begin(), c.end(), answer.c.begin() + static_cast<std::ptrdiff_t>(stateAt));
    }
  }
  return answer;
}

ModelMaker makeModel(const Cell& cell, const Data& data) {
  const int64_t d = cell.directions();
  const int64_t rows = cell.gates * cell.hidden;
  ModelMaker maker(14);
  maker.input("x",
              cell.batchFirst ? Ints{cell.batch, cell.steps, cell.width} : Ints{cell.steps, cell.batch, cell.width});
  maker.floats("w", {d, rows, cell.width}, data.w);
  maker.floats("r", {d, rows, cell.hidden}, data.r);
  maker.floats("b", {d, 2 * rows}, data.b);
  const Ints state = cell.batchFirst ? Ints{cell.batch, d, cell.hidden} : Ints{d, cell.batch, cell.hidden};
  maker.floats("h", state, data.h);
  maker.floats("c", state, data.c);
  maker.floats("p", {d, 3 * cell.hidden}, data.p);
  std::vector<int32_t> lengths(data.lengths.begin(), data.lengths.end());
  maker.initializer("lengths", {cell.batch}, 6).set_raw_data(lengths.data(), lengths.size() * sizeof(int32_t));
  std::vector<std::string> inputs{
      "x", "w", "r", cell.bias ? "b" : "", cell.lengths ? "lengths" : "", cell.states ? "h" : ""};
  std::vector<std::string> outputs{"y", "yh"};
  if (cell.type == "LSTM") {
    inputs.push_back(cell.states ? "c" : "");
    inputs.push_back(cell.peepholes ? "p" : "");
    outputs.push_back("yc");
  }
  auto& node = maker.node(cell.type, inputs, outputs, "cell");
  ModelMaker::set(node, "hidden_size", cell.hidden);
  ModelMaker::set(node, "direction", cell.direction);
  if (cell.batchFirst) ModelMaker::set(node, "layout", int64_t{1});
  if (cell.late) ModelMaker::set(node, "linear_before_reset", int64_t{1});
  if (cell.coupled) ModelMaker::set(node, "input_forget", int64_t{1});
  if (cell.clip > 0) ModelMaker::set(node, "clip", static_cast<float>(cell.clip));
  for (const std::string& name : outputs) maker.output(name);
  return maker;
}

void check(const Cell& cell, unsigned seed) {
  SCOPED_TRACE(cell.type + " " + cell.direction + " " + std::to_string(seed));
  const Data data = makeData(cell, seed);
  const auto outputs = runModel(makeModel(cell, data), {data.x});
  const Answer answer = expectedAnswer(cell, data);
  ASSERT_EQ(outputs.size(), cell.type == "LSTM" ? 3u : 2u);
  expectNear(outputs[0], answer.y);
  expectNear(outputs[1], answer.h);
  if (cell.type == "LSTM") expectNear(outputs[2], answer.c);
}

TEST(Recurrent, ComputesItsEquations) {
  unsigned seed = 100;
  for (const std::string direction : {"forward", "reverse", "bidirectional"}) {
    check({"LSTM", 4, 3, 2, 5, 4, direction}, seed += 10);
    check({"GRU", 3, 3, 2, 5, 4, direction}, seed += 10);
    check({"RNN", 1, 3, 2, 5, 4, direction}, seed += 10);
  }
}

TEST(Recurrent, StatesPeepholesLengthsAndLayout) {
  check({"LSTM", 4, 4, 3, 2, 5, "bidirectional", true, true, true, true}, 1);
  check({"LSTM", 4, 4, 3, 2, 5, "bidirectional", true, true, false, true, false, true}, 2);
  check({"LSTM", 4, 3, 2, 2, 3, "forward", false, true, false, false, false, false, true, 0.3}, 3);
  check({"LSTM", 4, 1, 1, 1, 1, "reverse", true, false, true}, 4);
  check({"GRU", 3, 4, 3, 2, 5, "bidirectional", true, true, false, true, true}, 5);
  check({"GRU", 3, 4, 3, 2, 5, "forward", true, false, false, false, true, true}, 6);
  check({"GRU", 3, 2, 2, 3, 3, "reverse", false, true, false, false, false, false, false, 0.4}, 7);
  check({"RNN", 1, 5, 3, 2, 4, "bidirectional", true, true, false, true, false, true}, 8);
}

// More steps than are written out.
TEST(Recurrent, LongSequencesAreLoops) {
  check({"LSTM", 4, 70, 2, 3, 4, "bidirectional", true, true, true, true}, 11);
  check({"LSTM", 4, 65, 1, 2, 3, "reverse", true, false, false, true, false, true}, 12);
  check({"GRU", 3, 100, 2, 3, 4, "bidirectional", true, true, false, true, true}, 13);
  check({"GRU", 3, 66, 1, 3, 4, "forward"}, 14);
  check({"RNN", 1, 77, 3, 2, 4, "bidirectional", true, false, false, true, false, true}, 15);
}

TEST(Recurrent, OpenLengthsAreLoops) {
  const Cell cell{"LSTM", 4, 3, 2, 5, 4, "bidirectional"};
  ModelMaker maker = makeModel(cell, makeData(cell, 1));
  for (const int axis : {0, 1}) {
    auto* shape = maker.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->mutable_dim(axis)->set_dim_param(axis == 0 ? "T" : "N");
  }
  NetworkBench bench;
  EXPECT_TRUE(bench.parse(maker)) << bench.errors() << bench.logger.text;
  EXPECT_EQ(bench.outputShape(0), (Dimensions{-1, 2, -1, 4}));
  EXPECT_EQ(bench.outputShape(1), (Dimensions{2, -1, 4}));
}

TEST(Recurrent, NamedActivationsWithParameters) {
  ModelMaker maker(14);
  maker.input("x", {2, 1, 1});
  maker.floats("w", {1, 1, 1}, {0.5f});
  maker.floats("r", {1, 1, 1}, {0.25f});
  auto& node = maker.node("RNN", {"x", "w", "r"}, {"y"}, "cell");
  auto* names = node.add_attribute();
  names->set_name("activations");
  names->set_type(8);
  names->add_strings("Affine");
  for (const auto& [name, value] : {std::pair("activation_alpha", 2.0f), std::pair("activation_beta", 1.0f)}) {
    auto* attribute = node.add_attribute();
    attribute->set_name(name);
    attribute->set_type(6);
    attribute->add_floats(value);
  }
  maker.output("y");
  const auto outputs = runModel(maker, {{3.0f, -2.0f}});
  ASSERT_EQ(outputs.size(), 1u);
  const double first = 2 * (0.5 * 3) + 1;
  expectNear(outputs[0], {first, 2 * (0.5 * -2 + 0.25 * first) + 1});
}

TEST(Recurrent, RefusalsNameNodeAndAttribute) {
  const Cell cell{"LSTM", 4, 3, 2, 5, 4};
  const Data data = makeData(cell, 1);
  const auto refused = [&](const std::function<void(ModelMaker&)>& spoil) {
    ModelMaker maker = makeModel(cell, data);
    spoil(maker);
    return refusal(maker);
  };
  const auto attribute = [](ModelMaker& maker, const std::string& name) -> pb::AttributeProto& {
    for (auto& one : *maker.graph().mutable_node(0)->mutable_attribute()) {
      if (one.name() == name) return one;
    }
    return *maker.graph().mutable_node(0)->add_attribute();
  };
  std::string said = refused([&](ModelMaker& maker) { attribute(maker, "direction").set_s("sideways"); });
  EXPECT_NE(said.find("'cell'"), std::string::npos) << said;
  EXPECT_NE(said.find("direction = 'sideways'"), std::string::npos) << said;
  said = refused([&](ModelMaker& maker) { attribute(maker, "hidden_size").set_i(7); });
  EXPECT_NE(said.find("hidden_size = 7, but R has 4 columns"), std::string::npos) << said;
  said = refused([&](ModelMaker& maker) {
    auto& names = attribute(maker, "activations");
    names.set_name("activations");
    names.set_type(8);
    for (const char* name : {"Sigmoid", "Tanh", "Wobble"}) names.add_strings(name);
  });
  EXPECT_NE(said.find("'Wobble'"), std::string::npos) << said;
  said = refused([&](ModelMaker& maker) {
    maker.graph()
        .mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_dim_value(0);
  });
  EXPECT_NE(said.find("the sequence length of X is 0"), std::string::npos) << said;
}

// Weights of 8 bits, transposed, with one scale for each direction or for each row, beside those that they stand for.
TEST(Recurrent, WeightsOfEightBits) {
  constexpr int64_t kSteps = 3, kBatch = 2, kWidth = 5, kHidden = 4, kRows = 4 * kHidden, kDirections = 2;
  const Reals x = randomReals(kSteps * kBatch * kWidth, 1);
  for (const bool byRow : {false, true}) {
    for (const bool hasSign : {false, true}) {
      ModelMaker packed(17), plain(17);
      for (ModelMaker* maker : {&packed, &plain}) {
        maker->input("x", {kSteps, kBatch, kWidth});
        maker->floats("b", {kDirections, 2 * kRows}, randomReals(kDirections * 2 * kRows, 2));
      }
      const auto addWeights = [&](const std::string& name, int64_t columns, unsigned seed) {
        const int64_t scales = byRow ? kRows : 1;
        const Reals scale = randomReals(static_cast<size_t>(kDirections * scales), seed, 0.002F, 0.01F);
        const Reals drawn = randomReals(static_cast<size_t>(kDirections * columns * kRows), seed + 1, -100, 100);
        std::string bytes, zeros;
        for (int64_t i = 0; i < kDirections * scales; ++i)
          zeros.push_back(static_cast<char>(hasSign ? i % 7 : 120 + i % 7));
        Reals real(drawn.size());
        for (int64_t d = 0; d < kDirections; ++d) {
          for (int64_t k = 0; k < columns; ++k) {
            for (int64_t row = 0; row < kRows; ++row) {
              const int value = static_cast<int>(drawn[bytes.size()]) + (hasSign ? 0 : 120);
              bytes.push_back(static_cast<char>(value));
              const auto own = static_cast<size_t>(byRow ? d * kRows + row : d);
              real[static_cast<size_t>((d * kRows + row) * columns + k)] =
                  static_cast<float>(value - static_cast<unsigned char>(zeros[own])) * scale[own];
            }
          }
        }
        const std::vector<int64_t> shape = byRow ? std::vector<int64_t>{kDirections, kRows} : std::vector<int64_t>{2};
        packed.initializer(name, {kDirections, columns, kRows}, hasSign ? 3 : 2).set_raw_data(bytes);
        packed.initializer(name + " zero", shape, hasSign ? 3 : 2).set_raw_data(zeros);
        packed.floats(name + " scale", shape, scale);
        plain.floats(name, {kDirections, kRows, columns}, real);
      };
      addWeights("w", kWidth, 3);
      addWeights("r", kHidden, 5);
      packed.proto().add_opset_import()->set_domain("com.microsoft");
      packed.proto().mutable_opset_import(1)->set_version(1);
      auto& node = packed.node("DynamicQuantizeLSTM",
                               {"x", "w", "r", "b", "", "", "", "", "w scale", "w zero", "r scale", "r zero"}, {"y"});
      node.set_domain("com.microsoft");
      for (auto* one : {&node, &plain.node("LSTM", {"x", "w", "r", "b"}, {"y"})}) {
        ModelMaker::set(*one, "direction", "bidirectional");
        ModelMaker::set(*one, "hidden_size", kHidden);
      }
      packed.output("y");
      plain.output("y");
      const auto expected = runModel(plain, {x}).at(0);
      expectNear(runModel(packed, {x}).at(0), std::vector<double>(expected.begin(), expected.end()), 1e-5);
    }
  }
}

}  // namespace
}  // namespace tenon::parsers::onnx
