// Execution contexts: shapes, addresses, memory, errors, hooks, on plans of reference kernels.
#include <cstring>

#include "plan/file.h"
#include "runtime_test_support.h"

namespace tenon::runtime {
namespace {

TEST(Context, RunsAStaticPlan) {
  const auto engine = engineOf(test::smallPlan(false));
  Context context(engine, {}, log());
  auto x = ramp(6);
  std::vector<float> y(6);
  context.setAddress(engine->findIo("x"), x.data());
  context.setAddress(engine->findIo("y"), y.data());
  EXPECT_TRUE(context.allShapesGiven());
  context.enqueue(nullptr);
  finishWork(*engine);
  EXPECT_EQ(y, smallExpected(x));
}

TEST(Context, RunsALoadedPlanWhoseBlobIsGone) {
  auto bytes = engineOf(test::smallPlan(false))->serialize();
  const auto engine = Engine::load(bytes, {}, log());
  std::fill(bytes.begin(), bytes.end(), std::byte{0xee});
  Context context(engine, {}, log());
  auto x = ramp(6);
  std::vector<float> y(6);
  context.setAddress(0, x.data());
  context.setAddress(1, y.data());
  context.enqueue(nullptr);
  finishWork(*engine);
  EXPECT_EQ(y, smallExpected(x));
  EXPECT_EQ(engine->serialize(), engineOf(test::smallPlan(false))->serialize());
}

TEST(Context, DynamicShapesWithinAndBetweenProfiles) {
  const auto engine = engineOf(test::smallPlan(true));
  for (const auto strategy : {MemoryStrategy::kStatic, MemoryStrategy::kOnProfileChange}) {
    Context context(engine, {strategy, 0}, log());
    EXPECT_FALSE(context.allShapesGiven());
    EXPECT_EQ(context.shape(1), (Dims{-1, 3}));
    for (const int64_t n : {1, 8, 0, 3, 8, 2, 5, 7, 3, 64, 9}) {
      const int profile = n <= 8 ? 0 : 1;
      if (profile != context.profile()) context.setProfile(profile, nullptr);
      auto x = ramp(static_cast<size_t>(3 * n));
      std::vector<float> y(x.size(), -1);
      context.setInputShape(0, {n, 3});
      EXPECT_EQ(context.shape(1), (Dims{n, 3}));
      EXPECT_EQ(context.tensorBytes(1), static_cast<uint64_t>(12 * n));
      context.setAddress(0, x.data());
      context.setAddress(1, y.data());
      context.enqueue(nullptr);
      finishWork(*engine);
      EXPECT_EQ(y, smallExpected(x)) << n;
    }
  }
}

TEST(Context, ShapesOfQueuedWorkStayAsTheyWere) {
  const auto engine = engineOf(test::smallPlan(true));
  Context context(engine, {}, log());
  std::vector<std::vector<float>> xs;
  std::vector<std::vector<float>> ys;
  for (int64_t n = 1; n <= 8; ++n) {
    xs.push_back(ramp(static_cast<size_t>(3 * n), static_cast<float>(n)));
    ys.emplace_back(xs.back().size());
  }
  for (int64_t n = 1; n <= 8; ++n) {
    const auto i = static_cast<size_t>(n - 1);
    context.setInputShape(0, {n, 3});
    context.setAddress(0, xs[i].data());
    context.setAddress(1, ys[i].data());
    context.enqueue(nullptr);
  }
  finishWork(*engine);
  for (size_t i = 0; i < xs.size(); ++i) EXPECT_EQ(ys[i], smallExpected(xs[i]));
}

TEST(Context, ErrorsNameTheTensorAndTheRange) {
  const auto engine = engineOf(test::smallPlan(true));
  Context context(engine, {}, log());
  expectContains(messageOf([&] { context.enqueue(nullptr); }), {"'", "x", "shape"});
  expectContains(messageOf([&] { context.setInputShape(0, {9, 3}); }), {"'x'", "axis 0", "9", "profile 0", "0 to 8"});
  expectContains(messageOf([&] { context.setInputShape(0, {1, 4}); }), {"'x'", "axis 1", "4", "3"});
  expectContains(messageOf([&] { context.setInputShape(0, {1, 3, 1}); }), {"'x'", "3 dimensions", "2"});
  expectContains(messageOf([&] { context.setInputShape(1, {1, 3}); }), {"'y'", "output"});
  expectContains(messageOf([&] { context.setInputShape(5, {1, 3}); }), {"5"});
  expectContains(messageOf([&] { context.setProfile(2, nullptr); }), {"profile 2", "2"});
  context.setInputShape(0, {2, 3});
  std::vector<float> x(6);
  context.setAddress(0, x.data());
  expectContains(messageOf([&] { context.enqueue(nullptr); }), {"address", "'y'"});
  expectContains(messageOf([&] { context.setMemory(nullptr, 0); }), {"kUSER_MANAGED"});
}

TEST(Context, TwoSourcesOfADimensionMustAgree) {
  test::HandPlan hand;
  const int32_t a = hand.input("a", DataType::kF32, {"N"});
  const int32_t b = hand.input("b", DataType::kF32, {"N"});
  const int32_t c = hand.output("c", DataType::kF32, {"N"});
  hand.step("add", test::pointwise("add(x0,x1)"), {a, b}, {c});
  hand.profile({{"a", {{1}, {2}, {9}, {}, {}, {}}}, {"b", {{1}, {2}, {9}, {}, {}, {}}}});
  const auto engine = engineOf(hand.finish());
  Context context(engine, {}, log());
  context.setInputShape(0, {2});
  EXPECT_EQ(context.inferShapes(), std::vector<std::string>{"b"});
  context.setInputShape(1, {3});
  expectContains(messageOf([&] { (void)context.inferShapes(); }), {"'N'", "axis 0 of 'a'", "axis 0 of 'b'", "2", "3"});
  context.setInputShape(1, {2});
  EXPECT_TRUE(context.inferShapes().empty());
}

TEST(Context, ViewsAndCopies) {
  test::HandPlan hand;
  const int32_t x = hand.input("x", DataType::kF32, {"2", "3"});
  const int32_t flat = hand.view("flat", x, {"6"});
  const int32_t t = hand.tensor("t", DataType::kF32, {"6"});
  const int32_t back = hand.view("back", t, {"3", "2"});
  const int32_t y = hand.output("y", DataType::kF32, {"3", "2"});
  const int32_t same = hand.output("same", DataType::kF32, {"2", "3"});
  hand.step("neg", test::pointwise("neg(x0)"), {flat}, {t});
  hand.copy("copy", back, y);
  hand.copy("identity", x, same);
  const auto engine = engineOf(hand.finish());
  Context context(engine, {}, log());
  auto in = ramp(6);
  std::vector<float> out(6);
  std::vector<float> copied(6);
  context.setAddress(0, in.data());
  context.setAddress(1, out.data());
  context.setAddress(2, copied.data());
  context.enqueue(nullptr);
  finishWork(*engine);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(out[i], -in[i]);
  EXPECT_EQ(copied, in);
}

TEST(Context, ShapeTensorValuesBindSymbols) {
  test::HandPlan hand;
  const int32_t s = hand.input("s", DataType::kI32, {"2"}, true);
  (void)s;
  const int32_t y = hand.output("y", DataType::kF32, {"R", "C"});
  hand.valueSymbol("R", 0, 0);
  hand.valueSymbol("C", 0, 1);
  hand.step("fill", "fill{shape=[R,C] start=7}", {}, {y});
  hand.profile({{"s", {{}, {}, {}, {0, 1}, {2, 2}, {4, 8}}}});
  const auto engine = engineOf(hand.finish());
  Context context(engine, {}, log());
  EXPECT_EQ(context.inferShapes(), std::vector<std::string>{"s"});
  std::vector<int32_t> values{3, 5};
  std::vector<float> out(32, 0);
  context.setAddress(0, values.data());
  context.setAddress(1, out.data());
  EXPECT_EQ(context.shape(1), (Dims{3, 5}));
  context.enqueue(nullptr);
  finishWork(*engine);
  EXPECT_EQ(std::count(out.begin(), out.end(), 7.f), 15);
  values = {4, 8};
  context.enqueue(nullptr);
  finishWork(*engine);
  EXPECT_EQ(std::count(out.begin(), out.end(), 7.f), 32);
  values = {5, 1};
  expectContains(messageOf([&] { context.enqueue(nullptr); }), {"'s'", "value 0", "5", "0 to 4"});
  const std::vector<int64_t> set{1, 1};
  context.setShapeValues(0, set);
  EXPECT_EQ(context.shape(1), (Dims{1, 1}));
}

TEST(Context, UserManagedMemory) {
  const auto engine = engineOf(test::smallPlan(true));
  Context context(engine, {MemoryStrategy::kUserManaged, 1}, log());
  EXPECT_EQ(context.memoryBytes(), engine->arenaBytes(1));
  context.setInputShape(0, {9, 3});
  const uint64_t needed = context.memoryBytes();
  EXPECT_LE(needed, engine->arenaBytes(1));
  EXPECT_LT(needed, engine->arenaBytes(1) / 2);
  auto x = ramp(27);
  std::vector<float> y(27);
  context.setAddress(0, x.data());
  context.setAddress(1, y.data());
  expectContains(messageOf([&] { context.enqueue(nullptr); }), {"memory", "0 bytes"});
  auto* const memory = static_cast<std::byte*>(std::aligned_alloc(256, needed / 256 * 256 + 512));
  std::memset(memory, 0x5a, needed / 256 * 256 + 512);
  context.setMemory(memory, needed);
  context.enqueue(nullptr);
  finishWork(*engine);
  EXPECT_EQ(y, smallExpected(x));
  for (uint64_t i = needed; i < needed / 256 * 256 + 512; ++i)
    ASSERT_EQ(memory[i], std::byte{0x5a}) << "written beyond the memory";
  expectContains(messageOf([&] { context.setMemory(memory + 8, needed); }), {"aligned"});
  std::free(memory);
}

class CountingAllocator final : public AllocatorHook {
 public:
  void* allocate(size_t bytes, size_t alignment, StreamHandle) override {
    ++live;
    return refuse ? nullptr : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
  }
  void free(void* pointer, StreamHandle) noexcept override {
    --live;
    std::free(pointer);
  }
  int live = 0;
  bool refuse = false;
};

TEST(Context, MemoryComesFromTheAllocator) {
  CountingAllocator allocator;
  LoadOptions options;
  options.allocator = &allocator;
  const auto engine = Engine::make(test::smallPlan(false), options, log());
  {
    Context context(engine, {}, log());
    EXPECT_EQ(allocator.live, 1);
  }
  EXPECT_EQ(allocator.live, 0);
  allocator.refuse = true;
  EXPECT_THROW(Context(engine, {}, log()), OutOfMemory);
}

class VectorAllocator final : public OutputAllocatorHook {
 public:
  void* reallocate(const std::string&, void*, uint64_t bytes, uint64_t, StreamHandle) override {
    if (refuse) return nullptr;
    values.assign(bytes / 4 + 1, -1);
    return values.data();
  }
  void notifyShape(const std::string& tensor, const Dims& shape) override { name = tensor, dims = shape; }
  std::vector<float> values;
  std::string name;
  Dims dims;
  bool refuse = false;
};

TEST(Context, OutputAllocators) {
  const auto engine = engineOf(test::smallPlan(true));
  Context context(engine, {}, log());
  VectorAllocator allocator;
  context.setOutputAllocator(1, &allocator);
  for (const int64_t n : {2, 7, 0}) {
    auto x = ramp(static_cast<size_t>(3 * n));
    context.setInputShape(0, {n, 3});
    context.setAddress(0, x.data());
    context.enqueue(nullptr);
    finishWork(*engine);
    EXPECT_EQ(allocator.name, "y");
    EXPECT_EQ(allocator.dims, (Dims{n, 3}));
    allocator.values.resize(x.size());
    EXPECT_EQ(allocator.values, smallExpected(x));
  }
  allocator.refuse = true;
  expectContains(messageOf([&] { context.enqueue(nullptr); }), {"'y'", "allocator"});
  expectContains(messageOf([&] { context.setOutputAllocator(0, &allocator); }), {"'x'", "input"});
}

class KeptTimes final : public ProfilerHook {
 public:
  void report(const std::string& layer, float milliseconds) override {
    layers.push_back(layer);
    EXPECT_GE(milliseconds, 0);
  }
  std::vector<std::string> layers;
};

TEST(Context, ProfilerSeesEveryStep) {
  const auto engine = engineOf(test::smallPlan(false));
  Context context(engine, {}, log());
  auto x = ramp(6);
  std::vector<float> y(6);
  context.setAddress(0, x.data());
  context.setAddress(1, y.data());
  KeptTimes times;
  context.setProfiler(&times);
  context.enqueue(nullptr);
  EXPECT_EQ(times.layers, (std::vector<std::string>{"add", "relu", "double"}));
  context.setProfilerSynchronous(false);
  context.enqueue(nullptr);
  EXPECT_EQ(times.layers.size(), 3u);
  EXPECT_TRUE(context.reportTimes());
  EXPECT_EQ(times.layers.size(), 6u);
  EXPECT_FALSE(context.reportTimes());
  EXPECT_EQ(y, smallExpected(x));
}

class KeptTensors final : public DebugHook {
 public:
  void process(const std::string& tensor, const void* address, bool, DataType dtype, const Dims& dims,
               StreamHandle) override {
    EXPECT_EQ(dtype, DataType::kF32);
    names.push_back(tensor);
    const auto* const values = static_cast<const float*>(address);
    last.assign(values, values + dims.count());
  }
  std::vector<std::string> names;
  std::vector<float> last;
};

TEST(Context, DebugTensorsAreShown) {
  auto plan = test::smallPlan(false);
  for (auto& tensor : plan.programs[0].tensors) tensor.debug = tensor.name == "t";
  const auto engine = engineOf(plan);
  Context context(engine, {}, log());
  auto x = ramp(6);
  std::vector<float> y(6);
  context.setAddress(0, x.data());
  context.setAddress(1, y.data());
  KeptTensors hook;
  context.setDebugHook(&hook);
  context.enqueue(nullptr);
  finishWork(*engine);
  EXPECT_TRUE(hook.names.empty());
  EXPECT_FALSE(context.setDebugTensor("u", true));
  EXPECT_TRUE(context.setDebugTensor("t", true));
  context.enqueue(nullptr);
  finishWork(*engine);
  EXPECT_EQ(hook.names, std::vector<std::string>{"t"});
  EXPECT_EQ(hook.last[0], x[0] + 1);
  context.setAllDebugTensors(false);
  context.enqueue(nullptr);
  finishWork(*engine);
  EXPECT_EQ(hook.names.size(), 1u);
}

TEST(Context, TensorsThatWouldOutgrowThePlanAreRefused) {
  auto plan = test::smallPlan(true);
  for (auto& tensor : plan.programs[0].tensors) {
    if (tensor.name == "t") tensor.bytes = 12;
  }
  const auto engine = engineOf(plan);
  Context context(engine, {}, log());
  context.setInputShape(0, {8, 3});
  std::vector<float> x(24);
  context.setAddress(0, x.data());
  context.setAddress(1, x.data());
  expectContains(messageOf([&] { context.enqueue(nullptr); }), {"'t'", "12"});
}

TEST(Context, OperatorsThatDoNotFitTheirTensorsAreRefused) {
  test::HandPlan hand;
  const int32_t x = hand.input("x", DataType::kF32, {"2", "3"});
  const int32_t y = hand.output("y", DataType::kF32, {"1"});
  hand.step("relu", test::pointwise("relu(x0)"), {x}, {y});
  const auto engine = engineOf(hand.finish());
  expectContains(messageOf([&] { Context(engine, {}, log()); }), {"'relu'", "2"});
}

TEST(Engine, RefusesOtherDevicesAndUnknownKernels) {
  auto plan = test::smallPlan(false);
  plan.target.device = "abacus";
  EXPECT_THROW((void)engineOf(plan), Unsupported);
  plan = test::smallPlan(false);
  plan.target.requirements = {"isa:quantum"};
  EXPECT_THROW((void)engineOf(plan), Unsupported);
  plan = test::smallPlan(false);
  plan.programs[0].steps[0].kernel.name = "guess";
  EXPECT_THROW((void)engineOf(plan), Unsupported);
  plan = test::smallPlan(false);
  plan.programs[0].steps[0].kernel.backend = "nobody";
  expectContains(messageOf([&] { (void)engineOf(plan); }), {"nobody", "ref"});
}

class PieceReader final : public StreamReader {
 public:
  explicit PieceReader(LargeVector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  size_t read(void* to, size_t bytes) override {
    const size_t count = std::min({bytes, size_t{37}, bytes_.size() - at_});
    std::memcpy(to, bytes_.data() + at_, count);
    at_ += count;
    return count;
  }

 private:
  LargeVector<std::byte> bytes_;
  size_t at_ = 0;
};

TEST(Engine, LoadsFromAStream) {
  auto bytes = plan::write(test::smallPlan(true));
  PieceReader good(bytes);
  EXPECT_EQ(Engine::loadFrom(good, {}, log())->serialize(), bytes);
  bytes.resize(bytes.size() - 1);
  PieceReader cut(bytes);
  expectContains(messageOf([&] { (void)Engine::loadFrom(cut, {}, log()); }), {"ended"});
}

}  // namespace
}  // namespace tenon::runtime
