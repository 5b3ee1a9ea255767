// What products with experts are given.
#pragma once

#include <cstdint>

namespace tenon::backends::cuda {

constexpr int kExpertThreads = 256;
constexpr int kExpertColumns = 64;  // of a tile
constexpr int kExpertDepth = 16;    // of a stage
constexpr int kFewExpertRows = 16;  // of a tile
constexpr int kManyExpertRows = 64;
constexpr int kHalvesDepth = 64;        // of a stage on tensor cores
constexpr int kFewExpertColumns = 128;  // of a tile of few rows there
constexpr int kRowColumns = 64;         // of a block of one row, at most
constexpr int kRowDepth = 2048;         // of a row that is kept at once

struct ExpertParameters {
  const void* x = nullptr;
  const void* chosen = nullptr;  // experts, by row
  const void* weights = nullptr;
  void* y = nullptr;
  int64_t rows = 0;      // of the result
  int64_t perToken = 1;  // rows of a token
  int64_t sources = 1;   // rows of x for each token: 1, or as many
  int64_t experts = 0, depth = 0, columns = 0;
  int64_t tileRows = 1;
  int64_t columnTiles = 1;
  // Working memory. The list behind the last expert is that of the rows that have none.
  uint32_t* counts = nullptr;  // by expert: rows; zero at first
  uint32_t* places = nullptr;  // by row: within its expert
  uint32_t* starts = nullptr;  // by expert: where its rows begin in `order`
  uint32_t* tiles = nullptr;   // by expert: where its tiles begin, and how many there are
  uint32_t* order = nullptr;   // rows, expert by expert
};

}  // namespace tenon::backends::cuda
