// Tile shapes of pointwise (1x1) convolutions of few channels.
#include "backends/cuda/kernels/narrow_convolution/narrow_convolution.h"

#include <algorithm>

#include "backends/cuda/driver/chip.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kMostInputs = 128;
constexpr int64_t kMostGathered = 128;  // channels of the result
constexpr int64_t kMostInGroup = 256;   // channels of the result
constexpr int64_t kRun = 32;            // channels that a warp computes at once
constexpr int64_t kPart = 8;            // channels that one product gives
constexpr int64_t kRowsOfWarp = 16;
constexpr int64_t kFewWarps = 4, kManyWarps = 8;

bool isPoint(const ops::Convolution& op) {
  const auto one = [](int64_t v) { return v == 1; };
  const auto zero = [](const Extent& e) { return e.isConstant(0); };
  return std::all_of(op.strides.begin(), op.strides.end(), one) &&
         std::all_of(op.prePadding.begin(), op.prePadding.end(), zero) &&
         std::all_of(op.postPadding.begin(), op.postPadding.end(), zero);
}

}  // namespace

bool narrowFits(char kind, const runtime::TensorShape& extra, const runtime::TensorShape& y) {
  const auto& dims = extra.dims;
  if (kind == 's') return dims.count() == 1;
  if (kind == 'w') return dims == y.dims && extra.layout == y.layout;
  const int channelAxis = dims.rank - y.dims.rank + 1;
  return channelAxis >= 0 && dims[channelAxis] == y.dims[1] && dims.count() == y.dims[1];
}

char narrowKind(const runtime::TensorShape& extra, const runtime::TensorShape& y) {
  for (const char kind : {'s', 'w', 'c'}) {
    if (narrowFits(kind, extra, y)) return kind;
  }
  return 0;
}

NarrowForm::NarrowForm(const ops::Convolution& op, const Dims& w, int64_t groupOfBlock, std::string kindsOfInputs,
                       DataType result)
    : kinds(std::move(kindsOfInputs)) {
  if (w.rank < 4 || w.rank > 5) refusal = fmt::format("{} spatial dimensions; only 2 or 3 are supported", w.rank - 2);
  else if (w.count(2, w.rank) != 1 || !isPoint(op))
    refusal = fmt::format("windows {}; only pointwise (1x1) convolutions are supported", w.text());
  else if (op.groups != 1) refusal = fmt::format("{} groups", op.groups);
  else if (w.count() == 0) refusal = "the weights are empty";
  else if (w[0] % 8 != 0 || w[1] % 8 != 0)
    refusal = fmt::format("{} input and {} output channels; only multiples of 8 are supported", w[1], w[0]);
  else if (w[1] > kMostInputs) refusal = fmt::format("{} channels; at most {} are supported", w[1], kMostInputs);
  else if (!isFloating(result) || bits(result) < 16) refusal = fmt::format("a result of {}", name(result));
  else if (groupOfBlock < 1 || groupOfBlock > kMostInGroup || (groupOfBlock != w[0] && groupOfBlock % kRun != 0)) {
    refusal = fmt::format("groups of {} channels are not supported", groupOfBlock);
  }
  if (!refusal.empty()) return;
  outputs = w[0];
  inputs = w[1];
  group = std::min(groupOfBlock, outputs);
  warps = group > kMostGathered ? kManyWarps : kFewWarps;
  // Rows that are no whole runs would be written in small pieces.
  gathers = group == outputs && outputs <= kMostGathered && outputs % kRun != 0 && bits(result) == 16;
}

int64_t NarrowForm::groupFor(int64_t rows, int64_t outputs) {
  const auto split = [&](int64_t parts) {
    return parts == 1 ? outputs : ((outputs + parts - 1) / parts + kRun - 1) / kRun * kRun;
  };
  // Groups that are alike; with few rows more of them, so that every multiprocessor has something to do.
  int64_t parts = (outputs + kMostInGroup - 1) / kMostInGroup;
  const int64_t blocks = (rows + kRowsOfWarp * kFewWarps - 1) / (kRowsOfWarp * kFewWarps);
  while (blocks * parts < multiprocessors() && split(parts) > kRun) ++parts;
  return split(parts);
}

size_t NarrowForm::sharedBytes() const {
  return static_cast<size_t>(weightBytes() + group * 4 + (gathers ? warps * kRowsOfWarp * outputs * 2 : 0));
}

int64_t NarrowForm::blocksFor(int64_t rows) const {
  const int64_t ofMultiprocessor = sharedBytesOfMultiprocessor() - (7 << 10);
  constexpr int64_t kWeightsShare = 5;  // so much more of rows than of weights shall a block move
  const int64_t registers = 48 + 4 * steps() + (gathers ? 12 : 0) + 4 * static_cast<int64_t>(kinds.size());
  const int64_t byMemory = ofMultiprocessor / (static_cast<int64_t>(sharedBytes()) + 1024);
  const int64_t resident =
      std::max<int64_t>(std::min(registersOfMultiprocessor() / (registers * 32 * warps), byMemory), 1);
  const int64_t slots = std::max<int64_t>(resident * multiprocessors() / groups(), 1);
  const int64_t rowsAtOnce = kRowsOfWarp * warps;
  const int64_t blocks = (rows + rowsAtOnce - 1) / rowsAtOnce;
  const int64_t bytesAtOnce = rowsAtOnce * 2 * (inputs + group);
  const int64_t wanted = (kWeightsShare * weightBytes() + bytesAtOnce - 1) / bytesAtOnce;
  const int64_t turns = std::max<int64_t>(std::min(wanted, (2 * blocks + slots) / (2 * slots)), 1);
  return (blocks + turns - 1) / turns;
}

