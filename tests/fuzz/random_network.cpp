// Each operator's fields come from bytes, most of them near what fits its operand.
#include "random_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"

namespace tenon::fuzz {
namespace {

using graph::ValueId;

constexpr size_t kMostValues = 12;
constexpr int64_t kMostWeights = 4096;  // elements of a constant

class Maker {
 public:
  explicit Maker(Bytes& bytes) : bytes_(bytes) {}

  Network make() {
    const int64_t inputs = 1 + bytes_.below(2);
    for (int64_t i = 0; i < inputs; ++i) addInput(i);
    while (!bytes_.empty() && values_.size() < kMostValues) {
      try {
        step();
      } catch (const InternalError&) {
        throw;
      } catch (const Error&) {
        // Refused: another operator gets its turn.
      }
    }
    auto& graph = network_.graph;
    const auto uses = graph.allUses();
    for (const ValueId id : values_) {
      if (uses[id].empty() && graph.value(id).producer != graph::kNone) graph.addOutput(id);
    }
    checkUser(!graph.outputs().empty(), "nothing is computed");
    return std::move(network_);
  }

 private:
  void addInput(int64_t number) {
    const auto name = fmt::format("x{}", number);
    const int64_t rank = bytes_.below(5);
    ops::TensorType type{bytes_.below(8) == 0 ? DataType::kI32 : DataType::kF32, {}, std::nullopt};
    std::array<plan::InputRange, 2> ranges;
    std::array<Dims, 3> shapes;
    for (int64_t axis = 0; axis < rank; ++axis) {
      const int64_t kind = bytes_.below(4);
      const int64_t fixed = bytes_.size();
      const auto symbol = kind == 3 ? std::string("shared") : fmt::format("n{}_{}", number, axis);
      type.shape.push_back(kind < 2 ? Extent(fixed) : Extent::symbol(symbol));
      for (auto& range : ranges) {
        std::array<int64_t, 3> ends{fixed, fixed, fixed};
        if (kind >= 2) ends = {bytes_.size(), bytes_.size(), bytes_.size()};
        if (bytes_.below(16) != 0) std::sort(ends.begin(), ends.end());
        range.min.push(ends[0]);
        range.opt.push(ends[1]);
        range.max.push(ends[2]);
      }
      for (auto& dims : shapes) dims.push(kind < 2 ? fixed : bytes_.size());
    }
    values_.push_back(network_.graph.addInput(name, type));
    for (size_t axis = 0; axis < type.shape.size(); ++axis) {
      if (type.shape[axis].isConstant()) continue;
      network_.graph.addSymbol(type.shape[axis].text(),
                               {graph::SymbolSource::Kind::kInputExtent, name, static_cast<int>(axis)});
    }
    const size_t profiles = 1 + static_cast<size_t>(number == 0 ? bytes_.below(4) == 0 : network_.profiles.size() > 1);
    network_.profiles.resize(profiles);
    for (size_t p = 0; p < profiles; ++p) network_.profiles[p][name] = ranges[p];
    network_.shapes.resize(shapes.size() + 3 * profiles);
    for (size_t i = 0; i < shapes.size(); ++i) network_.shapes[i][name] = shapes[i];
    for (size_t p = 0; p < profiles; ++p) {
      network_.shapes[shapes.size() + 3 * p][name] = ranges[p].min;
      network_.shapes[shapes.size() + 3 * p + 1][name] = ranges[p].opt;
      network_.shapes[shapes.size() + 3 * p + 2][name] = ranges[p].max;
    }
  }

  ValueId pick() { return values_[static_cast<size_t>(bytes_.below(static_cast<int64_t>(values_.size())))]; }
  const Shape& shape(ValueId id) const { return network_.graph.value(id).type.shape; }
  int64_t rank(ValueId id) const { return static_cast<int64_t>(shape(id).size()); }

  ValueId constant(DataType type, const Dims& dims) {
    checkUser(std::all_of(dims.begin(), dims.end(), [](int64_t extent) { return extent >= 0; }) &&
                  dims.count() <= kMostWeights,
              "too large a constant");
    HostTensor tensor(type, dims);
    for (int64_t i = 0; i < dims.count(); ++i) tensor.view().storeDouble(i, static_cast<double>(i % 7) - 3);
    return network_.graph.addConstant(graph::Constant::own(std::move(tensor)));
  }

  void put(const std::string& op, std::vector<ValueId> inputs) {
    const auto name = fmt::format("n{}", network_.graph.nodeCount());
    const auto node = network_.graph.addNode(ops::Operator::parse(op), name, std::move(inputs), {name});
    for (const ValueId output : network_.graph.node(node).outputs) values_.push_back(output);
  }

  std::string sizes(int64_t count, int64_t plus = 0) {
    std::vector<int64_t> result;
    for (int64_t i = 0; i < count; ++i) result.push_back(bytes_.below(4) == 0 ? bytes_.size() : plus + bytes_.below(4));
    return fmt::format("[{}]", fmt::join(result, ","));
  }

  // An extent of the value with something done to it, or a number from nowhere.
  std::string changed(const Extent& extent) {
    const int64_t k = bytes_.below(4) == 0 ? bytes_.size() : bytes_.below(6);
    switch (bytes_.below(7)) {
      case 0: return (extent - k).text();
      case 1: return (extent + k).text();
      case 2: return (extent * k).text();
      case 3: return floorDiv(extent, std::max<int64_t>(k, 1)).text();
      case 4: return (extent * extent).text();
      case 5: return std::to_string(k);
      default: return extent.text();
    }
  }
  std::string changedShape(const Shape& shape) {
    std::string result;
    for (const auto& extent : shape) result += (result.empty() ? "" : ",") + changed(extent);
    return "[" + result + "]";
  }

