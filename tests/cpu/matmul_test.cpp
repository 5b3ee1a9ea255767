// Matrix products by each kernel that can do them, against the reference.
#include "ops/op/matmul.h"
#include "cpu/vendor_kernels.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

int runEach(const graph::Graph& graph) {
  int count = 0;
  for (const std::string tactic : {"cpu.gemm", "cpu.dnnl_matmul"}) {
    bool offered = false;
    compile::BuildOptions options;
    options.optimizationLevel = 0;
    options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
      if (node.op.name() != "matmul") return candidates;
      auto kept = candidates;
      std::erase_if(kept, [&](const auto& candidate) { return candidate.tactic != tactic; });
      offered = !kept.empty();
      return kept.empty() ? candidates : kept;
    };
    SCOPED_TRACE(tactic);
    std::vector<HostTensor> inputs;
    for (const auto input : graph.inputs()) {
      const auto& type = graph.value(input).type;
      inputs.push_back(randomTensor(type.dtype, evaluate(type.shape, {}), inputs.size() + 1));
    }
    expectMatchesReference(graph, inputs, options);
    count += offered ? 1 : 0;
  }
  return count;
}
int runEach(const std::string& text) { return runEach(graph::parse(text)); }

std::string product(int64_t rows, int64_t depth, int64_t columns, bool transposed, const std::string& epilogue,
                    const std::string& extra) {
  return fmt::format(R"g(graph "g" {{
  input %x : f32[2,{0},{1}]
  const %w : f32[{3}] = random(1)
  const %e : f32[{5}] = random(2)
  %y : f32[2,{0},{2}] = matmul{{transposeB={4}{6}}}(%x, %w{7}) "product"
  %z : f32[2,{0},{2}] = pointwise{{expr="exp(x0)"}}(%y) "next"
  output %z
}})g",
                     rows, depth, columns,
                     transposed ? fmt::format("{},{}", columns, depth) : fmt::format("{},{}", depth, columns),
                     transposed, extra.empty() ? "1" : extra,
                     epilogue.empty() ? "" : fmt::format(" epilogue=\"{}\"", epilogue), extra.empty() ? "" : ", %e");
}

TEST(MatMul, Sizes) {
  for (const int64_t rows : {1, 2, 3, 5, 7, 16, 67}) {
    for (const int64_t depth : {1, 3, 16, 130}) {
      for (const int64_t columns : {1, 11, 15, 16, 20, 24, 33, 56, 96})
        EXPECT_EQ(runEach(product(rows, depth, columns, (rows + depth) % 2 == 0, "", "")), 1 + kOfOneDnn);
    }
  }
}

// Rows that fill tiles or leave half of one are strips, with epilogues in registers, by way of a buffer, and of many
// results.
TEST(MatMul, Strips) {
  const std::pair<std::string, std::string> ends[] = {
      {"relu(x0)", ""}, {"sigmoid(x0);mul(x0,t0)", ""}, {"tanh(x0);add(t0,x1)", "33"}, {"add(x0,x1)", "33"}};
  for (const int64_t rows : {6, 8, 12, 13, 16, 28, 104}) {
    for (const auto& [epilogue, extra] : ends)
      EXPECT_EQ(runEach(product(rows, 19, 33, rows == 12, epilogue, extra)), 1 + kOfOneDnn) << rows << ' ' << epilogue;
  }
  for (const int64_t depth : {20, 170}) EXPECT_EQ(runEach(product(2080, depth, 33, false, "", "")), 1 + kOfOneDnn);
}

// Matrices that leave the second cache, whose columns are cut into jobs before the rows are.
TEST(MatMul, MatricesBeyondTheSecondCache) {
  for (const int64_t rows : {1, 9, 33, 61}) {
    EXPECT_EQ(runEach(product(rows, 521, 300, rows == 9, "relu(x0)", "")), 1 + kOfOneDnn);
    EXPECT_EQ(runEach(product(rows, 3001, 47, rows == 9, "add(x0,x1)", "47")), 1 + kOfOneDnn);
  }
}

