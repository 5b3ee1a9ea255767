// Damaged and hostile plans are refused with a reason, whatever is wrong with them.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>

#include "core/error.h"
#include "plan/checksum.h"
#include "plan/file.h"
#include "plan/header.h"
#include "plan/verify.h"
#include "support/hand_plan.h"
#include "support/shape_plan.h"

namespace tenon::plan {
namespace {

TEST(PlanDamage, EverySingleBit) {
  const auto good = write(test::smallPlan(true));
  Blob blob = Blob::copyOf(good);
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    blob.data()[bit / 8] ^= std::byte{static_cast<unsigned char>(1u << (bit % 8))};
    EXPECT_THROW((void)read(blob), UserError) << "bit " << bit;
    blob.data()[bit / 8] = good[bit / 8];
  }
  EXPECT_NO_THROW((void)read(blob));
}

TEST(PlanDamage, CutOffAtEveryByte) {
  const auto good = write(test::smallPlan(true));
  for (size_t bytes = 0; bytes < good.size(); ++bytes) {
    EXPECT_THROW((void)read(Blob::copyOf({good.data(), bytes})), UserError) << bytes << " bytes";
  }
  auto longer = good;
  longer.resize(good.size() + 64);
  EXPECT_THROW((void)read(Blob::copyOf(longer)), UserError);
}

// Many constants are checked by whoever reads, at a time of its choice; few at once.
TEST(PlanDamage, ManyConstantsAreCheckedLater) {
  constexpr int64_t kMany = 9 << 20;  // bytes
  for (const bool many : {true, false}) {
    test::HandPlan hand;
    const int64_t count = many ? kMany / 4 : 16;
    const std::vector<std::string> shape{fmt::format("{}", count)};
    const int32_t x = hand.input("x", DataType::kF32, shape);
    const int32_t y = hand.output("y", DataType::kF32, shape);
    const int32_t c =
        hand.constant<float>(DataType::kF32, {count}, std::vector<float>(static_cast<size_t>(count), 1.5f));
    hand.step("add", test::pointwise("add(x0,x1)"), {x, c}, {y});
    const auto good = write(hand.finish());
    std::function<void()> later;
    (void)read(Blob::copyOf(good), &later);
    EXPECT_EQ(later != nullptr, many);
    if (later != nullptr) {
      EXPECT_NO_THROW(later());
    }
    const Blob bad = Blob::copyOf(good);
    const auto& constants = decode(good).constants;
    bad.data()[constants.offset + constants.bytes / 2] ^= std::byte{1};
    EXPECT_THROW((void)read(bad), UserError) << "nobody checks later";
    later = nullptr;
    if (!many) {
      EXPECT_THROW((void)read(bad, &later), UserError);
      continue;
    }
    (void)read(bad, &later);
    ASSERT_NE(later, nullptr);
    EXPECT_THROW(later(), UserError);
  }
}

TEST(PlanDamage, ForeignBytes) {
  const std::string foreign = "ftrt and a lot of other bytes of another engine" + std::string(1000, 'x');
  EXPECT_THROW((void)read(Blob::copyOf(std::as_bytes(std::span(foreign)))), UserError);
}

// A manifest with right checksums but wrong bytes: flips bits in it and signs it again.
TEST(PlanDamage, ForgedManifests) {
  const auto good = write(test::smallPlan(true));
  const Header header = decode(good);
  std::mt19937_64 random(5);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    Blob blob = Blob::copyOf(good);
    for (uint64_t flips = 1 + random() % 4; flips > 0; --flips) {
      blob.data()[header.manifest.offset + random() % header.manifest.bytes] ^=
          std::byte{static_cast<unsigned char>(1u << (random() % 8))};
    }
    Header forged = header;
    forged.manifest.checksum = checksum(blob.data() + header.manifest.offset, header.manifest.bytes);
    const auto head = encode(forged);
    std::memcpy(blob.data(), head.data(), head.size());
    try {
      const Plan plan = read(blob);
      verify(plan);
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 5000);
}

TEST(PlanDamage, AnotherFormatVersionIsNamed) {
  const auto good = write(test::smallPlan(false));
  Header header = decode(good);
  header.facts.formatVersion = 77;
  const auto head = encode(header);
  auto bytes = good;
  std::memcpy(bytes.data(), head.data(), head.size());
  try {
    (void)read(Blob::copyOf(bytes));
    FAIL() << "expected an error";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("version 77"), std::string::npos) << error.what();
  }
}

// Every row breaks a sound plan in one way; the writer and the reader share the check.
struct Break {
  const char* what;
  std::function<void(Plan&)> apply;
};

