// Recurrent networks: the matrix of the state in panels of units with all their gates, and the gates right behind the
// sums. Directions and rows of the batch go through all steps on threads of their own; where there are too few of
// them, threads share the units of each step that is worth it.
#include "ops/op/recurrent.h"

#include <algorithm>

#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "backends/cpu/kernels/simd/recurrent_simd.h"
#include "core/error.h"
#include "runtime/packer.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kUnits = kRecurrentUnits;
constexpr int64_t kSharedWork = 400'000;  // multiply-adds of a step that several threads share

// Panels of cells with one gate are four times as wide, where there are units enough: each state that is loaded serves
// four vectors of weights.
constexpr int64_t kWidened = 4, kLeastWidened = 128;
int64_t panelUnits(int64_t gates, int64_t hidden) {
  return gates == 1 && hidden >= kLeastWidened ? kWidened * kUnits : kUnits;
}
int64_t panelCount(int64_t gates, int64_t hidden) {
  const int64_t units = panelUnits(gates, hidden);
  return (hidden + units - 1) / units;
}
// `weights`: those of the state; `width`: of the input whose weights stand in front of them.
int64_t packedFloats(const Dims& weights, int64_t width) {
  const int64_t gates = weights[2] == 0 ? 0 : weights[1] / weights[2];
  return weights[0] * panelCount(gates, weights[2]) * (width + weights[2]) * gates * panelUnits(gates, weights[2]);
}

// to[direction][panel][k][gate][unit] = from[direction][gate * hidden + unit][k], first of the input's weights
// [directions, gates * hidden, width], then of the state's.
void packWeights(const float* inputs, int64_t width, const float* states, const Dims& dims, float* to) {
  const int64_t hidden = dims[2];
  const int64_t gates = hidden == 0 ? 0 : dims[1] / hidden;
  const int64_t units = panelUnits(gates, hidden);
  const int64_t panels = panelCount(gates, hidden);
  runJobs(dims[0] * panels, packedFloats(dims, width), [&](int64_t job) {
    const int64_t direction = job / panels;
    const int64_t first = job % panels * units;
    float* panel = to + job * (width + hidden) * gates * units;
    const auto pack = [&](const float* from, int64_t depth) {
      for (int64_t k = 0; k < depth; ++k) {
        for (int64_t gate = 0; gate < gates; ++gate, panel += units) {
          for (int64_t unit = 0; unit < units; ++unit) {
            const int64_t row = (direction * gates + gate) * hidden + first + unit;
            panel[unit] = first + unit < hidden ? from[row * depth + k] : 0.0F;
          }
        }
      }
    };
    pack(inputs, width);
    pack(states, hidden);
  });
}

struct RecurrentKernel final : runtime::Kernel, runtime::Packer {
  RecurrentKernel(const ops::Recurrent& op, const runtime::KernelLoad& load) : op(op) {
    const auto& constant = load.constants[1];
    if (op.takesInput) {
      const auto& ofInput = load.constants[static_cast<size_t>(op.places().inputWeights)];
      if (!isConstantF32(ofInput) || !isConstantF32(constant) || ofInput.dims.rank != 3 || op.cell == ops::Cell::kGru)
        throw Unsupported("cpu.recurrent: an input with weights {} of {}; expected constants of f32, and no GRU",
                          ofInput.dims.text(), name(ofInput.dtype));
      width = ofInput.dims[2];
    }
    if (constant.data == nullptr) return;
    if (!isConstantF32(constant) || constant.dims.rank != 3 || constant.dims[1] != op.gates() * constant.dims[2])
      throw Unsupported("cpu.recurrent: weights {} of {}; expected f32 [directions, {} * hidden, hidden]",
                        constant.dims.text(), name(constant.dtype), op.gates());
    isPacked = true;
    weights = constant.dims;
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override;
  std::vector<runtime::PackedForm> packedForms(Layout) const override {
    if (!isPacked) return {};
    std::vector<size_t> sources{1};
    if (op.takesInput) sources.push_back(static_cast<size_t>(op.places().inputWeights));
    return {{std::move(sources),
             fmt::format("units by {} of {} behind {}", panelUnits(op.gates(), weights[2]), weights.text(), width),
             static_cast<uint64_t>(packedFloats(weights, width)) * sizeof(float), false}};
  }
  void pack(const runtime::PackedForm&, std::span<const void* const> sources, void* to) const override {
    packWeights(op.takesInput ? static_cast<const float*>(sources[1]) : nullptr, width,
                static_cast<const float*>(sources[0]), weights, static_cast<float*>(to));
  }

  ops::Recurrent op;
  bool isPacked = false;
  Dims weights;
  int64_t width = 0;  // of the input that the node takes
};

class RecurrentInstance final : public runtime::KernelInstance {
 public:
  explicit RecurrentInstance(const RecurrentKernel& kernel)
      : kernel_(kernel), op_(kernel.op), places_(op_.places()), simd_(recurrentFunctions()) {
    common_.cell = op_.cell;
    common_.gates = op_.gates();
    common_.late = op_.late;
    common_.coupled = op_.coupled;
    common_.clip = static_cast<float>(op_.clip);
    for (size_t i = 0; i < std::size(common_.functions); ++i) {
      const auto function = op_.function(i);
      common_.functions[i] = {function.kind, static_cast<float>(function.a), static_cast<float>(function.b)};
    }
  }

