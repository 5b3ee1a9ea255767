// The pass that finds logarithms of a softmax which are written out.
#include <gtest/gtest.h>

#include "check_pass.h"

namespace tenon::passes {
namespace {

std::string steps(const std::string& axis, const std::string& sumAxis, const std::string& type = "f32") {
  const std::string full = type + "[3,5,7]";
  const std::string small = axis == "2" ? "[3,5,1]" : "[3,1,7]";
  return "input %x : " + full + "\n%m : " + type + small + " = reduce{op=max axes=[" + axis +
         "] keepDims=true}(%x) \"m\"\n%s : " + full + " = pointwise{expr=\"sub(x0,x1)\"}(%x, %m) \"s\"\n%e : " + full +
         " = pointwise{expr=\"exp(x0)\"}(%s) \"e\"\n%t : " + type + small + " = reduce{op=sum axes=[" + sumAxis +
         "] keepDims=true}(%e) \"t\"\n%l : " + type + small + " = pointwise{expr=\"log(x0)\"}(%t) \"l\"\n%y : " + full +
         " = pointwise{expr=\"sub(x0,x1)\"}(%s, %l) \"y\"\noutput %y\n";
}

TEST(FindLogSoftmax, WrittenOut) {
  for (const char* axis : {"1", "2", "-2"}) {
    expectPass("find_log_softmax", steps(axis, axis), "softmax");
    expectPass("find_log_softmax", steps(axis, axis, "f16"), "softmax");
  }
  expectPass("find_log_softmax", steps("2", "-1"), "softmax");
}

TEST(FindLogSoftmax, OthersStay) {
  const auto expectNone = [](const std::string& body) {
    auto graph = graph::parse("graph \"g\" {\n" + body + "}\n");
    EXPECT_EQ(runPass("find_log_softmax", graph), 0) << graph::text(graph);
  };
  std::string other = steps("2", "2");
  other.replace(other.find("op=max"), 6, "op=min");
  expectNone(other);
  other = steps("2", "2");
  other.replace(other.find("(%e)"), 4, "(%s)");
  expectNone(other);
  other = steps("2", "2");
  other.replace(other.find("(%s, %l)"), 8, "(%x, %l)");
  expectNone(other);
}

}  // namespace
}  // namespace tenon::passes
