// oneDNN's engine, descriptors and post-operations.
#include "backends/cpu/kernels/dnnl/dnnl_common.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "backends/cpu/kernels/common/gated.h"
#include "backends/cpu/kernels/dnnl/dnnl_version.h"
#include "core/error.h"
#include "core/platform/forks.h"
#include "core/platform/processor.h"
#include "core/platform/threads.h"
#include "core/storage.h"
#include "core/strided.h"

namespace tenon::backends::cpu {
namespace {

using dnnl::algorithm;
using ops::ScalarArgument;
using ops::ScalarOp;

struct Eltwise {
  algorithm kind;
  float alpha = 0;
  float beta = 0;
};

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// An instruction whose only non-literal operand is the running value, as an element-wise post-operation.
std::optional<Eltwise> toEltwise(const ops::ScalarInstruction& instruction, int at) {
  const auto literal = [&](size_t i) { return static_cast<float>(instruction.arguments[i].literal); };
  switch (instruction.op) {
    case ScalarOp::k_identity: return Eltwise{algorithm::eltwise_linear, 1, 0};
    case ScalarOp::k_relu: return Eltwise{algorithm::eltwise_relu, 0, 0};
    case ScalarOp::k_leaky_relu:
      return at == 0 ? std::optional(Eltwise{algorithm::eltwise_relu, literal(1), 0}) : std::nullopt;
    case ScalarOp::k_clip:
      return at == 0 ? std::optional(Eltwise{algorithm::eltwise_clip, literal(1), literal(2)}) : std::nullopt;
    case ScalarOp::k_elu: return at == 0 ? std::optional(Eltwise{algorithm::eltwise_elu, literal(1), 0}) : std::nullopt;
    case ScalarOp::k_sigmoid: return Eltwise{algorithm::eltwise_logistic, 0, 0};
    case ScalarOp::k_tanh: return Eltwise{algorithm::eltwise_tanh, 0, 0};
    case ScalarOp::k_gelu_erf: return Eltwise{algorithm::eltwise_gelu_erf, 0, 0};
    case ScalarOp::k_gelu_tanh: return Eltwise{algorithm::eltwise_gelu_tanh, 0, 0};
    case ScalarOp::k_abs: return Eltwise{algorithm::eltwise_abs, 0, 0};
    case ScalarOp::k_neg: return Eltwise{algorithm::eltwise_linear, -1, 0};
    case ScalarOp::k_add: return Eltwise{algorithm::eltwise_linear, 1, literal(at == 0 ? 1 : 0)};
    case ScalarOp::k_mul: return Eltwise{algorithm::eltwise_linear, literal(at == 0 ? 1 : 0), 0};
    case ScalarOp::k_sub:
      return at == 0 ? Eltwise{algorithm::eltwise_linear, 1, -literal(1)}
                     : Eltwise{algorithm::eltwise_linear, -1, literal(0)};
    case ScalarOp::k_div:
      return at == 0 ? std::optional(Eltwise{algorithm::eltwise_linear, 1 / literal(1), 0}) : std::nullopt;
    case ScalarOp::k_fma:
      return at == 2 ? std::nullopt
                     : std::optional(Eltwise{algorithm::eltwise_linear, literal(at == 0 ? 1 : 0), literal(2)});
    case ScalarOp::k_max: return Eltwise{algorithm::eltwise_clip, literal(at == 0 ? 1 : 0), kInfinity};
    case ScalarOp::k_min: return Eltwise{algorithm::eltwise_clip, -kInfinity, literal(at == 0 ? 1 : 0)};
    case ScalarOp::k_sqrt: return Eltwise{algorithm::eltwise_sqrt, 0, 0};
    case ScalarOp::k_exp: return Eltwise{algorithm::eltwise_exp, 0, 0};
    default: return std::nullopt;
  }
}

std::optional<algorithm> toBinary(ScalarOp op, int at) {
  switch (op) {
    case ScalarOp::k_add: return algorithm::binary_add;
    case ScalarOp::k_mul: return algorithm::binary_mul;
    case ScalarOp::k_max: return algorithm::binary_max;
    case ScalarOp::k_min: return algorithm::binary_min;
    case ScalarOp::k_sub: return at == 0 ? std::optional(algorithm::binary_sub) : std::nullopt;
    case ScalarOp::k_div: return at == 0 ? std::optional(algorithm::binary_div) : std::nullopt;
    default: return std::nullopt;
  }
}

// An operand of fewer axes as one of as many as the output, which broadcasting aligns at the right.
runtime::TensorShape aligned(const runtime::TensorShape& extra, const runtime::TensorShape& output) {
  if (extra.dims.rank >= output.dims.rank) return extra;
  runtime::TensorShape result = extra;
  result.dims = {};
  for (int i = extra.dims.rank; i < output.dims.rank; ++i) result.dims.push(1);
  for (const int64_t extent : extra.dims) result.dims.push(extent);
  return result;
}

// Operands that post-operations take: the whole result, one per channel, or one in all.
bool fitsBinary(const runtime::TensorShape& extra, const runtime::TensorShape& output) {
  // oneDNN 2.6 reads whole operands wrongly behind SSE4 convolutions whose channels fill no whole vectors.
  if (platform::bestIsa() < platform::Isa::kAvx2 && extra.dims.count() != 1) return false;
  if (extra.dims == output.dims) return extra.layout == output.layout;
  for (int axis = 0; axis < extra.dims.rank; ++axis) {
    if (extra.dims[axis] != 1 && (axis != 1 || extra.dims[axis] != output.dims[axis])) return false;
  }
  return true;
}

bool isRunning(const ScalarArgument& argument, size_t k) {
  if (k == 0) return argument.kind == ScalarArgument::Kind::kInput && argument.index == 0;
  return argument.kind == ScalarArgument::Kind::kResult && argument.index == static_cast<int>(k) - 1;
}

// Collects post-operations. oneDNN 2.6 makes one generator for each element-wise algorithm in a chain, so that a second
// one with other numbers would compute with those of the first: such a chain is refused. Neighbouring lines and
// neighbouring clips become one.
class EltwiseChain {
 public:
  explicit EltwiseChain(dnnl::post_ops& ops) : ops_(ops) {}