  size_t configure(const runtime::Shapes& shapes) override {
    const auto& products = shapes.inputs[0].dims;
    weights_ = shapes.inputs[1].dims;
    checkUser(!kernel_.isPacked || weights_ == kernel_.weights, "cpu.recurrent: weights {}; the plan was made for {}",
              weights_.text(), kernel_.weights.text());
    steps_ = products[0];
    batch_ = products[1];
    directions_ = weights_[0];
    hidden_ = weights_[2];
    depth_ = kernel_.width + hidden_;
    checkUser(!op_.takesInput || (steps_ == 1 && products[2] == kernel_.width),
              "cpu.recurrent: an input {}; expected one step of {}", products.text(), kernel_.width);
    common_.hidden = hidden_;
    if (op_.hasLengths) lengthType_ = shapes.inputs[static_cast<size_t>(places_.lengths)].dtype;
    lines_ = directions_ * batch_;
    isEarly_ = op_.cell == ops::Cell::kGru && !op_.late;
    // Two states of each line, then its cell or its reset state, then its sums, then what a step that takes its input
    // reads of each line, and zeros for a bias that is not there.
    units_ = panelUnits(op_.gates(), hidden_);
    panels_ = panelCount(op_.gates(), hidden_);
    sumFloats_ = panels_ * op_.gates() * units_;
    const int64_t ofInput = op_.takesInput ? lines_ * depth_ + weights_[1] : 0;
    const int64_t floats =
        lines_ * (3 * hidden_ + sumFloats_) + ofInput + (kernel_.isPacked ? 0 : packedFloats(weights_, 0));
    return static_cast<size_t>(floats) * sizeof(float);
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (lines_ * hidden_ == 0) return;
    auto* const workspace = static_cast<float*>(arguments.workspace);
    states_ = workspace;
    third_ = states_ + 2 * lines_ * hidden_;
    sums_ = third_ + lines_ * hidden_;
    packed_ = static_cast<const float*>(arguments.inputs[1]);
    operands_ = sums_ + lines_ * sumFloats_;
    if (!kernel_.isPacked) {
      packWeights(nullptr, 0, packed_, weights_, operands_);
      packed_ = operands_;
    }
    arguments_ = &arguments;
    begin();
    const int64_t panels = panels_;
    const int64_t ofStep = lines_ * op_.gates() * hidden_ * operandDepth();
    ++launches_;
    if (lines_ >= platform::teamSize() && lines_ > 1) {
      // Some rows of one direction together: a panel of weights serves all of them.
      const int64_t chunks = std::min((platform::teamSize() + directions_ - 1) / directions_, batch_);
      runJobs(directions_ * chunks, ofStep * steps_, [&](int64_t job) {
        const int64_t direction = job / chunks;
        const int64_t first = job % chunks * batch_ / chunks;
        const int64_t last = (job % chunks + 1) * batch_ / chunks;
        for (int64_t i = 0; i < steps_; ++i) {
          if (isEarly_) resetPanels(i, direction, first, last, 0, panels);
          stepPanels(i, direction, first, last, 0, panels);
        }
      });
    } else {
      // One thread goes through all panels in its own order; several take what comes.
      const auto share = [&](auto&& body) {
        const int64_t pieces = ofStep < kSharedWork || platform::teamSize() == 1 ? 1 : panels;
        runJobs(directions_ * pieces, ofStep, [&](int64_t job) {
          const int64_t piece = job % pieces;
          body(job / pieces, piece * panels / pieces, (piece + 1) * panels / pieces);
        });
      };
      for (int64_t i = 0; i < steps_; ++i) {
        if (isEarly_) share([&](int64_t d, int64_t begin, int64_t end) { resetPanels(i, d, 0, batch_, begin, end); });
        share([&](int64_t d, int64_t begin, int64_t end) { stepPanels(i, d, 0, batch_, begin, end); });
      }
    }
    end();
  }

