// SPDX-License-Identifier: Apache-2.0
// A plugin whose work is one kernel on the stream, where there is a GPU; elsewhere the host computes the same. It may
// be captured into graphs. Each enqueue() is noted.
#include <dlfcn.h>

#include "plugin_v3.h"

namespace library {
namespace {

// y[i] = factor * x[i] of `count` elements.
constexpr const char* kPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry scale(.param .u64 x, .param .u64 y, .param .f32 factor, .param .u32 count)
{
  .reg .pred %p<2>;
  .reg .f32 %f<4>;
  .reg .b32 %r<6>;
  .reg .b64 %d<8>;
  ld.param.u64 %d1, [x];
  ld.param.u64 %d2, [y];
  ld.param.f32 %f1, [factor];
  ld.param.u32 %r1, [count];
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %tid.x;
  mad.lo.u32 %r5, %r2, %r3, %r4;
  setp.ge.u32 %p1, %r5, %r1;
  @%p1 bra done;
  cvta.to.global.u64 %d3, %d1;
  cvta.to.global.u64 %d4, %d2;
  mul.wide.u32 %d5, %r5, 4;
  add.u64 %d6, %d3, %d5;
  add.u64 %d7, %d4, %d5;
  ld.global.f32 %f2, [%d6];
  mul.f32 %f3, %f2, %f1;
  st.global.f32 [%d7], %f3;
done:
  ret;
}
)";

// The part of the driver that launches a kernel; empty where the calling thread has no GPU.
class Driver {
 public:
  static bool isThere() {
    static const auto current =
        reinterpret_cast<int (*)(void**)>(driver() != nullptr ? dlsym(driver(), "cuCtxGetCurrent") : nullptr);
    void* context = nullptr;
    return current != nullptr && current(&context) == 0 && context != nullptr;
  }
  static int launch(const void* x, void* y, float factor, uint32_t count, cudaStream_t stream) {
    static void* const kernel = load();
    if (kernel == nullptr) return 1;
    static const auto launchKernel =
        reinterpret_cast<int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                 cudaStream_t, void**, void**)>(dlsym(driver(), "cuLaunchKernel"));
    constexpr unsigned kBlock = 128;
    void* arguments[] = {&x, &y, &factor, &count};
    return launchKernel(kernel, (count + kBlock - 1) / kBlock, 1, 1, kBlock, 1, 1, 0, stream, arguments, nullptr);
  }

 private:
  static void* driver() {
    static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    return library;
  }
  static void* load() {
    const auto loadData = reinterpret_cast<int (*)(void**, const void*)>(dlsym(driver(), "cuModuleLoadData"));
    const auto function = reinterpret_cast<int (*)(void**, void*, const char*)>(dlsym(driver(), "cuModuleGetFunction"));
    void *code = nullptr, *kernel = nullptr;
    return loadData(&code, kPtx) == 0 && function(&kernel, code, "scale") == 0 ? kernel : nullptr;
  }
};

class OnStream final : public Plugin<OnStream> {
 public:
  static constexpr const char* kName = "OnStream";
  using Plugin::Plugin;
  OnStream(const OnStream&) = default;
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc*, const void* const* inputs, void* const* outputs,
                  void*, cudaStream_t stream) noexcept override {
    note("OnStream.enqueue");
    const int64_t count = volume(in->dims);
    const float factor = floatField(fields(), "factor", 1);
    if (count == 0) return 0;
    if (Driver::isThere()) return Driver::launch(inputs[0], outputs[0], factor, static_cast<uint32_t>(count), stream);
    for (int64_t i = 0; i < count; ++i)
      static_cast<float*>(outputs[0])[i] = factor * static_cast<const float*>(inputs[0])[i];
    return 0;
  }
};

}  // namespace

const std::vector<IPluginCreatorInterface*>& creatorsStream() {
  static Creator<OnStream> creator;
  static const std::vector<IPluginCreatorInterface*> kAll{&creator};
  return kAll;
}

}  // namespace library