class UnsoundPlan : public testing::TestWithParam<Break> {};

TEST_P(UnsoundPlan, IsRefused) {
  Plan plan = test::smallPlan(true);
  EXPECT_NO_THROW(verify(plan));
  GetParam().apply(plan);
  EXPECT_THROW(verify(plan), UserError);
}

TensorRecord& tensor(Plan& plan, int32_t i) { return plan.programs[0].tensors[static_cast<size_t>(i)]; }

const std::vector<Break> kBreaks{
    {"no_device", [](Plan& p) { p.target.device.clear(); }},
    {"no_programs", [](Plan& p) { p.programs.clear(); }},
    {"too_few_programs", [](Plan& p) { p.programs.pop_back(); }},
    {"same_names", [](Plan& p) { p.io[1].name = p.io[0].name; }},
    {"unknown_symbol", [](Plan& p) { p.symbols.clear(); }},
    {"symbol_of_no_io", [](Plan& p) { p.symbols[0].io = 7; }},
    {"symbol_of_output", [](Plan& p) { p.symbols[0].io = 1; }},
    {"symbol_axis", [](Plan& p) { p.symbols[0].index = 2; }},
    {"symbol_negative_axis", [](Plan& p) { p.symbols[0].index = -1; }},
    {"symbol_from_no_shape_tensor", [](Plan& p) { p.symbols[0].fromContents = true; }},
    {"profile_of_no_input", [](Plan& p) { p.profiles[0]["z"] = p.profiles[0]["x"]; }},
    {"profile_without_input", [](Plan& p) { p.profiles[0].clear(); }},
    {"profile_rank", [](Plan& p) { p.profiles[0]["x"].min = {1}; }},
    {"profile_order", [](Plan& p) { p.profiles[0]["x"].min[0] = 100; }},
    {"profile_negative", [](Plan& p) { p.profiles[0]["x"].min[0] = -1; }},
    {"profile_fixed_extent", [](Plan& p) { p.profiles[0]["x"].max[1] = 4; }},
    {"profile_huge", [](Plan& p) { p.profiles[0]["x"].max[0] = INT64_MAX; }},
    {"profile_values",
     [](Plan& p) { p.profiles[0]["x"].minValues = p.profiles[0]["x"].optValues = p.profiles[0]["x"].maxValues = {1}; }},
    {"io_tensor_count", [](Plan& p) { p.programs[0].ioTensors.pop_back(); }},
    {"io_tensor_index", [](Plan& p) { p.programs[0].ioTensors[0] = 1000; }},
    {"io_tensor_other", [](Plan& p) { p.programs[0].ioTensors[0] = 3; }},
    {"io_tensor_shape", [](Plan& p) { tensor(p, 0).shape[1] = 4; }},
    {"io_tensor_type", [](Plan& p) { tensor(p, 0).dtype = DataType::kI64; }},
    {"negative_extent", [](Plan& p) { tensor(p, 3).shape[1] = -4; }},
    {"rank_nine", [](Plan& p) { tensor(p, 3).shape = Shape(9, Extent(1)); }},
    {"second_input_tensor", [](Plan& p) { tensor(p, 3).storage = Storage::kInput, tensor(p, 3).index = 0; }},
    {"constant_index", [](Plan& p) { tensor(p, 2).index = 1; }},
    {"constant_negative", [](Plan& p) { tensor(p, 2).index = -1; }},
    {"constant_too_small", [](Plan& p) { tensor(p, 2).shape = {4}; }},
    {"constant_dynamic", [](Plan& p) { tensor(p, 2).shape = {Extent::symbol("N")}; }},
    {"constant_bytes", [](Plan& p) { p.constants[0].bytes = 11; }},
    {"constant_overflow",
     [](Plan& p) {
       p.constants[0].dims = {1ll << 40, 1ll << 40};
     }},
    {"constant_negative_extent", [](Plan& p) { p.constants[0].dims = {-3}; }},
    {"view_of_nothing", [](Plan& p) { tensor(p, 4).storage = Storage::kView, tensor(p, 4).index = 99; }},
    {"view_of_itself", [](Plan& p) { tensor(p, 4).storage = Storage::kView, tensor(p, 4).index = 4; }},
    {"place_of_no_view", [](Plan& p) { tensor(p, 3).viewOffset = 4; }},
    {"place_of_unknown_symbol",
     [](Plan& p) {
       tensor(p, 4).storage = Storage::kView, tensor(p, 4).index = 3, tensor(p, 4).viewOffset = Extent::symbol("Q");
     }},
    {"pitch_of_linear",
     [](Plan& p) { tensor(p, 4).storage = Storage::kView, tensor(p, 4).index = 3, tensor(p, 4).pitch = 64; }},
    {"view_in_other_memory", [](Plan& p) { p.programs[0].steps.back().kind = StepKind::kView; }},
    {"beyond_arena", [](Plan& p) { tensor(p, 3).offset = p.programs[0].arenaBytes; }},
    {"offset_wraps", [](Plan& p) { tensor(p, 3).offset = UINT64_MAX - 63; }},
    {"offset_unaligned", [](Plan& p) { p.programs[0].arenaBytes += 64, tensor(p, 3).offset += 4; }},
    {"bytes_wrap", [](Plan& p) { tensor(p, 3).bytes = UINT64_MAX; }},
    {"lifetime_backwards", [](Plan& p) { tensor(p, 3).lastStep = -1; }},
    {"lifetime_too_short", [](Plan& p) { tensor(p, 3).lastStep = 0; }},
    {"lifetime_beyond", [](Plan& p) { tensor(p, 3).lastStep = 1000; }},
    {"format_of_vector", [](Plan& p) { tensor(p, 2).layout = Layout::kBlocked8; }},
    {"layout_of_more_axes", [](Plan& p) { tensor(p, 3).layout = {5}; }},
    {"layout_in_blocks_of_more_axes",
     [](Plan& p) {
       tensor(p, 3).layout = {-1, 7, 4};
     }},
    {"step_input", [](Plan& p) { p.programs[0].steps[0].inputs[0] = 99; }},
    {"step_input_negative", [](Plan& p) { p.programs[0].steps[0].inputs[0] = -2; }},
    {"step_output_absent", [](Plan& p) { p.programs[0].steps[0].outputs[0] = -1; }},
    {"step_without_outputs", [](Plan& p) { p.programs[0].steps[0].outputs.clear(); }},
    {"step_writes_input", [](Plan& p) { p.programs[0].steps[0].outputs[0] = 0; }},
    {"step_writes_constant", [](Plan& p) { p.programs[0].steps[0].outputs[0] = 2; }},
    {"step_reads_unwritten", [](Plan& p) { std::swap(p.programs[0].steps[0], p.programs[0].steps[1]); }},
    {"output_unwritten", [](Plan& p) { p.programs[0].steps.pop_back(), tensor(p, 4).lastStep = 1; }},
    {"copy_of_two", [](Plan& p) { p.programs[0].steps[0].kind = StepKind::kCopy; }},
    {"workspace", [](Plan& p) { p.programs[0].steps[0].workspaceBytes = 1ull << 40; }},
    {"native_code", [](Plan& p) { p.programs[0].steps[0].kernel.nativeCode = 0; }},
    {"no_kernel", [](Plan& p) { p.programs[0].steps[0].kernel.name.clear(); }},
    {"unknown_operator", [](Plan& p) { p.programs[0].steps[0].kernel.op = "teleport{}"; }},
    {"operator_syntax", [](Plan& p) { p.programs[0].steps[0].kernel.op = "pointwise{expr="; }},
    {"dimension_names", [](Plan& p) { p.io[0].dimensionNames = {"only one"}; }},
};

