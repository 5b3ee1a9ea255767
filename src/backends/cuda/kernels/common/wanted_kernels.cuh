// All kernels of a source, or those alone that it names: it defines NAMED_KERNELS then, and HAS_<name> as a comma for
// each. The others become templates of which there is no instance, whose bodies cost next to nothing.
#pragma once

#ifdef NAMED_KERNELS
#define SECOND_OF(first, second, ...) second
#define CHOSEN_OF(...) SECOND_OF(__VA_ARGS__)
#define KERNEL_IF_WANTED(name, Parameters, ...) \
  CHOSEN_OF(HAS_##name __VA_ARGS__, template <int> __device__ void name##_body(const Parameters& p), )
#else
#define KERNEL_IF_WANTED(name, Parameters, ...) __VA_ARGS__
#endif
