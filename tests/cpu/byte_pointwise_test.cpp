// Scalar work from bytes to bytes against its reference, to the bit: all pairs of bytes of either sign.
#include "typed_kernels.h"

#include "backends/cpu/kernels/common/byte_formula.h"
#include "ops/op/pointwise.h"

namespace tenon::test {
namespace {

// All pairs of bytes, `rounds` times over and `more` elements behind.
std::vector<HostTensor> pairsOf(DataType a, DataType b, int64_t rounds, int64_t more) {
  const int64_t count = rounds * 65536 + more;
  auto inputs = listOf(HostTensor(a, {count}), HostTensor(b, {count}));
  for (int64_t i = 0; i < count; ++i) {
    inputs[0].view().as<uint8_t>()[i] = static_cast<uint8_t>(i / 256);
    inputs[1].view().as<uint8_t>()[i] = static_cast<uint8_t>(i);
  }
  return inputs;
}

std::string quantizedText(const char* op, float first, float second, float divisor, int zero, DataType type) {
  const bool isSigned = type == DataType::kI8;
  return fmt::format(
      "cast.f32(x0);sub(t0,7);mul(t1,{});cast.f32(x1);sub(t3,-3);mul(t4,{});{}(t5,t2);div(t6,{});round(t7);add(t8,{});"
      "max(t9,{});min(t10,{});cast.{}(t11)",
      double{first}, double{second}, op, double{divisor}, zero, isSigned ? -128 : 0, isSigned ? 127 : 255, name(type));
}

// The first output where only `tactic` is a candidate of pointwise nodes.
std::vector<uint8_t> resultBy(const std::string& tactic, const std::string& text,
                              const std::vector<HostTensor>& inputs) {
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cpu";
  options.log = &log;
  options.optimizationLevel = 0;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.op.name() == "pointwise")
      std::erase_if(candidates, [&](const auto& candidate) { return candidate.tactic != tactic; });
    return candidates;
  };
  const auto engine = runtime::Engine::make(compile::build(graph::parse(text), options), {}, log);
  const auto outputs = run(engine, inputs, log);
  const auto* const first = outputs.at(0).view().as<uint8_t>();
  return {first, first + outputs[0].view().bytes()};
}

// Near the reference, which keeps values between steps in f64, and the bits of the block-wise kernel.
void expectMatchesLines(const std::string& lines, const std::vector<HostTensor>& inputs) {
  constexpr double kFewOffByOne = 5e-3;
  expectKernelMatches(lines, inputs, "pointwise", "cpu.byte_pointwise", kFewOffByOne);
  std::string text = "graph \"g\" {\n";
  for (size_t i = 0; i < inputs.size(); ++i)
    text += fmt::format("input %{} : {}{}\n", static_cast<char>('a' + i), name(inputs[i].view().dtype),
                        shapeText(inputs[i].view().dims));
  text += lines + "output %y\n}";
  EXPECT_EQ(resultBy("cpu.byte_pointwise", text, inputs), resultBy("cpu.pointwise", text, inputs)) << text;
}

void expectMatches(const std::string& expr, const std::vector<HostTensor>& inputs, DataType type) {
  const std::string operands = inputs.size() == 1 ? "%a" : "%a, %b";
  expectMatchesLines(fmt::format("  %y : {}{} = pointwise{{expr=\"{}\"}}({}) \"p\"\n", name(type),
                                 shapeText(inputs[0].view().dims), expr, operands),
                     inputs);
}

// Scales as of networks, ties everywhere, results that saturate, all of one sign.
constexpr float kScales[][3] = {{0.0213F, 0.0307F, 0.0511F},
                                {0.02F, 0.03F, 0.05F},
                                {0.5F, 0.25F, 1},
                                {0.01F, 0.015F, 0.01F},
                                {3, 700, 0.001F},
                                {1e-6F, 1e-5F, 10},
                                {1, 1, 2},
                                {0.1F, -0.2F, 0.0625F},
                                {0.1F, 0.1F, 0.3F}};

TEST(BytePointwise, SumsAndProductsOfQuantizedNumbers) {
  constexpr DataType kTypes[] = {DataType::kU8, DataType::kI8};
  uint64_t turn = 0;
  for (const auto& scale : kScales) {
    for (const char* const op : {"add", "mul"}) {
      for (int i = 0; i < 3; ++i, turn += 5) {
        const DataType type = kTypes[turn / 4 % 2];
        expectMatches(quantizedText(op, scale[0], scale[1], scale[2], static_cast<int>(turn % 40) - 20, type),
                      pairsOf(kTypes[turn % 2], kTypes[turn / 2 % 2], 1, static_cast<int64_t>(turn % 83)), type);
        if (HasFailure()) return;
      }
    }
  }
}

