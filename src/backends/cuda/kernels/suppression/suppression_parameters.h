// What kernels that leave overlapping boxes out are given.
#pragma once

#include <cstdint>

namespace tenon::backends::cuda {

constexpr int kSuppressionThreads = 256;
constexpr int kBoxesAtOnce = 64;  // that are compared with each other before one after another is decided on
constexpr int kSelectBins = 2048;
constexpr int kSelectPasses = 6;  // 11, 11 and 10 bits of the score, then of the place
constexpr int kSelectedOfThread = 16;

// How far the best candidates of an item are told from the others: those whose key begins with `prefix` are between.
// Once that is done, `prefix` is the last key that is taken.
struct SelectState {
  uint64_t prefix;
  uint64_t need;  // of those between
  uint64_t done;
};

struct SuppressionParameters {
  const void* boxes = nullptr;
  const void* scores = nullptr;
  // Limits in tensors
  const void* most = nullptr;  // boxes of a class
  const float* overlap = nullptr;
  const float* threshold = nullptr;
  // or in numbers
  double scoreThreshold = 0, overlapThreshold = 0;
  double longerArea = 0, longerSide = 0;  // by how much sides count longer
  int64_t perClass = 0, inAll = 0, keepPerClass = 0, background = -1;
  int64_t keep = 0;  // written at most: of an item, or of all items

  int64_t items = 0, boxCount = 0, classes = 0;
  int64_t sets = 1;      // of boxes: 1, or one for each class
  int64_t pairs = 0;     // of box and class, in an item
  int64_t limit = 0;     // candidates of an item
  int64_t capacity = 0;  // keys of an item
  int64_t blocks = 0;    // of an item, over its pairs
  int64_t groups = 1;    // of candidates that may suppress each other: the classes, or one
  int64_t keptRoom = 0;  // of a group
  int32_t pass = 0;

  // Working memory; up to `kept` it is zero at first.
  uint32_t* counts = nullptr;      // by item: candidates
  uint32_t* written = nullptr;     // by item: boxes that are results
  uint32_t* ofClass = nullptr;     // by item and class, where they are counted: kept boxes
  uint32_t* histograms = nullptr;  // by item and pass
  uint8_t* alive = nullptr;        // by item and candidate: among the first of its class
  uint8_t* flags = nullptr;        // by item and candidate: a result
  uint32_t* kept = nullptr;        // by item and group: places of kept boxes
  uint32_t* ends = nullptr;        // by item: candidates up to here are looked at
  SelectState* states = nullptr;   // by item and pass
  uint64_t* keys = nullptr;        // by item

  void* outputs[4] = {};
};

}  // namespace tenon::backends::cuda