INSTANTIATE_TEST_SUITE_P(All, UnsoundPlan, testing::ValuesIn(kBreaks),
                         [](const auto& info) { return std::string(info.param.what); });

class UnsoundShapes : public testing::TestWithParam<Break> {};

TEST_P(UnsoundShapes, AreRefused) {
  Plan plan = test::shapePlan();
  EXPECT_NO_THROW(verify(plan));
  GetParam().apply(plan);
  EXPECT_THROW(verify(plan), UserError);
}

const std::vector<Break> kShapeBreaks{
    {"step_reads_forward", [](Plan& p) { p.shapes.steps[2].inputs[0] = 3; }},
    {"step_reads_itself", [](Plan& p) { p.shapes.steps[2].inputs[0] = 2; }},
    {"step_reads_below", [](Plan& p) { p.shapes.steps[2].inputs[0] = -1; }},
    {"unknown_operator", [](Plan& p) { p.shapes.steps[2].op = "teleport"; }},
    {"heavy_operator", [](Plan& p) { p.shapes.steps[2].op = "matmul"; }},
    {"operator_and_elements", [](Plan& p) { p.shapes.steps[2].numbers = {1}; }},
    {"elements_of_the_other_kind", [](Plan& p) { p.shapes.steps[0].dtype = DataType::kF32; }},
    {"too_many_elements", [](Plan& p) { p.shapes.steps[1].dims = {2}; }},
    {"huge_value", [](Plan& p) { p.shapes.steps[0].dims = {int64_t{1} << 62}; }},
    {"endless_outputs", [](Plan& p) { p.shapes.steps[2].outputs = INT32_MAX; }},
    {"no_outputs", [](Plan& p) { p.shapes.steps[2].outputs = 0; }},
    {"unknown_symbol", [](Plan& p) { p.shapes.steps[0].extents[0] = Extent::symbol("Q"); }},
    {"symbol_before_its_value", [](Plan& p) { p.shapes.steps[0].extents[0] = Extent::symbol("half[0]"); }},
    {"symbol_of_nothing", [](Plan& p) { p.shapes.symbols[0].value = 3; }},
    {"symbol_element_below", [](Plan& p) { p.shapes.symbols[0].element = -1; }},
    {"symbol_of_an_input", [](Plan& p) { p.shapes.symbols[0].name = "N"; }},
    {"symbol_twice", [](Plan& p) { p.shapes.symbols.push_back(p.shapes.symbols[0]); }},
    {"no_symbol", [](Plan& p) { p.shapes.symbols.clear(); }},
    {"input_of_a_computed_size", [](Plan& p) { p.io[0].shape[0] = tensor(p, 0).shape[0] = Extent::symbol("half[0]"); }},
    {"no_bounds", [](Plan& p) { p.programs[0].shapeBounds.clear(); }},
    {"more_bounds", [](Plan& p) { p.programs[0].shapeBounds.push_back({}); }},
};

