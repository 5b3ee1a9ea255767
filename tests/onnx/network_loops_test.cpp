// Loop and Scan from the model's bytes to its numbers: parsed, built, saved, loaded, run.
#include "control_flow_models.h"

namespace tenon::parsers::onnx {
namespace {

// s = s + x * i, as often as `count` says or as long as the sum of s is below `limit`.
ModelMaker loop(bool withScan) {
  ModelMaker body, maker;
  body.input("i", {}, kInt64);
  body.input("go", {}, kBool);
  body.input("s", {2});
  ModelMaker::set(body.node("Cast", {"i"}, {"fi"}), "to", int64_t{1});
  body.node("Mul", {"x", "fi"}, {"xi"});
  body.node("Add", {"s", "xi"}, {"next"});
  if (withScan) {
    body.node("Identity", {"go"}, {"go_on"});
  } else {
    auto& sum = body.node("ReduceSum", {"next"}, {"total"});
    ModelMaker::set(sum, "keepdims", int64_t{0});
    body.node("Less", {"total", "limit"}, {"go_on"});
  }
  body.output("go_on", {}, kBool);
  body.output("next", {2});
  if (withScan) body.output("xi", {2});
  if (withScan) {
    maker.ints("count", {}, {600});  // too many to be written out
  } else {
    maker.input("count", {}, kInt64);
  }
  maker.input("x", {2});
  if (!withScan) maker.input("limit", {});
  maker.floats("zero", {2}, {0, 0});
  auto& node = withScan ? maker.node("Loop", {"count", "", "zero"}, {"last", "y"}, "loop")
                        : maker.node("Loop", {"count", "", "zero"}, {"y"}, "loop");
  setGraph(node, "body", body);
  maker.output("y");
  return maker;
}

TEST(Loops, LoopCountsAndAsks) {
  const Floats x{1, 0.5F};
  for (const auto& [count, limit] : {std::pair<int64_t, float>{5, 100}, {0, 100}, {100, 20}, {100, -1}}) {
    Floats s{0, 0};
    for (int64_t i = 0; i < count; ++i) {
      for (size_t k = 0; k < 2; ++k) s[k] += x[k] * static_cast<float>(i);
      if (s[0] + s[1] >= limit) break;
    }
    EXPECT_EQ(run(loop(false), {&count, x.data(), &limit}, 2), s) << count << " " << limit;
  }
}

TEST(Loops, LoopGivesTheResultsOfAllIterations) {
  const Floats x{1, 0.5F};
  Floats expected;
  for (int i = 0; i < 600; ++i) {
    expected.push_back(x[0] * static_cast<float>(i));
    expected.push_back(x[1] * static_cast<float>(i));
  }
  EXPECT_EQ(run(loop(true), {x.data()}, 1200), expected);
}

// As many parts as iterations, which the condition decides.
TEST(Loops, ConditionsDecideHowManyPartsThereAre) {
  ModelMaker parts = loop(false);
  auto* graph = parts.graph().mutable_node(0)->mutable_attribute(0)->mutable_g();
  ModelMaker::describe(*graph->add_output(), "xi", {2}, 1);
  parts.graph().mutable_node(0)->add_output("all");
  parts.graph().mutable_output(0)->set_name("all");
  const Floats x{1, 0.5F};
  for (const auto& [count, limit] : {std::pair<int64_t, float>{5, 100}, {0, 100}, {100, 20}, {100, -1}, {1000, 1e6F}}) {
    Floats s{0, 0}, expected;
    for (int64_t i = 0; i < count; ++i) {
      for (size_t k = 0; k < 2; ++k) {
        s[k] += x[k] * static_cast<float>(i);
        expected.push_back(x[k] * static_cast<float>(i));
      }
      if (s[0] + s[1] >= limit) break;
    }
    auto all = run(parts, {&count, x.data(), &limit}, expected.size() + 1);  // an address, also of nothing
    all.resize(expected.size());
    EXPECT_EQ(all, expected) << count << " " << limit;
  }
}

// What exporters write for lists: a tensor that grows by a concatenation, here of rows of i * x.
TEST(Loops, TensorsThatGrow) {
  for (const bool isEmpty : {true, false}) {
    ModelMaker body, maker;
    body.input("i", {}, kInt64);
    body.input("go", {}, kBool);
    body.input("s", {isEmpty ? 0 : 1, 2});
    ModelMaker::set(body.node("Cast", {"i"}, {"fi"}), "to", int64_t{1});
    body.node("Mul", {"x", "fi"}, {"xi"});
    ModelMaker::set(body.node("Concat", {"s", "xi"}, {"next"}), "axis", int64_t{0});
    body.output("go", {}, kBool);
    body.output("next", {1, 2});
    maker.ints("count", {}, {600});
    maker.input("x", {1, 2});
    maker.floats("begin", {isEmpty ? 0 : 1, 2}, isEmpty ? Floats{} : Floats{7, 8});
    setGraph(maker.node("Loop", {"count", "", "begin"}, {"y"}, "grows"), "body", body);
    maker.output("y");
    const Floats x{1, 0.5F};
    Floats expected = isEmpty ? Floats{} : Floats{7, 8};
    for (int i = 0; i < 600; ++i)
      expected.insert(expected.end(), {static_cast<float>(i), 0.5F * static_cast<float>(i)});
    EXPECT_EQ(run(maker, {x.data()}, expected.size()), expected);
  }
}

// Numbers of the device: the first `n` elements of x, n the sum of its signs; and within a loop, other ones in each
// iteration.
TEST(Loops, ExtentsOfWhatABodyComputes) {
  ModelMaker body, maker;
  body.input("i", {}, kInt64);
  body.input("go", {}, kBool);
  body.input("s", {});
  body.node("Gather", {"x", "i"}, {"xi"});
  ModelMaker::set(body.node("Cast", {"xi"}, {"n"}), "to", int64_t{7});
  body.ints("zero", {}, {0});
  body.ints("one", {}, {1});
  body.node("Range", {"zero", "n", "one"}, {"numbers"});
  ModelMaker::set(body.node("Cast", {"numbers"}, {"reals"}), "to", int64_t{1});
  body.node("Mul", {"reals", "xi"}, {"scaled"});
  ModelMaker::set(body.node("ReduceSum", {"scaled"}, {"sum"}), "keepdims", int64_t{0});
  body.node("Add", {"s", "sum"}, {"next"});
  body.output("go", {}, kBool);
  body.output("next", {});
  body.output("sum", {});
  maker.ints("count", {}, {700});
  maker.input("x", {700});
  maker.floats("begin", {}, {0.5F});
  setGraph(maker.node("Loop", {"count", "", "begin"}, {"last", "y"}, "loop"), "body", body);
  maker.output("y");
  Floats x, expected;
  for (int i = 0; i < 700; ++i) x.push_back(static_cast<float>(i * 7 % 13));
  for (const float n : x) expected.push_back(n * n * (n - 1) / 2);
  EXPECT_EQ(run(maker, {x.data()}, 700), expected);
}

TEST(Loops, RangesOfComputedNumbers) {
  ModelMaker maker;
  maker.input("start", {});
  maker.input("limit", {});
  maker.input("delta", {});
  maker.node("Range", {"start", "limit", "delta"}, {"y"});
  maker.output("y");
  for (const auto& [start, limit, delta] :
       {std::array{1.0F, 5.0F, 2.0F}, {10.0F, 4.5F, -0.5F}, {0.0F, 1000.0F, 0.25F}}) {
    Floats expected;
    const auto count = static_cast<int>(std::ceil((limit - start) / delta));
    for (int i = 0; i < count; ++i) expected.push_back(start + static_cast<float>(i) * delta);
    EXPECT_EQ(run(maker, {&start, &limit, &delta}, expected.size()), expected);
  }
}

TEST(Loops, ScanOverAnOpenLengthInBothDirections) {
  for (const bool reverse : {false, true}) {
    ModelMaker body, maker;
    body.input("s", {2});
    body.input("row", {2});
    body.node("Add", {"s", "row"}, {"next"});
    body.node("Identity", {"next"}, {"part"});
    body.output("next", {2});
    body.output("part", {2});
    maker.input("x", {2, -2});
    maker.floats("zero", {2}, {0, 0});
    auto& node = maker.node("Scan", {"zero", "x"}, {"last", "y"}, "scan");
    ModelMaker::set(node, "num_scan_inputs", int64_t{1});
    ModelMaker::set(node, "scan_input_axes", std::vector<int64_t>{-1});
    ModelMaker::set(node, "scan_output_axes", std::vector<int64_t>{1});
    ModelMaker::set(node, "scan_input_directions", std::vector<int64_t>{reverse ? 1 : 0});
    ModelMaker::set(node, "scan_output_directions", std::vector<int64_t>{reverse ? 1 : 0});
    setGraph(node, "body", body);
    maker.output("y");
    for (const size_t n : {1, 5}) {
      Floats x, expected(2 * n);
      for (size_t i = 0; i < 2 * n; ++i) x.push_back(static_cast<float>(i * i) - 3);
      for (size_t row = 0; row < 2; ++row) {
        float sum = 0;
        for (size_t k = 0; k < n; ++k) {
          const size_t at = row * n + (reverse ? n - 1 - k : k);
          expected[at] = sum += x[at];
        }
      }
      EXPECT_EQ(run(maker, {x.data()}, 2 * n, static_cast<int64_t>(n)), expected) << n << " " << reverse;
    }
  }
}

// A tensor that grows, of which each iteration reads how large it is by now: the body has no more than what it appends.
TEST(Loops, TensorsThatGrowAreNotReadOnTheWay) {
  ModelMaker body, maker;
  body.input("i", {}, kInt64);
  body.input("go", {}, kBool);
  body.input("s", {1});
  ModelMaker::set(body.node("Concat", {"s", "x"}, {"next"}), "axis", int64_t{0});
  body.node("Size", {"next"}, {"length"});
  body.output("go", {}, kBool);
  body.output("next", {2});
  body.output("length", {}, kInt64);
  maker.ints("count", {}, {600});
  maker.input("x", {1});
  setGraph(maker.node("Loop", {"count", "", "x"}, {"y", "lengths"}, "grows"), "body", body);
  maker.output("y");
  maker.output("lengths");
  NetworkBench bench;
  EXPECT_TRUE(bench.parse(maker)) << bench.errors();
  const std::unique_ptr<nvinfer1::IBuilderConfig> config(bench.builder->createBuilderConfig());
  EXPECT_EQ(bench.builder->buildSerializedNetwork(*bench.network, *config), nullptr);
  EXPECT_NE(bench.logger.text.find("begins as f32 [1] and goes on as f32 [2]"), std::string::npos) << bench.logger.text;
}

TEST(Loops, RefusalsSayWhereAndWhatToDo) {
  // A state that grows, not by what is appended alone.
  ModelMaker body, maker;
  body.input("i", {}, kInt64);
  body.input("go", {}, kBool);
  body.input("s", {1});
  ModelMaker::set(body.node("Concat", {"x", "s"}, {"next"}), "axis", int64_t{0});
  body.output("go", {}, kBool);
  body.output("next", {2});
  maker.input("count", {}, kInt64);
  maker.input("x", {1});
  setGraph(maker.node("Loop", {"count", "", "x"}, {"y"}, "grows"), "body", body);
  maker.output("y");
  NetworkBench bench;
  EXPECT_TRUE(bench.parse(maker)) << bench.errors();
  const std::unique_ptr<nvinfer1::IBuilderConfig> config(bench.builder->createBuilderConfig());
  EXPECT_EQ(bench.builder->buildSerializedNetwork(*bench.network, *config), nullptr);
  EXPECT_NE(bench.logger.text.find("begins as f32 [1] and goes on as f32 [2]"), std::string::npos) << bench.logger.text;

  // An operator within that nobody knows.
  ModelMaker bad = maker;
  bad.graph().mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_op_type("Nonsense");
  EXPECT_NE(refusal(bad).find("(Nonsense, opset 17) in body of 'grows'"), std::string::npos) << refusal(bad);

  // No body, and a body with other operands.
  ModelMaker empty = maker;
  empty.graph().mutable_node(0)->clear_attribute();
  EXPECT_NE(refusal(empty).find("attribute 'body' has no graph"), std::string::npos) << refusal(empty);
  ModelMaker few = maker;
  few.graph().mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_input()->RemoveLast();
  EXPECT_NE(refusal(few).find("the body has 2 inputs, expected 3"), std::string::npos) << refusal(few);

  // Nothing ends it.
  ModelMaker endless = maker;
  endless.graph().mutable_node(0)->set_input(0, "");
  endless.graph().mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_node(0)->set_op_type("Min");
  endless.graph().mutable_node(0)->mutable_attribute(0)->mutable_g()->mutable_node(0)->clear_attribute();
  EXPECT_NE(refusal(endless).find("the loop never ends"), std::string::npos) << refusal(endless);
}

// Opset 8 had the batch in front of states and sequences: sums of the steps, of two samples, the second input reversed.
TEST(Loops, ScanOfOpset8HasABatch) {
  ModelMaker body, maker(8);
  body.input("sum", {2});
  body.input("a", {2});
  body.input("b", {2});
  body.node("Mul", {"a", "b"}, {"product"});
  body.node("Add", {"sum", "product"}, {"next"});
  body.node("Identity", {"next"}, {"scanned"});
  for (const char* name : {"next", "scanned"}) body.output(name, {2});
  maker.input("sum", {2, 2});
  maker.input("a", {2, 3, 2});
  maker.input("b", {2, 3, 2});
  auto& node = maker.node("Scan", {"", "sum", "a", "b"}, {"last", "y"}, "scan");
  ModelMaker::set(node, "num_scan_inputs", int64_t{2});
  ModelMaker::set(node, "directions", Ints64{0, 1});
  setGraph(node, "body", body);
  maker.output("y");
  Floats sum{1, 2, 3, 4}, a(12), b(12), expected(12);
  for (size_t i = 0; i < 12; ++i) {
    a[i] = static_cast<float>(i) - 3;
    b[i] = static_cast<float>(i * i % 7);
  }
  for (size_t sample = 0; sample < 2; ++sample) {
    for (size_t k = 0; k < 2; ++k) {
      float total = sum[sample * 2 + k];
      for (size_t step = 0; step < 3; ++step) {
        total += a[(sample * 3 + step) * 2 + k] * b[(sample * 3 + 2 - step) * 2 + k];
        expected[(sample * 3 + step) * 2 + k] = total;
      }
    }
  }
  EXPECT_EQ(run(maker, {sum.data(), a.data(), b.data()}, 12), expected);

  maker.ints("lengths", {2}, {3, 3});
  maker.graph().mutable_node(0)->set_input(0, "lengths");
  NetworkBench bench;
  EXPECT_FALSE(bench.parse(maker));
  EXPECT_NE(bench.errors().find("sequence_lens is given; expected sequences of one length"), std::string::npos);
}

}  // namespace
}  // namespace tenon::parsers::onnx
