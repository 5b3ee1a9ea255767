// Outputs whose size only the run tells: NonZero and NMS through builder, engine, contexts and output allocators.
#include <random>

#include "computed_sizes.h"

namespace {

TEST_F(ComputedSizes, AreToldToAllocators) {
  selection();
  EXPECT_EQ(extents(network->getOutput(0)->getDimensions()), (std::vector<int64_t>{2, -1}));
  start();
  EXPECT_EQ(extents(engineOfTest->getTensorShape("values")), (std::vector<int64_t>{-1}));
  EXPECT_EQ(extents(context->getTensorShape("places")), (std::vector<int64_t>{2, -1}));
  EXPECT_EQ(context->getMaxOutputSize("places"), 2 * 15 * 4);
  EXPECT_EQ(context->getMaxOutputSize("values"), 15 * 4);
  EXPECT_EQ(context->inferShapes(0, nullptr), 0);
  std::mt19937 random(5);
  for (const int density : {50, 0, 100, 7, 50, 50}) {
    std::vector<float> x(15);
    for (auto& value : x) value = static_cast<int>(random() % 100) < density ? static_cast<float>(random() % 9) - 4 : 0;
    run(x);
    expectSelection(x, 5);
    EXPECT_EQ(context->getMaxOutputSize("values"), 15 * 4);  // whatever the last one was
  }
  EXPECT_EQ(places.asked, std::vector<std::string>(6, "places"));
}

TEST_F(ComputedSizes, FollowInputsOfAnyShape) {
  selection({-1, -1});
  auto* profile = builder->createOptimizationProfile();
  profile->setDimensions("x", nv::OptProfileSelector::kMIN, dims({0, 1}));
  profile->setDimensions("x", nv::OptProfileSelector::kOPT, dims({8, 16}));
  profile->setDimensions("x", nv::OptProfileSelector::kMAX, dims({64, 333}));
  config->addOptimizationProfile(profile);
  start();
  std::mt19937 random(6);
  for (const auto& [rows, columns] :
       {std::pair(8, 16), std::pair(1, 1), std::pair(64, 333), std::pair(0, 7), std::pair(13, 97)}) {
    context->setInputShape("x", dims({rows, columns}));
    EXPECT_EQ(extents(context->getTensorShape("values")), std::vector<int64_t>{-1});
    EXPECT_EQ(context->getMaxOutputSize("values"), rows * columns * 4);
    std::vector<float> x(static_cast<size_t>(rows * columns));
    for (auto& value : x) value = random() % 3 == 0 ? static_cast<float>(random() % 100) : 0;
    x.reserve(1);
    run(x);
    expectSelection(x, columns);
  }
}

TEST_F(ComputedSizes, AddressesThatAreLargeEnoughServe) {
  selection();
  start();
  std::vector<float> x{0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0}, y(15, -1);
  std::vector<int32_t> indices(30, -1);
  void* bindings[] = {x.data(), indices.data(), y.data()};
  ASSERT_TRUE(context->executeV2(bindings));
  EXPECT_EQ((std::vector<float>(y.begin(), y.begin() + 4)), (std::vector<float>{1, 2, 3, -1}));
  EXPECT_EQ((std::vector<int32_t>(indices.begin(), indices.begin() + 7)), (std::vector<int32_t>{0, 0, 2, 1, 4, 0, -1}));
  EXPECT_EQ(extents(context->getTensorShape("places")), (std::vector<int64_t>{2, 3}));
  x[1] = 0;
  ASSERT_TRUE(context->executeV2(bindings));
  EXPECT_EQ(extents(context->getTensorShape("places")), (std::vector<int64_t>{2, 2}));
}

TEST_F(ComputedSizes, MemoryThatIsTooSmallIsRefusedByName) {
  selection();
  start();
  std::vector<float> x(15, 1), y(15);
  void* small = nullptr;
  ASSERT_EQ(cudaMalloc(&small, 2 * 14 * 4), cudaSuccess);
  context->setTensorAddress("x", x.data());
  context->setTensorAddress("places", small);
  context->setTensorAddress("values", y.data());
  EXPECT_FALSE(context->enqueueV3(nullptr));
  expectError("output 'places' has the shape 2x15 and needs 120 bytes, its address has 112");
  x[3] = 0;
  EXPECT_TRUE(context->enqueueV3(nullptr));
  cudaStreamSynchronize(nullptr);
  cudaFree(small);
}

TEST_F(ComputedSizes, WithoutAddressOrMemoryTheyAreRefused) {
  selection();
  start();
  std::vector<float> x(15, 1), y(15);
  context->setTensorAddress("x", x.data());
  context->setTensorAddress("values", y.data());
  EXPECT_FALSE(context->enqueueV3(nullptr));
  expectError("output 'places' has the shape");
  places.refuses = true;
  context->setOutputAllocator("places", &places);
  EXPECT_FALSE(context->enqueueV3(nullptr));
  expectError("output 'places': its allocator cannot allocate 120 bytes");
  places.refuses = false;
  EXPECT_TRUE(context->enqueueV3(nullptr));
  cudaStreamSynchronize(nullptr);
  EXPECT_EQ(places.shape, (std::vector<int64_t>{2, 15}));
}

TEST_F(ComputedSizes, AllocatorsOfTheOlderFunctionServe) {
  selection();
  start();
  OldAllocator old, other;
  std::vector<float> x{0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0};
  context->setTensorAddress("x", x.data());
  context->setOutputAllocator("places", &old);
  context->setOutputAllocator("values", &other);
  ASSERT_TRUE(context->enqueueV3(nullptr));
  cudaStreamSynchronize(nullptr);
  EXPECT_EQ(old.shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(*reinterpret_cast<const float*>(other.memory.data()), 4);
}

TEST_F(ComputedSizes, AStreamThatIsCapturedIsRefused) {
  selection();
  start();
  std::vector<float> x(15, 1);
  run(x);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_FALSE(context->enqueueV3(stream));
  expectError("the stream is being captured");
  cudaGraph_t graph = nullptr;
  cudaStreamEndCapture(stream, &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  EXPECT_TRUE(context->enqueueV3(stream));
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
}

// What depends on a size may give another one, and shapes computed from one are known on the host.
TEST_F(ComputedSizes, FollowOneAnother) {
  nv::ITensor& x = input("x", {40});
  auto* first = network->addNonZero(x, nv::DataType::kINT64)->getOutput(0);  // [1, n]
  auto* odd =
      network
          ->addElementWise(*first, *network->addConstant(dims({1, 1}), {nv::DataType::kINT64, &two, 1})->getOutput(0),
                           nv::ElementWiseOperation::kFLOOR_DIV)
          ->getOutput(0);
  auto* second = network->addNonZero(*odd, nv::DataType::kINT64)->getOutput(0);  // [2, m]: those beyond element 1
  output(second, "places");
  auto* shape = network->addShape(*second)->getOutput(0);
  output(shape, "values");
  start();
  std::vector<float> data(40, 0);
  data[0] = data[1] = data[2] = data[39] = 1;
  run(data);
  EXPECT_EQ(places.shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(places.values<int64_t>(), (std::vector<int64_t>{0, 0, 2, 3}));
  EXPECT_EQ(values.values<int64_t>(), (std::vector<int64_t>{2, 2}));
  data[2] = data[39] = 0;
  run(data);
  EXPECT_EQ(places.shape, (std::vector<int64_t>{2, 0}));
  EXPECT_EQ(values.values<int64_t>(), (std::vector<int64_t>{2, 0}));
}

// The condition decides, and what the chosen branch finds.
TEST_F(ComputedSizes, OfTheBranchThatIsChosen) {
  nv::ITensor& x = input("x", {6});
  auto* limit = network->addConstant(dims({1}), {nv::DataType::kFLOAT, &half, 1})->getOutput(0);
  auto* first = network->addSlice(x, dims({0}), dims({1}), dims({1}))->getOutput(0);
  auto* holds =
      network->addShuffle(*network->addElementWise(*first, *limit, nv::ElementWiseOperation::kGREATER)->getOutput(0));
  holds->setReshapeDimensions(nv::Dims{0, {}});
  auto* choice = network->addIfConditional();
  choice->setCondition(*holds->getOutput(0));
  auto* inside = choice->addInput(x)->getOutput(0);
  auto* found = network->addNonZero(*inside, nv::DataType::kINT64)->getOutput(0);  // [1, n]
  auto* cut = network->addSlice(*inside, dims({2}), dims({3}), dims({1}))->getOutput(0);
  auto* row = network->addShuffle(*network->addCast(*cut, nv::DataType::kINT64)->getOutput(0));
  row->setReshapeDimensions(dims({1, 3}));
  output(choice->addOutput(*found, *row->getOutput(0))->getOutput(0), "places");
  output(choice->addOutput(*inside, *cut)->getOutput(0), "values");
  start();
  std::vector<float> data{7, 0, 0, 4, 0, 1};
  run(data);
  EXPECT_EQ(places.shape, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(places.values<int64_t>(), (std::vector<int64_t>{0, 3, 5}));
  EXPECT_EQ(values.values<float>(), (std::vector<float>{7, 0, 0, 4, 0, 1}));
  data = {-7, 0, 1, 4, 0, 1};
  run(data);
  EXPECT_EQ(places.values<int64_t>(), (std::vector<int64_t>{1, 4, 0}));
  EXPECT_EQ(values.values<float>(), (std::vector<float>{1, 4, 0}));
  data = {7, 1, 1, 4, 1, 1};
  run(data);
  EXPECT_EQ(places.shape, (std::vector<int64_t>{1, 6}));
}

// At the shapes that an engine is built for one branch makes no sense: it is refused where it is chosen, and only
// there.
TEST_F(ComputedSizes, ABranchMayBeImpossibleUnlessItIsChosen) {
  nv::ITensor& x = input("x", {-1});
  auto* limit = network->addConstant(dims({1}), {nv::DataType::kFLOAT, &half, 1})->getOutput(0);
  auto* first = network->addSlice(x, dims({0}), dims({1}), dims({1}))->getOutput(0);
  auto* holds =
      network->addShuffle(*network->addElementWise(*first, *limit, nv::ElementWiseOperation::kGREATER)->getOutput(0));
  holds->setReshapeDimensions(nv::Dims{0, {}});
  auto* choice = network->addIfConditional();
  choice->setCondition(*holds->getOutput(0));
  auto* inside = choice->addInput(x)->getOutput(0);
  auto* four = network->addShuffle(*inside);
  four->setReshapeDimensions(dims({4}));
  auto* six = network->addShuffle(*inside);
  six->setReshapeDimensions(dims({6}));
  output(choice->addOutput(*four->getOutput(0), *six->getOutput(0))->getOutput(0), "places");
  output(choice->addOutput(*inside, *inside)->getOutput(0), "values");
  auto* profile = builder->createOptimizationProfile();
  for (const auto selector : {nv::OptProfileSelector::kMIN, nv::OptProfileSelector::kOPT, nv::OptProfileSelector::kMAX})
    profile->setDimensions("x", selector, dims({4}));
  config->addOptimizationProfile(profile);
  start();
  context->setInputShape("x", dims({4}));
  std::vector<float> data{7, 1, 2, 3};
  run(data);
  EXPECT_EQ(places.values<float>(), data);
  data[0] = -7;
  context->enqueueV3(nullptr);  // says so at once, or when it has run
  cudaStreamSynchronize(nullptr);
  ASSERT_FALSE(log.errors.empty());
  EXPECT_NE(log.errors[0].find("the branch for false is chosen, which is impossible at these shapes"),
            std::string::npos);
  log.errors.clear();
}

TEST_F(ComputedSizes, SuppressionOfBoxes) {
  nv::ITensor& boxes = input("boxes", {1, 4, 4});
  nv::ITensor& scores = input("x", {1, 4, 1});
  const int32_t most = 3;
  auto* perClass = network->addConstant(nv::Dims{0, {}}, {nv::DataType::kINT32, &most, 1})->getOutput(0);
  auto* nms = network->addNMS(boxes, scores, *perClass, nv::DataType::kINT32);
  nms->setInput(3, *network->addConstant(nv::Dims{0, {}}, {nv::DataType::kFLOAT, &half, 1})->getOutput(0));
  output(nms->getOutput(0), "places");
  output(nms->getOutput(1), "values");
  EXPECT_EQ(nms->getTopKBoxLimit(), 5000);
  start();
  EXPECT_EQ(context->getMaxOutputSize("places"), 3 * 3 * 4);
  std::vector<float> corners{0, 0, 10, 10, 1, 0, 11, 10, 20, 20, 30, 30, 40, 40, 50, 50};
  std::vector<float> data{0.5F, 0.9F, 0.3F, 0};
  context->setTensorAddress("boxes", corners.data());
  run(data);
  EXPECT_EQ(places.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(places.values<int32_t>(), (std::vector<int32_t>{0, 0, 1, 0, 0, 2}));
  EXPECT_EQ(values.values<int32_t>(), std::vector<int32_t>{2});
  data = {0, 0, 0, 0};
  run(data);
  EXPECT_EQ(places.shape, (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(values.values<int32_t>(), std::vector<int32_t>{0});
}

TEST_F(ComputedSizes, StandWithinLoops) {
  nv::ITensor& x = input("x", {4});
  const int32_t trips = 2;
  auto* loop = network->addLoop();
  loop->addTripLimit(*network->addConstant(nv::Dims{0, {}}, {nv::DataType::kINT32, &trips, 1})->getOutput(0),
                     nv::TripLimit::kCOUNT);
  auto* state = loop->addRecurrence(x);
  auto* places = network->addNonZero(*state->getOutput(0), nv::DataType::kINT32)->getOutput(0);
  auto* sum = network
                  ->addReduce(*network->addCast(*places, nv::DataType::kFLOAT)->getOutput(0), nv::ReduceOperation::kSUM,
                              2, true)
                  ->getOutput(0);
  auto* flat = network->addShuffle(*sum);
  flat->setReshapeDimensions(dims({1}));
  state->setInput(1, *network->addElementWise(*state->getOutput(0), *flat->getOutput(0), nv::ElementWiseOperation::kSUM)
                          ->getOutput(0));
  output(loop->addLoopOutput(*state->getOutput(0), nv::LoopOutput::kLAST_VALUE)->getOutput(0), "y");
  const auto made = engine();
  ASSERT_NE(made, nullptr);
  const std::unique_ptr<nv::IExecutionContext> running(made->createExecutionContext());
  std::vector<float> values{0, 2, 0, 5}, result(4, -99);
  running->setTensorAddress("x", values.data());
  running->setTensorAddress("y", result.data());
  ASSERT_TRUE(running->enqueueV3(nullptr));
  cudaStreamSynchronize(nullptr);
  // Twice: what is not 0 stands at 1 and 3, then at all places.
  EXPECT_EQ(result, (std::vector<float>{0 + 4 + 6, 2 + 4 + 6, 0 + 4 + 6, 5 + 4 + 6}));
}

TEST_F(ComputedSizes, ConstantsHaveSizesThatAreKnown) {
  static const float kValues[] = {0, 1, 0, 2, 3};
  auto* constant = network->addConstant(dims({5}), {nv::DataType::kFLOAT, kValues, 5})->getOutput(0);
  auto* places = network->addNonZero(*constant, nv::DataType::kINT32)->getOutput(0);
  EXPECT_EQ(extents(places->getDimensions()), (std::vector<int64_t>{1, -1}));  // until they are looked at
  output(network->addGather(input("x", {5}), *places, 0)->getOutput(0), "places");
  start();
  EXPECT_EQ(extents(context->getTensorShape("places")), (std::vector<int64_t>{1, 3}));
  std::vector<float> x{5, 6, 7, 8, 9}, y(3);
  void* bindings[] = {x.data(), y.data()};
  ASSERT_TRUE(context->executeV2(bindings));
  EXPECT_EQ(y, (std::vector<float>{6, 8, 9}));
}

}  // namespace
