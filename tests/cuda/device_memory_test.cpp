// All that a loaded engine has on the GPU is memory of the user's allocator: weights, what a context writes, and the
// tables of kernels. Networks with the shapes of well-known ones, narrow and of few layers.
#include "backends/cuda/driver/libraries.h"
#include "cuda/loaded.h"
#include "runtime/kept_memory.h"

#include <thread>

namespace tenon::test {
namespace {

using backends::cuda::driver;

int allocations = 0;
decltype(backends::cuda::Driver::memAlloc) realAllocation = nullptr;

CUresult countedAllocation(CUdeviceptr* pointer, size_t bytes) {
  ++allocations;
  return realAllocation(pointer, bytes);
}

// Counts what is asked of the driver, whoever asks, while it lives.
class DriverCount {
 public:
  DriverCount() {
    allocations = 0;
    realAllocation = std::exchange(function(), &countedAllocation);
  }
  ~DriverCount() { function() = realAllocation; }
  DriverCount(const DriverCount&) = delete;
  DriverCount& operator=(const DriverCount&) = delete;
  int count() const { return allocations; }

 private:
  // The table is filled when the driver is opened, and is no constant object.
  static decltype(realAllocation)& function() { return const_cast<backends::cuda::Driver&>(driver()).memAlloc; }
};

// Lines of a graph; constants have seeds of their own.
class Lines {
 public:
  explicit Lines(std::string_view inputs) : text_(fmt::format("graph \"network\" {{\n{}\n", inputs)) {}
  std::string constant(const std::string& type) {
    const auto name = fmt::format("%w{}", ++constants_);
    text_ += fmt::format("const {} : {} = random({})\n", name, type, constants_);
    return name;
  }
  std::string node(const std::string& type, const std::string& op, const std::string& operands) {
    const auto name = fmt::format("%n{}", ++nodes_);
    text_ += fmt::format("{} : {} = {}({}) \"node {}\"\n", name, type, op, operands, nodes_);
    return name;
  }
  std::string text(const std::string& result) const { return text_ + fmt::format("output {}\n}}", result); }