  bool append(const Eltwise& next) {
    if (last_ && last_->kind == next.kind && next.kind == algorithm::eltwise_linear) {
      last_ = Eltwise{next.kind, last_->alpha * next.alpha, last_->beta * next.alpha + next.beta};
      return true;
    }
    if (last_ && last_->kind == next.kind && next.kind == algorithm::eltwise_clip && next.alpha <= next.beta) {
      last_ = Eltwise{next.kind, std::clamp(last_->alpha, next.alpha, next.beta),
                      std::clamp(last_->beta, next.alpha, next.beta)};
      return true;
    }
    if (!flush()) return false;
    last_ = next;
    return true;
  }

  // To be called before any other post-operation is appended, and at the end.
  bool flush() {
    if (!last_) return true;
    const auto one = *std::exchange(last_, std::nullopt);
    for (const auto& other : appended_) {
      if (other.kind == one.kind && (other.alpha != one.alpha || other.beta != one.beta)) return false;
    }
    appended_.push_back(one);
    appendEltwise(ops_, one.kind, one.alpha, one.beta);
    return true;
  }

 private:
  dnnl::post_ops& ops_;
  std::optional<Eltwise> last_;
  std::vector<Eltwise> appended_;
};

// Instructions from k on that are one or more element-wise post-operations of the running value; how many instructions
// they are, 0 when there is none. `running` is the operand of instruction k that is the running value.
size_t appendActivation(EltwiseChain& chain, const ops::ScalarExpr& expr, size_t k, int running) {
  const auto& instruction = expr.instructions[k];
  const auto literal = [&](size_t i) { return static_cast<float>(instruction.arguments[i].literal); };
  const auto* gate = gateAt(expr, k);
  if (gate != nullptr && gate->op == ScalarOp::k_sigmoid) return chain.append({algorithm::eltwise_swish, 1, 0}) ? 2 : 0;
  if (instruction.op == ScalarOp::k_hard_sigmoid && running == 0) {
    const bool standard = std::abs(literal(1) * 6 - 1) < 1e-5f && literal(2) == 0.5f;
    if (standard && gate != nullptr) {
      // 3.x lets the caller choose the line, 2.x has this one only and ignores the numbers.
      return chain.append({algorithm::eltwise_hardswish, 1.f / 6, 0.5f}) ? 2 : 0;
    }
    return chain.append({algorithm::eltwise_linear, literal(1), literal(2)}) &&
                   chain.append({algorithm::eltwise_clip, 0, 1})
               ? 1
               : 0;
  }
  const bool square = instruction.op == ScalarOp::k_mul && isRunning(instruction.arguments[0], k) &&
                      isRunning(instruction.arguments[1], k);
  if (square) return chain.append({algorithm::eltwise_square, 0, 0}) ? 1 : 0;
  for (int i = 0; i < running; ++i) {
    if (isRunning(instruction.arguments[static_cast<size_t>(i)], k)) return 0;  // twice, and no product
  }
  const auto eltwise = toEltwise(instruction, running);
  return eltwise && chain.append(*eltwise) ? 1 : 0;
}

// An instruction that reads the running value and one operand `extra`; false when no post-operation computes it.
bool appendBinary(PostOps& result, const ops::ScalarInstruction& instruction, int running, int input,
                  const runtime::TensorShape& extra, const runtime::TensorShape& output) {
  if (row(instruction.op).arity != 2) return false;  // so the running value is read once
  // oneDNN 2.6 reads operands of volumes of few channels wrongly, and whole ones of images of one channel.
  if (output.dims.rank > 4 || (output.dims.rank == 4 && output.dims[1] == 1 && extra.dims == output.dims)) return false;
  const bool perChannel =
      output.dims.rank > 1 && extra.dims.count() == output.dims[1] && extra.dims[1] == output.dims[1];
  if (instruction.op == ScalarOp::k_leaky_relu && running == 0 && perChannel && result.slopes) {
    constexpr int kChannelMask = 1 << 1;
    result.binaries.push_back({result.ops.len(), input, true});
    result.ops.append_prelu(kChannelMask);
    return true;
  }
  const auto binary = toBinary(instruction.op, running);
  if (!binary || !fitsBinary(extra, output)) return false;
  result.binaries.push_back({result.ops.len(), input, false});
  result.ops.append_binary(*binary, dnnlDesc(extra.dims, extra.layout));
  return true;
}

}  // namespace

const dnnl::engine& dnnlEngine() {
  static const auto* const kEngine = [] {
    using platform::Isa;
    const platform::WithoutFork noFork;
    const Isa best = platform::bestIsa();
    if (best == Isa::kAvx2) dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
    if (best < Isa::kAvx2) dnnl::set_max_cpu_isa(dnnl::cpu_isa::sse41);
    return new dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return *kEngine;
}

// Static objects of the program may still run engines after the thread's own objects are destroyed: then a stream is
// made that stays.
dnnl::stream& dnnlStream() {
  thread_local dnnl::stream* stream = nullptr;
  thread_local bool isEnding = false;
  struct Owner {
    ~Owner() {
      delete std::exchange(stream, nullptr);
      isEnding = true;
    }
  };
  if (stream == nullptr) {
    const platform::WithoutFork noFork;
    stream = new dnnl::stream(dnnlEngine());
    if (!isEnding) {
      thread_local const Owner owner;
    }
  }
  return *stream;
}

void checkWindow(std::initializer_list<const dnnl::memory::dims*> steps) {
  constexpr int64_t kMost = 1 << 20;
  for (const auto* all : steps) {
    for (const int64_t step : *all) {
      if (std::abs(step) > kMost)
        throw Unsupported("oneDNN: a stride, dilation or padding of {}; at most {} are given to it", step, kMost);
    }
  }
}

dnnl::memory::desc dnnlDesc(const Dims& dims, Layout format) {
  dnnl::memory::dims extents(dims.begin(), dims.end());
  if (const int64_t block = channelBlock(format); block > 1) {
    if (dims.rank != 4 || dims[1] % block != 0) {
      throw Unsupported("cpu: {} as {}; only 4-D tensors whose channels divide into blocks have that format",
                        dims.text(), name(format));
    }
    using Tag = dnnl::memory::format_tag;
    return {extents, dnnl::memory::data_type::f32, block == 8 ? Tag::nChw8c : Tag::nChw16c};
  }
  const auto strides = stridesOf(dims, format);
  dnnl::memory::dims steps(strides.begin(), strides.begin() + dims.rank);
  for (auto& step : steps) step = std::max<int64_t>(step, 1);
  return {extents, dnnl::memory::data_type::f32, steps};
}

runtime::TensorShape readAs(const runtime::TensorShape& shape, Layout format) {
  auto result = shape;
  const bool isBoth = shape.dims.rank > 2 && (shape.dims[1] == 1 || shape.dims.count(2, shape.dims.rank) == 1);
  if (isBoth && channelBlock(shape.layout) == 1) result.layout = format;
  return result;
}

dnnl::memory::desc stridedDesc(const dnnl::memory::dims& extents, dnnl::memory::dims strides) {
  int64_t inner = 1;
  for (size_t axis = extents.size(); axis-- > 0;) {
    if (extents[axis] == 1) strides[axis] = inner;
    inner = std::max(inner, extents[axis] * strides[axis]);
  }
  return {extents, dnnl::memory::data_type::f32, strides};
}

std::optional<PostOps> toPostOps(const ops::ScalarExpr& expr, std::span<const runtime::TensorShape> extras,
                                 const runtime::TensorShape& output, bool slopes) {
  PostOps result;
  result.slopes = slopes;
  EltwiseChain chain(result.ops);
  for (size_t k = 0; k < expr.instructions.size();) {
    constexpr int kMaxOps = 14;  // of oneDNN's 32; an activation may be two of them
    if (result.ops.len() >= kMaxOps) return std::nullopt;
    const auto& instruction = expr.instructions[k];
    int running = -1;  // the last operand that is the running value
    int other = -1;
    for (int i = 0; i < row(instruction.op).arity; ++i) {
      const auto& argument = instruction.arguments[static_cast<size_t>(i)];
      if (isRunning(argument, k)) {
        if (running >= 0 && other >= 0) return std::nullopt;
        running = i;
      } else if (argument.kind != ScalarArgument::Kind::kLiteral) {
        if (argument.kind != ScalarArgument::Kind::kInput || argument.index == 0 || other >= 0) return std::nullopt;
        other = i;
      }
    }
    if (running < 0) return std::nullopt;
    if (other < 0) {
      const size_t taken = appendActivation(chain, expr, k, running);
      if (taken == 0) return std::nullopt;
      k += taken;
      continue;
    }
    const int input = instruction.arguments[static_cast<size_t>(other)].index;
    if (!chain.flush()) return std::nullopt;
    if (!appendBinary(result, instruction, running, input, aligned(extras[static_cast<size_t>(input) - 1], output),
                      output))
      return std::nullopt;
    ++k;
  }
  if (!chain.flush()) return std::nullopt;
  return result;
}

dnnl::primitive_attr Epilogue::withoutOps() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::primitive_attr Epilogue::configure(std::span<const runtime::TensorShape> extras,
                                         const runtime::TensorShape& output, bool allowInside) {
  auto attributes = withoutOps();
  extraCount_ = extras.size();
  output_ = output;
  inside_ = allowInside ? toPostOps(expr_, extras, output, slopes_) : std::nullopt;
  if (inside_) {
    attributes.set_post_ops(inside_->ops);
  } else {
    std::vector<runtime::TensorShape> operands{output};
    operands.insert(operands.end(), extras.begin(), extras.end());
    runner_.configure(operands, output);
  }
  return attributes;
}

void Epilogue::bind(DnnlCall& call, std::span<const runtime::TensorShape> extras, int firstSlot,
                    std::span<const int64_t> offsets) const {
  if (!inside_) return;
  for (const auto& binary : inside_->binaries) {
    const auto& extra = extras[static_cast<size_t>(binary.input) - 1];
    const int argument =
        DNNL_ARG_ATTR_MULTIPLE_POST_OP(binary.position) | (binary.prelu ? DNNL_ARG_WEIGHTS : DNNL_ARG_SRC_1);
    const auto desc = binary.prelu ? dnnlDesc({extra.dims.count()}, Layout::kLinear)
                                   : dnnlDesc(aligned(extra, output_).dims, extra.layout);
    const int64_t offset = offsets.empty() ? 0 : offsets[static_cast<size_t>(binary.input) - 1];
    call.bind(argument, desc, firstSlot + binary.input - 1, offset);
  }
}

void Epilogue::finish(void* const* extras, void* output) const {
  if (inside_ || expr_.empty()) return;
  std::array<void*, 16> operands{output};
  std::copy_n(extras, extraCount_, operands.begin() + 1);
  runner_.run(operands.data(), output);
}

}  // namespace tenon::backends::cpu
