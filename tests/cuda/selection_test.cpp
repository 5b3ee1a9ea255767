// Elements that are not zero, on the GPU.
#include "cuda/exact.h"
#include "ops/op/count_nonzero.h"
#include "ops/op/nms.h"
#include "ops/op/nonzero.h"
#include "ops/op/size.h"
#include "ops/op/slice.h"

namespace tenon::test {
namespace {

// About one element of `every` is not zero; 0: none, 1: all.
HostTensor sparse(DataType type, const Dims& dims, uint64_t every, uint64_t seed) {
  HostTensor tensor(type, dims);
  std::mt19937_64 generator(seed);
  for (int64_t i = 0; i < tensor.view().count(); ++i) {
    const bool is = every != 0 && generator() % every == 0;
    tensor.view().storeDouble(i, is ? 1 + static_cast<double>(generator() % 3) : 0);
  }
  return tensor;
}

int64_t countOf(const HostTensor& tensor) {
  int64_t count = 0;
  for (int64_t i = 0; i < tensor.view().count(); ++i) count += tensor.view().loadDouble(i) != 0 ? 1 : 0;
  return count;
}

void check(const HostTensor& x, int64_t size, const std::string& indexType) {
  std::vector<HostTensor> inputs;
  inputs.emplace_back(x.view().dtype, x.view().dims);
  std::memcpy(inputs[0].view().data, x.view().data, x.view().bytes());
  expectExact(fmt::format("nonzero{{size={} indexType={}}}", size, indexType), "nonzero", inputs);
  expectExact("count_nonzero", "count_nonzero", inputs);
}

TEST_F(OnGpu, SelectionOfNonZeroElements) {
  const std::vector<Dims> shapes{{},        {0},          {1},          {31},    {2048},    {2049},
                                 {3, 0, 5}, {2, 3, 1031}, {1, 4099, 1}, {70001}, {41, 300}, {2, 2, 2, 2, 2, 2, 2, 33}};
  uint64_t seed = 0;
  for (const auto& dims : shapes) {
    for (const uint64_t every : {0, 1, 2, 97}) {
      const auto x = sparse(DataType::kF32, dims, every, ++seed);
      const int64_t count = countOf(x);
      check(x, count, "i32");
      if (every == 2) {
        check(x, count / 2, "i64");
        check(x, count + 300, "i64");
      }
    }
  }
}

TEST_F(OnGpu, SelectionOfEveryType) {
  uint64_t seed = 100;
  for (const auto type : {DataType::kF32, DataType::kF16, DataType::kBF16, DataType::kF8E4M3, DataType::kI64,
                          DataType::kI32, DataType::kI8, DataType::kU8, DataType::kBool}) {
    auto x = sparse(type, {5, 1031}, 5, ++seed);
    if (isFloating(type)) {
      x.view().storeDouble(7, std::nan(""));
      x.view().storeDouble(8, -0.0);
      x.view().storeDouble(9, 0x1p-9);
    }
    if (type == DataType::kF32) x.view().storeDouble(11, 0x1p-149);
    if (type == DataType::kF16) x.view().storeDouble(11, 0x1p-24);
    if (type == DataType::kI64) x.view().storeInt(11, int64_t{1} << 40);
    check(x, countOf(x), "i32");
  }
}

// The host reads the sizes that these kernels write, between the phases of an execution.
TEST_F(OnGpu, SelectionDecidesShapes) {
  graph::Graph graph;
  const auto x = graph.addInput("x", {DataType::kF32, {1, 700, 3}, std::nullopt});
  const auto boxes = graph.addInput("boxes", {DataType::kF32, {1, 700, 4}, std::nullopt});
  const auto per = graph.addInput("per", {DataType::kI32, {}, std::nullopt});
  const auto overlap = graph.addInput("overlap", {DataType::kF32, {}, std::nullopt});
  const auto threshold = graph.addInput("threshold", {DataType::kF32, {}, std::nullopt});
  const auto count = graph.add(ops::CountNonZero{}, "count", {x});
  graph.addNode(ops::Size{"n", 1000, 2100}, "size of places", {count});
  const auto places = graph.add(ops::NonZero{Extent::symbol("n")}, "places", {x});
  const auto nms =
      graph.addNode(ops::Nms{ops::BoxFormat::kCorners, 5000, 2100}, "best", {boxes, x, per, overlap, threshold});
  const auto rows = graph.node(nms).outputs[0];
  graph.addNode(ops::Size{"m", 1000, 2100}, "size of rows", {graph.node(nms).outputs[1]});
  ops::Slice front;
  front.start = {0, 0};
  front.size = {Extent::symbol("m"), 3};
  const auto selected = graph.add(front, "selected", {rows});
  graph.addOutput(places);
  graph.addOutput(selected);
  verify(graph);

  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.optimizationLevel = 0;
  options.log = &log;
  options.filter = [](const graph::Node&, std::vector<compile::Candidate> candidates) {
    std::erase_if(candidates, [](const auto& candidate) { return candidate.tactic == "cuda.host_evaluate"; });
    return candidates;
  };
  const auto engine = runtime::Engine::make(compile::build(graph, options), {}, log);
  runtime::Context context(engine, {}, log);
  for (const uint64_t every : {2, 1, 0, 300}) {
    std::vector<HostTensor> inputs;
    inputs.push_back(sparse(DataType::kF32, {1, 700, 3}, every, every + 5));
    inputs.push_back(randomTensor(DataType::kF32, {1, 700, 4}, every));
    inputs.push_back(number(DataType::kI32, 50));
    inputs.push_back(number(DataType::kF32, 0.3));
    inputs.push_back(number(DataType::kF32, 0.5));
    const auto expected = graph::evaluate(graph, views(inputs));
    std::vector<std::unique_ptr<DeviceTensor>> buffers;
    for (size_t i = 0; i < inputs.size(); ++i) {
      buffers.push_back(std::make_unique<DeviceTensor>(engine->device(), inputs[i].view()));
      context.setAddress(static_cast<int>(i), buffers.back()->data());
    }
    HostTensor places(DataType::kI32, {3, 2100}), best(DataType::kI32, {2100, 3});
    for (auto* output : {&places, &best}) {
      buffers.push_back(std::make_unique<DeviceTensor>(engine->device(), output->view()));
      context.setAddress(static_cast<int>(buffers.size()) - 1, buffers.back()->data());
    }
    context.enqueue(nullptr);
    engine->device().synchronize(nullptr);
    for (size_t i = 0; i < 2; ++i) {
      buffers[inputs.size() + i]->readBack();
      const auto& got = i == 0 ? places.view() : best.view();
      const auto& want = expected[i].view();
      EXPECT_EQ(context.shape(static_cast<int>(inputs.size() + i)), want.dims) << every;
      EXPECT_EQ(std::memcmp(got.data, want.data, want.bytes()), 0) << "output " << i << ", one of " << every;
    }
  }
}

}  // namespace
}  // namespace tenon::test
