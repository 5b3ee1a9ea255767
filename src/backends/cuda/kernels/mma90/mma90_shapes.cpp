// Which shapes of tiles promise most for a product.
#include <algorithm>
#include <set>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/mma90/mma90.h"

namespace tenon::backends::cuda {
namespace {

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Cycles that a product may take are rated by these. Those of matrices are fitted to the 40 fastest of 150 shapes of
// fourteen products of 64 to 512 rows, whose times they give within 10 per cent, so that the fastest, or one within 3
// per cent, is among the first eight; those of windows are measured apart from each other.
struct Costs {
  double start, latency;         // of a launch, of a wave of blocks
  double startBeside;            // less where the launch in front leaves half of the chip
  double ahead;                  // part of the weights that have a place which come while the launch in front runs
  double bytesAClock;            // into a multiprocessor
  double copy, row;              // of each copy, and of each row of x
  double shared;                 // of shared memory, over 128 bytes a clock
  double round;                  // from the wait for a place to what is copied there
  double chain;                  // beside the products of a step that wait for each other
  double join, joinBytesAClock;  // between blocks
  double finish, finishedAClock, finishedByWarpgroup;
};
constexpr Costs kOfMatrices{2550, 785, 1370, 0.79, 54, 71, 0.45, 1.2, 2070, 45, 386, 19, 2000, 30, 17};
constexpr Costs kOfWindows{2200, 500, 0, 0, 50, 125, 1.2, 0, 0, 20, 1200, 24, 600, 32, 1e9};

double cyclesOf(const Mma90Shape& shape, int64_t rows, int64_t columns, int64_t steps, const Costs& costs) {
  const auto real = [](int64_t v) { return static_cast<double>(v); };
  const int64_t blocks = divided(columns, kMma90Columns * shape.columnGroups) * divided(rows, shape.rows) * shape.parts;
  const int64_t atOnce = mma90Clustered(shape.parts);
  const int64_t byMemory = sharedBytesOfMultiprocessor() / (shape.sharedBytes() + 1024);
  const int64_t byRegisters = registersOfMultiprocessor() / (shape.registers() * shape.threads());
  const int64_t resident = std::max<int64_t>(std::min(byMemory, byRegisters), 1);
  const int64_t beside = std::min(resident, divided(blocks, atOnce));
  const double waves = real(divided(blocks, atOnce * beside));
  const int64_t own = divided(steps, shape.parts);
  const int64_t stages = divided(own, shape.depth);
  const double products = real(own) * (shape.isExact ? 12 : 4);
  // Weights that have a place come while the launch in front runs, if both fit: two blocks of a multiprocessor, or
  // blocks of different ones.
  const bool leavesHalf = 2 * blocks <= multiprocessors();
  const double ahead = real(std::min(stages, shape.stages)) * (resident > 1 || leavesHalf ? 1 : costs.ahead);
  const double late = (real(stages) - ahead) * real(shape.columnGroups);
  const int64_t tileBytes = kMma90TileBytes * (shape.isExact ? 2 : 1);
  const double bytes = late * real(shape.depth * tileBytes) + real(own * shape.rows * kMma90Bytes);
  const double copies = costs.copy * (late + real(stages)) + costs.row * real(own * shape.rows);
  const double load = real(beside) * std::max(bytes / costs.bytesAClock, copies);
  // Shared memory takes what comes, and gives for each 64 columns these and the rows.
  // Of exact ones the rest of the rows is written, too, and each product reads both of its operands.
  const int64_t ofColumns = (shape.isExact ? 5 : 2) * kMma90Columns * shape.columnGroups;
  const int64_t ofRows = (shape.isExact ? 3 + 3 * shape.columnGroups : 1 + shape.columnGroups) * shape.rows;
  const double shared = costs.shared * real(beside * own) * real(ofColumns + ofRows);
  const double tensor = real(beside * shape.columnGroups) * products * real(shape.rows) / 2 * 1.1;
  const double chain = std::max(products / real(shape.innerGroups), 4.0) * (real(shape.rows) / 2 + costs.chain);
  // Of exact ones a group waits for each stage's rest of rows, and then for its products before it adds them up.
  constexpr double kTurn = 400;
  const double turns = shape.isExact ? kTurn * real(divided(stages, shape.apart())) / real(beside) : 0;
  const double rounds = stages <= shape.stages ? 0 : costs.round * real(stages) / real(shape.stages);
  const double sums = real(beside * shape.rows * shape.columnGroups * kMma90Columns);
  const double join = shape.parts == 1 ? 0 : costs.join + sums * 4 / costs.joinBytesAClock;
  const double finish = costs.finish + sums * real(shape.innerGroups) / costs.finishedAClock +
                        real(shape.rows * kMma90Columns) / (costs.finishedByWarpgroup * real(shape.innerGroups));
  return costs.start - (leavesHalf ? costs.startBeside : 0) +
         waves * (costs.latency + std::max({load, shared, tensor, chain, rounds}) + turns + join + finish);
}

// Whether its parts have steps of the inner extent for all groups, in whole stages, and its threads have registers.
bool hasRoom(const Mma90Shape& shape, const Mma90Weights& weights) {
  const int64_t steps = weights.steps();
  if (shape.parts > steps || shape.innerGroups > divided(steps, shape.parts)) return false;
  if (!weights.allowsDepth(shape.depth) || (shape.depth > 1 && steps % (shape.parts * shape.depth) != 0)) return false;
  return shape.registers() * divided(shape.threads(), 128) * 128 <= registersOfMultiprocessor();
}

}  // namespace

int64_t mma90Clustered(int64_t blocks) {
  const int64_t all = multiprocessors();
  if (blocks <= 2) return all / blocks * blocks;
  return (blocks == 4 ? all * 10 / 11 : all * 4 / 5) / blocks * blocks;
}

std::vector<Mma90Shape> mma90Shapes(int64_t rows, const Mma90Weights& weights, size_t most, bool keeps) {
  const int64_t steps = weights.steps();
  const int64_t columns = weights.groups == 1 ? weights.columns : weights.paddedColumns();
  std::set<int64_t> heights;
  for (int64_t tiles = 1; tiles <= 64; ++tiles) {
    const int64_t height = divided(divided(rows, tiles), 8) * 8;
    if (height <= kMma90MostRows) heights.insert(height);
    if (height <= 16) break;
  }
  for (const int64_t height : {64, 128, 192, 256}) {
    if (rows > 2 * height) heights.insert(height);
  }
  struct Rated {
    double cycles;
    Mma90Shape shape;
  };
  std::vector<Rated> rated;
  // With as many stages as have a place beside another block, or alone.
  const auto consider = [&](Mma90Shape shape) {
    shape.isExact = weights.isExact;
    if (!hasRoom(shape, weights)) return;
    for (const int64_t bytes : {sharedBytesOfMultiprocessor() / 2 - 1024, sharedBytesOfMultiprocessor()}) {
      const int64_t left = bytes - kMma90HeadBytes - shape.receivedBytes() - 128;
      const int64_t all = divided(divided(steps, shape.parts), shape.depth);
      shape.stages = std::min<int64_t>({all, left / shape.stageBytes(), kMma90MostStages});
      if (shape.stages < all) shape.stages -= shape.stages % shape.apart();
      if (shape.stages < all && shape.stages < std::max<int64_t>(2 * shape.apart(), shape.depth == 1 ? 3 : 2)) continue;
      if (!shape.refusal(steps).empty() || shape.sharedBytes() > bytes) continue;
      if (!rated.empty() && rated.back().shape == shape) continue;
      rated.push_back({cyclesOf(shape, rows, columns, steps, weights.taps == 0 ? kOfMatrices : kOfWindows), shape});
    }
  };
  for (const int64_t height : heights) {
    if (divided(rows, height) > kMma90MostTiles) continue;
    for (const int64_t columnGroups : {1, 2}) {
      if (columnGroups == 2 && (columns <= kMma90Columns || weights.groups > 1)) continue;
      for (const int64_t innerGroups : {1, 2, 4}) {
        for (const int64_t parts : {1, 2, 3, 4, 6, 8}) {
          for (const int64_t depth : {1, 2, 4})
            consider({height, columnGroups, innerGroups, parts, 1, depth, weights.scaled, keeps});
        }
      }
    }
  }
  std::stable_sort(rated.begin(), rated.end(), [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
  // Few that differ least: of matrices two, which are the same but for their stages.
  const int64_t mostAlike = weights.taps == 0 ? 2 : 3;
  std::vector<Mma90Shape> result;
  for (const auto& one : rated) {
    const auto alike = std::count_if(result.begin(), result.end(), [&](const auto& other) {
      return other.rows == one.shape.rows && other.columnGroups == one.shape.columnGroups &&
             other.innerGroups == one.shape.innerGroups &&
             (weights.taps == 0 ? other.parts == one.shape.parts : other.depth == one.shape.depth);
    });
    if (result.size() < most && alike < mostAlike) result.push_back(one.shape);
  }
  return result;
}

}  // namespace tenon::backends::cuda
