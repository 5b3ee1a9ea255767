// Kernels that are configured while a thread has one core and executed by a team: memory that is sized for one place of
// a team would be overrun.

#include "compile/assignment.h"
#include "core/platform/alone_scope.h"
#include "runtime/kernel.h"
#include "support/build_and_run.h"

namespace tenon::test {
namespace {

// Bytes of workspace of each candidate of the graph's last node, configured by a team or by one thread of it.
std::map<std::string, size_t> workspaces(const std::string& text, bool isAlone) {
  const auto graph = graph::parse(text);
  RecordingLog log;
  const auto problem = compile::makeProblem(graph, graph.node(graph.order().back()), {});
  std::vector<TensorView> constants;
  for (const auto& input : problem.inputs) constants.push_back(input.constant ? input.constant->view() : TensorView{});
  std::map<std::string, size_t> result;
  for (const auto& source : compile::tacticSources()) {
    for (const auto* tactic : source.tactics) {
      if (source.backend != "cpu" || !tactic->supports(problem)) continue;
      for (const auto& candidate : tactic->candidates(problem)) {
        std::vector<runtime::TensorShape> inputs;
        for (size_t i = 0; i < problem.inputs.size(); ++i)
          inputs.push_back({problem.inputs[i].dtype, problem.inputs[i].dims, candidate.inputs[i]});
        const runtime::TensorShape y{problem.outputs[0].dtype, problem.outputs[0].dims, candidate.outputs[0]};
        try {
          const auto record = tactic->build(problem, candidate);
          const auto kernel = runtime::backend("cpu").load({record, constants, {}, log});
          const auto instance = kernel->instantiate();
          const platform::AloneScope scope(isAlone);
          result[candidate.text()] = instance->configure({inputs, {&y, 1}, &problem.symbols});
        } catch (const Unsupported&) {  // a library may have nothing for it
        }
      }
    }
  }
  return result;
}

TEST(Teams, WorkspaceIsForAnyTeam) {
  const char* const kProducts[] = {"f32[12,2000] f32[2000,300] f32[12,300]",
                                   "f32[3,7,70] f32[3,70,1000] f32[3,7,1000]"};
  for (const std::string product : kProducts) {
    SCOPED_TRACE(product);
    const auto first = product.find(' '), second = product.rfind(' ');
    const auto text = fmt::format(
        "graph \"g\" {{\n  input %a : {}\n  input %b : {}\n  %y : {} = matmul(%a, %b) \"op\"\n  output %y\n}}",
        product.substr(0, first), product.substr(first + 1, second - first - 1), product.substr(second + 1));
    const auto together = workspaces(text, false);
    EXPECT_FALSE(together.empty());
    for (const auto& [candidate, bytes] : workspaces(text, true)) EXPECT_EQ(bytes, together.at(candidate)) << candidate;
  }
}

}  // namespace
}  // namespace tenon::test
