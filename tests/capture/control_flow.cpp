// The scene of loops, conditionals, random numbers, assertions, caches, sizes that the data decide and debug tensors:
// every function of theirs that a build sees.
#include "program.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace scenes {
namespace {

struct Place {
  INetworkDefinition& net;
  ITensor& x;  // [5,3], float
  Store& store;

  ITensor& number(int64_t value) {
    return *net.addConstant(Dims{0, {}}, store.of<int64_t>(DataType::kINT64, {value}))->getOutput(0);
  }
  ITensor& real(float value) {
    return *net.addConstant(Dims{2, {1, 1}}, store.of<float>(DataType::kFLOAT, {value}))->getOutput(0);
  }
  ITensor& binary(ITensor& a, ITensor& b, ElementWiseOperation op) {
    return *net.addElementWise(a, b, op)->getOutput(0);
  }
  ITensor& total(ITensor& a) { return *net.addReduce(a, ReduceOperation::kSUM, 3, true)->getOutput(0); }
};

template <typename T, typename U>
bool same(const T& a, const U& b) {
  if (a != b) {
    std::printf("a getter gives something else\n");
  }
  return a == b;
}

// A count and a condition, slices from both ends, two states that change places, results of all kinds.
bool loops(Place p) {
  ILoop& loop = *p.net.addLoop();
  loop.setName("outer");
  ITripLimitLayer& count = *loop.addTripLimit(p.number(4), TripLimit::kCOUNT);
  IIteratorLayer& rows = *loop.addIterator(p.x);
  IIteratorLayer& columns = *loop.addIterator(p.x, 0, false);
  columns.setAxis(0);
  columns.setReverse(true);
  IRecurrenceLayer& a = *loop.addRecurrence(p.real(1));
  IRecurrenceLayer& b = *loop.addRecurrence(p.real(2));
  ITensor& row = *rows.getOutput(0);
  ITensor& product = p.binary(row, *columns.getOutput(0), ElementWiseOperation::kPROD);
  ITensor& sum = *p.net.addReduce(product, ReduceOperation::kSUM, 1, true)->getOutput(0);
  IShuffleLayer& shaped = *p.net.addShuffle(sum);
  shaped.setReshapeDimensions(Dims{2, {1, 1}});
  a.setInput(1, *b.getOutput(0));
  b.setInput(1, p.binary(*a.getOutput(0), *shaped.getOutput(0), ElementWiseOperation::kSUM));
  IShuffleLayer& scalar = *p.net.addShuffle(*a.getOutput(0));
  scalar.setReshapeDimensions(Dims{0, {}});
  ITensor& limit = *p.net.addConstant(Dims{0, {}}, p.store.of<float>(DataType::kFLOAT, {1e6F}))->getOutput(0);
  ITripLimitLayer& holds =
      *loop.addTripLimit(p.binary(*scalar.getOutput(0), limit, ElementWiseOperation::kLESS), TripLimit::kWHILE);
  ILoopOutputLayer& last = *loop.addLoopOutput(*b.getOutput(0), LoopOutput::kLAST_VALUE);
  ILoopOutputLayer& all = *loop.addLoopOutput(row, LoopOutput::kCONCATENATE);
  all.setAxis(1);
  all.setInput(1, p.number(6));
  ILoopOutputLayer& reversed = *loop.addLoopOutput(product, LoopOutput::kREVERSE, 0);
  for (ILayer* layer : std::initializer_list<ILayer*>{&last, &all, &reversed}) {
    p.net.markOutput(*layer->getOutput(0));
  }
  return same(count.getTripLimit(), TripLimit::kCOUNT) && same(holds.getTripLimit(), TripLimit::kWHILE) &&
         same(columns.getAxis(), 0) && same(columns.getReverse(), true) && same(all.getAxis(), 1) &&
         same(reversed.getLoopOutput(), LoopOutput::kREVERSE) && same(a.getLoop(), &loop) &&
         same(std::string(loop.getName()), "outer");
}

// A conditional within a loop, and a loop within one of its branches.
bool nested(Place p) {
  ILoop& loop = *p.net.addLoop();
  loop.addTripLimit(p.number(20), TripLimit::kCOUNT);
  IRecurrenceLayer& state = *loop.addRecurrence(p.x);
  ITensor& s = *state.getOutput(0);
  IIfConditional& choice = *p.net.addIfConditional();
  choice.setName("choice");
  IShuffleLayer& scalar = *p.net.addShuffle(p.total(s));
  scalar.setReshapeDimensions(Dims{0, {}});
  ITensor& zero = *p.net.addConstant(Dims{0, {}}, p.store.of<float>(DataType::kFLOAT, {0}))->getOutput(0);
  IConditionLayer& condition =
      *choice.setCondition(p.binary(*scalar.getOutput(0), zero, ElementWiseOperation::kGREATER));
  IIfConditionalInputLayer& input = *choice.addInput(s);
  ILoop& inner = *p.net.addLoop();
  inner.addTripLimit(p.number(18), TripLimit::kCOUNT);
  IRecurrenceLayer& turned = *inner.addRecurrence(*input.getOutput(0));
  turned.setInput(1, *p.net.addUnary(*turned.getOutput(0), UnaryOperation::kNEG)->getOutput(0));
  ITensor& then = *inner.addLoopOutput(*turned.getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
  ITensor& otherwise = p.binary(*input.getOutput(0), p.real(1), ElementWiseOperation::kSUM);
  IIfConditionalOutputLayer& output = *choice.addOutput(then, otherwise);
  state.setInput(1, *output.getOutput(0));
  p.net.markOutput(*loop.addLoopOutput(s, LoopOutput::kLAST_VALUE)->getOutput(0));
  return same(condition.getConditional(), &choice) && same(input.getConditional(), &choice) &&
         same(output.getConditional(), &choice) && same(std::string(choice.getName()), "choice");
}

bool randomNumbers(Place p) {
  IFillLayer& uniform = *p.net.addFill(Dims{2, {5, 3}}, FillOperation::kRANDOM_UNIFORM, DataType::kFLOAT);
  uniform.setAlpha(-1);
  uniform.setBeta(2);
  uniform.setMetadata("tenon.seed=7");
  IFillLayer& normal = *p.net.addFill(Dims{2, {5, 3}}, FillOperation::kLINSPACE, DataType::kFLOAT);
  normal.setOperation(FillOperation::kRANDOM_NORMAL);
  normal.setDimensions(Dims{2, {5, 3}});
  normal.setToType(DataType::kFLOAT);
  normal.setInput(0, *p.net.addShape(p.x)->getOutput(0));
  p.net.markOutput(p.binary(*uniform.getOutput(0), *normal.getOutput(0), ElementWiseOperation::kSUM));
  return same(uniform.getAlpha(), -1.0) && same(uniform.getBeta(), 2.0) && same(uniform.isAlphaBetaInt64(), false) &&
         same(normal.getOperation(), FillOperation::kRANDOM_NORMAL) && same(normal.getToType(), DataType::kFLOAT) &&
         same(normal.getDimensions().nbDims, 2) && same(std::string(uniform.getMetadata()), "tenon.seed=7");
}

bool assertions(Place p) {
  ITensor& lengths = *p.net.addShape(p.x)->getOutput(0);
  ITensor& five = *p.net.addConstant(Dims{1, {2}}, p.store.of<int64_t>(DataType::kINT64, {5, 3}))->getOutput(0);
  IAssertionLayer& holds = *p.net.addAssertion(p.binary(lengths, five, ElementWiseOperation::kEQUAL), "five");
  holds.setMessage("five by three");
  p.net.markOutput(*p.net.addIdentity(p.x)->getOutput(0));
  return same(std::string(holds.getMessage()), "five by three");
}

bool caches(Place p) {
  ITensor& cache = *p.net.addInput("cache", DataType::kFLOAT, Dims{4, {2, 3, 6, 8}});
  ITensor& update = *p.net.addInput("update", DataType::kFLOAT, Dims{4, {2, 3, 1, 8}});
  ITensor& indices = *p.net.addInput("indices", DataType::kINT32, Dims{1, {2}});
  IKVCacheUpdateLayer* layer = p.net.addKVCacheUpdate(cache, update, indices, KVCacheMode::kLINEAR);
  layer->setCacheMode(KVCacheMode::kLINEAR);
  layer->getOutput(0)->setName("updated");
  p.net.markOutput(*layer->getOutput(0));
  p.net.markOutput(*p.net.addIdentity(p.x)->getOutput(0));
  return same(layer->getCacheMode(), KVCacheMode::kLINEAR);
}

// Indices that are found, the shape of them, a gather by them, and what depends on it.
bool sizes(Place p) {
  INonZeroLayer& found = *p.net.addNonZero(p.x, DataType::kINT64);
  found.setIndicesType(DataType::kINT32);
  ITensor& places = *found.getOutput(0);
  ITensor& shape = *p.net.addShape(places)->getOutput(0);
  shape.setName("how many");
  p.net.markOutputForShapes(shape);
  p.net.unmarkOutputForShapes(shape);
  p.net.markOutputForShapes(shape);
  ITensor& order = *p.net.addConstant(Dims{2, {2, 1}}, p.store.of<int32_t>(DataType::kINT32, {1, 0}))->getOutput(0);
  IShuffleLayer& turned = *p.net.addShuffle(places);
  turned.setFirstTranspose(Permutation{{1, 0}});
  IGatherLayer& picked = *p.net.addGatherV2(p.x, *turned.getOutput(0), GatherMode::kND);
  p.net.markOutput(*picked.getOutput(0));
  p.net.markOutput(*p.net.addGather(places, order, 0)->getOutput(0));
  return same(found.getIndicesType(), DataType::kINT32);
}

bool debugTensors(Place p) {
  ITensor& negative = *p.net.addUnary(p.x, UnaryOperation::kNEG)->getOutput(0);
  ITensor& sum = p.total(negative);
  ITensor& root =
      *p.net.addUnary(*p.net.addUnary(sum, UnaryOperation::kABS)->getOutput(0), UnaryOperation::kSQRT)->getOutput(0);
  p.net.markDebug(p.x);
  p.net.markDebug(negative);
  p.net.markDebug(sum);
  p.net.unmarkDebug(p.x);
  const bool isMarked = p.net.isDebugTensor(negative) && !p.net.isDebugTensor(p.x);
  p.net.markUnfusedTensorsAsDebugTensors();
  p.net.unmarkUnfusedTensorsAsDebugTensors();
  p.net.markUnfusedTensorsAsDebugTensors();
  p.net.markOutput(root);
  return same(isMarked, true);
}

using Make = bool (*)(Place);
constexpr Make kNetworks[] = {loops, nested, randomNumbers, assertions, caches, sizes, debugTensors};

}  // namespace

int controlFlow(const std::string& prefix) {
  std::unique_ptr<IBuilder> builder(createInferBuilder(logger()));
  bool good = true;
  int number = 0;
  for (const Make make : kNetworks) {
    Store store(static_cast<uint32_t>(number + 1));
    std::unique_ptr<INetworkDefinition> network(
        builder->createNetworkV2(1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED)));
    ITensor* input = network->addInput("x", DataType::kFLOAT, Dims{2, {5, 3}});
    const bool made = make({*network, *input, store});
    const bool built = made && build(*builder, *network, prefix + std::to_string(number));
    if (!built) {
      std::printf("network %d: %s\n", number, made ? "no engine" : "not made");
    }
    good = good && built;
    ++number;
  }
  return good ? 0 : 1;
}

}  // namespace scenes
