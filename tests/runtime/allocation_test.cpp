// Enqueue allocates nothing once a context has run with the shapes at hand; counted on the device without hardware, so
// that only the runtime's own work counts.
#include <atomic>
#include <cstdlib>
#include <new>

#include "runtime_test_support.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<int> allocations{0};

void* counted(std::size_t bytes) {
  if (counting) ++allocations;
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes); }
void* operator new[](std::size_t bytes) { return counted(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {  // of std::stable_sort, among others
  if (counting) ++allocations;
  return std::malloc(bytes == 0 ? 1 : bytes);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace tenon::runtime {
namespace {

TEST(Allocation, NoneOnEnqueueAfterTheFirst) {
  auto plan = test::smallPlan(true);
  plan.target.device = "null";
  for (auto& program : plan.programs) {
    for (auto& step : program.steps) step.kernel.backend = "null", step.kernel.name = "nothing";
  }
  const auto engine = engineOf(plan);
  Context context(engine, {}, log());
  std::vector<float> x(24);
  std::vector<float> y(24);
  std::vector<float> other(24);
  context.setInputShape(0, {5, 3});
  context.setAddress(0, x.data());
  context.setAddress(1, y.data());
  context.enqueue(nullptr);
  counting = true;
  for (int i = 0; i < 10; ++i) {
    context.setInputShape(0, {5, 3});
    context.setAddress(1, i % 2 == 0 ? y.data() : other.data());
    context.enqueue(nullptr);
  }
  counting = false;
  EXPECT_EQ(allocations, 0);
}

}  // namespace
}  // namespace tenon::runtime
