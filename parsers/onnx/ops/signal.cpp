// Fourier transforms as products with constant matrices, windows and mel filters.
#include <algorithm>
#include <cmath>

#include "common/fold.h"
#include "operator_table.h"

namespace tenon::parsers::onnx::ops_signal {
namespace {

using nvinfer1::ElementWiseOperation;

constexpr double kPi = 3.14159265358979323846;

// Which columns and rows of a discrete Fourier transform a node wants.
struct Transform {
  int64_t length = 0;  // of the transformed axis
  int64_t bins = 0;    // results
  bool inverse = false;
  bool realResult = false;  // of a one-sided spectrum
};

// Factors of the real (part 0) or imaginary (part 1) inputs: [inputs, bins * 2], or [inputs, bins] of a real result.
// Of a one-sided spectrum each bin but the first and the middle one stands for its mirror image too.
Term factors(NetworkWriter& writer, const Transform& transform, int64_t inputs, int part, DataType type) {
  const int64_t width = transform.realResult ? 1 : 2;
  if (std::max(inputs, transform.bins) > kMovementLimit || inputs * transform.bins * width > kMovementLimit) {
    fail(FaultKind::kUnsupportedShape,
         fmt::format("a transform of {} inputs to {} results needs a matrix of {} times as many elements; expected {} "
                     "elements at most",
                     inputs, transform.bins, width, kMovementLimit));
  }
  std::vector<double> numbers(static_cast<size_t>(inputs * transform.bins * width));
  const double scale = transform.inverse ? 1.0 / static_cast<double>(transform.length) : 1.0;
  for (int64_t n = 0; n < inputs; ++n) {
    const bool twice = transform.realResult && n > 0 && 2 * n != transform.length;
    for (int64_t k = 0; k < transform.bins; ++k) {
      // The product of the indices modulo the length keeps the angle exact.
      const auto turn = static_cast<double>(n * k % transform.length) / static_cast<double>(transform.length);
      const double angle = (transform.inverse ? 2 : -2) * kPi * turn;
      const double real = part == 0 ? std::cos(angle) : -std::sin(angle);
      const double imaginary = part == 0 ? std::sin(angle) : std::cos(angle);
      const auto at = static_cast<size_t>((n * transform.bins + k) * width);
      numbers[at] = real * scale * (twice ? 2 : 1);
      if (width == 2) {
        numbers[at + 1] = imaginary * scale;
      }
    }
  }
  return reals(writer, type, {inputs, transform.bins * width}, numbers);
}

// The least factor of a length from which a transform in two steps takes fewer than half of the products; 0: none.
int64_t firstFactor(int64_t length) {
  constexpr int64_t kLeast = 8;
  if (length > kMovementLimit) {
    return 0;
  }
  for (auto factor = static_cast<int64_t>(std::sqrt(static_cast<double>(length))); factor >= kLeast; --factor) {
    if (length % factor == 0) {
      return factor;
    }
  }
  return 0;
}

// Whether its matrices, which transformedInTwoSteps() makes, have no more elements than a constant may.
bool fitsInTwoSteps(const Transform& transform, int64_t first) {
  const int64_t second = transform.length / first;
  const int64_t kept = (transform.bins - 1) / first + 1;
  return 2 * transform.length * first <= kMovementLimit && 4 * second * kept <= kMovementLimit;
}

// With length = first * second, n = second * n1 + n2 and k = k1 + first * k2: the sum over n1 for each n2 and k1, which
// takes the turn by n2 * k1 with it, then the sum over n2. Of real inputs.
Term transformedInTwoSteps(const Term& real, const Transform& transform, int64_t first) {
  NetworkWriter& writer = real.writer();
  const int64_t length = transform.length;
  const int64_t second = length / first;
  const int64_t kept = (transform.bins - 1) / first + 1;  // of k2
  const auto angle = [](int64_t turns, int64_t of) {
    return -2 * kPi * static_cast<double>(turns % of) / static_cast<double>(of);
  };
  std::vector<double> inner;  // [n2, n1, part, k1]
  for (int64_t n2 = 0; n2 < second; ++n2) {
    for (int64_t n1 = 0; n1 < first; ++n1) {
      for (int64_t k1 = 0; k1 < first; ++k1) {
        inner.push_back(std::cos(angle(k1 * (second * n1 + n2), length)));
      }
      for (int64_t k1 = 0; k1 < first; ++k1) {
        inner.push_back(std::sin(angle(k1 * (second * n1 + n2), length)));
      }
    }
  }
  std::vector<double> outer;  // [part, n2, k2, part of the result]
  for (const bool isReal : {true, false}) {
    for (int64_t n2 = 0; n2 < second; ++n2) {
      for (int64_t k2 = 0; k2 < kept; ++k2) {
        const double turn = angle(n2 * k2, second);
        outer.push_back(isReal ? std::cos(turn) : -std::sin(turn));
        outer.push_back(isReal ? std::sin(turn) : std::cos(turn));
      }
    }
  }
  const auto of = [](int64_t extent) { return ParsedExtent::of(extent); };
  ParsedExtents shape = real.dims();
  const ParsedExtent rows = writer.product(shape, 0, shape.size() - 1);
  const Term columns = real.reshape({rows, of(first), of(second)}).transpose({2, 0, 1});
  const Term sums = columns.multiply(reals(writer, real.type(), {second, first, 2 * first}, inner));
  const Term turned = sums.reshape({of(second), rows, of(2), of(first)}).transpose({1, 3, 2, 0});
  const Term bins = turned.reshape({rows, of(first), of(2 * second)})
                        .multiply(reals(writer, real.type(), {1, 2 * second, 2 * kept}, outer))
                        .reshape({rows, of(first), of(kept), of(2)})
                        .transpose({0, 2, 1, 3})
                        .reshape({rows, of(kept * first), of(2)});
  shape.back() = of(transform.bins);
  shape.push_back(of(2));
  return bins.slice(1, 0, transform.bins).reshape(shape);
}

// The transform along the last axis of `real` and `imaginary` [.., inputs]: [.., bins, 2], or [.., bins, 1].
Term transformed(const Term& real, const std::optional<Term>& imaginary, const Transform& transform) {
  NetworkWriter& writer = real.writer();
  constexpr int64_t kLeastInTwoSteps = 256;
  const int64_t first = firstFactor(transform.length);
  const bool isPlain = !imaginary && !transform.inverse && !transform.realResult;
  if (isPlain && first > 0 && transform.length >= kLeastInTwoSteps && fitsInTwoSteps(transform, first) &&
      real.fixedDim(-1, "the transformed axis") == transform.length) {
    return transformedInTwoSteps(real, transform, first);
  }
  const bool vector = real.rank() == 1;
  const auto part = [&](const Term& x, int number) {
    const Term rows = vector ? x.unsqueeze({0}) : x;
    return rows.multiply(factors(writer, transform, x.fixedDim(-1, "the transformed axis"), number, x.type()));
  };
  Term result = part(real, 0);
  if (imaginary) {
    result = result + part(*imaginary, 1);
  }
  ParsedExtents shape = real.dims();
  shape.back() = ParsedExtent::of(transform.bins);
  shape.push_back(ParsedExtent::of(transform.realResult ? 1 : 2));
  return result.reshape(shape);
}

int64_t constantNumber(const OnnxNode& node, size_t index, const char* what) {
  const std::vector<int64_t> numbers = toInts(node.constant(index, what));
  if (numbers.size() != 1) {
    fail(FaultKind::kInvalidNode, fmt::format("{} has {} elements; expected 1", what, numbers.size()));
  }
  return numbers[0];
}

// The axis is an attribute up to opset 19 and an input later.
ParsedValues importDft(OnnxNode& node) {
  Term x = node.term(0);
  const int64_t rank = x.rank();
  const int64_t parts = x.fixedDim(-1, "the axis of real and imaginary parts");
  if (rank < 2 || (parts != 1 && parts != 2)) {
    fail(FaultKind::kInvalidNode,
         fmt::format("input {}; expected a last axis of 1 (real) or 2 (complex)", toString(x.shape())));
  }
  const int64_t given = node.opset() < 20  ? node.integer("axis", 1)
                        : node.hasInput(2) ? constantNumber(node, 2, "axis")
                                           : -2;
  const int32_t axis = normalizeAxis(given, rank);
  if (axis == rank - 1) {
    fail(FaultKind::kInvalidNode, "the axis is that of real and imaginary parts; expected another one");
  }
  Transform transform;
  transform.inverse = node.integer("inverse", 0) != 0;
  const bool oneSided = node.integer("onesided", 0) != 0;
  transform.realResult = oneSided && transform.inverse;
  if (oneSided && !transform.inverse && parts != 1) {
    fail(FaultKind::kInvalidNode, "onesided = 1 of complex input; expected real input");
  }
  // The axis to the end, behind it the parts.
  std::vector<int32_t> forth;
  for (int32_t i = 0; i < rank - 1; ++i) {
    if (i != axis) {
      forth.push_back(i);
    }
  }
  forth.push_back(axis);
  forth.push_back(static_cast<int32_t>(rank - 1));
  x = x.transpose(forth);
  const int64_t inputs = x.fixedDim(-2, "the transformed axis");
  transform.length = node.hasInput(1)       ? constantNumber(node, 1, "dft_length")
                     : transform.realResult ? 2 * (inputs - 1)
                                            : inputs;
  if (transform.length < 1) {
    fail(FaultKind::kInvalidNode, fmt::format("a transform of length {}; expected 1 or more", transform.length));
  }
  const int64_t used = transform.realResult ? transform.length / 2 + 1 : transform.length;
  x = inputs > used ? x.slice(rank - 2, 0, used) : x.pad(rank - 2, 0, used - inputs);
  transform.bins = oneSided && !transform.inverse ? transform.length / 2 + 1 : transform.length;
  const auto imaginary = parts == 2 ? std::optional<Term>(x.at(rank - 1, 1)) : std::nullopt;
  const Term result = transformed(x.at(rank - 1, 0), imaginary, transform);
  std::vector<int32_t> back(forth.size());
  for (size_t i = 0; i < forth.size(); ++i) {
    back[static_cast<size_t>(forth[i])] = static_cast<int32_t>(i);
  }
  return {result.transpose(back)};
}

// signal [batch, length, 1 or 2], frame_step, window, frame_length: [batch, frames, bins, 2]
ParsedValues importStft(OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const Term signal = node.term(0).rank() == 2 ? node.term(0).unsqueeze({2}) : node.term(0);
  const int64_t step = constantNumber(node, 1, "frame_step");
  const int64_t length =
      node.hasInput(3) ? constantNumber(node, 3, "frame_length") : node.term(2).fixedDim(0, "the length of the window");
  if (step < 1 || length < 1) {
    fail(FaultKind::kInvalidNode,
         fmt::format("frame_step = {} and frame_length = {}; expected 1 or more", step, length));
  }
  const bool oneSided = node.integer("onesided", 1) != 0;
  const int64_t parts = signal.fixedDim(2, "the axis of real and imaginary parts");
  if (oneSided && parts != 1) {
    fail(FaultKind::kInvalidNode, "onesided = 1 of a complex signal; expected a real one, or onesided = 0");
  }
  const ParsedExtent rest = writer.combine(signal.dim(1), ParsedExtent::of(length), ElementWiseOperation::kSUB);
  const ParsedExtent frames =
      writer.combine(writer.combine(rest, ParsedExtent::of(step), ElementWiseOperation::kFLOOR_DIV),
                     ParsedExtent::of(1), ElementWiseOperation::kSUM);
  if (frames.known() && frames.value < 1) {
    fail(FaultKind::kInvalidNode,
         fmt::format("a signal {} is shorter than a frame of {}", toString(signal.shape()), length));
  }
  const Term begin = (iota(writer, frames, DataType::kINT64) * static_cast<double>(step)).unsqueeze({1});
  const Term places = begin + iota(writer, ParsedExtent::of(length), DataType::kINT64);
  const auto framesOf = [&](int64_t part) {
    const Term all = signal.at(2, part).gather(places, 1);  // [batch, frames, length]
    return node.hasInput(2) ? all * node.term(2) : all;
  };
  Transform transform{length, oneSided ? length / 2 + 1 : length, false, false};
  return {transformed(framesOf(0), parts == 2 ? std::optional<Term>(framesOf(1)) : std::nullopt, transform)};
}

DataType outputType(const OnnxNode& node) {
  const auto type = toDataType(static_cast<int32_t>(node.integer("output_datatype", 1)));
  if (!type) {
    fail(FaultKind::kUnsupportedAttribute,
         fmt::format("output_datatype = {}, a type that TensorRT does not have", node.integer("output_datatype", 1)));
  }
  return *type;
}

// first - second * cos(t) + third * cos(2 t), t a full turn over the window
struct Cosines {
  double first;
  double second;
  double third;
};
constexpr Cosines kHann{0.5, 0.5, 0};
constexpr Cosines kHamming{25.0 / 46.0, 21.0 / 46.0, 0};
constexpr Cosines kBlackman{0.42, 0.5, 0.08};

// The window of a size that is known only at run time.
Term windowOf(NetworkWriter& writer, const ParsedExtent& size, bool periodic, const Cosines& cosines) {
  const Term count(writer, writer.cast(writer.fromExtents({size}, true), DataType::kFLOAT));
  const Term turns = periodic ? count : (count - 1.0).atLeast(count.number(1));
  const Term angle = iota(writer, size, DataType::kFLOAT) * (2 * kPi) / turns;
  const Term once = angle.unary(nvinfer1::UnaryOperation::kCOS) * cosines.second;
  const Term twice = (angle * 2.0).unary(nvinfer1::UnaryOperation::kCOS) * cosines.third;
  return cosines.first - once + twice;
}

template <const Cosines& kCosines>
ParsedValues importWindow(OnnxNode& node) {
  const bool periodic = node.integer("periodic", 1) != 0;
  if (!node.input(0).isConstant()) {
    const ParsedExtents count = node.writer().elements(node.input(0));
    if (count.size() != 1) {
      fail(FaultKind::kInvalidNode, fmt::format("size has {} elements; expected 1", count.size()));
    }
    return {windowOf(node.writer(), count[0], periodic, kCosines).cast(outputType(node))};
  }
  const int64_t size = constantNumber(node, 0, "size");
  if (size < 0 || size > kMovementLimit) {
    fail(FaultKind::kInvalidNode, fmt::format("size = {}; expected 0 to {}", size, kMovementLimit));
  }
  const auto turns = static_cast<double>(periodic ? size : std::max<int64_t>(size - 1, 1));
  std::vector<double> numbers;
  for (int64_t i = 0; i < size; ++i) {
    const double angle = 2 * kPi * static_cast<double>(i) / turns;
    numbers.push_back(kCosines.first - kCosines.second * std::cos(angle) + kCosines.third * std::cos(2 * angle));
  }
  return {reals(node.writer(), outputType(node), {size}, numbers)};
}

// The same from numbers that are known only at run time, in single precision.
Term melWeightsAtRunTime(const OnnxNode& node) {
  NetworkWriter& writer = node.writer();
  const auto extent = [&](size_t index) {
    const ParsedExtents list = writer.elements(node.input(index));
    if (list.size() != 1) {
      fail(FaultKind::kInvalidNode, fmt::format("input {} has {} elements; expected 1", index, list.size()));
    }
    return list[0];
  };
  const auto number = [&](size_t index) { return node.term(index).reshape({}).cast(DataType::kFLOAT); };
  const auto mel = [](const Term& hertz) { return logOf(hertz / 700.0 + 1.0) * (2595.0 / std::log(10.0)); };
  const ParsedExtent bands = extent(0);
  const ParsedExtent edges = writer.combine(bands, ParsedExtent::of(2), ElementWiseOperation::kSUM);
  const ParsedExtent half = writer.combine(extent(1), ParsedExtent::of(2), ElementWiseOperation::kFLOOR_DIV);
  const ParsedExtent bins = writer.combine(half, ParsedExtent::of(1), ElementWiseOperation::kSUM);
  const Term low = mel(number(3));
  const Term step = (mel(number(4)) - low) / (number(0) + 2.0);
  const Term hertz =
      (expOf((iota(writer, edges, DataType::kFLOAT) * step + low) * (std::log(10.0) / 2595.0)) - 1.0) * 700.0;
  const Term edge = floorOf((number(1) + 1.0) * hertz / number(2)).unsqueeze({0});
  const auto from = [&](int64_t begin) { return edge.slice(1, ParsedExtent::of(begin), bands); };
  const Term left = from(0);
  const Term middle = from(1);
  const Term right = from(2);
  const Term bin = iota(writer, bins, DataType::kFLOAT).unsqueeze({1});
  const Term zero = bin.number(0);
  const Term one = bin.number(1);
  const Term rising = ((bin - left) / (middle - left).atLeast(one)).atLeast(zero);
  const Term falling = ((right - bin) / (right - middle).atLeast(one)).atLeast(zero);
  return where(equal(bin, middle), one, where(bin < middle, rising, falling)).cast(outputType(node));
}

// Triangles between neighbours of equally spaced mel frequencies, in whole bins of the spectrum.
ParsedValues importMelWeights(OnnxNode& node) {
  for (size_t i = 0; i < 5; ++i) {
    if (!node.input(i).isConstant()) {
      return {melWeightsAtRunTime(node)};
    }
  }
  const int64_t bands = constantNumber(node, 0, "num_mel_bins");
  const int64_t length = constantNumber(node, 1, "dft_length");
  const int64_t rate = constantNumber(node, 2, "sample_rate");
  const double low = toReals(node.constant(3, "lower_edge_hertz")).at(0);
  const double high = toReals(node.constant(4, "upper_edge_hertz")).at(0);
  const int64_t bins = length / 2 + 1;
  if (bands < 1 || length < 1 || rate < 1 || bands > kArithmeticLimit || bins > kArithmeticLimit ||
      bands * bins > kMovementLimit) {
    fail(FaultKind::kInvalidNode, fmt::format("num_mel_bins = {}, dft_length = {}, sample_rate = {}; expected 1 or "
                                              "more each, and no more than {} results",
                                              bands, length, rate, kMovementLimit));
  }
  const auto mel = [](double hertz) { return 2595.0 * std::log10(1.0 + hertz / 700.0); };
  const double step = (mel(high) - mel(low)) / static_cast<double>(bands + 2);
  std::vector<int64_t> edges;
  for (int64_t i = 0; i < bands + 2; ++i) {
    const double hertz = 700.0 * (std::pow(10.0, (static_cast<double>(i) * step + mel(low)) / 2595.0) - 1.0);
    const double bin = std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
    if (!(bin >= 0) || bin >= static_cast<double>(bins)) {
      fail(
          FaultKind::kInvalidNode,
          fmt::format("the edges {} and {} reach bin {} of a spectrum of {}; expected edges below half the sample rate",
                      low, high, bin, bins));
    }
    edges.push_back(static_cast<int64_t>(bin));
  }
  std::vector<double> weights(static_cast<size_t>(bins * bands), 0.0);
  for (int64_t band = 0; band < bands; ++band) {
    const int64_t from = edges[static_cast<size_t>(band)];
    const int64_t middle = edges[static_cast<size_t>(band) + 1];
    const int64_t to = edges[static_cast<size_t>(band) + 2];
    const auto weight = [&](int64_t bin) -> double& { return weights[static_cast<size_t>(bin * bands + band)]; };
    for (int64_t bin = from; bin < middle; ++bin) {
      weight(bin) = static_cast<double>(bin - from) / static_cast<double>(middle - from);
    }
    weight(middle) = 1;
    for (int64_t bin = middle + 1; bin < to; ++bin) {
      weight(bin) = static_cast<double>(to - bin) / static_cast<double>(to - middle);
    }
  }
  return {reals(node.writer(), outputType(node), {bins, bands}, weights)};
}

const OperatorImporter kRows[] = {
    {"DFT", 17, kNewestOpset, importDft, "addMatrixMultiply with a constant matrix; static length"},
    {"STFT", 17, kNewestOpset, importStft, "addGather, addMatrixMultiply with a constant matrix"},
    {"HannWindow", 17, kNewestOpset, importWindow<kHann>,
     "addConstant; size known only at run time: addFill, addUnary"},
    {"HammingWindow", 17, kNewestOpset, importWindow<kHamming>,
     "addConstant; size known only at run time: addFill, addUnary"},
    {"BlackmanWindow", 17, kNewestOpset, importWindow<kBlackman>,
     "addConstant; size known only at run time: addFill, addUnary"},
    {"MelWeightMatrix", 17, kNewestOpset, importMelWeights,
     "addConstant; inputs known only at run time: addFill, addElementWise"},
};

}  // namespace

OperatorRows importers() { return rowsOf(kRows); }

}  // namespace tenon::parsers::onnx::ops_signal
