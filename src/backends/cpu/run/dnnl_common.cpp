// oneDNN's engine, descriptors and post-operations.
#include "backends/cpu/run/dnnl_common.h"

#include <utility>

#include "backends/cpu/run/dnnl_version.h"
#include "core/error.h"
#include "core/platform/processor.h"
#include "core/platform/threads.h"
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

// An instruction whose only non-literal operand is the running value, as an element-wise post-operation.
std::optional<Eltwise> toEltwise(const ops::ScalarInstruction& instruction, int at) {
  const auto literal = [&](size_t i) { return static_cast<float>(instruction.arguments[i].literal); };
  switch (instruction.op) {
    case ScalarOp::k_identity: return Eltwise{algorithm::eltwise_linear, 1, 0};
    case ScalarOp::k_relu: return Eltwise{algorithm::eltwise_relu, 0, 0};
    case ScalarOp::k_leaky_relu: return at == 0 ? std::optional(Eltwise{algorithm::eltwise_relu, literal(1), 0}) : std::nullopt;
    case ScalarOp::k_clip: return at == 0 ? std::optional(Eltwise{algorithm::eltwise_clip, literal(1), literal(2)}) : std::nullopt;
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
      return at == 0 ? Eltwise{algorithm::eltwise_linear, 1, -literal(1)} : Eltwise{algorithm::eltwise_linear, -1, literal(0)};
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

// Operands that post-operations take: the whole result, one per channel, or one in all.
bool fitsBinary(const runtime::TensorShape& extra, const runtime::TensorShape& output) {
  if (extra.dims == output.dims) return extra.format == output.format;
  if (extra.dims.rank != output.dims.rank) return false;
  for (int axis = 0; axis < extra.dims.rank; ++axis) {
    if (extra.dims[axis] != 1 && (axis != 1 || extra.dims[axis] != output.dims[axis])) return false;
  }
  return true;
}

bool isRunning(const ScalarArgument& argument, size_t k) {
  if (k == 0) return argument.kind == ScalarArgument::Kind::kInput && argument.index == 0;
  return argument.kind == ScalarArgument::Kind::kResult && argument.index == static_cast<int>(k) - 1;
}

// running * sigmoid(running): instruction k is the sigmoid, k + 1 the product.
bool isSwish(const ops::ScalarExpr& expr, size_t k) {
  if (k + 1 >= expr.instructions.size() || expr.instructions[k].op != ScalarOp::k_sigmoid) return false;
  const auto& product = expr.instructions[k + 1];
  if (product.op != ScalarOp::k_mul) return false;
  const auto& source = expr.instructions[k].arguments[0];
  const auto gate = ScalarArgument::result(static_cast<int>(k));
  return (product.arguments[0] == source && product.arguments[1] == gate) ||
         (product.arguments[1] == source && product.arguments[0] == gate);
}

}  // namespace

const dnnl::engine& dnnlEngine() {
  static const auto* const kEngine = [] {
    using platform::Isa;
    const Isa best = platform::bestIsa();
    if (best == Isa::kAvx2) dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
    if (best < Isa::kAvx2) dnnl::set_max_cpu_isa(dnnl::cpu_isa::sse41);
    return new dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return *kEngine;
}

// Static objects of the program may still run engines after the thread's own objects are destroyed: then a stream is made
// that stays.
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
    stream = new dnnl::stream(dnnlEngine());
    if (!isEnding) {
      thread_local const Owner owner;
    }
  }
  return *stream;
}

dnnl::memory::desc dnnlDesc(const Dims& dims, Format format) {
  dnnl::memory::dims extents(dims.begin(), dims.end());
  const auto strides = stridesOf(dims, format);
  dnnl::memory::dims steps(strides.begin(), strides.begin() + dims.rank);
  for (auto& step : steps) step = std::max<int64_t>(step, 1);
  return {extents, dnnl::memory::data_type::f32, steps};
}

std::optional<PostOps> toPostOps(const ops::ScalarExpr& expr, std::span<const runtime::TensorShape> extras,
                                 const runtime::TensorShape& output) {
  PostOps result;
  for (size_t k = 0; k < expr.instructions.size(); ++k) {
    if (result.ops.len() >= 16) return std::nullopt;
    const auto& instruction = expr.instructions[k];
    int running = -1;
    int other = -1;
    const int arity = row(instruction.op).arity;
    for (int i = 0; i < arity; ++i) {
      const auto& argument = instruction.arguments[static_cast<size_t>(i)];
      if (isRunning(argument, k)) {
        if (running >= 0) return std::nullopt;
        running = i;
      } else if (argument.kind != ScalarArgument::Kind::kLiteral) {
        if (argument.kind != ScalarArgument::Kind::kInput || argument.index == 0 || other >= 0) return std::nullopt;
        other = i;
      }
    }
    if (running < 0) return std::nullopt;
    if (isSwish(expr, k)) {
      appendEltwise(result.ops, algorithm::eltwise_swish, 1.f, 0.f);
      ++k;
      continue;
    }
    if (other < 0) {
      const auto eltwise = toEltwise(instruction, running);
      if (!eltwise) return std::nullopt;
      appendEltwise(result.ops, eltwise->kind, eltwise->alpha, eltwise->beta);
      continue;
    }
    const auto binary = arity == 2 ? toBinary(instruction.op, running) : std::nullopt;
    const int input = instruction.arguments[static_cast<size_t>(other)].index;
    const auto& extra = extras[static_cast<size_t>(input) - 1];
    if (!binary || !fitsBinary(extra, output)) return std::nullopt;
    result.binaries.push_back({result.ops.len(), input});
    result.ops.append_binary(*binary, dnnlDesc(extra.dims, extra.format));
  }
  return result;
}

void DnnlCall::bind(int argument, const dnnl::memory::desc& desc, int slot) {
  const dnnl::memory memory(desc, dnnlEngine(), nullptr);
  arguments_[argument] = memory;
  places_.emplace_back(memory, slot);
}

void DnnlCall::run(void* const* slots) {
  const platform::SerialScope scope(alone_);
  for (auto& [memory, slot] : places_) memory.set_data_handle(slots[slot]);
  primitive_.execute(dnnlStream(), arguments_);
}

dnnl::primitive_attr Epilogue::configure(std::span<const runtime::TensorShape> extras, const runtime::TensorShape& output,
                                         bool allowInside) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  extraCount_ = extras.size();
  inside_ = allowInside ? toPostOps(expr_, extras, output) : std::nullopt;
  if (inside_) {
    attributes.set_post_ops(inside_->ops);
  } else {
    std::vector<runtime::TensorShape> operands{output};
    operands.insert(operands.end(), extras.begin(), extras.end());
    runner_.configure(operands, output);
  }
  return attributes;
}

void Epilogue::bind(DnnlCall& call, std::span<const runtime::TensorShape> extras, int firstSlot) const {
  if (!inside_) return;
  for (const auto& binary : inside_->binaries) {
    const auto& extra = extras[static_cast<size_t>(binary.input) - 1];
    call.bind(DNNL_ARG_ATTR_MULTIPLE_POST_OP(binary.position) | DNNL_ARG_SRC_1, dnnlDesc(extra.dims, extra.format),
              firstSlot + binary.input - 1);
  }
}

void Epilogue::finish(void* const* extras, void* output) const {
  if (inside_ || expr_.empty()) return;
  std::array<void*, 16> operands{output};
  std::copy_n(extras, extraCount_, operands.begin() + 1);
  runner_.run(operands.data(), output);
}

}  // namespace tenon::backends::cpu