  void window(ValueId x, const char* kind) {
    const int64_t axes = std::max<int64_t>(rank(x) - 2, 0);
    const auto fields = fmt::format("strides={} dilations={} prePadding={} postPadding={}", sizes(axes, 1),
                                    sizes(axes, 1), sizes(axes), sizes(axes));
    checkUser(rank(x) > 1 && shape(x)[1].isConstant() && shape(x)[1].constant() <= 64, "no channels");
    const int64_t channels = shape(x)[1].constant();
    const int64_t others = 1 + bytes_.below(9);
    const bool forward = std::string_view(kind) == "convolution";
    Dims weights{forward ? others : channels, forward ? channels : others};
    for (int64_t i = 0; i < axes; ++i) weights.push(1 + bytes_.below(bytes_.below(8) == 0 ? 200 : 5));
    put(fmt::format("{}{{{}}}", kind, fields), {x, constant(DataType::kF32, weights)});
  }

  void pooling(ValueId x) {
    const int64_t axes = std::max<int64_t>(rank(x) - 2, 0);
    static constexpr std::array kTypes{"max", "average", "max_average_blend"};
    put(fmt::format("pooling{{type={} window={} strides={} prePadding={} postPadding={} exclusive={} ceilMode={}}}",
                    kTypes[static_cast<size_t>(bytes_.below(3))], sizes(axes, 1), sizes(axes, 1), sizes(axes),
                    sizes(axes), bytes_.below(2) == 0, bytes_.below(2) == 0),
        {x});
  }

  void step() {
    const ValueId x = pick();
    const auto axis = [&] { return bytes_.below(std::max<int64_t>(rank(x), 1)); };
    static constexpr std::array kModes{"strict", "clamp", "fill", "wrap", "reflect"};
    static constexpr std::array kUnary{"relu(x0)", "neg(x0)", "exp(x0)", "identity(x0)"};
    static constexpr std::array kBinary{"add(x0,x1)", "mul(x0,x1)", "max(x0,x1)"};
    static constexpr std::array kReduce{"sum", "prod", "max", "min", "avg"};
    switch (bytes_.below(18)) {
      case 0: return window(x, "convolution");
      case 1: return window(x, "deconvolution");
      case 2: return pooling(x);
      case 3:
        return put(fmt::format("slice{{start={} size={} mode={}}}", sizes(rank(x)), changedShape(shape(x)),
                               kModes[static_cast<size_t>(bytes_.below(5))]),
                   {x});
      case 4:
        return put(fmt::format("reshape{{shape={}}}",
                               bytes_.below(2) == 0 ? changedShape(shape(x)) : "[" + product(shape(x)).text() + "]"),
                   {x});
      case 5:
        return put(fmt::format("resize{{mode={} shape={}}}", bytes_.below(2) == 0 ? "nearest" : "linear",
                               changedShape(shape(x))),
                   {x});
      case 6:
        return put(fmt::format("reduce{{op={} axes=[{}] keepDims={}}}", kReduce[static_cast<size_t>(bytes_.below(5))],
                               axis(), bytes_.below(2) == 0),
                   {x});
      case 7: return put(fmt::format("softmax{{axis={}}}", axis()), {x});
      case 8: return put("matmul", {x, pick()});
      case 9: {
        std::vector<int64_t> order;
        for (int64_t i = 0; i < rank(x); ++i) order.push_back(rank(x) - 1 - i);
        return put(fmt::format("transpose{{permutation=[{}]}}", fmt::join(order, ",")), {x});
      }
      case 10: return put(fmt::format("concat{{axis={}}}", axis()), {x, pick()});
      case 11:
        return put(fmt::format("gather{{axis={}}}", axis()), {x, constant(DataType::kI32, {1 + bytes_.below(4)})});
      case 12: return put(fmt::format("topk{{k={} axis={}}}", bytes_.below(5), axis()), {x});
      case 13: return put(fmt::format("cumulative{{axis={}}}", axis()), {x});
      case 14: return put(fmt::format("lrn{{window={}}}", 1 + 2 * bytes_.below(3)), {x});
      case 15: return put(fmt::format("fill{{shape={}}}", changedShape(shape(x))), {});
      case 16: return put(fmt::format("pointwise{{expr=\"{}\"}}", kUnary[static_cast<size_t>(bytes_.below(4))]), {x});
      default:
        return put(fmt::format("pointwise{{expr=\"{}\"}}", kBinary[static_cast<size_t>(bytes_.below(3))]), {x, pick()});
    }
  }

  Bytes& bytes_;
  Network network_;
  std::vector<ValueId> values_;
};

}  // namespace

int64_t Bytes::size() {
  static constexpr std::array<int64_t, 20> kBroken{0,
                                                   0,
                                                   -1,
                                                   -3,
                                                   31,
                                                   33,
                                                   64,
                                                   255,
                                                   257,
                                                   1000,
                                                   1 << 20,
                                                   int64_t{1} << 31,
                                                   (int64_t{1} << 31) - 1,
                                                   int64_t{1} << 32,
                                                   int64_t{1} << 40,
                                                   int64_t{1} << 46,
                                                   int64_t{1} << 61,
                                                   int64_t{1} << 62,
                                                   INT64_MAX,
                                                   INT64_MIN};
  const uint8_t kind = next();
  return kind < 246 ? kind % 9 : kBroken[static_cast<size_t>(next()) % kBroken.size()];
}

Network makeNetwork(Bytes& bytes) { return Maker(bytes).make(); }

}  // namespace tenon::fuzz
