// SPDX-License-Identifier: Apache-2.0
//
//! \file
//! Dimensions of a fixed rank, from two to four.
#pragma once

#include "NvInferRuntimeBase.h"

namespace nvinfer1 {

//! Two extents.
class Dims2 : public Dims64 {
 public:
  //! Both 0.
  Dims2() : Dims2(0, 0) {}

  //! The extents, the outer one first.
  Dims2(int64_t d0, int64_t d1) {
    nbDims = 2;
    d[0] = d0;
    d[1] = d1;
    for (int64_t i = 2; i < Dims::MAX_DIMS; ++i) {
      d[i] = 0;
    }
  }
};

//! A height and a width, such as a window or a stride.
class DimsHW : public Dims2 {
 public:
  //! Both 0.
  DimsHW() : Dims2() {}

  //! A height and a width.
  DimsHW(int64_t height, int64_t width) : Dims2(height, width) {}

  //! The height.
  int64_t& h() { return d[0]; }

  //! The height.
  int64_t h() const { return d[0]; }

  //! The width.
  int64_t& w() { return d[1]; }

  //! The width.
  int64_t w() const { return d[1]; }
};

//! Three extents.
class Dims3 : public Dims2 {
 public:
  //! All 0.
  Dims3() : Dims3(0, 0, 0) {}

  //! The extents, outermost first.
  Dims3(int64_t d0, int64_t d1, int64_t d2) : Dims2(d0, d1) {
    nbDims = 3;
    d[2] = d2;
  }
};

//! Four extents.
class Dims4 : public Dims3 {
 public:
  //! All 0.
  Dims4() : Dims4(0, 0, 0, 0) {}

  //! The extents, outermost first.
  Dims4(int64_t d0, int64_t d1, int64_t d2, int64_t d3) : Dims3(d0, d1, d2) {
    nbDims = 4;
    d[3] = d3;
  }
};

}  // namespace nvinfer1
