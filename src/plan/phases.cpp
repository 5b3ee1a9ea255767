// Which sizes are read at which cut, and that nothing needs them before.
#include "plan/phases.h"

#include <algorithm>

#include "core/error.h"

namespace tenon::plan {
namespace {

class PhaseFinder {
 public:
  PhaseFinder(const Plan& plan, const Program& program, const ops::ShapeBinder& shapes)
      : plan_(plan), program_(program), shapes_(shapes) {}

  ProgramPhases run() {
    checkTables();
    result_.count = static_cast<int32_t>(program_.cuts.size()) + 1;
    result_.ofTensor.assign(program_.tensors.size(), 0);
    if (plan_.sizes.empty()) return std::move(result_);
    findWriters();
    for (size_t i = 0; i < plan_.sizes.size(); ++i) placeSize(i);
    for (const auto& size : plan_.sizes) symbols_.try_emplace(size.name, ops::kNoPhase);
    shapes_.placeSymbols(symbols_);
    for (size_t i = 0; i < program_.tensors.size(); ++i) placeTensor(i);
    for (size_t i = 0; i < program_.steps.size(); ++i) checkStep(static_cast<int32_t>(i));
    return std::move(result_);
  }

 private:
  void checkTables() const {
    int32_t last = 0;
    for (const int32_t cut : program_.cuts) {
      checkUser(cut >= last && cut <= static_cast<int32_t>(program_.steps.size()),
                "plan: a phase begins at step {}, expected {} to {}", cut, last, program_.steps.size());
      last = cut;
    }
    checkUser(program_.sizeTensors.size() == plan_.sizes.size() && program_.cuts.size() <= plan_.sizes.size(),
              "plan: {} cuts and {} tensors with sizes for {} sizes", program_.cuts.size(), program_.sizeTensors.size(),
              plan_.sizes.size());
    for (size_t i = 0; i < plan_.sizes.size(); ++i) checkNumber(plan_.sizes[i], program_.sizeTensors[i]);
  }

  void checkNumber(const Size& size, int32_t index) const {
    checkUser(index >= 0 && static_cast<size_t>(index) < program_.tensors.size(),
              "plan: the size '{}' is tensor {} of {}", size.name, index, program_.tensors.size());
    const auto& tensor = program_.tensors[static_cast<size_t>(index)];
    const bool isNumber = (tensor.dtype == DataType::kI32 || tensor.dtype == DataType::kI64) &&
                          isConstant(tensor.shape) && product(tensor.shape).isConstant(1) &&
                          tensor.viewOffset.isConstant() && tensor.layout == Layout::kLinear;
    checkUser(isNumber, "plan: the size '{}' is tensor '{}' {} {}, expected one integer", size.name, tensor.name,
              name(tensor.dtype), text(tensor.shape));
    checkUser(tensor.onHost || plan_.target.device == "cpu" || plan_.target.device == "null",
              "plan: the size '{}' is tensor '{}', which is on the device", size.name, tensor.name);
  }

  size_t baseOf(size_t tensor) const {
    const auto& record = program_.tensors[tensor];
    return record.storage == Storage::kView ? static_cast<size_t>(record.index) : tensor;
  }

  void findWriters() {
    writer_.assign(program_.tensors.size(), -1);
    for (size_t s = 0; s < program_.steps.size(); ++s) {
      if (program_.steps[s].kind == StepKind::kView) continue;
      for (const int32_t output : program_.steps[s].outputs)
        writer_[baseOf(static_cast<size_t>(output))] = static_cast<int32_t>(s);
    }
  }

  // Read at the first cut behind the last step that writes its memory: so it is what the program has computed by then.
  void placeSize(size_t index) {
    const auto tensor = static_cast<size_t>(program_.sizeTensors[index]);
    const int32_t writer = writer_[baseOf(tensor)];
    const int32_t phase = writer < 0 ? 1 : phaseOf(program_, writer) + 1;
    checkUser(phase < result_.count, "plan: the size '{}' is computed by step {}, behind which no phase begins",
              plan_.sizes[index].name, writer);
    result_.ofSize.push_back(phase);
    symbols_[plan_.sizes[index].name] = phase;
  }

  void placeTensor(size_t index) {
    const auto& tensor = program_.tensors[index];
    std::set<std::string> names;
    for (const auto& extent : tensor.shape) extent.collectSymbols(names);
    tensor.viewOffset.collectSymbols(names);
    tensor.pitch.collectSymbols(names);
    result_.ofTensor[index] = ops::phaseOf(names, symbols_);
    checkUser(result_.ofTensor[index] != ops::kNoPhase, "plan: tensor '{}' {} needs a size that no phase knows",
              tensor.name, text(tensor.shape));
    checkUser(tensor.storage != Storage::kInput || result_.ofTensor[index] == 0,
              "plan: input '{}' {} has an extent that the program computes", tensor.name, text(tensor.shape));
  }

  void checkStep(int32_t index) {
    const auto& step = program_.steps[static_cast<size_t>(index)];
    const int32_t phase = phaseOf(program_, index);
    const auto check = [&](int32_t needed, const std::string& what) {
      checkUser(needed != ops::kNoPhase && needed <= phase,
                "plan: step '{}' of phase {} needs {}, which is known in phase {}", step.name, phase, what, needed);
    };
    for (const auto* tensors : {&step.inputs, &step.outputs}) {
      for (const int32_t tensor : *tensors) {
        if (tensor < 0) continue;
        const auto at = static_cast<size_t>(tensor);
        check(result_.ofTensor[at], fmt::format("tensor '{}'", program_.tensors[at].name));
        // The user's memory is asked for when the shape of the whole output is known.
        const auto base = baseOf(at);
        if (program_.tensors[base].storage == Storage::kOutput)
          check(result_.ofTensor[base], fmt::format("output '{}'", program_.tensors[base].name));
      }
    }
    if (step.kind != StepKind::kLaunch) return;
    const auto [known, isNew] = operators_.try_emplace(step.kernel.op, 0);
    if (isNew) {
      std::set<std::string> names;
      ops::Operator::parse(step.kernel.op).collectSymbols(names);
      known->second = ops::phaseOf(names, symbols_);
    }
    check(known->second, "sizes in its operator");
  }

  const Plan& plan_;
  const Program& program_;
  const ops::ShapeBinder& shapes_;
  ProgramPhases result_;
  ops::SymbolPhases symbols_;
  std::vector<int32_t> writer_;  // by base tensor: the last step that writes it
  std::map<std::string_view, int32_t> operators_;
};

}  // namespace

int32_t phaseOf(const Program& program, int32_t step) {
  return static_cast<int32_t>(std::upper_bound(program.cuts.begin(), program.cuts.end(), step) - program.cuts.begin());
}

std::pair<size_t, size_t> stepsOf(const Program& program, int32_t phase) {
  const auto at = static_cast<size_t>(phase);
  const size_t first = phase == 0 ? 0 : static_cast<size_t>(program.cuts[at - 1]);
  const size_t last = at < program.cuts.size() ? static_cast<size_t>(program.cuts[at]) : program.steps.size();
  return {first, last};
}

ProgramPhases phasesOf(const Plan& plan, const Program& program, const ops::ShapeBinder& shapes) {
  return PhaseFinder(plan, program, shapes).run();
}

}  // namespace tenon::plan
