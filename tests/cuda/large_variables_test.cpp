// Variables of libraries on huge pages, which their constructors find there.
#include "backends/cuda/driver/large_variables.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>

namespace tenon::test {
namespace {

TEST(LargeVariables, LieOnHugePagesWhenConstructorsRun) {
  if (!std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) GTEST_SKIP() << "this kernel has no huge pages";
  void* library = nullptr;
  {
    const backends::cuda::LargeVariables whileItOpens;
    library = dlopen(TENON_LARGE_VARIABLES, RTLD_NOW | RTLD_LOCAL);
  }
  ASSERT_NE(library, nullptr) << dlerror();
  auto* const advised = reinterpret_cast<int (*)()>(dlsym(library, "variablesAreAdvised"));
  ASSERT_NE(advised, nullptr);
  EXPECT_EQ(advised(), 1);
  dlclose(library);
}

}  // namespace
}  // namespace tenon::test
