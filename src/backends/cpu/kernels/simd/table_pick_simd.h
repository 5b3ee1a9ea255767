// Rows whose elements are picked by one table for all of them, compiled for every SIMD width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::backends::cpu {

class TablePick;

// Rows of the result that are alike.
struct PickedRows {
  int64_t count = 1;
  int64_t step = 0;  // elements from one to the next
};

struct TablePickFunctions {
  using Run = void (*)(const TablePick& pick, const void* from, void* to, const PickedRows& rows);
  Run one = nullptr, two = nullptr;  // by how many vectors each piece reads
  int64_t lanes = 0;                 // elements of a vector
};

// to[i] = from[table[i]] by vectors: each vector of the row from one or two neighbouring vectors of `from`, which begin
// at an element that this holds, by lanes that this holds.
class TablePick {
 public:
  // Whether rows of elements of so many bytes can be picked so: 1, 2 or 4; the row and the `extent` that the table
  // reads fill a vector, and what a vector needs lies within two of them. Otherwise run() must not be called.
  bool plan(const std::vector<int64_t>& table, int64_t extent, int64_t bytes);
  void clear() { run_ = nullptr; }
  bool isPlanned() const { return run_ != nullptr; }
  void run(const void* from, void* to, const PickedRows& rows) const { run_(*this, from, to, rows); }

  struct Piece {
    int32_t to, from;  // elements
  };
  const std::vector<Piece>& pieces() const { return pieces_; }
  const void* lanes() const { return lanes_.data(); }

 private:
  TablePickFunctions::Run run_ = nullptr;
  std::vector<Piece> pieces_;
  std::vector<uint32_t> lanes_;  // of all pieces; bytes where elements are narrower
};

}  // namespace tenon::backends::cpu
