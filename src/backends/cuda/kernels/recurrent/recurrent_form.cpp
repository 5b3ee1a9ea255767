// Forms of recurrent networks' code.
#include "backends/cuda/kernels/recurrent/recurrent_form.h"

#include <algorithm>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/driver/compiler.h"
#include "core/fields.h"

namespace tenon::backends::cuda {
namespace {

constexpr int64_t kWarp = 32;
constexpr int64_t kLeastLanes = 4;  // of a unit whose gates are in lanes of their own

std::string literal(double value) { return fmt::format("({:.9e}f)", value); }

// The function of a float x as CUDA text.
std::string functionText(const ops::Recurrent::Function& f) {
  const std::string a = literal(f.a);
  const std::string b = literal(f.b);
  switch (f.kind) {
    case ops::GateFunction::kSigmoid: return "sigmoid(x)";
    case ops::GateFunction::kTanh: return "hyperbolicTangent(x)";
    case ops::GateFunction::kRelu: return "(x < 0.f ? 0.f : x)";
    case ops::GateFunction::kAffine: return fmt::format("({} * x + {})", a, b);
    case ops::GateFunction::kLeakyRelu: return fmt::format("(x >= 0.f ? x : {} * x)", a);
    case ops::GateFunction::kThresholdedRelu: return fmt::format("(x > {} ? x : 0.f)", a);
    case ops::GateFunction::kScaledTanh: return fmt::format("({} * hyperbolicTangent({} * x))", a, b);
    case ops::GateFunction::kHardSigmoid: return fmt::format("fmaxf(0.f, fminf(1.f, {} * x + {}))", a, b);
    case ops::GateFunction::kElu: return fmt::format("(x >= 0.f ? x : {} * expm1f(x))", a);
    case ops::GateFunction::kSoftsign: return "(x / (1.f + fabsf(x)))";
    case ops::GateFunction::kSoftplus: return "(fmaxf(x, 0.f) + log1pf(expf(-fabsf(x))))";
  }
  return "x";
}

// Columns and gates of a thread, up to 64 elements of the matrix: several gates read a state once.
std::span<const std::pair<int64_t, int64_t>> shapesOf(int64_t gates) {
  static const std::vector<std::pair<int64_t, int64_t>> kOfFour{{16, 4}, {8, 4}, {32, 2}, {16, 2}, {64, 1}};
  static const std::vector<std::pair<int64_t, int64_t>> kOfThree{{16, 3}, {8, 3}, {32, 1}, {64, 1}};
  static const std::vector<std::pair<int64_t, int64_t>> kOfOne{{64, 1}, {32, 1}, {16, 1}, {8, 1}};
  return gates == 4 ? kOfFour : gates == 3 ? kOfThree : kOfOne;
}

}  // namespace

std::string ResidentForm::text() const {
  return fmt::format("{}x{}x{}x{}-{}{}", columns, tile, slices, rows, FieldText<Meeting>::write(meeting),
                     lanes ? "-lanes" : "");
}

ResidentForm ResidentForm::read(std::string_view text) {
  TextReader in(text, "the form of a recurrent kernel");
  ResidentForm form;
  form.columns = in.integer();
  in.expect("x");
  form.tile = in.integer();
  in.expect("x");
  form.slices = in.integer();
  in.expect("x");
  form.rows = in.integer();
  in.expect("-");
  form.meeting = FieldText<Meeting>::read(in);
  form.lanes = in.accept("-lanes");
  const auto isPower = [](int64_t n, int64_t most) { return n >= 1 && n <= most && (n & (n - 1)) == 0; };
  constexpr int64_t kMostColumns = 64;
  if (!isPower(form.columns, kMostColumns) || form.columns < 4 || !isPower(form.slices, kWarp) ||
      !isPower(form.rows, kMostResidentRows) || form.tile < 1 || form.tile > 4)
    in.fail("columns, slices and rows are powers of two up to 64, 32 and 16, a tile has 1 to 4 gates");
  if (form.lanes && (form.rows != 1 || form.slices < kLeastLanes))
    in.fail(fmt::format("gates in lanes of their own are for one row and {} slices or more", kLeastLanes));
  return form;
}

int64_t ResidentForm::mostUnits(int64_t gates) const {
  return std::max<int64_t>(kResidentThreads / slices / (gates / tile), 1);
}
int64_t ResidentForm::units(int64_t hidden, int64_t gates) const {
  const int64_t most = std::min(hidden, mostUnits(gates));
  const int64_t parts = (hidden + most - 1) / most;
  return (hidden + parts - 1) / parts;  // of nearly equal size
}
int64_t ResidentForm::parts(int64_t hidden, int64_t gates) const {
  const int64_t of = units(hidden, gates);
  return (hidden + of - 1) / of;
}
int64_t ResidentForm::threads(int64_t hidden, int64_t gates) const {
  return (units(hidden, gates) * (gates / tile) * slices + kWarp - 1) / kWarp * kWarp;
}
int64_t ResidentForm::sharedBytes(int64_t gates) const {
  const int64_t floats = rows * (2 * columns * slices + mostUnits(gates) * (gates + 1));
  constexpr int64_t kPiece = 1024;
  return (floats * static_cast<int64_t>(sizeof(float)) + kPiece - 1) / kPiece * kPiece;
}

std::vector<ResidentForm> residentForms(const ops::Recurrent& op, int64_t hidden, int64_t batch, int64_t directions) {
  std::vector<ResidentForm> result;
  if (hidden < 1 || batch < 1) return result;
  const int64_t gates = op.gates();
  int64_t rows = 1;
  while (rows < batch && rows < kMostResidentRows) rows *= 2;
  const auto add = [&](int64_t columns, int64_t tile, int64_t rowsOfBlock, Meeting meeting, bool lanes) {
    int64_t slices = lanes ? kLeastLanes : 1;
    while (slices * columns < hidden) slices *= 2;
    if (slices > kWarp) return false;
    const ResidentForm form{columns, tile, slices, rowsOfBlock, meeting, lanes};
    const int64_t parts = form.parts(hidden, gates);
    const int64_t blocks = parts * directions * form.groups(batch);
    const bool fits = meeting == Meeting::kNone      ? parts == 1
                      : meeting == Meeting::kCluster ? parts > 1 && parts <= kMostClusterParts
                                                     : parts > 1 && blocks <= multiprocessors();
    // More rows than run side by side would wait for each other.
    if (!fits || (lanes && blocks > multiprocessors()) || form.sharedBytes(gates) > sharedBytesOfMultiprocessor())
      return false;
    result.push_back(form);
    return true;
  };
  constexpr Meeting kMeetings[] = {Meeting::kNone, Meeting::kCluster, Meeting::kGrid};
  if (!op.hasPeepholes) {
    for (const Meeting meeting : kMeetings) {
      for (const int64_t columns : gates == 4 ? std::array{16, 8} : std::array{32, 16})
        add(columns, gates, 1, meeting, true);
    }
  }
  for (const Meeting meeting : kMeetings) {
    // With fewer rows in a block a step is shorter, and more blocks work side by side.
    bool hasFewer = rows <= 2;
    for (const auto& [columns, tile] : shapesOf(gates)) {
      add(columns, tile, rows, meeting, false);
      hasFewer = hasFewer || add(columns, tile, rows / 4, meeting, false);
    }
  }
  return result;
}

Code recurrentCode(std::string_view file, const ops::Recurrent& op, const Types& types,
                   const std::optional<ResidentForm>& form) {
  const auto lengths = op.places().lengths;
  std::vector<std::string> defines{
      typeDefine("X", types.inputs.at(0)),
      typeDefine("L", lengths < 0 ? DataType::kI32 : types.inputs.at(static_cast<size_t>(lengths))),
      fmt::format("CELL={}", static_cast<int>(op.cell)),
      fmt::format("CLIP={}", literal(std::max(op.clip, 0.0))),
      fmt::format("LATE={}", op.late ? 1 : 0),
      fmt::format("COUPLED={}", op.coupled ? 1 : 0),
      fmt::format("BIAS={}", op.hasBias ? 1 : 0),
      fmt::format("PEEPHOLES={}", op.hasPeepholes ? 1 : 0)};
  size_t index = 0;
  for (const char* macro : {"FIRST", "SECOND", "THIRD"})
    defines.push_back(fmt::format("{}={}", macro, functionText(op.function(index++))));
  const bool alike = op.function(0).kind == ops::GateFunction::kSigmoid && op.gates() == 4 &&
                     op.function(1).kind == ops::GateFunction::kTanh;
  if (form) {
    for (const auto& [macro, value] :
         {std::pair{"ALIKE", int64_t{alike}}, std::pair{"COLUMNS", form->columns}, std::pair{"TILE", form->tile},
          std::pair{"SLICES", form->slices}, std::pair{"ROWS", form->rows},
          std::pair{"MEETING", static_cast<int64_t>(form->meeting)}})
      defines.push_back(fmt::format("{}={}", macro, value));
  }
  return {file, std::move(defines), {}};
}

void setExtents(RecurrentParameters& p, const ops::Recurrent& op, const runtime::Shapes& shapes) {
  const auto& products = shapes.inputs[0].dims;
  const auto& weights = shapes.inputs[1].dims;
  for (int axis = 0; axis < products.rank; ++axis)
    checkUser(products[axis] < int64_t{1} << 31, "recurrent: an extent of {} exceeds the limit of 2^31",
              products[axis]);
  p.steps = static_cast<int32_t>(products[0]);
  p.batch = static_cast<int32_t>(products[1]);
  p.directions = static_cast<int32_t>(products[2]);
  p.hidden = static_cast<int32_t>(weights[2]);
  p.reverse = op.reverse ? 1 : 0;
}

void setOperands(RecurrentParameters& p, const ops::Recurrent& op, const runtime::LaunchArguments& arguments) {
  const auto places = op.places();
  const auto at = [&](int place) -> const void* { return place < 0 ? nullptr : arguments.inputs[place]; };
  p.products = arguments.inputs[0];
  p.weights = arguments.inputs[1];
  p.bias = at(places.bias);
  p.peepholes = at(places.peepholes);
  p.first = at(places.first);
  p.firstCell = at(places.firstCell);
  p.lengths = at(places.lengths);
  p.y = arguments.outputs[0];
  p.last = arguments.outputs[1];
  p.lastCell = op.cell == ops::Cell::kLstm ? arguments.outputs[2] : nullptr;
}

size_t plainExchangeBytes(const RecurrentParameters& p) {
  return static_cast<size_t>(p.directions) * static_cast<size_t>(p.batch) * 3 * static_cast<size_t>(p.hidden) *
         sizeof(float);
}

void launchPlain(CUfunction function, RecurrentParameters& p, void* stream) {
  if (p.batch == 0 || p.hidden == 0) return;
  launchGrid(function, static_cast<unsigned>(p.batch), static_cast<unsigned>(p.directions), 1,
             static_cast<unsigned>(kResidentThreads), &p, stream);
}

}  // namespace tenon::backends::cuda