 private:
  const float* input(int place) const {
    return place < 0 ? nullptr : static_cast<const float*>(arguments_->inputs[place]);
  }
  float* state(int64_t step, int64_t line) const { return states_ + (step % 2 * lines_ + line) * hidden_; }
  int64_t timeOf(int64_t step, int64_t direction) const {
    return direction == 1 || op_.reverse ? steps_ - 1 - step : step;
  }
  bool isThere(int64_t time, int64_t row) const {
    if (places_.lengths < 0) return true;
    const void* const lengths = arguments_->inputs[places_.lengths];
    return time < (lengthType_ == DataType::kI64 ? static_cast<const int64_t*>(lengths)[row]
                                                 : static_cast<const int32_t*>(lengths)[row]);
  }

  void begin() const {
    const auto fill = [&](float* to, const float* from) {
      if (from != nullptr) {
        std::copy_n(from, lines_ * hidden_, to);
      } else {
        std::fill_n(to, lines_ * hidden_, 0.0F);
      }
    };
    fill(states_, input(places_.first));
    if (op_.cell == ops::Cell::kLstm) fill(third_, input(places_.firstCell));
    if (!op_.takesInput) return;
    const int64_t width = kernel_.width;
    for (int64_t line = 0; line < lines_; ++line) {
      std::copy_n(input(0) + line % batch_ * width, width, operands_ + line * depth_);
      std::copy_n(state(0, line), hidden_, operands_ + line * depth_ + width);
    }
    if (!op_.hasInputBias) std::fill_n(operands_ + lines_ * depth_, weights_[1], 0.0F);
  }
  // What a product with the panels reads of a line.
  const float* operandOf(int64_t step, int64_t line) const {
    if (op_.takesInput) return operands_ + line * depth_;
    return isEarly_ ? third_ + line * hidden_ : state(step, line);
  }
  // How many of its elements: the first states are zeros where they are not given.
  int64_t operandDepth() const { return op_.takesInput && !op_.hasFirst ? kernel_.width : depth_; }
  // Of all gates, of one line at one time: the given products, or the bias alone.
  const float* productsOf(int64_t time, int64_t direction, int64_t row) const {
    const int64_t size = op_.gates() * hidden_;
    if (!op_.takesInput) return input(0) + ((time * batch_ + row) * directions_ + direction) * size;
    return op_.hasInputBias ? input(places_.inputBias) + direction * size : operands_ + lines_ * depth_;
  }
  void end() const {
    if (arguments_->outputs[1] != nullptr)
      std::copy_n(state(steps_, 0), lines_ * hidden_, static_cast<float*>(arguments_->outputs[1]));
    if (op_.cell == ops::Cell::kLstm && arguments_->outputs[2] != nullptr)
      std::copy_n(third_, lines_ * hidden_, static_cast<float*>(arguments_->outputs[2]));
  }

  // Calls body(panel, the one after it) for [begin, end), backwards in every other step (and call): the panels that
  // came last are still in the caches. A reset goes the other way than the step behind it.
  template <typename Body>
  void eachPanel(int64_t step, bool isReset, int64_t begin, int64_t end, Body&& body) const {
    const bool turned = isEarly_ ? !isReset : (step + launches_) % 2 != 0;
    for (int64_t i = begin; i < end; ++i) {
      const int64_t p = turned ? begin + end - 1 - i : i;
      const int64_t last = turned ? begin : end - 1;
      body(p, p == last ? p : turned ? p - 1 : p + 1);
    }
  }

  const float* panel(int64_t direction, int64_t index) const {
    return packed_ + (direction * panels_ + index) * depth_ * op_.gates() * units_;
  }
  // What one row of the batch does with the units of the panels [begin, end).
  RecurrentStep stepOf(int64_t step, int64_t direction, int64_t row, int64_t begin, int64_t end) const {
    RecurrentStep result = common_;
    const int64_t unit = begin * units_;
    const int64_t line = direction * batch_ + row;
    result.count = std::min(end * units_, hidden_) - unit;
    result.products = productsOf(timeOf(step, direction), direction, row) + unit;
    result.before = state(step, line) + unit;
    result.state = state(step + 1, line) + unit;
    result.cells = third_ + line * hidden_ + unit;
    if (op_.hasBias) result.bias = input(places_.bias) + direction * hidden_ + unit;
    if (op_.hasPeepholes) result.peepholes = input(places_.peepholes) + direction * 3 * hidden_ + unit;
    return result;
  }
  float* keptSums(int64_t line, int64_t panel) const {
    return sums_ + line * sumFloats_ + panel * op_.gates() * units_;
  }

