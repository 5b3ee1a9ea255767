// Operation graphs of cuDNN: made of tensors and operations, planned by an engine, executed.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cuda/cudnn/cudnn_descriptor.h"
#include "core/dtype.h"

namespace tenon::backends::cuda::dnn {

// The chip that graphs are planned for: that of this process through the calling thread's handle, or one described by
// its properties (JSON of cuDNN's own form; 9.8 and later), for which nothing can be executed and no GPU is needed.
class Chip {
 public:
  static Chip here();
  static Chip described(std::string_view properties);
  Handle handle() const noexcept { return handle_; }
  const Descriptor* properties() const noexcept { return properties_.get(); }

 private:
  Handle handle_ = nullptr;
  std::shared_ptr<const Descriptor> properties_;
};

// The calling thread's handle, working on the stream. Handles are reused by later threads and never destroyed.
Handle threadHandle(void* stream);

// A tensor with extents and strides in elements; virtual ones are never stored, by-value ones are scalars on the host.
struct Tensor {
  ElementType type = ElementType::kF32;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
  bool isVirtual = false;
  bool byValue = false;
};

struct Window {
  std::vector<int64_t> strides, dilations, pre, post;
};

struct PointwiseSettings {
  PointwiseMode mode = PointwiseMode::kIdentity;
  std::optional<double> lowerClip, upperClip, slope, alpha;
};

// An engine with its knobs: what a plan is made from, without any search. Text form "17:2=1,14=3".
struct EngineChoice {
  int64_t engine = 0;
  std::vector<std::pair<int64_t, int64_t>> knobs;
  std::string text() const;
  static EngineChoice parse(std::string_view text);  // throws UserError
};

enum class Math : uint8_t { kAny, kNoTensorCores };  // of f32 operands: whether they may be rounded to TF32

class ExecutionPlan;

class OperationGraph {
 public:
  explicit OperationGraph(const Chip& chip) : chip_(chip) {}
  using Id = int64_t;
  Id tensor(const Tensor& tensor);
  void convolution(const Window& window, Id x, Id w, Id y);
  void convolutionBackwardData(const Window& window, Id dy, Id w, Id dx);
  void matmul(Id a, Id b, Id c);                  // over the last two axes
  void reduce(ReductionOperator op, Id x, Id y);  // along the axes of which y has one element
  void pointwise(const PointwiseSettings& settings, Id x, std::optional<Id> b, Id y);
  void finish();

  // Engines that cuDNN proposes, best first; none where it refuses the graph. Left out are those that add up in
  // halves, and by `math` those that round.
  std::vector<EngineChoice> propose(HeuristicMode mode, Math math, size_t most) const;
  // Made once per process for equal graphs and choices. Throws Unsupported.
  std::shared_ptr<const ExecutionPlan> plan(const EngineChoice& choice) const;
  // The same for many choices at once, on several threads; those that fail are left out silently.
  void planAll(const std::vector<EngineChoice>& choices) const;
  // The same by what codeOf() gave for an equal graph and choice, so that nothing is compiled; of other graphs it is
  // not used. Made once for equal code as well: what one file holds serves no other engine.
  std::shared_ptr<const ExecutionPlan> plan(const EngineChoice& choice, std::span<const std::byte> code) const;
  // The plan of an engine that is compiled at run time, with its machine code; empty for other engines, and where cuDNN
  // has no such form. Throws Unsupported where there is no plan.
  std::vector<std::byte> codeOf(const EngineChoice& choice) const;
  // Whether plan() would compile now, or read the code, which takes up to a good part of a second. Throws Unsupported
  // where there is no such engine.
  bool mustCompile(const EngineChoice& choice, std::span<const std::byte> code = {}) const;
  bool isCompiled(const EngineChoice& choice) const;  // whether anybody must, once
  std::vector<NumericalNote> notesOf(const EngineChoice& choice) const;
  // The operations in words; equal graphs have equal text.
  const std::string& text() const noexcept { return text_; }

 private:
  std::string key(const EngineChoice& choice) const;
  std::string key(const EngineChoice& choice, std::span<const std::byte> code) const;
  std::string codeHeader(const EngineChoice& choice) const;
  Descriptor engine(const Chip& chip, int64_t index) const;
  Descriptor configuration(const Chip& chip, const EngineChoice& choice) const;
  Descriptor convolutionDescriptor(const Window& window);
  const Descriptor& at(Id id) const { return tensors_[static_cast<size_t>(id)]; }
  Chip chip_;
  std::string text_;
  std::vector<Descriptor> tensors_;
  std::vector<Descriptor> parts_;
  std::vector<Descriptor> operations_;
  Descriptor graph_{};
};

// Immutable and shared; executed by any thread.
class ExecutionPlan {
 public:
  ExecutionPlan(const Chip& chip, Descriptor config);
  ExecutionPlan(const Chip& chip, std::span<const std::byte> serialized);
  uint64_t workspaceBytes() const noexcept { return workspaceBytes_; }
  void execute(const Descriptor& pack, void* stream) const;
  // With the machine code of an engine that is compiled at run time. Throws Unsupported where cuDNN has no such form.
  std::vector<std::byte> serialized() const;

 private:
  void measure();
  Descriptor config_;
  Descriptor plan_;
  uint64_t workspaceBytes_ = 0;
};

ElementType elementType(DataType type);  // f32, f16, bf16; throws Unsupported for others

}  // namespace tenon::backends::cuda::dnn
