// Extents that no kernel may see.
#include "runtime/configure.h"

#include "core/error.h"
#include "core/lazy_text.h"
#include "core/storage.h"

namespace tenon::runtime {
namespace {

void check(std::span<const TensorShape> operands, std::string_view side) {
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto& operand = operands[i];
    checkUser(storageBytes(operand.dtype, operand.dims, operand.layout) <= kMostBytes,
              "{} {} would have the shape {}: expected no negative extent and at most {} bytes", side, i,
              textOf(operand.dims), kMostBytes);
  }
}

}  // namespace

size_t configure(KernelInstance& instance, const Shapes& shapes) {
  check(shapes.inputs, "input");
  check(shapes.outputs, "output");
  const size_t bytes = instance.configure(shapes);
  if (bytes > kMostBytes) throw OutOfMemory("a workspace of {} bytes exceeds the address space", bytes);
  return bytes;
}

}  // namespace tenon::runtime
