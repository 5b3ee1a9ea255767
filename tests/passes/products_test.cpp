// Products of one row that become one, and those that stay.
#include "check_pass.h"

namespace tenon::passes {
namespace {

constexpr std::string_view kPass = "merge_products";

TEST(MergeProducts, OfOneRow) {
  const auto after = expectPass(kPass, R"g(
  input %x : f32[1,1,6]
  const %q : f32[6,8] = random(1)
  const %k : f32[6,4] = random(2)
  const %v : f32[6,5] = random(3)
  const %b : f32[8] = random(4)
  const %c : f32[1] = random(5)
  const %d : f32[1,1,5] = random(6)
  %qx : f32[1,1,8] = matmul{epilogue="add(x0,x1)"}(%x, %q, %b) "query"
  %kx : f32[1,1,4] = matmul{epilogue="add(x0,x1)"}(%x, %k, %c) "key"
  %vx : f32[1,1,5] = matmul{epilogue="add(x0,x1)"}(%x, %v, %d) "value"
  %r : f32[1,1,8] = pointwise{expr="relu(x0)"}(%qx) "r"
  %s : f32[1,4,1] = reshape{shape=[1,4,1]}(%kx) "s"
  %t : f32[1,1,5] = softmax{axis=2}(%vx) "t"
  output %r
  output %s
  output %t
)g",
                                "matmul slice pointwise slice reshape slice softmax");
  EXPECT_EQ(after.node(after.order()[0]).name, "query + key + value");
}

TEST(MergeProducts, WithRowsOfWeights) {
  expectPass(kPass, R"g(
  input %x : f32[1,6]
  const %v : f32[8,6] = random(1)
  const %w : f32[3,6] = random(2)
  %a : f32[1,8] = matmul{transposeB=true}(%x, %v) "a"
  %b : f32[1,3] = matmul{transposeB=true}(%x, %w) "b"
  %c : f32[1,8] = pointwise{expr="relu(x0)"}(%a) "c"
  %d : f32[1,3] = pointwise{expr="tanh(x0)"}(%b) "d"
  output %c
  output %d
)g",
             "matmul slice pointwise slice pointwise");
}

// Two rows; a result that the user holds; another epilogue; a bias that is computed.
TEST(MergeProducts, WhereSlicesOrEpiloguesCostSomethingTheyStay) {
  const auto body = [](int rows, std::string_view epilogue, std::string_view bias, std::string_view last) {
    return fmt::format(R"g(
  input %x : f32[{0},6]
  input %y : f32[1,4]
  const %v : f32[6,4] = random(1)
  const %w : f32[6,4] = random(2)
  const %z : f32[4] = random(3)
  %a : f32[{0},4] = matmul{{epilogue="add(x0,x1)"}}(%x, %v, %z) "a"
  %b : f32[{0},4] = matmul{{epilogue="{1}"}}(%x, %w, {2}) "b"
  %c : f32[{0},4] = pointwise{{expr="relu(x0)"}}(%a) "c"
  %d : f32[{0},4] = pointwise{{expr="tanh(x0)"}}(%b) "d"
  output %c
  output {3}
)g",
                       rows, epilogue, bias, last);
  };
  constexpr std::string_view kLeft = "matmul matmul pointwise pointwise";
  expectPass(kPass, body(1, "add(x0,x1)", "%z", "%d"), "matmul slice pointwise slice pointwise");
  expectPass(kPass, body(2, "add(x0,x1)", "%z", "%d"), std::string(kLeft));
  expectPass(kPass, body(1, "add(x0,x1)", "%z", "%b"), std::string(kLeft));
  expectPass(kPass, body(1, "mul(x0,x1)", "%z", "%d"), std::string(kLeft));
  expectPass(kPass, body(1, "add(x0,x1)", "%y", "%d"), std::string(kLeft));
}

// On GPUs a slice is a place where it begins at a multiple of 256 bytes.
TEST(MergeProducts, OnGpusOnlyWhereSlicesArePlaces) {
  for (const auto& [columns, merges] : {std::pair{64, true}, std::pair{60, false}}) {
    auto graph = graph::parse(fmt::format(R"g(graph "g" {{
  input %x : f32[1,6]
  const %v : f32[6,{0}] = random(1)
  const %w : f32[6,10] = random(2)
  %a : f32[1,{0}] = matmul(%x, %v) "a"
  %b : f32[1,10] = matmul(%x, %w) "b"
  %c : f32[1,{0}] = pointwise{{expr="relu(x0)"}}(%a) "c"
  %d : f32[1,10] = pointwise{{expr="tanh(x0)"}}(%b) "d"
  output %c
  output %d
}})g",
                                          columns));
    Options options;
    options.device = "cuda";
    for (const auto& pass : pipeline()) {
      if (pass.name != kPass) continue;
      EXPECT_EQ(runPass(pass, graph, options), merges ? 1 : 0) << columns;
    }
  }
}

// One step of one row takes its input; more steps or rows, a GRU and products that others read do not.
TEST(TakeInput, OneStepOfOneRow) {
  const auto body = [](int steps, int batch, const std::string& cell, const std::string& more) {
    const int gates = cell == "rnn" ? 1 : cell == "gru" ? 3 : 4;
    const int rows = 2 * gates * 5;
    const auto dims = [&](const std::string& last) { return fmt::format("f32[{},{},{}", steps, batch, last); };
    return fmt::format("input %x : {}\nconst %w : f32[{},7] = random(1)\nconst %b : f32[{}] = random(2)\n", dims("7]"),
                       rows, rows) +
           fmt::format("const %r : f32[2,{},5] = random(3)\ninput %h : f32[2,{},5]\n", gates * 5, batch) +
           fmt::format("%m : {} = matmul{{transposeB=true{}}}(%x, %w{}) \"m\"\n", dims(fmt::format("{}]", rows)), more,
                       more.empty() ? "" : ", %b") +
           fmt::format("%p : {} = reshape{{shape=[{},{},2,{}]}}(%m) \"p\"\n", dims(fmt::format("2,{}]", gates * 5)),
                       steps, batch, gates * 5) +
           fmt::format("%y : {}, %l : f32[2,{},5]{} = recurrent{{cell={} hasFirst=true}}(%p, %r, %h) \"y\"\n",
                       dims("2,5]"), batch, cell == "lstm" ? fmt::format(", %c : f32[2,{},5]", batch) : "", cell) +
           "output %y\noutput %l\n";
  };
  const std::string bias = " epilogue=\"add(x0,x1)\"";
  for (const auto* const cell : {"lstm", "rnn"}) {
    expectPass("take_input", body(1, 1, cell, bias), "reshape recurrent");
    expectPass("take_input", body(1, 1, cell, ""), "reshape recurrent");
    expectPass("take_input", body(1, 1, cell, " epilogue=\"mul(x0,x1)\""), "matmul reshape recurrent");
    expectPass("take_input", body(2, 1, cell, bias), "matmul reshape recurrent");
    expectPass("take_input", body(1, 2, cell, bias), "matmul reshape recurrent");
    expectPass("take_input", body(1, 1, cell, bias) + "output %m\n", "matmul reshape recurrent");
    Options refittable;
    refittable.refittable = true;
    expectPass("take_input", body(1, 1, cell, bias), "matmul reshape recurrent", refittable);
    Options gpu;
    gpu.device = "cuda";
    expectPass("take_input", body(1, 1, cell, bias), "matmul reshape recurrent", gpu);
  }
  expectPass("take_input", body(1, 1, "gru", bias), "matmul reshape recurrent");
}

}  // namespace
}  // namespace tenon::passes
