// What the loops and conditionals of a GPU share: their kernels, what the host reads of the device, what a region
// costs.
#pragma once

#include <optional>

#include "backends/cuda/driver/compiler.h"
#include "backends/cuda/driver/pinned_memory.h"
#include "core/storage.h"
#include "runtime/control.h"
#include "runtime/region_constants.h"

namespace tenon::backends::cuda {

constexpr size_t kRegionAlignment = 256;

// Kernels of two regions, and the code that moves what enters and leaves them.
class RegionKernel : public runtime::RegionsKernel {
 public:
  RegionKernel(std::span<const ops::Region> regions, size_t first, size_t changing, const runtime::KernelLoad& load);
  const Module& module() const { return module_; }

 private:
  Module module_;
};

// An element that the device has computed; waits for the stream.
class ReadBack {
 public:
  ReadBack() { memory_.reserve(sizeof(int64_t)); }
  int64_t integer(DataType type, const void* element, void* stream);

 private:
  PinnedMemory memory_;
};

// One element of a constant operand; none where it is no constant.
std::optional<int64_t> constantInteger(const TensorView& constant);

inline size_t bytesOfShape(const runtime::TensorShape& shape) { return bytesOf(shape.dtype, shape.dims.count()); }

// Throws UserError where operands do not suit the operator, Unsupported where they are not row-major.
void checkOperands(const ops::Operator& op, const runtime::Shapes& shapes);

// Of a configured region: what control.h says of the steps that are such.
bool isDecidedByDevice(const runtime::RegionRun& run);
bool callsHost(const runtime::RegionRun& run);
void rethrow(const runtime::RegionRun& run);
size_t launches(const runtime::RegionRun& run);

}  // namespace tenon::backends::cuda