 private:
  std::string text_;
  int constants_ = 0;
  int nodes_ = 0;
};

std::string imageType(int64_t channels, int64_t extent) { return fmt::format("f16[1,{0},{1},{1}]", channels, extent); }

// A convolution with a bias, and what it is followed by.
std::string convolve(Lines& lines, const std::string& x, int64_t from, int64_t to, int64_t window, int64_t stride,
                     int64_t extent) {
  const auto w = lines.constant(fmt::format("f16[{},{},{},{}]", to, from, window, window));
  const auto b = lines.constant(fmt::format("f16[{}]", to));
  return lines.node(
      imageType(to, extent),
      fmt::format("convolution{{strides=[{0},{0}] prePadding=[{1},{1}] postPadding=[{1},{1}] hasBias=true}}", stride,
                  window / 2),
      fmt::format("{}, {}, {}", x, w, b));
}

std::string relu(Lines& lines, const std::string& x, const std::string& type) {
  return lines.node(type, "pointwise{expr=\"mul(x0,0.125);max(t0,0)\"}", x);
}

// 1x1, 3x3, 1x1, beside a short cut.
std::string bottleneck(Lines& lines, const std::string& x, int64_t from, int64_t inner, int64_t stride,
                       int64_t extent) {
  const int64_t before = extent * stride;
  auto y = relu(lines, convolve(lines, x, from, inner, 1, 1, before), imageType(inner, before));
  y = relu(lines, convolve(lines, y, inner, inner, 3, stride, extent), imageType(inner, extent));
  y = convolve(lines, y, inner, 4 * inner, 1, 1, extent);
  const auto past = convolve(lines, x, from, 4 * inner, 1, stride, extent);
  return lines.node(imageType(4 * inner, extent), "pointwise{expr=\"add(x0,x1);mul(t0,0.02);max(t1,0)\"}",
                    y + ", " + past);
}

// `isDense`: the image is blown up again at the end, by a kernel that has tables.
std::string residualNetwork(bool isDense) {
  Lines lines("input %x : f16[1,3,24,24]");
  auto y = relu(lines, convolve(lines, "%x", 3, 32, 7, 2, 12), imageType(32, 12));
  y = lines.node(imageType(32, 6), "pooling{type=max window=[3,3] strides=[2,2] prePadding=[1,1] postPadding=[1,1]}",
                 y);
  y = bottleneck(lines, y, 32, 32, 1, 6);
  y = bottleneck(lines, y, 128, 64, 2, 3);
  if (isDense) return lines.text(lines.node(imageType(256, 7), "resize{mode=linear shape=[1,256,7,7]}", y));
  y = lines.node("f16[1,256]", "reduce{op=avg axes=[2,3]}", y);
  return lines.text(lines.node("f16[1,100]", "matmul", y + ", " + lines.constant("f16[256,100]")));
}

std::string encoder(int layers) {
  Lines lines("input %x : f16[1,40,128]");
  std::string x = "%x";
  const auto product = [&](const std::string& of, int64_t from, int64_t to) {
    const auto type = fmt::format("f16[1,40,{}]", to);
    const auto y = lines.node(type, "matmul", of + ", " + lines.constant(fmt::format("f16[{},{}]", from, to)));
    return lines.node(type, "pointwise{expr=\"add(x0,x1)\"}",
                      y + ", " + lines.constant(fmt::format("f16[1,1,{}]", to)));
  };
  const auto normalized = [&](const std::string& y) {
    const auto sum = lines.node("f16[1,40,128]", "pointwise{expr=\"add(x0,x1)\"}", x + ", " + y);
    const auto operands = sum + ", " + lines.constant("f16[128]") + ", " + lines.constant("f16[128]");
    return lines.node("f16[1,40,128]", "normalization{axes=[-1]}", operands);
  };
  for (int i = 0; i < layers; ++i) {
    const auto heads = product(x, 128, 384);
    x = normalized(product(lines.node("f16[1,40,128]", "attention{heads=2 scale=0.125 packed=true}", heads), 128, 128));
    const auto wide = product(x, 128, 512);
    x = normalized(product(lines.node("f16[1,40,512]", "pointwise{expr=\"gelu_erf(x0)\"}", wide), 512, 128));
  }
  return lines.text(x);
}

class DeviceMemories : public OnGpu {
 protected:
  // Loads, makes a context and runs; everything is asked of the allocator, and `tables` requests are those of kernels.
  static void expectAllAsked(const std::string& text, int tables) {
    Made made(text);
    CountingAllocator allocator;
    {
      const DriverCount all;
      const auto engine = runtime::Engine::load(made.bytes, {false, "", &allocator}, made.log);
      EXPECT_EQ(allocator.all, engine->constantBytes());
      runtime::Context context(engine, {}, made.log);
      EXPECT_EQ(all.count(), allocator.requests) << "memory of the GPU that the allocator was not asked for";
      EXPECT_EQ(allocator.requests, 2 + tables);
      const uint64_t known = engine->constantBytes() + engine->arenaBytes();
      EXPECT_GE(allocator.all, known);
      EXPECT_LE(static_cast<double>(allocator.all), 1.05 * static_cast<double>(known));
      EXPECT_EQ(allocator.all == known, tables == 0);
      const auto before = allocator.requests;
      made.expectRight(engine, context);
      EXPECT_EQ(allocator.requests, before) << "running asks for memory";
      EXPECT_TRUE(made.log.contains(fmt::format("weights: {} bytes on the device", engine->constantBytes())));
      EXPECT_TRUE(made.log.contains(fmt::format("context: {} bytes on the device", engine->arenaBytes())));
    }
    EXPECT_TRUE(allocator.live.empty());
    EXPECT_EQ(allocator.strangers, 0);
  }
};

TEST_F(DeviceMemories, OfResidualNetworks) { expectAllAsked(residualNetwork(false), 0); }
TEST_F(DeviceMemories, OfEncoders) { expectAllAsked(encoder(2), 0); }
TEST_F(DeviceMemories, OfKernelsWithTables) { expectAllAsked(residualNetwork(true), 2); }

// The n-th request fails, for every n: weights, arena, each table.
TEST_F(DeviceMemories, ThatAreRefusedLeaveNothing) {
  Made made(residualNetwork(true));
  const std::vector<std::string> purposes{"weights", "context", "tables of a kernel", "tables of a kernel"};
  for (int refused = 0;; ++refused) {
    SCOPED_TRACE(fmt::format("request {}", refused));
    CountingAllocator allocator(refused);
    bool whole = false;
    try {
      const auto engine = runtime::Engine::load(made.bytes, {false, "", &allocator}, made.log);
      runtime::Context context(engine, {}, made.log);
      made.expectRight(engine, context);
      whole = true;
    } catch (const OutOfMemory& error) {
      ASSERT_LT(static_cast<size_t>(refused), purposes.size()) << error.what();
      EXPECT_NE(std::string(error.what()).find(purposes[static_cast<size_t>(refused)]), std::string::npos)
          << error.what();
    }
    EXPECT_TRUE(allocator.live.empty());
    EXPECT_EQ(allocator.strangers, 0);
    if (whole) {
      EXPECT_EQ(static_cast<size_t>(refused), purposes.size());
      break;
    }
  }
}

// Of changing shapes a context keeps the tables of a few; those that it writes anew give the old ones back.
TEST_F(DeviceMemories, OfTablesOfManyShapes) {
  constexpr size_t kRemembered = 4;
  const auto graph = graph::parse(R"g(graph "shapes" {
  symbol "N" = extent(%x, 2)
  input %x : f16[1,2,N,9]
  %y : f16[1,2,2*N,5] = resize{mode=linear shape=[1,2,2*N,5]}(%x) "resize"
  output %y
})g");
  RecordingLog log;
  compile::BuildOptions options;
  options.device = "cuda";
  options.optimizationLevel = 0;
  options.log = &log;
  plan::InputRange range;
  range.min = {1, 2, 1, 9};
  range.opt = {1, 2, 3, 9};
  range.max = {1, 2, 20, 9};
  options.profiles = {{{"x", range}}};
  const auto bytes = runtime::Engine::make(compile::build(graph, options), {}, log)->serialize();
  CountingAllocator allocator;
  {
    const auto engine = runtime::Engine::load(bytes, {false, "", &allocator}, log);
    runtime::Context context(engine, {}, log);
    const size_t before = allocator.live.size();
    size_t tables = 0;
    for (int64_t rows = 1; rows <= 20; ++rows) {
      const auto input = randomTensor(DataType::kF16, {1, 2, rows, 9}, static_cast<uint64_t>(rows));
      HostTensor output(DataType::kF16, {1, 2, 2 * rows, 5});
      const DeviceTensor x(engine->device(), input.view());
      const DeviceTensor y(engine->device(), output.view());
      context.setInputShape(0, input.view().dims);
      context.setAddress(0, x.data());
      context.setAddress(1, y.data());
      const DriverCount all;
      const int asked = allocator.requests;
      context.enqueue(nullptr);
      EXPECT_EQ(all.count(), allocator.requests - asked) << "memory of the GPU that the allocator was not asked for";
      engine->device().synchronize(nullptr);
      y.readBack();
      const TensorView inputs[] = {input.view()};
      EXPECT_LE(relativeError(output.view(), graph::evaluate(graph, inputs)[0].view()), 2e-3) << rows << " rows";
      if (rows == 1) tables = allocator.live.size() - before;
      EXPECT_LE(allocator.live.size(), before + kRemembered * tables);
    }
    EXPECT_GT(tables, 0u);
    EXPECT_EQ(allocator.live.size(), before + kRemembered * tables);
  }
  EXPECT_TRUE(allocator.live.empty());
  EXPECT_EQ(allocator.strangers, 0);
}

// What is freed serves again while somebody keeps it, and no longer.
TEST_F(OnGpu, DeviceMemoryIsKeptWhileABuildLasts) {
  auto& device = backends::cuda::cudaDevice();
  constexpr size_t kBytes = size_t{3} << 20;
  const auto asked = [&](size_t bytes) {
    const DriverCount count;
    device.free(device.allocate(bytes, 256));
    return count.count();
  };
  void* held = nullptr;
  EXPECT_EQ(asked(kBytes), 1);
  EXPECT_EQ(asked(kBytes), 1) << "nobody keeps it";
  {
    const runtime::KeepingMemory keeping(device);
    held = device.allocate(kBytes, 256);
    EXPECT_EQ(asked(kBytes), 1);
    EXPECT_EQ(asked(kBytes), 0);
    EXPECT_EQ(asked(kBytes - kBytes / 16), 0) << "nearly as much";
    EXPECT_EQ(asked(kBytes / 3), 1) << "most of the block would be lost";
    EXPECT_EQ(asked(2 * kBytes), 1);
    {
      const runtime::KeepingMemory inner(device);
      EXPECT_EQ(asked(kBytes), 0);
    }
    EXPECT_EQ(asked(kBytes), 0) << "the outer one still keeps it";
    void* const both[] = {device.allocate(kBytes, 256), device.allocate(kBytes, 256)};
    EXPECT_NE(both[0], both[1]);
    for (void* one : both) device.free(one);
    std::thread([&] {
      EXPECT_EQ(asked(kBytes), 1) << "this thread does not keep, and may free what still executes";
      device.free(std::exchange(held, nullptr));
    }).join();
    const DriverCount count;
    void* const three[] = {device.allocate(kBytes, 256), device.allocate(kBytes, 256), device.allocate(kBytes, 256)};
    EXPECT_EQ(count.count(), 1) << "two are kept, what the other thread freed is not";
    held = three[0];
    device.free(three[1]);
    device.free(three[2]);
  }
  device.free(held);
  EXPECT_EQ(asked(kBytes), 1) << "it went back";
}

}  // namespace
}  // namespace tenon::test
