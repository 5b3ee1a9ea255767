// Makes a random graph step by step; random_graph.cpp says how often what comes, the files random_*.cpp beside it make
// it.
#pragma once

#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace tenon::passes {

using graph::ValueId;

class Generator {
 public:
  // Extents of images grow with the scale; at a scale of 1 they are a few elements.
  explicit Generator(uint64_t seed, int64_t scale = 1) : random_(seed), scale_(scale), graph_("random") {}
  graph::Graph make();
  graph::Graph makeRegions();

 private:
  // --- what the steps are made of (random_graph.cpp) ---
  void addInputs();
  void step(ValueId x);
  int64_t pick(int64_t bound) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(bound)); }
  ValueId pickFrom(const std::vector<ValueId>& values) {
    return values[static_cast<size_t>(pick(static_cast<int64_t>(values.size())))];
  }
  // An extent, larger by the scale, and seldom a multiple of it.
  int64_t grown(int64_t extent, int64_t scale) {
    return scale == 1 ? extent : extent * scale + (pick(2) == 0 ? 0 : pick(scale));
  }
  int64_t channels(int64_t extent) { return grown(extent, scale_); }
  int64_t pixels(int64_t extent) { return grown(extent, (scale_ + 1) / 2); }
  const Shape& shape(ValueId id) const { return graph_.value(id).type.shape; }
  DataType type(ValueId id) const { return graph_.value(id).type.dtype; }
  bool isExact(ValueId id) const { return exact_.count(id) > 0 || graph_.value(id).constant != nullptr; }
  bool isImage(ValueId x, int64_t smallest) const;
  bool isConstantFrom(ValueId x, size_t axis) const;
  int64_t elements(ValueId x) const;  // symbols count as 2
  void put(ops::Operator op, std::vector<ValueId> inputs);
  bool tryPut(const ops::Operator& op, std::vector<ValueId> inputs);  // false: the operator refuses the inputs
  ValueId weights(const Dims& dims, DataType dtype = DataType::kF32);
  ValueId indices(const Dims& dims, int64_t low, int64_t high);  // i32 or i64 in [low, high)
  ValueId number(double value);
  ValueId unaryOf(const std::string& expr, ValueId x);
  ValueId binaryOf(const std::string& expr, ValueId x, ValueId y);
  ValueId withNumber(const std::string& op, ValueId x, double value);
  Dims channelDims(ValueId x) const;

  // --- plain layers (random_graph.cpp) ---
  void unary(ValueId x);
  void perChannel(ValueId x);
  void residual(ValueId x);
  void convolution(ValueId x);
  void pooling(ValueId x);
  void matmul(ValueId x);
  void rowwise(ValueId x);
  void movement(ValueId x);
  void slice(ValueId x);

  // --- what exporters write out (random_patterns.cpp) ---
  void activation(ValueId x);
  void normalization(ValueId x);
  void attention(ValueId x);
  void exportedAttention(ValueId x);
  void pieces(ValueId x);
  void rowBlock(ValueId x);
  void steppedPieces(ValueId x);
  void branches(ValueId x);
  ValueId mean(ValueId x, std::vector<int64_t> axes);
  ValueId transposed(ValueId x, std::vector<int64_t> permutation);

  // --- every operator with all of its fields (random_operators.cpp, random_movement.cpp) ---
  void anyOperator(ValueId x);
  void anyScalar(ValueId x);
  void anyWindow(ValueId x);
  bool anyConvolution(ValueId x, size_t axes);
  bool anyDeconvolution(ValueId x, size_t axes);
  bool anyPooling(ValueId x, size_t axes);
  std::pair<std::string, std::vector<ValueId>> anyEpilogue(const Dims& broadcast);
  ValueId imageOf(ValueId x, size_t axes);
  void anyMatMul(ValueId x);
  void anyAttention(ValueId x);
  void anyNormalization(ValueId x);
  void anyRowwise(ValueId x);
  void anyTopK(ValueId x);
  void anyResize(ValueId x);
  void anyGather(ValueId x);
  void anyScatter(ValueId x);
  void anyCacheUpdate(ValueId x);
  void anyExperts(ValueId x);
  void anyDetection(ValueId x);  // random_detection.cpp
  void anyRecurrent(ValueId x);  // random_recurrent.cpp
  void anySlice(ValueId x);
  void anyTranspose(ValueId x);
  void anyReshape(ValueId x);
  void anyConcat(ValueId x);
  void anyRegion(ValueId x);

  // --- other types (random_types.cpp) ---
  void shapeArithmetic(ValueId x);
  void fill(ValueId x);
  void noise(ValueId x);
  void integers();
  void integerStep();
  ValueId exactFrom(ValueId candidate);
  ValueId integerOf(ValueId x);
  void integerExpression(ValueId x);
  void backToNumbers(ValueId x);
  void halves(ValueId x);
  void quantized();
  void quantizedProduct(ValueId q, ValueId scale);
  bool byteConvolution(ValueId x);  // random_bytes.cpp
  bool dequantizedConvolution(ValueId x, ValueId scale);

  // --- sizes that only the run knows (random_selection.cpp) ---
  void selection(ValueId x);
  void suppression(ValueId x);
  ValueId plain(const std::string& name, ops::Operator op, std::vector<ValueId> inputs);  // for the step alone
  Extent sizeOf(const std::string& name, ValueId number, const Extent& upper);
  void sumInto(const std::string& name, ValueId x, ValueId values, ValueId rows);

  // --- bodies of loops and branches that are random graphs (random_regions.cpp) ---
  void bodies(ValueId x);
  void randomLoop(ValueId x);
  void randomConditional(ValueId x);
  Generator inside();
  ValueId enter(Generator& inner, ValueId value, std::optional<size_t> slicedAxis, bool varies);
  void fillBody();
  ValueId like(ValueId wanted);
  std::vector<ValueId> constantsOf(const Generator& inner, const std::vector<ValueId>& constants);

  std::mt19937_64 random_;
  const int64_t scale_;
  graph::Graph graph_;
  std::vector<ValueId> pool_;      // f32 values that steps may read
  std::vector<ValueId> integers_;  // values of integers and truth values
  std::set<ValueId> exact_;        // the same to the bit however they are computed: may be rounded and compared
  ValueId last_ = 0;
  int count_ = 0;
  std::string prefix_;  // of the names of sizes, which are those of no other graph
  int depth_ = 0;       // of bodies within bodies
};

}  // namespace tenon::passes
