// The build's check of its choices: silent when they are right, and telling when a kernel computes something else.
#include "compile/tune/self_check.h"

#include <cstdlib>

#include "compile/assignment.h"
#include "runtime/kernel.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

compile::Problem problemOf(const ops::Operator& op, const Dims& dims) {
  return {op, {{DataType::kF32, dims, nullptr}}, {{DataType::kF32, dims, nullptr}}, {}};
}

std::string check(const std::string& computed, Layout format) {
  const ops::Operator wanted = ops::Operator::parse(R"g(pointwise{expr="sqrt(x0)"})g");
  const Dims dims = {2, 5, 3, 4};
  const auto problem = problemOf(wanted, dims);
  const compile::Candidate candidate{"cpu.pointwise", "", {format}, {format}};
  const plan::KernelRecord record{"cpu", "pointwise", 1, computed, "", -1};
  RecordingLog log;
  return compile::selfCheck(runtime::backend("cpu").device(), problem, candidate, record, {}, log);
}

TEST(SelfCheck, RightKernelsPassInEachFormat) {
  EXPECT_EQ(check(R"g(pointwise{expr="sqrt(x0)"})g", Layout::kLinear), "");
  EXPECT_EQ(check(R"g(pointwise{expr="sqrt(x0)"})g", Layout::kChannelsLast), "");
}

TEST(SelfCheck, WrongKernelsAreToldWithElementAndValues) {
  for (const Layout format : {Layout::kLinear, Layout::kChannelsLast}) {
    const auto message = check(R"g(pointwise{expr="mul(x0,x0)"})g", format);
    EXPECT_NE(message.find("output 0 differs"), std::string::npos) << message;
    EXPECT_NE(message.find("expected"), std::string::npos) << message;
  }
}

TEST(SelfCheck, ABuildChecksAllItChose) {
  ::setenv("TENON_SELF_CHECK", "1", 1);
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cpu";
  options.log = &log;
  EXPECT_NO_THROW(compile::build(graph::parse(R"g(graph "g" {
    input %x : f32[2,3,9,9]
    const %w : f32[16,3,3,3] = random(1)
    %c : f32[2,16,7,7] = convolution(%x, %w) "conv"
    %p : f32[2,16,3,3] = pooling{type=max window=[2,2] strides=[2,2]}(%c) "pool"
    %s : f32[2,16,3,3] = softmax{axis=1}(%p) "soft"
    output %s
  })g"),
                                 options));
  ::unsetenv("TENON_SELF_CHECK");
  EXPECT_TRUE(log.contains("Self-check"));
}

}  // namespace
}  // namespace tenon::test
