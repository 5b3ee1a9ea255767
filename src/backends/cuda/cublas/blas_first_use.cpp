// Small products of the same kind.
#include "backends/cuda/cublas/blas_first_use.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "backends/cuda/driver/cuda_device.h"
#include "core/error.h"

namespace tenon::backends::cuda {
namespace {

// Whether nobody has used it; it counts as used then.
bool isNew(const std::string& what) {
  static auto* const kMutex = new std::mutex;
  static auto* const kUsed = new std::set<std::string>;
  const std::lock_guard lock(*kMutex);
  return kUsed->insert(what).second;
}

class Memory {
 public:
  explicit Memory(size_t bytes) : data_(cudaDevice().allocate(bytes, 256)) {}
  ~Memory() { cudaDevice().free(data_); }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::byte* at(size_t offset) const { return static_cast<std::byte*>(data_) + offset; }

 private:
  void* data_;
};

class OwnStream {
 public:
  OwnStream() { check(driver().streamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate"); }
  ~OwnStream() {
    driver().streamSynchronize(stream_);
    driver().streamDestroy(stream_);
  }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
  CUstream get() const { return stream_; }

 private:
  CUstream stream_ = nullptr;
};

}  // namespace

void useBlasFirst(const BlasShape& shape, const BlasEpilogue& epilogue, bool tf32, const BlasAlgorithm& algorithm) {
  constexpr int64_t kRows = 128, kColumns = 256, kInner = 512;
  constexpr size_t kMostWorkspace = size_t{4} << 20;
  auto small = shape;
  small.m = std::min(shape.m, kRows);
  small.n = std::min(shape.n, kColumns);
  small.k = std::min(shape.k, kInner);
  small.batch = 1;
  small.batchedA = small.batchedB = false;
  const auto kind = fmt::format("{} {} {} {} {} {} {} {} {}", name(shape.type), name(shape.result), shape.transposeA,
                                shape.transposeB, epilogue.bias >= 0, epilogue.residual >= 0,
                                static_cast<int>(epilogue.activation), tf32, algorithm.text());
  if (!isNew(kind)) return;
  try {
    makeCurrent();
    BlasProduct product(small, epilogue, tf32);
    if (!product.use(algorithm) || product.workspaceBytes() > kMostWorkspace) return;
    // Each operand has room for the largest of all elements.
    constexpr size_t kOperand = static_cast<size_t>(kInner * kColumns) * sizeof(float);
    const Memory memory(4 * kOperand + product.workspaceBytes());
    const OwnStream stream;
    product.run(memory.at(0), memory.at(kOperand), memory.at(2 * kOperand),
                epilogue.residual >= 0 ? memory.at(2 * kOperand) : nullptr, memory.at(3 * kOperand),
                memory.at(4 * kOperand), stream.get());
  } catch (const Error&) {
    // The product itself will say so.
  }
}

}  // namespace tenon::backends::cuda
