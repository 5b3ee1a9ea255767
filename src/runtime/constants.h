// The constants of a plan while its engine is loaded on the host: what is there in a layout of a kernel is not kept a
// second time.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "plan/blob.h"
#include "plan/program.h"
#include "runtime/device_constants.h"
#include "runtime/kernel.h"

namespace tenon::runtime {

// Where the constants of a plan that was read lie.
struct PlanSource {
  plan::Blob blob;
  bool isLent = false;  // the caller's memory, which goes with the end of the load; else ours
};

// A constant whose bytes are there only in a layout of a kernel: packed for it, or within it.
struct HeldConstant {
  size_t record = 0;                     // of plan::Plan::constants
  std::shared_ptr<const Kernel> kernel;  // a Keeper, where it is not packed
  size_t input = 0;
  const PackedConstant* packed = nullptr;
  size_t position = 0;  // of PackedForm::inputs
};

// Large constants stay where they are until all kernels that read them are loaded. Those that all hold restorably are
// let go; others, and all small ones, stay or, where the memory is lent, are copied.
class Constants {
 public:
  // Without a source everything stays as it is.
  Constants(plan::Plan& plan, const PlanSource* source, bool onHost);

  // Whether an operand of the step may yet be let go.
  bool mayRelease(const plan::Program& program, const plan::Step& step) const;
  // After the step's kernel was loaded, its operands packed and, where mayRelease() said so, it was configured. False:
  // operands have moved and the kernel must be loaded again.
  bool settle(const plan::Program& program, const plan::Step& step, const std::shared_ptr<const Kernel>& kernel,
              std::span<const PackedOperand> packed);
  // After all of that; once per step.
  void done(const plan::Program& program, const plan::Step& step);

  std::vector<HeldConstant> takeHeld() { return std::move(held_); }

 private:
  // Records of the same bytes.
  struct Group {
    std::vector<size_t> records;
    size_t uses = 0;  // by operands of steps that are not loaded yet
    bool stays = false;
    std::vector<HeldConstant> holders;
  };

  void count(const plan::Program& program);
  Group* groupOf(const plan::Program& program, int32_t tensor);
  const Group* groupOf(const plan::Program& program, int32_t tensor) const;
  void keep(Group& group);
  void release(Group& group);
  static void releaseHolders(const Group& group);

  plan::Plan& plan_;
  const PlanSource* source_;
  std::vector<Group> groups_;
  std::vector<size_t> groupOfRecord_;
  std::vector<HeldConstant> held_;
};

// The plan with the bytes of all its constants.
plan::Plan restored(const plan::Plan& plan, const std::vector<HeldConstant>& held);

}  // namespace tenon::runtime
