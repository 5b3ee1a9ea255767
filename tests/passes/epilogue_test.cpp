// Epilogues of contractions as the passes make them, built and run, against the reference: each form that a kernel may
// compute inside of a library's primitive, and some that it cannot.
#include "check_pass.h"

namespace tenon::passes {
namespace {

// Values beyond every bend of the activations: weights four times as large as the usual ones.
std::string contraction(const std::string& kind) {
  if (kind == "matmul") {
    return "input %x : f32[3,5,16]\ninput %r : f32[3,5,6]\nconst %w0 : f32[16,6] = random(1)\nconst %four : f32[] = {4}\n"
           "%w : f32[16,6] = pointwise{expr=\"mul(x0,x1)\"}(%w0, %four) \"scale\"\nconst %s : f32[6] = random(2)\nconst %t : f32[1,1,6] = random(3)\n"
           "%c : f32[3,5,6] = matmul(%x, %w) \"c\"\n";
  }
  const bool plain = kind == "convolution";
  return std::string(
             "input %x : f32[2,8,7,7]\ninput %r : f32[2,6,5,5]\nconst %w0 : f32[6,8,3,3] = random(1)\nconst %four : f32[] = {4}\n"
             "%w : f32[6,8,3,3] = pointwise{expr=\"mul(x0,x1)\"}(%w0, %four) \"scale\"\nconst %s : f32[6,1,1] = random(2)\n"
             "const %t : f32[1,6,1,1] = random(3)\nconst %b : f32[6] = random(4)\n") +
         (plain
              ? "%c : f32[2,6,5,5] = convolution{hasBias=true}(%x, %w, %b) \"c\"\n"
              : "const %d : f32[8,1,3,3] = random(5)\nconst %p : f32[6,8,1,1] = random(6)\n"
                "%e : f32[2,8,5,5] = convolution{groups=8}(%x, %d) \"e\"\n%c : f32[2,6,5,5] = convolution(%e, %p) \"c\"\n");
}

void check(const std::string& kind, const std::string& expr) {
  SCOPED_TRACE(kind + " " + expr);
  const std::string shape = kind == "matmul" ? "f32[3,5,6]" : "f32[2,6,5,5]";
  const auto graph = graph::parse("graph \"g\" {\n" + contraction(kind) + "%y : " + shape + " = pointwise{expr=\"" +
                                  expr + "\"}(%c, %s, %t, %r) \"y\"\noutput %y\n}\n");
  for (const int level : {0, 1}) {
    compile::BuildOptions options;
    options.optimizationLevel = level;
    test::expectMatchesReference(graph, randomInputs(graph, 2, 3), options);
  }
}

constexpr const char* kExprs[] = {"relu(x0)",
                                  "leaky_relu(x0,0.1)",
                                  "leaky_relu(x0,x1)",
                                  "leaky_relu(x0,x2);add(t0,x3)",
                                  "clip(x0,0,6)",
                                  "elu(x0,0.5)",
                                  "sigmoid(x0)",
                                  "tanh(x0)",
                                  "gelu_erf(x0)",
                                  "gelu_tanh(x0)",
                                  "abs(x0)",
                                  "hard_sigmoid(x0,0.2,0.5)",
                                  "hard_sigmoid(x0,0.16666667,0.5);mul(x0,t0)",
                                  "hard_sigmoid(x0,0.2,0.5);mul(t0,x0)",
                                  "sigmoid(x0);mul(x0,t0)",
                                  "mul(x0,x0)",
                                  "add(x0,x0)",
                                  "max(x0,-0.5)",
                                  "min(0.5,x0)",
                                  "leaky_relu(x0,0.2);max(t0,-0.4)",
                                  "max(x0,0.25);min(t0,1)",
                                  "div(x0,3)",
                                  "relu(x0);fma(t0,0.5,0.25)",
                                  "relu(x0);sqrt(t0)",
                                  "clip(x0,-2,2);exp(t0)",
                                  "add(x0,x3);relu(t0)",
                                  "sub(x3,x0)",
                                  "add(x0,x3);sigmoid(t0);mul(t0,t1)",
                                  "relu(x0);mul(t0,x1);add(t1,x2)",
                                  "relu(x0);add(t0,x1)",
                                  "max(x0,x3)",
                                  "min(x0,x1)",
                                  "mul(x0,x3);add(t0,x0)",
                                  "relu(x0);mul(t0,x1);add(t1,x2);leaky_relu(t2,0.2);max(t3,-0.4)"};

// Masks and casts join a contraction only where a kernel other than the reference takes them.
TEST(FuseEpilogue, MasksThatNoKernelTakesStayApart) {
  const std::string masked = R"g(input %x : f32[4,8]
    input %w : f32[8,5]
    input %m : bool[4,5]
    input %o : f32[4,5]
    %p : f32[4,5] = matmul(%x, %w) "p" from("p")
    %y : f32[4,5] = pointwise{expr="select(x0,x1,x2)"}(%m, %p, %o) "y" from("y")
    output %y
)g";
  const std::string rounded = R"g(input %x : f32[4,8]
    input %w : f32[8,5]
    %p : f32[4,5] = matmul(%x, %w) "p" from("p")
    %y : f32[4,5] = pointwise{expr="cast.f16(x0);cast.f32(t0)"}(%p) "y" from("y")
    output %y
)g";
  for (const auto& body : {masked, rounded}) {
    for (const bool taken : {false, true}) {
      Options options;
      options.computes = [taken](const ops::Operator&, std::span<const ops::TensorType>) { return taken; };
      expectPass("fuse_epilogue", body, taken ? "matmul" : "matmul pointwise", options);
    }
  }
}

TEST(Epilogues, OfConvolutions) {
  for (const char* expr : kExprs) check("convolution", expr);
}

TEST(Epilogues, OfDepthwiseAndPointwiseConvolutions) {
  for (const char* expr : kExprs) check("separable", expr);
}

TEST(Epilogues, OfMatrixProducts) {
  for (const char* expr : kExprs) check("matmul", expr);
}

}  // namespace
}  // namespace tenon::passes
