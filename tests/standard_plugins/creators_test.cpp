// The creators beside the table of release 10.16, and what they refuse.
#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "support.h"

namespace tenon::test {
namespace {

std::string typeName(nv::PluginFieldType type) {
  switch (type) {
    case nv::PluginFieldType::kINT32: return "int32";
    case nv::PluginFieldType::kFLOAT32: return "float32";
    case nv::PluginFieldType::kUNKNOWN: return "unknown";
    default: return fmt::format("{}", static_cast<int>(type));
  }
}

std::string text(nv::IPluginCreatorInterface& creator) {
  const bool isOld = std::string(creator.getInterfaceInfo().kind) == "PLUGIN CREATOR_V1";
  auto* const old = isOld ? static_cast<nv::IPluginCreator*>(&creator) : nullptr;
  auto* const current = isOld ? nullptr : static_cast<nv::IPluginCreatorV3One*>(&creator);
  const auto* const names = isOld ? old->getFieldNames() : current->getFieldNames();
  std::string result =
      fmt::format("{} {} {}", isOld ? old->getPluginName() : current->getPluginName(),
                  isOld ? old->getPluginVersion() : current->getPluginVersion(), isOld ? "old" : "new");
  for (int32_t i = 0; i < names->nbFields; ++i) {
    const auto& field = names->fields[i];
    result += fmt::format(" {}:{}", field.name, typeName(field.type));
    if (field.length > 1) result += fmt::format(":{}", field.length);
  }
  return result;
}

std::vector<std::string> registered(const char* space) {
  int32_t count = 0;
  auto* const* creators = getPluginRegistry()->getAllCreators(&count);
  std::vector<std::string> result;
  for (int32_t i = 0; i < count; ++i) {
    const bool isOld = std::string(creators[i]->getInterfaceInfo().kind) == "PLUGIN CREATOR_V1";
    const char* const own = isOld ? static_cast<nv::IPluginCreator*>(creators[i])->getPluginNamespace()
                                  : static_cast<nv::IPluginCreatorV3One*>(creators[i])->getPluginNamespace();
    if (std::string(own) == space) result.push_back(text(*creators[i]));
  }
  std::sort(result.begin(), result.end());
  return result;
}

// Lines of the table; `when`: init, static, or empty for both.
std::vector<std::string> expectedCreators(const std::string& when) {
  std::ifstream file(TENON_CREATORS);
  std::vector<std::string> result;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream in(line);
    std::string name, version, interface, time, field;
    in >> name >> version >> interface >> time;
    if (!when.empty() && time != when) continue;
    std::string row = fmt::format("{} {} {}", name, version, interface == "IPluginV3" ? "new" : "old");
    while (in >> field) row += " " + field;
    result.push_back(row);
  }
  std::sort(result.begin(), result.end());
  return result;
}

TEST(StandardPlugins, CreatorsAreThoseOfTheTable) {
  (void)log();
  const auto expected = expectedCreators("");
  EXPECT_EQ(expected.size(), 75U);
  EXPECT_EQ(registered(""), expected);
}

TEST(StandardPlugins, ANamespaceOfItsOwn) {
  EXPECT_TRUE(initLibNvInferPlugins(&log(), "mine"));
  EXPECT_TRUE(initLibNvInferPlugins(&log(), "mine"));  // once only
  EXPECT_EQ(registered("mine"), expectedCreators("init"));
  EXPECT_EQ(log().take(), "");
}

TEST(StandardPlugins, WhatIsMissingOrWrongIsSaid) {
  const auto refused = [](const char* name, const char* version, FieldList fields) {
    log().take();
    EXPECT_FALSE(make(name, version, fields)) << name;
    return log().take();
  };
  EXPECT_EQ(refused("Clip_TRT", "1", FieldList().reals("clipMin", {0})),
            "plugin 'Clip_TRT', version '1' cannot be made: field 'clipMax' is missing\n");
  EXPECT_EQ(refused("Reorg_TRT", "2", FieldList().reals("stride", {1.5F})),
            "plugin 'Reorg_TRT', version '2' cannot be made: field 'stride' is 1.5; expected a whole number\n");
  EXPECT_EQ(refused("ScatterElements", "2", FieldList().text("reduction", "none")),
            "plugin 'ScatterElements', version '2' cannot be made: reduction is 'none'; expected add, mul, max or min "
            "(without one, use IScatterLayer)\n");
  EXPECT_NE(refused("CustomGeluPluginDynamic", "1", FieldList().ints("type_id", {2})).find("type_id is 2 (INT8)"),
            std::string::npos);
  EXPECT_NE(refused("CustomQKVToContextPluginDynamic", "6", FieldList().ints("hidden_size", {8}).ints("num_heads", {3}))
                .find("hidden_size is 8 and num_heads 3; expected a multiple"),
            std::string::npos);
  EXPECT_NE(refused("Split", "1", FieldList()).find("use ISliceLayer"), std::string::npos);
  EXPECT_NE(refused("Region_TRT", "1", FieldList().ints("smTree", {1})).find("smTree"), std::string::npos);
}

TEST(StandardPlugins, DamagedStatesAreRefused) {
  FieldList fields;
  fields.reals("negSlope", {0.5F});
  const Plugin plugin = make("LReLU_TRT", "1", fields);
  std::string bytes(plugin.old->getSerializationSize(), '\0');
  plugin.old->serialize(bytes.data());
  auto* const creator = static_cast<nv::IPluginCreator*>(getPluginRegistry()->getCreator("LReLU_TRT", "1", ""));
  for (size_t count = 0; count < bytes.size(); ++count) {
    EXPECT_EQ(creator->deserializePlugin("made", bytes.data(), count), nullptr) << count;
  }
  EXPECT_EQ(creator->deserializePlugin("made", (bytes + "x").data(), bytes.size() + 1), nullptr);
  EXPECT_NE(log().take().find("the state of the plugin is damaged"), std::string::npos);
}

TEST(StandardPlugins, AWrongInputIsAnErrorOfTheLayer) {
  FieldList fields;
  fields.ints("numClasses", {7}).ints("keepTopK", {3});
  Plugin plugin = make("BatchedNMSDynamic_TRT", "1", fields);
  Random random(1);
  EXPECT_TRUE(runInNetwork(plugin, {random.boxes({1, 4, 1, 4}, 1), random.array({1, 4, 2})}).empty());
  EXPECT_NE(log().take().find("numClasses is 7; the scores have 2 classes"), std::string::npos);
}

// The plugin's scalar work is fused with its neighbours: one layer, and no plugin.
TEST(StandardPlugins, EnginesHoldOperatorsInPlaceOfPlugins) {
  FieldList fields;
  fields.reals("negSlope", {0.5F});
  Plugin plugin = make("LReLU_TRT", "1", fields);
  Random random(2);
  const std::string layers = layersOfEngine(plugin, {random.array({3, 5})});
  EXPECT_NE(layers.find("\"LayerType\": \"PointWiseV2\""), std::string::npos) << layers;
  size_t count = 0;
  for (size_t at = layers.find("\"LayerType\""); at != std::string::npos; at = layers.find("\"LayerType\"", at + 1))
    ++count;
  EXPECT_EQ(count, 1U) << layers;
}

TEST(StandardPlugins, HalvesGiveHalves) {
  Random random(3);
  const auto near = [](const char* name, const char* version, FieldList fields, const Arrays& inputs,
                       double tolerance) {
    Plugin plugin = make(name, version, fields);
    ASSERT_TRUE(plugin) << name;
    const Arrays wide = runInNetwork(plugin, inputs);
    const Arrays half = runInHalf(plugin, inputs);
    ASSERT_EQ(half.size(), wide.size()) << name << ": " << log().take();
    for (size_t i = 0; i < wide.size(); ++i) {
      EXPECT_EQ(half[i].type, wide[i].type == nv::DataType::kFLOAT ? nv::DataType::kHALF : wide[i].type)
          << name << " " << i;
      expectNear(half[i], wide[i].dims, wide[i].values, tolerance, name);
    }
  };
  const Array x = random.array({2, 4, 3, 5});
  near("InstanceNormalization_TRT", "3", FieldList().reals("scales", {1, 2, 3, 4}).reals("bias", {0, 1, 0, 1}), {x},
       0.02);
  const Array regions{{2, 4}, {0, 0, 4, 2, 1, 1, 5, 3}}, images{{2}, {0, 1}, nv::DataType::kINT32};
  near("ROIAlign_TRT", "2", FieldList().ints("output_height", {2}).ints("output_width", {2}), {x, regions, images},
       0.01);
  Array boxes = random.boxes({1, 9, 4}, 1);
  for (double& end : boxes.values) end = std::round(end * 64) / 64;
  Array scores{{1, 9, 2}, {}};
  for (int i = 0; i < 18; ++i) scores.values.push_back((i * 7 % 18 + 1) / 32.0);
  FieldList nms;
  nms.reals("score_threshold", {0.25F})
      .reals("iou_threshold", {0.43F})
      .ints("max_output_boxes", {5})
      .ints("background_class", {-1});
  near("EfficientNMS_TRT", "1", nms.ints("score_activation", {0}).ints("box_coding", {0}), {boxes, scores}, 0.001);
  near("CustomQKVToContextPluginDynamic", "4",
       FieldList().ints("type_id", {1}).ints("hidden_size", {8}).ints("num_heads", {2}).ints("has_mask", {0}),
       {random.array({5, 2, 24, 1, 1})}, 0.01);
}

}  // namespace
}  // namespace tenon::test
