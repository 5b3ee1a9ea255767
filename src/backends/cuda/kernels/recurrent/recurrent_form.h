// The code of recurrent networks: what of an operator and its sizes is fixed in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/cuda/kernels/common/own_kernel.h"
#include "backends/cuda/kernels/recurrent/recurrent_parameters.h"
#include "ops/op/recurrent.h"

namespace tenon::backends::cuda {

// How the blocks of a direction learn each other's states.
enum class Meeting : uint8_t { kNone, kCluster, kGrid };  // one block; shared memory of a cluster; global memory
constexpr std::array<std::string_view, 3> enumNames(Meeting) { return {"alone", "cluster", "grid"}; }

// Of a launch that keeps the matrix in registers.
struct ResidentForm {
  int64_t columns = 16;  // of the matrix in a thread
  int64_t tile = 1;      // gates in a thread
  int64_t slices = 1;    // threads of a row
  int64_t rows = 1;      // of the batch in a block, at most
  Meeting meeting = Meeting::kNone;
  bool lanes = false;        // gates of a unit in neighbouring lanes, one row (recurrent_lanes.cu)
  std::string text() const;  // 16x4x8x1-cluster-lanes: columns, tile, slices, rows
  static ResidentForm read(std::string_view text);  // UserError when it is no form

  int64_t mostUnits(int64_t gates) const;  // of a block
  // Units of a block and blocks of a direction, for so many units and gates.
  int64_t units(int64_t hidden, int64_t gates) const;
  int64_t parts(int64_t hidden, int64_t gates) const;
  int64_t threads(int64_t hidden, int64_t gates) const;
  int64_t sharedBytes(int64_t gates) const;
  int64_t groups(int64_t batch) const { return (batch + rows - 1) / rows; }
  bool fits(int64_t hidden, int64_t gates) const { return columns * slices >= hidden && gates % tile == 0; }
};
constexpr int64_t kResidentThreads = 512;
constexpr int64_t kMostClusterParts = 8;
constexpr int64_t kMostResidentRows = 16;

// Those worth measuring, the best guess first; none where the matrix does not fit on the chip.
std::vector<ResidentForm> residentForms(const ops::Recurrent& op, int64_t hidden, int64_t batch, int64_t directions);

Code recurrentCode(std::string_view file, const ops::Recurrent& op, const Types& types,
                   const std::optional<ResidentForm>& form);

// Addresses by the operator's flags; `exchange` and what is behind it are the launcher's.
void setOperands(RecurrentParameters& p, const ops::Recurrent& op, const runtime::LaunchArguments& arguments);
void setExtents(RecurrentParameters& p, const ops::Recurrent& op, const runtime::Shapes& shapes);

// The form that takes any size.
size_t plainExchangeBytes(const RecurrentParameters& p);
void launchPlain(CUfunction function, RecurrentParameters& p, void* stream);

}  // namespace tenon::backends::cuda