int64_t NarrowForm::inputOf(int64_t step, int64_t lane, int64_t element) const {
  const int64_t first = step / 2 * 32;
  const int64_t rest = std::min<int64_t>(inputs - first, 32);
  const int64_t t = lane % 4;
  if (rest >= 24) return 8 * t < rest ? first + 8 * t + step % 2 * 4 + element : -1;
  if (rest == 16) return first + 4 * t + element;
  return element < 2 ? first + 2 * t + element : -1;
}

std::vector<uint16_t> NarrowForm::pack(const TensorView& w) const {
  checkInternal(bits(w.dtype) == 16, "weights of {} for a convolution in f16 or bf16", name(w.dtype));
  std::vector<uint16_t> result;
  result.reserve(static_cast<size_t>(outputs * steps() * 16));
  const auto* from = w.as<uint16_t>();
  const auto push = [&](int64_t output, int64_t step, int64_t lane) {
    for (int64_t element = 0; element < 4; ++element) {
      const int64_t input = inputOf(step, lane, element);
      result.push_back(input < 0 ? uint16_t{0} : from[output * inputs + input]);
    }
  };
  for (int64_t channel = 0; channel < outputs;) {
    // Runs of 32 channels, then at most one of 16 and one of 8: a lane has 2 neighbours of each part.
    const int64_t rest = outputs - channel;
    const int64_t parts = rest >= 32 ? 4 : rest >= 16 ? 2 : 1;
    const int64_t atOnce = std::min<int64_t>(parts, 2);  // parts whose weights a lane reads at once
    for (int64_t step = 0; step < steps(); ++step) {
      for (int64_t i = 0; i < parts * 32; ++i) {
        const int64_t part = i / (32 * atOnce) * atOnce + i % atOnce;
        const int64_t lane = i / atOnce % 32;
        const int64_t column = lane / 4;  // of the right operand: a lane of the result has columns 2 t and 2 t + 1
        push(channel + column / 2 * 2 * parts + 2 * part + column % 2, step, lane);
      }
    }
    channel += kPart * parts;
  }
  return result;
}

namespace {

// How a lane loads a run of an input's elements, and the values of those.
struct InputText {
  std::string members, loads, values;

  void add(size_t k, const char* type, char kind) {
    if (kind == 's') {
      members += fmt::format(" {} x{};", type, k);
      loads += fmt::format("    to.x{0} = *(const {1}*)p.data[{0}];\n", k, type);
    } else {
      members += fmt::format(" Pack<{}, kWidth> x{};", type, k);
      loads += fmt::format("    to.x{0} = *(const Pack<{1}, kWidth>*)((const {1}*)p.data[{0}] + {2});\n", k, type,
                           kind == 'w' ? "offset" : "channel");
    }
    const char* element = kind == 's' ? "" : ".e[i]";
    values += fmt::format("  const auto x{0} = Scalar<{1}>::load(from.x{0}{2});\n", k, type, element);
  }
};

}  // namespace

Code narrowCode(const NarrowForm& form, const ops::Convolution& op, const Types& types) {
  const size_t first = op.hasBias ? 3 : 2;
  std::vector<DataType> inputs{ops::accumulatorType(types.inputs.at(0))};
  inputs.insert(inputs.end(), types.inputs.begin() + static_cast<std::ptrdiff_t>(first), types.inputs.end());
  InputText extras;
  for (size_t k = 1; k < inputs.size(); ++k) extras.add(k, cudaName(inputs[k]), form.kinds.at(k - 1));
  std::string result;
  const auto statements = scalarStatements(op.epilogue, inputs, result);
  const std::string member = "  template <int kWidth>\n  __device__ __forceinline__ static";
  std::string text = "#include \"prelude.cuh\"\n";
  text += fmt::format("typedef {} X;\ntypedef float A;\n", cudaName(types.inputs[0]));
  text += "#include \"narrow_convolution.cuh\"\n\n";
  text += fmt::format("typedef {} Y;\nstruct Finish {{\n  template <int kWidth>\n  struct Inputs {{{} }};\n",
                      cudaName(types.outputs.at(0)), extras.members);
  text += member + " void load(const NarrowParameters& p, i64 offset, int channel, Inputs<kWidth>& to) {\n";
  text += extras.loads + "  }\n" + member + " float compute(float x0, const Inputs<kWidth>& from, int i) {\n";
  text += fmt::format("{}{}  return as<float>({});\n  }}\n}};\n\n", extras.values, statements, result);
  text += fmt::format("typedef NarrowConvolution<{}, {}, {}, 1, {}, {}, Y, Finish> Convolution;\n", form.inputs,
                      form.outputs, form.group, form.warps, form.gathers);
  text +=
      fmt::format("KERNEL_WITHOUT_WAIT(__launch_bounds__({}), tenon_narrow, NarrowParameters) {{\n", 32 * form.warps);
  text += "  Convolution::run(p);\n}\n";
  return {"", {}, text};
}

}  // namespace tenon::backends::cuda
