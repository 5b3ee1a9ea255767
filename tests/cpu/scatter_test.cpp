// Scatter by the CPU's kernel, in the memory of its data and in other memory.
#include <random>

#include "support/build_and_run.h"

namespace tenon::test {
namespace {

int byTheKernel(const std::string& text, const std::vector<HostTensor>& inputs) {
  int count = 0;
  compile::BuildOptions options;
  options.optimizationLevel = 0;
  options.filter = [&](const graph::Node& node, std::vector<compile::Candidate> candidates) {
    if (node.op.name() != "scatter") return candidates;
    std::erase_if(candidates, [&](const auto& candidate) { return candidate.tactic != "cpu.scatter"; });
    count += static_cast<int>(candidates.size());
    return candidates;
  };
  expectMatchesReference(graph::parse(text), inputs, options);
  return count;
}

HostTensor indices(DataType type, const Dims& dims, const std::vector<int64_t>& values) {
  HostTensor result(type, dims);
  for (size_t i = 0; i < values.size(); ++i) result.view().storeInt(static_cast<int64_t>(i), values[i]);
  return result;
}

std::vector<int64_t> numbers(const HostTensor& tensor) {
  std::vector<int64_t> result;
  for (int64_t i = 0; i < tensor.view().count(); ++i) result.push_back(tensor.view().loadInt(i));
  return result;
}

std::string shapeText(const Dims& dims) { return text(toShape(dims)); }

TEST(Scatter, RowsAndElements) {
  const auto run = [](const std::string& op, DataType type, const Dims& data, HostTensor places, const Dims& updates) {
    // Before it a step whose result only the scatter reads, and once the network's input itself.
    for (const bool computed : {true, false}) {
      const auto text = fmt::format(
          R"g(graph "g" {{
  input %x : {0}{1}
  input %i : {2}{3}
  input %u : {0}{4}
  %a : {0}{1} = {5} "before"
  %y : {0}{1} = {6}(%a, %i, %u) "op"
  output %y
}})g",
          name(type), shapeText(data), name(places.view().dtype), shapeText(places.view().dims), shapeText(updates),
          computed ? "pointwise{expr=\"max(x0,0)\"}(%x)" : "reshape{shape=" + shapeText(data) + "}(%x)", op);
      std::vector<HostTensor> inputs;
      inputs.push_back(randomTensor(type, data, 1));
      inputs.push_back(indices(places.view().dtype, places.view().dims, numbers(places)));
      inputs.push_back(randomTensor(type, updates, 2));
      EXPECT_EQ(byTheKernel(text, inputs), 1) << text;
    }
  };
  run("scatter{mode=nd}", DataType::kF32, {5, 7}, indices(DataType::kI64, {3, 1}, {4, -5, 2}), {3, 7});
  run("scatter{mode=nd}", DataType::kI8, {4, 3, 2}, indices(DataType::kI32, {2, 2, 2}, {0, 0, 3, -1, 1, 1, 0, 0}),
      {2, 2, 2});
  run("scatter{mode=nd}", DataType::kF32, {3000, 130}, indices(DataType::kI32, {2, 1}, {2999, 0}), {2, 130});
  run("scatter{axis=1}", DataType::kF32, {2, 5, 3}, indices(DataType::kI32, {2, 2, 2}, {4, -1, 0, 0, 1, 2, 3, 4}),
      {2, 2, 2});
  run("scatter{axis=0}", DataType::kI64, {4}, indices(DataType::kI64, {6}, {0, 1, 2, 3, 0, -1}), {6});
  run("scatter{axis=0}", DataType::kF32, {4}, indices(DataType::kI64, {0}, {}), {0});
}

// Every axis and type, with some elements met twice; the last update stays.
TEST(Scatter, ElementsOfEveryAxis) {
  for (const auto type : {DataType::kF32, DataType::kI64, DataType::kF16, DataType::kU8}) {
    const Dims data{5, 4, 1031};
    for (const int axis : {0, 1, 2}) {
      const Dims updates{3, 4, axis == 2 ? 700 : 1029};
      std::mt19937_64 random(3);
      std::vector<int64_t> places;
      for (int64_t i = 0; i < updates.count(); ++i)
        places.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(2 * data[axis])) - data[axis]);
      const auto text = fmt::format(
          "graph \"g\" {{\n  input %a : {0}{1}\n  input %i : i32{2}\n  input %u : {0}{2}\n  %y : {0}{1} = scatter{{axis={3}}}(%a, %i, %u) \"op\"\n  output %y\n}}",
          name(type), shapeText(data), shapeText(updates), axis);
      std::vector<HostTensor> inputs;
      inputs.push_back(randomTensor(type, data, 1));
      inputs.push_back(indices(DataType::kI32, updates, places));
      inputs.push_back(randomTensor(type, updates, 2));
      EXPECT_EQ(byTheKernel(text, inputs), 1) << text;
    }
  }
}

TEST(Scatter, AnIndexOutsideIsAnError) {
  for (const char* op : {"scatter{axis=1}", "scatter{mode=nd}"}) {
    RecordingLog log;
    compile::BuildOptions options;
    options.device = "cpu";
    options.log = &log;
    options.optimizationLevel = 0;
    const auto text = fmt::format(
        "graph \"g\" {{\n  input %a : f32[2,3]\n  input %i : i64[1,2]\n  input %u : f32{}\n  %y : f32[2,3] = {}(%a, %i, %u) \"op\"\n  output %y\n}}",
        op[8] == 'a' ? "[1,2]" : "[1]", op);
    const auto engine = runtime::Engine::make(compile::build(graph::parse(text), options), {}, log);
    std::vector<HostTensor> inputs;
    inputs.push_back(randomTensor(DataType::kF32, Dims{2, 3}, 1));
    inputs.push_back(indices(DataType::kI64, Dims{1, 2}, {1, 3}));
    inputs.push_back(randomTensor(DataType::kF32, op[8] == 'a' ? Dims{1, 2} : Dims{1}, 2));
    EXPECT_THROW(run(engine, inputs, log), UserError);
  }
}

}  // namespace
}  // namespace tenon::test