INSTANTIATE_TEST_SUITE_P(All, UnsoundShapes, testing::ValuesIn(kShapeBreaks),
                         [](const auto& info) { return std::string(info.param.what); });

TEST(PlanDamage, ForgedShapePrograms) {
  const auto good = write(test::shapePlan());
  EXPECT_EQ(read(Blob::copyOf(good)).shapes, test::shapePlan().shapes);
  EXPECT_EQ(write(read(Blob::copyOf(good))), good);
  const Header header = decode(good);
  std::mt19937_64 random(6);
  int refused = 0;
  for (int round = 0; round < 20000; ++round) {
    Blob blob = Blob::copyOf(good);
    blob.data()[header.manifest.offset + random() % header.manifest.bytes] ^=
        std::byte{static_cast<unsigned char>(1u << (random() % 8))};
    Header forged = header;
    forged.manifest.checksum = checksum(blob.data() + header.manifest.offset, header.manifest.bytes);
    const auto head = encode(forged);
    std::memcpy(blob.data(), head.data(), head.size());
    try {
      verify(read(blob));
    } catch (const Error&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 5000);
}

TEST(PlanCompatibility, NamesWhatIsNeededAndWhatIsThere) {
  Plan plan = test::smallPlan(false);
  plan.target = {"cpu", "big machine", {"isa:sse4", "isa:avx512"}};
  const Machine machine{"cpu", "small machine", {"isa:sse4"}, [](const std::string& r) { return r == "isa:sse4"; }};
  try {
    checkCompatible(plan, machine);
    FAIL() << "expected an error";
  } catch (const Unsupported& error) {
    const std::string message = error.what();
    for (const char* part : {"isa:avx512", "big machine", "small machine", "isa:sse4"})
      EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  plan.target.requirements.pop_back();
  EXPECT_NO_THROW(checkCompatible(plan, machine));
  plan.target.device = "cuda";
  EXPECT_THROW(checkCompatible(plan, machine), UserError);
}

// A GPU of another compute capability, in TensorRT's words; what only native code needs is no reason to refuse.
TEST(PlanCompatibility, OtherChipsAreRefusedInTensorRTsWords) {
  Plan plan = test::smallPlan(false);
  plan.target = {"cuda", "big GPU", {"code:sm:90", "cudnn:9"}};
  const Machine machine{
      "cuda", "small GPU", {"sm:86"}, [](const std::string& r) { return r == "sm:86" || r == "cudnn:9"; }};
  EXPECT_NO_THROW(checkCompatible(plan, machine));
  plan.target.requirements.insert(plan.target.requirements.begin(), "sm:100");
  try {
    checkCompatible(plan, machine);
    FAIL() << "expected an error";
  } catch (const Unsupported& error) {
    EXPECT_EQ(
        std::string(error.what()),
        "The engine plan file is generated on an incompatible device, expecting compute 8.6 got compute 10.0, "
        "please rebuild. (engine '" +
            plan.name +
            "' was built on 'big GPU' and needs sm:100, this machine (small GPU) has sm:86; build it again here)");
  }
  plan.target.requirements = {"cudnn:8"};
  EXPECT_THROW(checkCompatible(plan, machine), Unsupported);
}

}  // namespace
}  // namespace tenon::plan
