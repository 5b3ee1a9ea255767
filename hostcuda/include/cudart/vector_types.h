/* The vector types of CUDA that host code sees: small structs with CUDA's names, members and alignments. */
#pragma once

#if defined(__cplusplus)
#define TENON_CUDART_ALIGNED(n) alignas(n)
#else
#define TENON_CUDART_ALIGNED(n) _Alignas(n)
#endif

/* name1 .. name4 over one scalar; the alignments of the pair and of the quadruple follow the scalar's size. */
#define TENON_CUDART_VECTORS(name, scalar, alignOf2, alignOf4) \
  struct name##1 { scalar x; }; \
  struct name##2 { TENON_CUDART_ALIGNED(alignOf2) scalar x; scalar y; }; \
  struct name##3 { scalar x, y, z; }; \
  struct name##4 { TENON_CUDART_ALIGNED(alignOf4) scalar x; scalar y, z, w; }; \
  typedef struct name##1 name##1; \
  typedef struct name##2 name##2; \
  typedef struct name##3 name##3; \
  typedef struct name##4 name##4;

TENON_CUDART_VECTORS(char, signed char, 2, 4)
TENON_CUDART_VECTORS(uchar, unsigned char, 2, 4)
TENON_CUDART_VECTORS(short, short, 4, 8)
TENON_CUDART_VECTORS(ushort, unsigned short, 4, 8)
TENON_CUDART_VECTORS(int, int, 8, 16)
TENON_CUDART_VECTORS(uint, unsigned int, 8, 16)
TENON_CUDART_VECTORS(long, long, 16, 16)
TENON_CUDART_VECTORS(ulong, unsigned long, 16, 16)
TENON_CUDART_VECTORS(longlong, long long, 16, 16)
TENON_CUDART_VECTORS(ulonglong, unsigned long long, 16, 16)
TENON_CUDART_VECTORS(float, float, 8, 16)
TENON_CUDART_VECTORS(double, double, 16, 16)

#undef TENON_CUDART_VECTORS

struct dim3 {
  unsigned int x, y, z;
#if defined(__cplusplus)
  constexpr dim3(unsigned int vx = 1, unsigned int vy = 1, unsigned int vz = 1) : x(vx), y(vy), z(vz) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return uint3{x, y, z}; }
#endif
};
typedef struct dim3 dim3;