// Operands that are both computed, batches that broadcast, either matrix transposed.
TEST(MatMul, TwoTensors) {
  struct Case {
    const char *a, *b, *y;
    bool transposeA, transposeB;
  };
  for (const auto& [a, b, y, transposeA, transposeB] :
       {Case{"5,7", "7,33", "5,33", false, false}, Case{"3,5,70", "3,70,33", "3,5,33", false, false},
        Case{"2,3,64,31", "2,3,17,31", "2,3,64,17", false, true},
        Case{"2,1,40,19", "3,40,50", "2,3,19,50", true, false}, Case{"1,37,67", "4,5,1,37", "4,5,67,1", true, true},
        Case{"2,1,1,130", "1,3,130,96", "2,3,1,96", false, false}, Case{"4,9,33", "33,20", "4,9,20", false, false},
        Case{"4,33,9", "33,20", "4,9,20", true, false}}) {
    const auto text = fmt::format(R"g(graph "g" {{
  input %x : f32[{}]
  input %w : f32[{}]
  input %e : f32[{}]
  %y : f32[{}] = matmul{{transposeA={} transposeB={} epilogue="mul(x0,0.125);add(t0,x1)"}}(%x, %w, %e) "product"
  output %y
}})g",
                                  a, b, y, y, transposeA, transposeB);
    EXPECT_EQ(runEach(text), 1 + kOfOneDnn) << text;
  }
}

TEST(MatMul, Epilogues) {
  EXPECT_EQ(runEach(product(5, 17, 35, false, "relu(x0)", "")), 1 + kOfOneDnn);
  EXPECT_EQ(runEach(product(5, 17, 35, false, "add(x0,x1)", "1,1,35")), 1 + kOfOneDnn);
  EXPECT_EQ(runEach(product(5, 17, 35, true, "add(x1,x0);relu(t0)", "2,5,35")), 1 + kOfOneDnn);
  EXPECT_EQ(runEach(product(5, 17, 35, false, "mul(x0,x1);sigmoid(t0)", "1,1,1")), 1 + kOfOneDnn);
  EXPECT_EQ(runEach(product(13, 40, 3, false, "add(x0,x1);elu(t0,0.5)", "1,1,3")), 1 + kOfOneDnn);
}

// A row that is added to all rows, a matrix, or both in either order; slopes and bounds behind them; gates. Columns
// that fill no panel, and one column, whose row is one value.
TEST(MatMul, AddedRowsAndMatrices) {
  for (const std::string epilogue :
       {"add(x0,x1);add(t0,x2)", "add(x2,x0);add(t0,x1);clip(t1,-0.5,0.75)",
        "add(x0,x1);add(x2,t0);leaky_relu(t1,0.25)", "add(x0,x1);add(t0,x1);add(t1,x2)",
        "add(x0,x1);sigmoid(t0);mul(t0,t1);add(t2,x2)", "sigmoid(x0);mul(x0,t0);add(t1,x2);add(t2,x1)"}) {
    for (const int64_t rows : {1, 2, 9, 37}) {
      for (const int64_t columns : {1, 16, 45, 64}) {
        const auto text = fmt::format(R"g(graph "g" {{
  input %a : f32[{0},70]
  input %row : f32[{1}]
  input %matrix : f32[{0},{1}]
  const %w : f32[70,{1}] = random(1)
  %y : f32[{0},{1}] = matmul{{epilogue="{2}"}}(%a, %w, %row, %matrix) "product"
  output %y
}})g",
                                      rows, columns, epilogue);
        EXPECT_EQ(runEach(text), 1 + kOfOneDnn) << text;
      }
    }
  }
}

// Little depth: constants, computed matrices as they lie or transposed; a factor, a row, a matrix and bounds; columns
// that leave a job.
TEST(MatMul, LittleDepth) {
  for (const std::string epilogue : {"mul(x0,1)", "mul(x0,0.5);add(t0,x1);add(x2,t1);relu(t2)", "mul(-2,x0);add(t0,x2)",
                                     "add(x0,x1);clip(t0,-0.5,0.25)", "mul(x0,0.5);add(t0,x1);leaky_relu(t1,0.25)"}) {
    for (const auto& [rows, columns] :
         {std::pair{1, 1}, {1, 45}, {3, 64}, {37, 4}, {9, 45}, {131, 67}, {2, 16400}, {67, 1}}) {
      for (int depth = 1; depth <= 5; ++depth) {
        for (int form = 0; form < 6; ++form) {
          const bool transposeA = form % 2 == 1;
          const bool transposeB = form % 3 == 1;
          const auto w = transposeB ? fmt::format("[{},{}]", columns, depth) : fmt::format("[{},{}]", depth, columns);
          const bool isConstant = form % 3 == 2 || form == 1;
          const auto text = fmt::format(
              R"g(graph "g" {{
  input %a : f32{0}
  input %row : f32[{2}]
  input %matrix : f32[{1},{2}]
  {3} %w : f32{4}{5}
  %y : f32[{1},{2}] = matmul{{transposeA={6} transposeB={7} epilogue="{8}"}}(%a, %w, %row, %matrix) "product"
  output %y
}})g",
              transposeA ? fmt::format("[{},{}]", depth, rows) : fmt::format("[{},{}]", rows, depth), rows, columns,
              isConstant ? "const" : "input", w, isConstant ? " = random(1)" : "", transposeA, transposeB, epilogue);
          EXPECT_EQ(runEach(text), 1 + kOfOneDnn) << text;
        }
      }
    }
  }
}

