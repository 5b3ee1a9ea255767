// Tile shapes of attention of any number of keys, and their code.
#include "backends/cuda/kernels/attention/stream_attention.h"

#include <algorithm>

#include "backends/cuda/driver/chip.h"
#include "backends/cuda/kernels/attention/attention_parameters.h"
#include "backends/cuda/kernels/attention/flash_attention.h"
#include "backends/cuda/kernels/common/own_kernel.h"
#include "core/text.h"

namespace tenon::backends::cuda {
namespace {

constexpr int kMostGroups = 3;
constexpr int kMostStageKeys = 256;  // rows of a box
constexpr int kMostStages = 4;
constexpr int kPanelBytes = 128;
constexpr size_t kMostSharedBytes = 227 << 10;

// Registers of a thread: values, scores and weights, and what stands beside them.
int registersOf(const StreamChoice& choice) {
  return choice.width / 2 + choice.keys / 2 + choice.keys / 4 + (choice.mask == StreamMask::kOfRows ? 44 : 30);
}
int registersFor(int groups) { return groups == 3 ? 160 : 240; }  // as the kernel divides them

bool fits(const StreamChoice& choice) {
  return registersOf(choice) <= registersFor(choice.groups) && choice.sharedBytes() <= kMostSharedBytes;
}

int64_t divided(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The choice with as many keys in a stage as a thread's registers hold, or as few as make no more stages of all keys,
// and as many stages as find room.
StreamChoice withMostKeys(StreamChoice choice, int64_t keys) {
  choice.stages = 2;
  while (choice.keys > 16 && !fits(choice)) choice.keys -= 16;
  choice.keys = static_cast<int>(divided(divided(keys, divided(keys, choice.keys)), 16) * 16);
  constexpr size_t kRoom = 212 << 10;
  while (choice.stages < kMostStages) {
    auto more = choice;
    ++more.stages;
    if (more.sharedBytes() > kRoom) break;
    choice = more;
  }
  return choice;
}

// wgmma of 64 rows, by `columns` columns and 16 of the inner extent: c = a b where `more` is 0, else c += a b.
std::string productText(int columns, DataType type, bool leftInRegisters, bool rightByRows, std::string_view more) {
  std::string registers, operands;
  for (int i = 0; i < columns / 2; ++i) {
    registers += fmt::format("{}%{}", i == 0 ? "" : ",", i);
    operands += fmt::format("{}\"+f\"(c[{}][{}])", i == 0 ? "" : ", ", i / 4, i % 4);
  }
  int next = columns / 2;
  std::string left, inputs;
  if (leftInRegisters) {
    left = fmt::format("{{%{},%{},%{},%{}}}", next, next + 1, next + 2, next + 3);
    inputs = "\"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3])";
    next += 4;
  } else {
    left = fmt::format("%{}", next++);
    inputs = "\"l\"(groupOperand(a))";
  }
  const char* forms = leftInRegisters ? (rightByRows ? ", 1" : ", 0") : (rightByRows ? ", 0, 1" : ", 0, 0");
  return fmt::format(
      "  asm volatile(\"{{.reg .pred p; setp.ne.b32 p, %{6}, 0;\\n\"\n"
      "    \"wgmma.mma_async.sync.aligned.m64n{0}k16.f32.{1}.{1} {{{2}}}, {3}, %{5}, p, 1, 1{4};}}\"\n"
      "    : {7} : {8}, \"l\"(groupOperand(b)), \"n\"({9}));\n",
      columns, cudaName(type), registers, left, forms, next, next + 1, operands, inputs, more);
}

}  // namespace

size_t StreamChoice::sharedBytes() const {
  const int panels = (width + 63) / 64;
  const int masks = mask == StreamMask::kOfKeys ? stages * (keys + kStreamMaskPad) * 4 : 0;
  return static_cast<size_t>(kStreamHeadBytes + kPanelBytes * panels * (tilesHeld() * rows() + 2 * stages * keys) +
                             masks);
}

std::string StreamChoice::text() const {
  return fmt::format("{},{},{}x{}x{},{},{}", name(type), width, groups, keys, stages, turns ? 1 : 0,
                     static_cast<int>(mask)) +
         (once ? ",once" : "");
}

StreamChoice StreamChoice::parse(std::string_view text) {
  TextReader in(text, "parameters of attention by stages of keys");
  StreamChoice choice;
  const auto number = [&](int least, int most, const char* behind) {
    const int64_t value = in.integer();
    if (value < least || value > most) in.fail(fmt::format("{} is not in [{},{}]", value, least, most));
    if (behind != nullptr) in.expect(behind);
    return static_cast<int>(value);
  };
  const auto type = in.identifier();
  if (type != "f16" && type != "bf16") in.fail("expected the type f16 or bf16");
  choice.type = type == "f16" ? DataType::kF16 : DataType::kBF16;
  in.expect(",");
  choice.width = number(16, kMostFlashColumns, ",");
  choice.groups = number(1, kMostGroups, "x");
  choice.keys = number(16, kMostStageKeys, "x");
  choice.stages = number(1, kMostStages, ",");
  choice.turns = number(0, 1, ",") == 1;
  choice.mask = static_cast<StreamMask>(number(0, 2, nullptr));
  choice.once = in.accept(",once");
  const bool known = in.atEnd() && choice.width % 16 == 0 && choice.keys % 16 == 0 && fits(choice);
  if (!known) in.fail("no variant of the kernel has these parameters");
  return choice;
}

Code StreamChoice::code() const {
  const auto define = [](std::string_view macro, int value) { return fmt::format("{}={}", macro, value); };
  const std::string inlined = "__device__ __forceinline__ void ";
  std::string text = fmt::format("#include \"warp_group.cuh\"\ntypedef {} X;\n", cudaName(type));
  text += "#if defined(__CUDA_ARCH_FEAT_SM90_ALL)\ntemplate <bool kMore>\n" + inlined +
          "multiplyQueries(float (*c)[4], const X* a, const X* b) {\n" +
          productText(keys, type, false, false, "kMore") + "}\n";
  const int last = width % 64 == 0 ? 64 : width % 64;
  text += inlined + "multiplyLast(float (*c)[4], const unsigned (&a)[4], const X* b) {\n" +
          productText(last, type, true, true, "1") + "}\n#endif\n";
  return {"",
          {define("WIDTH", width), define("ROW_GROUPS", groups), define("KEYS", keys), define("STAGES", stages),
           define("TILES", tilesHeld()), define("ONCE", once ? 1 : 0), define("MASK", static_cast<int>(mask)),
           define("TURNS", turns ? 1 : 0)},
          text + "#include \"stream_attention.cuh\"\n"};
}

std::string StreamChoice::refusal(const dnn::AttentionProblem& p) const {
  if (auto why = streamRefusal(p); !why.empty()) return why;
  if (p.type != type) return fmt::format("values of {}; the kernel was compiled for {}", name(p.type), name(type));
  if (flashWidth(p.width) != width)
    return fmt::format("heads of {} columns; the kernel was compiled for {}", p.width, width);
  if (p.hasMask != (mask != StreamMask::kNone)) return p.hasMask ? "there is a mask" : "there is no mask";
  if (mask == StreamMask::kOfKeys && p.mask[2] != 1) return "rows have masks of their own";
  return {};
}

std::string streamRefusal(const dnn::AttentionProblem& p) {
  if (p.type != DataType::kF16 && p.type != DataType::kBF16)
    return fmt::format("values of {}; f16 and bf16 are supported", name(p.type));
  if (p.softcap != 0) return "the kernel has no soft cap";
  constexpr int64_t kMostExtent = int64_t{1} << 31;  // of a tensor map
  if (p.batch >= kMostExtent || p.heads >= kMostExtent) return "more than 2^31 heads are not supported";
  if (flashPiece(p) < flashPack(p.type)) return "rows are not aligned to 16 bytes";
  return flashRefusal(p);
}

std::vector<StreamChoice> streamChoices(const dnn::AttentionProblem& p, bool maskMayGrow) {
  // Of which a group of group_attention.cu keeps all scores: more are shared by groups, which need as much memory as
  // two blocks have.
  constexpr int64_t kFewKeys = 208;
  std::vector<StreamChoice> choices;
  const bool hasGroups = p.width == 64 && !p.causal && p.keys <= kFewKeys;
  if (p.queries <= 32 || p.keys < 64 || hasGroups) return choices;
  const auto mask = !p.hasMask                       ? StreamMask::kNone
                    : p.mask[2] == 1 && !maskMayGrow ? StreamMask::kOfKeys
                                                     : StreamMask::kOfRows;
  const auto blocks = [&](int groups) { return p.batch * p.heads * ((p.queries + 64 * groups - 1) / (64 * groups)); };
  const auto add = [&](int groups, bool turns) {
    // Rows of causal attention see different numbers of keys: whichever multiprocessor is ready takes the next ones.
    const bool once = p.causal || blocks(groups) <= multiprocessors();
    const auto choice = withMostKeys({p.type, flashWidth(p.width), groups, 128, 2, turns, mask, once}, p.keys);
    if (choice.keys >= 32) choices.push_back(choice);
  };
  // Groups that do not take turns were slower in every case.
  const bool few = blocks(2) < multiprocessors();
  if (few) add(1, false);
  if (!few && p.width <= 64) add(3, true);
  add(2, true);
  if (!few && p.width > 64 && p.width <= 128) add(3, true);
  return choices;
}

std::string streamMissing() {
  if (!hasWarpgroupProducts()) return "the chip has no products of warpgroups (wgmma)";
  // Without a driver the code is looked at all the same.
  const auto& d = driver();
  return d.missing.empty() && d.tensorMapEncodeTiled == nullptr ? "the driver encodes no tensor maps" : "";
}

}  // namespace tenon::backends::cuda