  // The first two gates of a GRU that resets before its product.
  void resetPanels(int64_t step, int64_t direction, int64_t first, int64_t last, int64_t begin, int64_t end) const {
    eachPanel(step, true, begin, end, [&](int64_t p, int64_t next) {
      addRows(step, direction, first, last, p, next, true);
      for (int64_t row = first; row < last; ++row) {
        const int64_t line = direction * batch_ + row;
        simd_.reset(stepOf(step, direction, row, p, p + 1), keptSums(line, p), third_ + line * hidden_ + p * units_);
      }
    });
  }

  // Sums of the rows that are there, for one panel: of the two gates of a reset, or of the others.
  void addRows(int64_t step, int64_t direction, int64_t first, int64_t last, int64_t p, int64_t next,
               bool isReset) const {
    constexpr int64_t kTogether = 12;                       // rows of the batch
    const int64_t gates = op_.gates() * (units_ / kUnits);  // a wide panel is as many gates to the sums
    const int64_t depth = isReset ? hidden_ : operandDepth();
    const int64_t time = timeOf(step, direction);
    const float* from[kTogether];
    float* to[kTogether];
    int64_t rows = 0;
    for (int64_t row = first; row < last; ++row) {
      if (isReset || isThere(time, row)) {
        const int64_t line = direction * batch_ + row;
        from[rows] = isReset ? state(step, line) : operandOf(step, line);
        to[rows++] = keptSums(line, p);
      }
      if (rows < kTogether && row + 1 < last) continue;
      if (rows > 0)
        simd_.sums(panel(direction, p), panel(direction, row + 1 < last ? p : next), from, rows, depth, gates,
                   isEarly_ && !isReset ? 2 : 0, isReset ? 2 : gates, batch_ >= kMany, to);
      rows = 0;
    }
  }

  // The sums of all panels come before what is done with them: functions of many units at once hide each other's
  // latency.
  void stepPanels(int64_t step, int64_t direction, int64_t first, int64_t last, int64_t begin, int64_t end) const {
    eachPanel(step, false, begin, end,
              [&](int64_t p, int64_t next) { addRows(step, direction, first, last, p, next, false); });
    const int64_t time = timeOf(step, direction);
    auto* const y = static_cast<float*>(arguments_->outputs[0]);
    for (int64_t row = first; row < last; ++row) {
      const RecurrentStep now = stepOf(step, direction, row, begin, end);
      float* const out = y + ((time * batch_ + row) * directions_ + direction) * hidden_ + begin * units_;
      if (isThere(time, row)) {
        simd_.step(now, keptSums(direction * batch_ + row, begin));
        std::copy_n(now.state, now.count, out);
      } else {
        std::copy_n(now.before, now.count, now.state);
        std::fill_n(out, now.count, 0.0F);
      }
    }
  }

  static constexpr int64_t kMany = 4;  // rows of a batch, which then share what is read of the weights
  const RecurrentKernel& kernel_;
  const ops::Recurrent& op_;
  const ops::Recurrent::Places places_;
  const RecurrentFunctions simd_;
  RecurrentStep common_;
  Dims weights_;
  DataType lengthType_ = DataType::kI32;
  int64_t launches_ = 0;
  int64_t steps_ = 0, batch_ = 0, directions_ = 0, hidden_ = 0, depth_ = 0, lines_ = 0, sumFloats_ = 0;
  bool isEarly_ = false;
  const runtime::LaunchArguments* arguments_ = nullptr;
  int64_t units_ = kUnits, panels_ = 0;  // of a direction
  const float* packed_ = nullptr;        // its panels
  float* states_ = nullptr;
  float* third_ = nullptr;
  float* sums_ = nullptr;
  float* operands_ = nullptr;
};

std::unique_ptr<runtime::KernelInstance> RecurrentKernel::instantiate() const {
  return std::make_unique<RecurrentInstance>(*this);
}

}  // namespace

KernelRow kernelRow_recurrent() {
  return {"recurrent", 1, [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            const auto op = ops::Operator::parse(load.record.op);
            const auto* description = op.as<ops::Recurrent>();
            if (description == nullptr) throw Unsupported("cpu.recurrent: the plan asks for {}", op.name());
            return std::make_unique<RecurrentKernel>(*description, load);
          }};
}

}  // namespace tenon::backends::cpu