// One column, few, and few rows by a transposed matrix: sums along the depth, of matrices that lie as they come or
// turned; batches that broadcast.
TEST(MatMul, AlongTheDepth) {
  for (const int64_t rows : {1, 2, 3, 5, 8, 9, 35}) {
    for (const int64_t depth : {9, 64, 79, 130}) {
      for (const int64_t columns : {1, 2, 3, 4, 5, 35}) {
        for (int form = 0; form < 8; ++form) {
          const bool transposeA = form % 2 == 1;
          const bool transposeB = form / 2 % 2 == 1;
          const bool isConstant = form / 4 == 1;
          const auto text =
              fmt::format(R"g(graph "g" {{
  input %a : f32[2,3,{}]
  {} %w : f32[{}{}]{}
  input %row : f32[{}]
  %y : f32[2,3,{},{}] = matmul{{transposeA={} transposeB={} epilogue="add(x0,x1);relu(t0)"}}(%a, %w, %row) "product"
  output %y
}})g",
                          transposeA ? fmt::format("{},{}", depth, rows) : fmt::format("{},{}", rows, depth),
                          isConstant ? "const" : "input", isConstant ? "" : "3,",
                          transposeB ? fmt::format("{},{}", columns, depth) : fmt::format("{},{}", depth, columns),
                          isConstant ? " = random(1)" : "", columns, rows, columns, transposeA, transposeB);
          EXPECT_EQ(runEach(text), 1 + kOfOneDnn) << text;
        }
      }
    }
  }
}

// A column that leaves the first cache.
TEST(MatMul, LongColumns) {
  for (const auto& [a, w, y, transposeB] :
       {std::tuple{"3,9001", "9001,1", "3,1", false}, {"1,4097", "5,4097", "1,5", true}}) {
    const auto text = fmt::format(R"g(graph "g" {{
  input %a : f32[{}]
  input %w : f32[{}]
  %y : f32[{}] = matmul{{transposeB={}}}(%a, %w) "product"
  output %y
}})g",
                                  a, w, y, transposeB);
    EXPECT_EQ(runEach(text), 1 + kOfOneDnn) << text;
  }
}

// Constants whose panels begin and end with rows of zeros, and one that has no others; leading axes of 1.
TEST(MatMul, BandsOfConstants) {
  struct Case {
    Dims x, w, y;
    bool transposeA, transposeB;
  };
  for (const auto& [x, w, y, transposeA, transposeB] :
       {Case{Dims{2, 9, 131}, Dims{131, 70}, Dims{2, 9, 70}, false, false},
        Case{{9, 131}, {70, 131}, {9, 70}, false, true},
        Case{{2, 3, 131, 17}, {1, 1, 70, 131}, {2, 3, 17, 70}, true, true},
        Case{{3, 17, 131}, {1, 131, 70}, {3, 17, 70}, false, false}}) {
    for (const int64_t width : {0, 1, 5, 40}) {
      SCOPED_TRACE(fmt::format("{} by {}, bands of {}", x.text(), w.text(), width));
      HostTensor band(DataType::kF32, w);
      for (int64_t i = 0; i < w.count(); ++i) {
        const int64_t last = w[w.rank - 1];
        const int64_t row = transposeB ? i % last : i / last;
        const int64_t column = transposeB ? i / last : i % last;
        const bool isIn = row >= 2 * column - width && row < 2 * column;
        band.view().storeDouble(i, isIn ? 0.25 + 0.5 * static_cast<double>(i % 7) : 0);
      }
      graph::Graph graph("g");
      const auto input = graph.addInput("x", {DataType::kF32, toShape(x)});
      const auto weights = graph.addConstant(graph::Constant::own(std::move(band)), "w");
      graph.addOutput(graph.add(ops::MatMul{transposeA, transposeB}, "n", {input, weights}));
      EXPECT_EQ(runEach(graph), 1 + kOfOneDnn);
    }
  }
}

}  // namespace
}  // namespace tenon::test
