// Where the host's memory gives out: nothing of the device is lost, and nobody waits for ever.
#include "backends/cuda/driver/kept_blocks.h"
#include "backends/cuda/driver/made_once.h"
#include "cuda/on_gpu.h"

#include <cstdlib>
#include <future>
#include <new>
#include <utility>

namespace {

thread_local bool refusesMemory = false;

void* allocated(std::size_t bytes) { return refusesMemory ? nullptr : std::malloc(bytes == 0 ? 1 : bytes); }
void* allocatedOrThrow(std::size_t bytes) {
  if (void* const memory = allocated(bytes)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return allocatedOrThrow(bytes); }
void* operator new[](std::size_t bytes) { return allocatedOrThrow(bytes); }
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return allocated(bytes); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace tenon::test {
namespace {

using backends::cuda::driver;

CUdeviceptr lastFreed = 0;
decltype(backends::cuda::Driver::memAlloc) realAllocation = nullptr;
decltype(backends::cuda::Driver::memFree) realFree = nullptr;

// The driver's own tables are not what lacks memory.
CUresult lastAllocation(CUdeviceptr* pointer, size_t bytes) {
  const CUresult result = realAllocation(pointer, bytes);
  refusesMemory = true;
  return result;
}
CUresult noticedFree(CUdeviceptr pointer) {
  refusesMemory = false;
  lastFreed = pointer;
  return realFree(pointer);
}

TEST_F(OnGpu, KeptBlocksAreNotLostWhereTheHostHasNoMemory) {
  // The table is filled when the driver is opened, and is no constant object.
  auto& functions = const_cast<backends::cuda::Driver&>(driver());
  realAllocation = std::exchange(functions.memAlloc, &lastAllocation);
  realFree = std::exchange(functions.memFree, &noticedFree);
  backends::cuda::KeptBlocks blocks;
  blocks.keep();
  void* block = nullptr;
  bool threw = false;
  try {
    block = blocks.allocate(1000);
  } catch (const std::bad_alloc&) {
    threw = true;
  }
  refusesMemory = false;
  EXPECT_FALSE(threw);
  if (block != nullptr) blocks.free(block);
  EXPECT_EQ(lastFreed, reinterpret_cast<CUdeviceptr>(block));  // it is not among those that serve again
  blocks.letGo();
  functions.memAlloc = realAllocation;
  functions.memFree = realFree;
  EXPECT_NE(block, nullptr);
}

// Another thread that wants the same makes it itself.
TEST(MadeOnce, IsMadeByWhoWaitedWhereItCouldNotBeKept) {
  backends::cuda::MadeOnce<int> made(8);
  std::promise<void> begun, mayEnd;
  auto first = std::async(std::launch::async, [&] {
    return made.get("a key that is too long to stand within a string", [&] {
      auto thing = std::make_shared<const int>(1);
      begun.set_value();
      mayEnd.get_future().wait();
      refusesMemory = true;
      return thing;
    });
  });
  begun.get_future().wait();
  auto second = std::async(std::launch::async, [&] {
    return made.get("a key that is too long to stand within a string", [] { return std::make_shared<const int>(2); });
  });
  mayEnd.set_value();
  EXPECT_THROW(first.get(), std::bad_alloc);
  ASSERT_EQ(second.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_EQ(*second.get(), 2);
}

}  // namespace
}  // namespace tenon::test
