// A reduction of any type as tasks that threads share, with the reduced axes brought into one: rows where they are
// contiguous, else columns beside each other.
#pragma once

#include <utility>

#include "backends/cpu/kernels/common/axis_loops.h"
#include "backends/cpu/kernels/simd/reduce_simd.h"
#include "backends/cpu/kernels/simd/typed_simd.h"
#include "ops/op/reduce.h"
#include "runtime/kernel.h"

namespace tenon::backends::cpu {

// The tasks depend on shapes, types and axes alone: of two reductions of one tensor over the same axes, task i reads
// the same elements.
class ReduceTasks {
 public:
  explicit ReduceTasks(const ops::Reduce& op) : op_(op) {}

  // Returns the bytes of its workspace.
  size_t configure(const runtime::TensorShape& x, const runtime::TensorShape& y);
  int64_t count() const { return tasks_; }
  int64_t grain() const { return grain_; }  // tasks that a thread is worth waking for
  void run(int64_t task, const void* in, void* out, void* workspace) const;
  // Of f32 whose reduced elements are one row; `other` is of the same tensor and axes. The task of both, this one being
  // of the least elements and that of the greatest.
  bool isOfRows() const;
  void runExtremes(int64_t task, const void* in, void* least, void* leastWorkspace, const ReduceTasks& other,
                   void* most, void* mostWorkspace) const;
  // Once all tasks have run.
  void finish(void* out, void* workspace) const;

 private:
  static constexpr int64_t kAccumulator = 8;  // bytes

  void setTasks();
  std::pair<int64_t, int64_t> unitsOf(int64_t task) const;
  std::pair<int64_t, int64_t> placeOf(int64_t output) const;
  void reducePiece(int64_t task, const char* in, char* out, char* partial) const;
  void storePiece(int64_t task, const char* value, char* out, char* partial) const;
  void joinRows(const char* in, int64_t step, int64_t count, char* values) const;
  void reduceRows(int64_t task, const char* in, char* out) const;
  void reduceColumns(int64_t task, const char* in, char* out) const;
  void reduceUnits(const char* in, int64_t begin, int64_t end, void* value) const;
  void reduceRow(const char* in, int64_t count, void* value) const;
  void store(const void* values, int64_t count, char* out, int64_t step) const;

  ops::Reduce op_;
  ReduceFunctions functions_;
  VectorFunction widen_ = nullptr;  // of halves
  DataType type_ = DataType::kF32;
  DataType computedIn_ = DataType::kF32;
  int64_t bytes_ = 4;
  AxisLoops axes_;
  int64_t outputs_ = 0;
  int64_t reducedCount_ = 1;
  bool byColumns_ = false;
  bool isCopy_ = false;  // of single elements in their order
  bool byRows_ = false;  // rows that lie in one piece, many at a time
  int64_t units_ = 1;
  int64_t pieces_ = 1;  // by shapes only, so that results do not depend on the number of threads
  int64_t block_ = 1;   // outputs of a task, by rows or columns
  int64_t tasks_ = 0, grain_ = 1;
};

}  // namespace tenon::backends::cpu
