// Copies between strided views on the device: transposes, slices, concatenation and changes of format are all this.
#pragma once

#include "backends/cuda/driver/compiler.h"
#include "backends/cuda/kernels/common/space.h"
#include "backends/cuda/kernels/movement/movement_parameters.h"

namespace tenon::backends::cuda {

Code copyCode();  // what the module of a StridedCopy is made from

class StridedCopy {
 public:
  // Element (i...) of `space` goes from fromOffset + sum(i * from) to toOffset + sum(i * to), in elements of 1, 2, 4 or
  // 8 bytes. The module outlives the copy.
  void configure(const Module& module, const Dims& space, const Strides& from, int64_t fromOffset, const Strides& to,
                 int64_t toOffset, int elementBytes);
  void launch(const void* from, void* to, void* stream);

 private:
  bool configureTiles();
  void configurePackedTiles();
  void configureInterleaving();
  bool inWholePacks(size_t leaveOut, int64_t pack) const;
  void configureElements(int pack);

  const Module* module_ = nullptr;
  LoopSpace space_;  // operand 0 is `to`, operand 1 `from`
  int64_t fromOffset_ = 0;
  int64_t toOffset_ = 0;
  int bytes_ = 4;
  int64_t count_ = 0;
  bool tiled_ = false;
  int64_t blocks_ = 0;
  unsigned threads_ = 256;  // of a block
  int pack_ = 1;            // elements that move as one, what the code is set for
  int mostPack_ = 1;
  CUfunction function_ = nullptr;
  CopyParameters elements_;
  TileParameters tiles_;
  // What is quicker for addresses of whole packs; null: nothing is.
  CUfunction whole_ = nullptr;
  int64_t wholeBlocks_ = 0;
  TileParameters wholeTiles_;
};

// Rows of halves that stand one behind another as rows of f32, `toPitch` elements from one to the next.
class WideningCopy {
 public:
  // f16 or bf16; the module is that of a StridedCopy and outlives this.
  void configure(const Module& module, DataType type, int64_t rows, int64_t columns, int64_t toPitch);
  void launch(const void* from, void* to, void* stream);

 private:
  CUfunction function_ = nullptr;
  WidenParameters parameters_;
};

}  // namespace tenon::backends::cuda
