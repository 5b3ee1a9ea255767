/* The markers of CUDA sources, empty here: this header set is for host compilers only. */
#pragma once

#define __host__
#define __device__
#define __global__
#define __shared__
#define __constant__
#define __managed__
#define __device_builtin__
#define __cudart_builtin__
#define __forceinline__ __inline__ __attribute__((always_inline))
#define CUDARTAPI
#define CUDART_CB
