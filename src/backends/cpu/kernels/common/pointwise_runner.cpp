// Block-wise evaluation of scalar expressions.
#include "backends/cpu/kernels/common/pointwise_runner.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>

#include "backends/cpu/kernels/common/pitch.h"
#include "backends/cpu/kernels/common/strided_rows.h"
#include "core/error.h"
#include "core/platform/threads.h"
#include "core/storage.h"

namespace tenon::backends::cpu {
namespace {

constexpr int64_t kGrainElements = 16384;  // a thread is worth waking for about this many

int64_t padded(int64_t count) {
  constexpr auto kWhole = static_cast<int64_t>(kLanes);
  return (count + kWhole - 1) / kWhole * kWhole;
}

// One operator, or a product and the sum that it is computed with.
bool isOneCall(const ops::ScalarExpr& expr) {
  const auto& all = expr.instructions;
  if (all.size() != 2) return all.size() == 1;
  const auto isProduct = [](const ops::ScalarArgument& argument) {
    return argument.kind == ops::ScalarArgument::Kind::kResult;
  };
  return all[0].op == ops::ScalarOp::k_mul && all[1].op == ops::ScalarOp::k_add &&
         isProduct(all[1].arguments[0]) != isProduct(all[1].arguments[1]);
}

}  // namespace

PointwiseRunner::PointwiseRunner(ops::ScalarExpr expr, std::vector<int64_t> results)
    : expr_(std::move(expr)), results_(std::move(results)) {
  if (expr_.empty()) expr_ = ops::ScalarExpr::of(ops::ScalarOp::k_identity);
  if (results_.empty()) results_ = {static_cast<int64_t>(expr_.instructions.size()) - 1};
}

void PointwiseRunner::configure(std::span<const runtime::TensorShape> inputs,
                                std::span<const runtime::TensorShape> outputs, bool forValues) {
  inputBytes_.clear();
  outputBytes_.clear();
  const Dims& dims = outputs[0].dims;
  const int64_t block = channelBlock(outputs[0].layout);
  std::vector<Strides> operands;
  std::vector<DataType> types;
  for (const auto& output : outputs) {
    outputBytes_.push_back(bits(output.dtype) / 8);
    operands.push_back(pitchedWithinSplit(output, dims, block));
  }
  for (const auto& input : inputs) {
    types.push_back(input.dtype);
    inputBytes_.push_back(bits(input.dtype) / 8);
    operands.push_back(pitchedWithinSplit(input, dims, block));
  }
  space_ = collapse(splitChannels(dims, block), operands);
  // What an input repeats along the innermost axis is one value for a block of it.
  std::vector<bool> single(inputs.size(), false);
  for (size_t k = 0; !forValues && !joinsRows() && k < inputs.size(); ++k)
    single[k] = inputStrides(k).back() == 0 && space_.inner() > 1;
  code_ = PointwiseCode(expr_, results_, types, single);
  checkInternal(inputs.size() <= kMaxInputs && outputs.size() <= kMaxInputs && code_.buffers.size() <= kMaxBuffers,
                "pointwise expression with {} inputs and {} buffers", inputs.size(), code_.buffers.size());
  // As large as stays in the L1 cache, since calls cost too; as small as the scratch memory asks. What one call does
  // goes through no cache twice.
  const bool isOneCall = code_.calls.size() == 1;
  const int64_t cacheBytes = isOneCall ? 128 << 10 : 24 << 10;
  const int64_t largest = isOneCall ? 16384 : 4096;
  blockSize_ = std::clamp(static_cast<int64_t>(std::bit_floor(
                              static_cast<uint64_t>(cacheBytes / std::max<int64_t>(1, code_.bytesPerElement)))),
                          kBlock, largest);
  const auto room = static_cast<int64_t>(kScratchBytes);
  const auto bytes = [&] {
    offsets_.clear();
    int64_t offset = 0;
    for (size_t i = 0; i < code_.buffers.size(); ++i) {
      offsets_.push_back(offset);
      const int64_t elements = code_.isSingle[i] ? static_cast<int64_t>(kLanes) : blockSize_;
      offset += code_.isUsed[i] ? (elements * (bits(code_.buffers[i]) / 8) + 63) / 64 * 64 : 0;
    }
    return offset;
  };
  while (bytes() > room && blockSize_ > 64) blockSize_ /= 2;
  checkInternal(bytes() <= room, "a pointwise expression with values of {} bytes", code_.bytesPerElement);
  joinRows();
  isPlain_ = isPlain();
}

// One call whose operands it reads and writes where they are: single values and what is contiguous.
bool PointwiseRunner::isPlain() const {
  if (code_.calls.size() != 1 || outputBytes_.size() != 1 || outerRows_ != 1 || space_.strides[0].back() != 1)
    return false;
  if (code_.calls[0].isSingle || code_.calls[0].result != code_.outputs[0]) return false;
  const auto lanes = static_cast<int64_t>(kLanes);
  const int64_t last = (space_.inner() - 1) % blockSize_ + 1;  // of a row, which no whole vector may be longer than
  if (!code_.takesAnyCount && last < lanes) return false;
  for (size_t k = 0; k < inputBytes_.size(); ++k) {
    if (!code_.isSingle[k] && inputStrides(k).back() != 1) return false;
  }
  return true;
}

bool PointwiseRunner::joinsRows() const {
  const int64_t inner = space_.inner();
  const size_t axes = space_.extents.size();
  bool joins = axes > 1 && inner > 0 && inner <= kBlock / 2 && space_.extents[axes - 2] > 0;
  // One operator takes values that rows repeat as they are, which costs less than rows of them.
  constexpr int64_t kLongForOne = 64;
  if (joins && isOneCall(expr_) && inner >= kLongForOne) {
    bool repeats = false;
    bool isHalf = false;
    for (size_t k = 0; k < inputBytes_.size(); ++k) {
      repeats = repeats || inputStrides(k).back() == 0;
      isHalf = isHalf || inputBytes_[k] == sizeof(uint16_t);  // which takes more than a call
    }
    joins = !repeats || isHalf;
  }
  for (size_t j = 0; joins && j < outputBytes_.size(); ++j)
    joins = space_.strides[j].back() == 1 && space_.strides[j][axes - 2] == inner;
  return joins;
}

// A block of one short row is mostly overhead: scales of channels, attention masks, small images.
void PointwiseRunner::joinRows() {
  const int64_t inner = space_.inner();
  const size_t axes = space_.extents.size();
  rows_ = outerRows_ = slices_ = 1;
  if (!joinsRows()) {
    pieces_ = (inner + blockSize_ - 1) / blockSize_;
    return;
  }
  outerRows_ = space_.extents[axes - 2];
  rows_ = std::min(blockSize_ / inner, outerRows_);
  const auto lanes = static_cast<int64_t>(kLanes);
  const int64_t whole = lanes / std::gcd(inner, lanes);  // rows that fill vectors
  if (rows_ < outerRows_ || !joinSlices()) {
    if (rows_ > whole) rows_ -= rows_ % whole;
    pieces_ = (outerRows_ + rows_ - 1) / rows_;
  }
}

// Slices of few short rows, as reductions along an axis in the middle are broadcast again.
bool PointwiseRunner::joinSlices() {
  const size_t axes = space_.extents.size();
  const int64_t slice = rows_ * space_.inner();
  if (axes < 3 || slice * 2 > blockSize_ || space_.extents[axes - 3] < 2) return false;
  for (size_t j = 0; j < outputBytes_.size(); ++j) {
    if (space_.strides[j][axes - 3] != slice) return false;
  }
  const int64_t extent = space_.extents[axes - 3];
  const auto lanes = static_cast<int64_t>(kLanes);
  const int64_t whole = lanes / std::gcd(slice, lanes);
  slices_ = std::min(blockSize_ / slice, extent);
  if (slices_ > whole) slices_ -= slices_ % whole;
  outerRows_ *= extent;
  pieces_ = (extent + slices_ - 1) / slices_;
  return true;
}

void PointwiseRunner::run(void* const* inputs, void* const* outputs) const {
  const int64_t total = space_.outer() / outerRows_ * pieces_;
  const int64_t elements = std::max<int64_t>(1, std::min(blockSize_, slices_ * rows_ * space_.inner()));
  platform::parallelFor(total, std::max<int64_t>(1, kGrainElements / elements),
                        [&](int64_t begin, int64_t end) { pieces(inputs, outputs, begin, end); });
}

// Rows that follow each other along one axis are reached by a step; only its ends cost divisions.
void PointwiseRunner::moveTo(int64_t row, Position& position) const {
  if (row == position.row) return;
  const size_t axes = space_.extents.size();
  const bool follows = axes > 1 && row == position.row + 1 && position.onAxis + 1 < space_.extents[axes - 2];
  if (follows && position.row >= 0) {
    ++position.onAxis;
    for (size_t k = 0; k < space_.strides.size(); ++k) position.offsets[k] += space_.strides[k][axes - 2];
  } else {
    space_.offsets(row, position.offsets.data());
    position.onAxis = axes > 1 ? row % space_.extents[axes - 2] : 0;
  }
  position.row = row;
}

void PointwiseRunner::plainPieces(void* const* inputs, char* output, int64_t begin, int64_t end,
                                  const Places& buffers) const {
  const auto& call = code_.calls[0];
  const auto lanes = static_cast<int64_t>(kLanes);
  Position position;
  int64_t row = begin / pieces_;
  int64_t piece = begin % pieces_;
  for (int64_t at = begin; at < end; ++at) {
    moveTo(row, position);
    const int64_t first = piece * blockSize_;
    const int64_t count = std::min(blockSize_, space_.inner() - first);
    std::array<const char*, 3> from;
    std::array<int64_t, 3> step;  // bytes of an element, 0 where there is one for all
    for (size_t i = 0; i < from.size(); ++i) {
      const auto operand = static_cast<size_t>(call.operands[i]);
      from[i] = buffers[operand];
      step[i] = 0;
      if (operand >= inputBytes_.size()) continue;
      if (!code_.isSingle[operand]) step[i] = inputBytes_[operand];
      from[i] = static_cast<const char*>(inputs[operand]) + position.offsets[1 + operand] * inputBytes_[operand] +
                first * step[i];
    }
    char* const to = output + (position.offsets[0] + first) * outputBytes_[0];
    const int64_t rest = code_.takesAnyCount ? 0 : count % lanes;
    if (count > rest) call.function(from[0], from[1], from[2], to, static_cast<size_t>(count - rest));
    if (rest != 0) {  // the last whole vector, of which a part stands already
      const int64_t back = count - lanes;
      call.function(from[0] + back * step[0], from[1] + back * step[1], from[2] + back * step[2],
                    to + back * outputBytes_[0], kLanes);
    }
    if (++piece == pieces_) {
      piece = 0;
      ++row;
    }
  }
}

void PointwiseRunner::pieces(void* const* inputs, void* const* outputs, int64_t begin, int64_t end) const {
  alignas(64) char scratch[kScratchBytes];
  prepare(scratch);
  const Places buffers = buffersAt(scratch);
  if (isPlain_ && std::find(inputs, inputs + inputBytes_.size(), outputs[0]) == inputs + inputBytes_.size())
    return plainPieces(inputs, static_cast<char*>(outputs[0]), begin, end, buffers);
  Position position;
  Block piece;
  const size_t outputCount = outputBytes_.size();
  const bool joined = outerRows_ > 1;
  int64_t outer = begin / pieces_;
  int64_t inOuter = begin % pieces_;
  for (int64_t at = begin; at < end; ++at) {
    const int64_t firstRow = joined ? inOuter * slices_ * rows_ : 0;
    const int64_t first = joined ? 0 : inOuter * blockSize_;
    moveTo(outer * outerRows_ + firstRow, position);
    piece.rows = joined ? std::min(rows_, outerRows_ - firstRow) : 1;
    piece.slices = std::min(slices_, (outerRows_ - firstRow) / piece.rows);
    piece.count = std::min(blockSize_, space_.inner() - first);
    for (size_t k = 0; k < inputBytes_.size(); ++k) {
      const int64_t offset = position.offsets[outputCount + k] + first * inputStrides(k).back();
      piece.in[k] = static_cast<const char*>(inputs[k]) + offset * inputBytes_[k];
    }
    for (size_t j = 0; j < outputCount; ++j) {
      const int64_t offset = position.offsets[j] + first * space_.strides[j].back();
      piece.out[j] = static_cast<char*>(outputs[j]) + offset * outputBytes_[j];
    }
    block(piece, buffers);
    if (++inOuter == pieces_) {
      inOuter = 0;
      ++outer;
    }
  }
}

void PointwiseRunner::prepare(char* scratch) const {
  for (const auto& literal : code_.literals) {
    if (!code_.isUsed[static_cast<size_t>(literal.buffer)]) continue;
    const auto type = code_.buffers[static_cast<size_t>(literal.buffer)];
    char* const to = scratch + offsets_[static_cast<size_t>(literal.buffer)];
    storeDouble(type, to, 0, literal.value);
    gatherStrided(bits(type) / 8, to, 0, static_cast<int64_t>(kLanes), to);
  }
}

PointwiseRunner::Places PointwiseRunner::buffersAt(char* scratch) const {
  Places place;
  for (size_t i = 0; i < offsets_.size(); ++i) place[i] = scratch + offsets_[i];
  return place;
}

// The operand's rows behind each other, and zeros up to a whole vector.
void PointwiseRunner::gather(Block& block, size_t operand, char* to) const {
  const int64_t all = block.elements();
  const bool sameCount = code_.isSingle[operand] || block.loadedCount[operand] == all;
  if (block.loaded[operand] == block.in[operand] && sameCount) return;
  block.loaded[operand] = block.in[operand];
  block.loadedCount[operand] = all;
  const auto& strides = inputStrides(operand);
  const int64_t bytes = inputBytes_[operand];
  if (code_.isSingle[operand]) return gatherStrided(bytes, block.in[operand], 0, static_cast<int64_t>(kLanes), to);
  const int64_t step = block.rows > 1 ? strides[strides.size() - 2] : 0;
  const int64_t slice = block.slices > 1 ? strides[strides.size() - 3] : 0;
  for (int64_t i = 0; i < block.slices; ++i)
    gatherRows(bytes, block.in[operand] + i * slice * bytes, step, strides.back(), block.rows, block.count,
               to + i * block.rows * block.count * bytes);
  std::memset(to + all * bytes, 0, static_cast<size_t>((padded(all) - all) * bytes));
}

void PointwiseRunner::compute(const Places& place, size_t count) const {
  for (const auto& call : code_.calls) {
    call.function(place[static_cast<size_t>(call.operands[0])], place[static_cast<size_t>(call.operands[1])],
                  place[static_cast<size_t>(call.operands[2])], place[static_cast<size_t>(call.result)],
                  call.isSingle ? kLanes : count);
  }
}

const void* PointwiseRunner::values(const char* const* in, const int64_t* strides, int64_t count, char* scratch) const {
  Places place = buffersAt(scratch);
  const int64_t all = padded(count);
  for (size_t k = 0; k < inputBytes_.size(); ++k) {
    if (count == all && strides[k] == 1) {
      place[k] = const_cast<char*>(in[k]);
      continue;
    }
    gatherStrided(inputBytes_[k], in[k], strides[k], count, place[k]);
    std::memset(place[k] + count * inputBytes_[k], 0, static_cast<size_t>((all - count) * inputBytes_[k]));
  }
  compute(place, static_cast<size_t>(all));
  return place[static_cast<size_t>(code_.outputs[0])];
}

bool PointwiseRunner::mayOverwrite(size_t output) const {
  const auto& last = code_.calls.back();
  return outputBytes_.size() == 1 && last.mayOverwrite && last.result == code_.outputs[output];
}

// Whether the block of an output is that of an input.
bool PointwiseRunner::overlaps(const Block& block, size_t output) const {
  const char* const begin = block.out[output];
  const char* const end = begin + block.elements() * outputBytes_[output];
  for (size_t k = 0; k < inputBytes_.size(); ++k) {
    const char* const in = block.in[k];
    if (in < end && begin < in + block.elements() * inputBytes_[k]) return true;
  }
  return false;
}

// Whole vectors where they are, then the rest: the last whole vector again where its operands are still there, else by
// way of the buffers.
void PointwiseRunner::block(Block& block, const Places& buffers) const {
  const auto lanes = static_cast<int64_t>(kLanes);
  const int64_t rest = block.count % lanes;
  if (block.rows != 1 || rest == 0 || block.count < lanes || code_.takesAnyCount) return part(block, buffers);
  bool again = true;
  for (size_t j = 0; again && j < outputBytes_.size(); ++j) again = !overlaps(block, j);
  block.count -= rest;
  part(block, buffers);
  const int64_t step = again ? block.count + rest - lanes : block.count;
  for (size_t k = 0; k < inputBytes_.size(); ++k) block.in[k] += step * inputStrides(k).back() * inputBytes_[k];
  for (size_t j = 0; j < outputBytes_.size(); ++j) block.out[j] += step * space_.strides[j].back() * outputBytes_[j];
  block.count = again ? lanes : rest;
  part(block, buffers);
}

void PointwiseRunner::part(Block& block, const Places& buffers) const {
  const int64_t count = block.elements();
  const bool whole = code_.takesAnyCount || count == padded(count);
  Places place;  // of some hundred, few are used
  std::copy_n(buffers.begin(), code_.buffers.size(), place.begin());
  for (size_t k = 0; k < inputBytes_.size(); ++k) {
    const auto& strides = inputStrides(k);
    const bool contiguous = strides.back() == 1 && (block.rows == 1 || strides[strides.size() - 2] == block.count) &&
                            (block.slices == 1 || strides[strides.size() - 3] == block.rows * block.count);
    if (whole && contiguous && !code_.isSingle[k]) {
      place[k] = const_cast<char*>(block.in[k]);
    } else {
      gather(block, k, place[k]);
    }
  }
  uint64_t direct = 0;
  for (size_t j = 0; j < outputBytes_.size(); ++j) {
    if (!whole || space_.strides[j].back() != 1 || (!mayOverwrite(j) && overlaps(block, j))) continue;
    direct |= uint64_t{1} << j;
    place[static_cast<size_t>(code_.outputs[j])] = block.out[j];
  }
  compute(place, static_cast<size_t>(code_.takesAnyCount ? count : padded(count)));
  for (size_t j = 0; j < outputBytes_.size(); ++j) {
    if ((direct >> j & 1) != 0) continue;
    scatterStrided(outputBytes_[j], place[static_cast<size_t>(code_.outputs[j])], block.out[j],
                   space_.strides[j].back(), count);
  }
}

}  // namespace tenon::backends::cpu
