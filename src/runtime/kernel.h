// The contract between the runtime and the kernels of a backend: records become kernels, kernels become instances.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/dims.h"
#include "core/layout.h"
#include "core/log.h"
#include "plan/program.h"
#include "runtime/device.h"

namespace tenon::runtime {

// A tensor of a kernel with concrete extents.
struct TensorShape {
  DataType dtype = DataType::kF32;
  Dims dims;
  Layout layout;
  int64_t pitch = 0;  // kChannelsLast: elements from pixel to pixel where it lies within a wider tensor; else 0
};

// Elements from one pixel of a channels-last tensor to the next.
inline int64_t pixelStep(const TensorShape& shape) { return shape.pitch != 0 ? shape.pitch : shape.dims[1]; }

// Extents for which an instance is made ready. Absent optional tensors have dtype only and rank 0. Only operands that
// the candidate named (compile::Candidate) have a pitch.
struct Shapes {
  std::span<const TensorShape> inputs;
  std::span<const TensorShape> outputs;
  const SymbolValues* symbols = nullptr;  // for fields of the operator that are expressions
};

struct LaunchArguments {
  void* const* inputs = nullptr;  // null where absent; constants are device addresses
  void* const* outputs = nullptr;
  void* workspace = nullptr;  // as large as configure() said, aligned to 64 bytes (256 on a GPU)
  StreamHandle stream = nullptr;
};

// A kernel of one step in one context. configure() is called by the context's thread when shapes change and may
// allocate; launch() is called on the enqueue path, allocates nothing, and throws nothing but Error.
class KernelInstance {
 public:
  virtual ~KernelInstance() = default;
  virtual size_t configure(const Shapes& shapes) = 0;  // returns workspace bytes
  virtual void launch(const LaunchArguments& arguments) = 0;
};

// A kernel of one step in an engine: immutable, shared by contexts, holds what depends on constants only.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual std::unique_ptr<KernelInstance> instantiate() const = 0;
};

struct KernelLoad {
  const plan::KernelRecord& record;
  // Constant operands by input position, with host addresses (data null where the input is no constant).
  std::span<const TensorView> constants;
  std::span<const std::byte> nativeCode;  // empty when there is none
  Log& log;
  bool sizesOnly = false;  // configure() will be asked and nothing launched: weights need not be packed
  bool trial = false;      // a candidate is measured: what could only be slow may be refused
};

// The kernels of a backend. load() throws Unsupported, naming the kernel, when this machine cannot run the record.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  virtual Device& device() = 0;
  // Empty when the backend works here, else the reason why not ("no CUDA driver: libcuda.so.1 was not found").
  virtual std::string unavailable() const = 0;
  virtual std::unique_ptr<Kernel> load(const KernelLoad& load) = 0;
  // Whether its kernels trust tensors to have the shapes that the operator gives, as kernels of the host do: of a plan
  // that nobody vouches for, each set of shapes is checked first then.
  virtual bool trustsItsOperands() { return device().isHost(); }
};

// Every backend that is built in, from a table generated from the folders of src/backends.
std::span<Backend* const> backends();
Backend& backend(std::string_view name);  // throws UserError naming the ones that exist

}  // namespace tenon::runtime
