// Recurrent networks whose matrix stays in registers over all steps.
#include "backends/cuda/driver/chip.h"
#include "backends/cuda/driver/compiler.h"
#include "backends/cuda/driver/cuda_device.h"
#include "backends/cuda/kernels/recurrent/recurrent_form.h"

namespace tenon::backends::cuda {
namespace {

struct Record {
  ops::Recurrent op;
  Types types;
  ResidentForm form;

  static Record read(const plan::KernelRecord& record) {
    Record result{descriptionOf<ops::Recurrent>(record), Types::read(record), {}};
    const auto space = record.params.rfind(' ');  // behind the types
    result.form = ResidentForm::read(std::string_view(record.params).substr(space + 1));
    checkUser(result.op.gates() % result.form.tile == 0, "cuda.{}: the form {} does not divide {} gates", record.name,
              result.form.text(), result.op.gates());
    checkUser(!result.form.lanes || (result.form.tile == result.op.gates() && !result.op.hasPeepholes),
              "cuda.{}: the form {} is for all gates of a unit and no peepholes", record.name, result.form.text());
    checkUser(!result.form.lanes || result.op.cell != ops::Cell::kGru || result.op.late,
              "cuda.{}: the form {} is for a late reset of the state", record.name, result.form.text());
    return result;
  }
  Code code() const {
    return recurrentCode(form.lanes ? "recurrent_lanes.cu" : "recurrent_resident.cu", op, types, form);
  }
};

class ResidentInstance final : public runtime::KernelInstance {
 public:
  ResidentInstance(const Record& record, CUfunction resident, CUfunction plain)
      : record_(record), resident_(resident), plain_(plain) {}

  size_t configure(const runtime::Shapes& shapes) override {
    auto& p = parameters_;
    setExtents(p, record_.op, shapes);
    const auto& form = record_.form;
    const int64_t gates = record_.op.gates();
    groups_ = form.groups(p.batch);
    const int64_t parts = form.parts(p.hidden, gates);
    const int64_t blocks = parts * p.directions * groups_;
    const bool isMet = form.meeting == Meeting::kNone      ? parts == 1
                       : form.meeting == Meeting::kCluster ? parts <= kMostClusterParts
                                                           : blocks <= multiprocessors();
    constexpr int64_t kMostGroups = 65535;
    // Sizes beside those that were tuned for may not fit; the plain form takes them.
    isPlain_ = p.hidden == 0 || p.batch == 0 || !form.fits(p.hidden, gates) || !isMet || groups_ > kMostGroups;
    if (isPlain_) return plainExchangeBytes(p);
    p.units = static_cast<int32_t>(form.units(p.hidden, gates));
    p.parts = static_cast<int32_t>(parts);
    p.rows = static_cast<int32_t>(form.rows);
    if (form.meeting != Meeting::kGrid) return 0;
    exchangeBytes_ = static_cast<size_t>(groups_ * p.directions * 2 * form.rows * p.hidden) * sizeof(float);
    return exchangeBytes_ + counterBytes();
  }

  void launch(const runtime::LaunchArguments& arguments) override {
    auto& p = parameters_;
    setOperands(p, record_.op, arguments);
    p.exchange = static_cast<float*>(arguments.workspace);
    if (isPlain_) return launchPlain(plain_, p, arguments.stream);
    const auto x = static_cast<unsigned>(p.parts);
    const auto y = static_cast<unsigned>(p.directions);
    const auto z = static_cast<unsigned>(groups_);
    const auto threads = static_cast<unsigned>(record_.form.threads(p.hidden, record_.op.gates()));
    const auto shared = static_cast<unsigned>(record_.form.sharedBytes(record_.op.gates()));
    switch (record_.form.meeting) {
      case Meeting::kNone: return launchGrid(resident_, x, y, z, threads, &p, arguments.stream, shared);
      case Meeting::kCluster: return launchCluster(resident_, x, y, z, threads, &p, arguments.stream, shared);
      case Meeting::kGrid: break;
    }
    p.arrived = reinterpret_cast<unsigned*>(static_cast<std::byte*>(arguments.workspace) + exchangeBytes_);
    check(driver().memsetAsync(reinterpret_cast<CUdeviceptr>(p.arrived), 0, counterBytes(),
                               static_cast<CUstream>(arguments.stream)),
          "cuMemsetD8Async");
    launchTogether(resident_, x, y, z, threads, &p, arguments.stream, shared);
  }

 private:
  size_t counterBytes() const {
    return static_cast<size_t>(groups_) * static_cast<size_t>(parameters_.directions) * sizeof(unsigned);
  }

  const Record& record_;
  CUfunction resident_;
  CUfunction plain_;
  bool isPlain_ = false;
  int64_t groups_ = 0;
  size_t exchangeBytes_ = 0;
  RecurrentParameters parameters_;
};

class ResidentKernel final : public runtime::Kernel {
 public:
  explicit ResidentKernel(const runtime::KernelLoad& load)
      : record_(Record::read(load.record)), module_(load.nativeCode, record_.code()) {
    if (record_.form.meeting != Meeting::kNone && driver().launchKernelEx == nullptr)
      throw Unsupported("cuda.{}: the driver launches no clusters and no blocks that meet", load.record.name);
    allowSharedBytes(module_.function("tenon_recurrent_resident"),
                     static_cast<size_t>(record_.form.sharedBytes(record_.op.gates())));
  }
  std::unique_ptr<runtime::KernelInstance> instantiate() const override {
    return std::make_unique<ResidentInstance>(record_, module_.function("tenon_recurrent_resident"),
                                              module_.function("tenon_recurrent_plain"));
  }

 private:
  Record record_;
  Module module_;
};

}  // namespace

KernelRow kernelRow_recurrent_resident() {
  return {"recurrent_resident", 1,
          [](const runtime::KernelLoad& load) -> std::unique_ptr<runtime::Kernel> {
            return std::make_unique<ResidentKernel>(load);
          },
          [](const plan::KernelRecord& record) { return Record::read(record).code(); }};
}

}  // namespace tenon::backends::cuda
