// Squeeze-and-excitation by one kernel: shared memory, launches.
#include <algorithm>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/excitation/excitation.h"

namespace tenon::backends::cuda {
namespace {

constexpr size_t kPackBytes = 16;

// Parameters are "shape types".
struct Record {
  explicit Record(const plan::KernelRecord& record) : op(ops::Operator::parse(record.op)) {
    if (!op.refusal.empty()) throw Unsupported("cuda.excitation: {}", op.refusal);
    const ShapeAndTypes params(record);
    shape = ExcitationShape::parse(params.shape);
    type = params.types.inputs.at(0);
    const bool isKnown = isFloating(type) && bits(type) >= 16;
    if (!isKnown) throw Unsupported("cuda.excitation: images of {}", name(type));
  }
  ExcitationOp op;
  ExcitationShape shape;
  DataType type;
};

class ExcitationInstance final : public runtime::KernelInstance {
 public:
  ExcitationInstance(const Record& record, CUfunction function, bool hasConstants)
      : record_(record), function_(function), hasConstants_(hasConstants) {}

  size_t configure(const runtime::Shapes& shapes) override {
    images_ = 0;
    if (shapes.outputs[0].dims.count() == 0) return 0;
    auto refusal = record_.op.shapesRefusal(shapes);
    if (refusal.empty() && shapes.inputs[0].dtype != record_.type)
      refusal = fmt::format("an image of {}; the kernel was compiled for {}", name(shapes.inputs[0].dtype),
                            name(record_.type));
    if (!refusal.empty()) throw Unsupported("cuda.excitation: {}", refusal);
    const auto& x = shapes.inputs[0].dims;
    auto& p = parameters_;
    images_ = static_cast<unsigned>(x[0]);
    p.pixels = static_cast<int32_t>(x[2] * x[3]);
    p.channels = static_cast<int32_t>(x[1]);
    p.squeezed = static_cast<int32_t>(shapes.inputs[1].dims[0]);
    place();
    return 0;
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    if (images_ == 0) return;
    auto& p = parameters_;
    const auto& op = record_.op;
    const size_t second = op.secondWeights();
    p.x = arguments.inputs[0];
    p.y = arguments.outputs[0];
    p.squeeze = arguments.inputs[1];
    p.squeezeBias = op.squeeze.hasBias ? arguments.inputs[2] : nullptr;
    p.excite = arguments.inputs[second];
    p.exciteBias = op.excite.hasBias ? arguments.inputs[second + 1] : nullptr;
    if (p.channels % elementsOfPack() == 0) {
      for (const void* address : {p.x, static_cast<const void*>(p.y), p.squeeze, p.excite})
        checkUser(isAligned(address, kPackBytes), "excitation: a tensor is not aligned to {} bytes", kPackBytes);
    }
    launchCluster(function_, static_cast<unsigned>(record_.shape.blocks), images_, 1,
                  static_cast<unsigned>(record_.shape.threads), &p, arguments.stream, sharedBytes_);
  }

 private:
  int32_t elementsOfPack() const { return static_cast<int32_t>(kPackBytes) / (bits(record_.type) / 8); }

  // Where the blocks have what in shared memory.
  void place() {
    auto& p = parameters_;
    const auto& shape = record_.shape;
    const int32_t pack = elementsOfPack();
    const bool packed = p.channels % pack == 0;
    const auto up = [](int32_t n, int32_t to) { return (n + to - 1) / to * to; };
    p.slice = up((p.channels + shape.blocks - 1) / shape.blocks, pack);
    p.squeezedPacks = packed && p.squeezed % pack == 0 ? 1 : 0;
    const int32_t wide = packed ? pack : 1;
    const int32_t kept = shape.slices ? p.slice : p.channels;
    constexpr int32_t kApart = 4;  // floats, so that eight lanes' sums of neighbouring channels lie in different banks
    p.pitch = shape.slices ? up(p.slice, kApart) + kApart : p.channels;
    int32_t next = std::max(shape.threads / (kept / wide), 1) * p.pitch;
    const auto take = [&](int32_t floats) {
      const int32_t at = up(next, 4);
      next = at + floats;
      return at;
    };
    p.received = take(shape.blocks * p.slice);
    p.means = take(p.slice);
    p.parts = take(shape.blocks * p.squeezed);
    p.joined = take(p.squeezed);
    p.gates = take(shape.blocks * p.slice);
    p.barriers = take(8);  // three of 8 bytes
    p.biases = take(p.squeezed + p.slice);
    p.weights = take(0);
    const int64_t bytes = bits(record_.type) / 8;
    const bool alone = int64_t{images_} * shape.blocks <= multiprocessors();
    // Two blocks of a multiprocessor have room, or one where there are no more blocks.
    const int64_t most = std::min<int64_t>(alone ? kExcitationMostShared : kExcitationMostShared / 2,
                                           sharedBytesOfMultiprocessor() / (alone ? 1 : 2) - 1024);
    const int64_t weights = 2 * int64_t{p.squeezed} * p.slice * bytes;
    p.hasConstants = hasConstants_ ? 1 : 0;
    p.holds = alone && packed && hasConstants_ && int64_t{p.weights} * 4 + weights <= most ? 1 : 0;
    p.tile = up(p.weights + (p.holds != 0 ? static_cast<int32_t>((weights + 3) / 4) : 0), 4);
    const int64_t fixed = int64_t{p.tile} * 4;
    const int64_t share = shape.slices ? p.pixels : (p.pixels + shape.blocks - 1) / shape.blocks;
    const int64_t all = fixed + share * kept * bytes;
    p.keeps = all <= most ? 1 : 0;
    sharedBytes_ = static_cast<unsigned>(p.keeps != 0 ? all : fixed);
    checkUser(sharedBytes_ <= static_cast<unsigned>(kExcitationMostShared),
              "excitation: {} channels squeezed to {} need {} bytes of shared memory", p.channels, p.squeezed,
              sharedBytes_);
  }

  const Record& record_;
  CUfunction function_;
  bool hasConstants_;
  unsigned images_ = 0, sharedBytes_ = 0;
  ExcitationParameters parameters_;
};

class ExcitationKernel final : public runtime::Kernel {
 public:
  explicit ExcitationKernel(const runtime::KernelLoad& load)
      : record_(load.record), module_(load.nativeCode, excitationCode(record_.op, record_.shape.slices, record_.type)) {
    function_ = module_.function("tenon_excitation");
    hasConstants_ = true;  // what another launch may write is not read ahead of the wait for it
    const size_t operands = record_.op.secondWeights() + (record_.op.excite.hasBias ? 2 : 1);
    for (size_t i = 1; i < operands; ++i)
      hasConstants_ = hasConstants_ && i < load.constants.size() && load.constants[i].data != nullptr;
    allowSharedBytes(
        function_, static_cast<size_t>(std::min<int64_t>(kExcitationMostShared, sharedBytesOfMultiprocessor() - 1024)));
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<ExcitationInstance>(record_, function_, hasConstants_);
  }

 private:
  const Record record_;
  Module module_;
  CUfunction function_ = nullptr;
  bool hasConstants_ = false;
};

}  // namespace

KernelRow kernelRow_excitation() {
  return {"excitation", 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<ExcitationKernel>(load);
          },
          [](const plan::KernelRecord& row) {
            const Record record(row);
            return excitationCode(record.op, record.shape.slices, record.type);
          }};
}

}  // namespace tenon::backends::cuda