// Two operands in other forms are looked up.
TEST(BytePointwise, AnythingElseOfTwoOperands) {
  for (
      const char* const expr :
      {"cast.f32(x0);cast.f32(x1);max(t0,t1);mul(t2,0.699999988079071);round(t3);min(t4,255);cast.u8(t5)",
       "cast.f32(x0);cast.f32(x1);mul(t1,t1);sub(t2,t0);mul(t3,0.009999999776482582);round(t4);max(t5,3);min(t6,200);cast.u8(t7)"})
    expectMatches(expr, pairsOf(DataType::kU8, DataType::kU8, 1, 3), DataType::kU8);
}

TEST(BytePointwise, OneOperand) {
  const char* const leaky =
      "cast.f32(x0);sub(t0,3);mul(t1,0.0199999995529652);leaky_relu(t2,0.01);div(t3,0.0299999993294477);round(t4);add(t5,5);max(t6,0);min(t7,255);"
      "cast.u8(t8)";
  for (const DataType type : {DataType::kU8, DataType::kI8}) {
    for (const Dims& dims : {Dims{256}, Dims{257}, Dims{3, 10007}, Dims{1, 67, 9, 11}, Dims{2, 8, 64, 128}})
      expectMatches(leaky, listOf(variedTensor(type, dims, 3)), DataType::kU8);
  }
}

// Parts of a concatenation lie within it: wider rows, channels last.
TEST(BytePointwise, RowsWithinWiderOnes) {
  const char* const expr = "cast.f32(x0);mul(t0,0.699999988079071);round(t1);min(t2,255);cast.u8(t3)";
  const auto lines = fmt::format(
      "  %p : u8[2,24,5,7] = pointwise{{expr=\"{0}\"}}(%a) \"p\"\n  %q : u8[2,24,5,7] = pointwise{{expr=\"{0}\"}}(%b) "
      "\"q\"\n  %y : u8[2,48,5,7] = concat{{axis=1}}(%p, %q) \"c\"\n",
      expr);
  expectMatchesLines(
      lines, listOf(variedTensor(DataType::kU8, {2, 24, 5, 7}, 1), variedTensor(DataType::kU8, {2, 24, 5, 7}, 2)));
}

TEST(BytePointwise, TooFewElementsAndOtherShapesAreLeftToOthers) {
  const auto expr = quantizedText("add", 0.02F, 0.03F, 0.05F, 1, DataType::kU8);
  const auto candidates = [&](const std::string& a, const std::string& b) {
    size_t count = 0;
    RecordingLog log;
    compile::BuildOptions options;
    options.device = "cpu";
    options.log = &log;
    options.optimizationLevel = 0;
    options.filter = [&](const graph::Node&, std::vector<compile::Candidate> all) {
      count += static_cast<size_t>(
          std::count_if(all.begin(), all.end(), [](const auto& c) { return c.tactic == "cpu.byte_pointwise"; }));
      return all;
    };
    (void)compile::build(graph::parse(fmt::format("graph \"g\" {{\ninput %a : u8{0}\ninput %b : u8{1}\n%y : u8{0} = "
                                                  "pointwise{{expr=\"{2}\"}}(%a, %b) \"p\"\noutput %y\n}}",
                                                  a, b, expr)),
                         options);
    return count;
  };
  EXPECT_GT(candidates("[5,1000]", "[5,1000]"), 0u);
  EXPECT_EQ(candidates("[5,1000]", "[5,1]"), 0u);
  EXPECT_EQ(candidates("[5,10]", "[5,10]"), 0u);
  EXPECT_EQ(candidates("[0]", "[0]"), 0u);
}

// Which of the forms are known, so that what the tests above meet is no table.
TEST(BytePointwise, FormsAreRecognized) {
  const std::vector<DataType> types{DataType::kU8, DataType::kI8};
  const auto formula = [&](const std::string& expr) {
    return backends::cpu::byteFormulaOf(ops::parseScalarExpr(expr), types, DataType::kU8);
  };
  const auto sum = formula(quantizedText("add", 0.25, 0.5, 2, 9, DataType::kU8));
  ASSERT_TRUE(sum);
  EXPECT_FALSE(sum->isProduct);
  EXPECT_EQ(sum->zeros[0], 7);
  EXPECT_EQ(sum->zeros[1], 125);
  EXPECT_EQ(sum->scales[1], 0.5F);
  EXPECT_EQ(sum->divisor, 2);
  EXPECT_EQ(sum->zero, 9);
  EXPECT_TRUE(formula("cast.f32(x0);cast.f32(x1);mul(t0,t1);round(t2);max(t3,0);min(t4,255);cast.u8(t5)"));
  EXPECT_FALSE(formula("cast.f32(x0);cast.f32(x1);max(t0,t1);round(t2);cast.u8(t3)"));
  EXPECT_FALSE(formula("cast.f32(x0);mul(t0,t0);round(t1);cast.u8(t2)"));
}

}  // namespace
}  // namespace tenon::test
