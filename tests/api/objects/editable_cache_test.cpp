// The editable timing cache as programs use it that were written for TensorRT: the log of a build is searched for keys
// and tactics, one of them is put into the cache, and the next build takes it.
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>

#include "fixture.h"

namespace {

struct Record {
  std::string key;
  std::map<std::string, std::string> kernels;  // by tactic
  std::string selected;
};

// What the lines of a log say, found by the same patterns: key, table, choice, line by line.
std::map<std::string, Record> parse(const std::vector<std::string>& lines) {
  std::map<std::string, Record> records;
  std::string op;
  Record record;
  enum class Want { kKey, kHeader, kRow } want = Want::kKey;
  for (const auto& line : lines) {
    char a[129]{}, b[129]{};
    const char* found = std::strstr(line.c_str(), "Autotuning op ");
    if (want == Want::kKey && found != nullptr &&
        std::sscanf(found, "Autotuning op %128[^(](key: %128[^)])", a, b) == 2) {
      op = a;
      record = {b, {}, ""};
      want = Want::kHeader;
    } else if (want == Want::kHeader && line.find("tactic_id, cost(in ms), cost/fastest_cost") != std::string::npos) {
      want = Want::kRow;
    } else if (want == Want::kRow) {
      const char* digits = std::strpbrk(line.c_str(), "0123456789");
      if (digits != nullptr && std::sscanf(digits, "%*d, %*f, %*f, %*f, %128[^,], %128[^,]", a, b) == 2) {
        record.kernels[b] = a;
        continue;
      }
      const char* selection = std::strstr(line.c_str(), "(tactic hash, cost(in ms)):");
      EXPECT_NE(selection, nullptr) << line;
      if (selection == nullptr || std::sscanf(selection, "(tactic hash, cost(in ms)):%128[^,]", a) != 1) continue;
      record.selected = a;
      records[op] = record;
      want = Want::kKey;
    }
  }
  return records;
}

nv::TimingCacheKey keyOf(const std::string& text) {
  nv::TimingCacheKey key{};
  EXPECT_EQ(text.size(), 34U) << text;
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(std::sscanf(text.c_str() + 2 + 2 * i, "%2hhx", &key.data[i]), 1);
  return key;
}

class EditableCache : public ObjectTest {
 protected:
  void SetUp() override {
    ObjectTest::SetUp();
    config->setBuilderOptimizationLevel(3);
    config->setProfilingVerbosity(nv::ProfilingVerbosity::kDETAILED);
    config->setFlag(nv::BuilderFlag::kEDITABLE_TIMING_CACHE);
    cache.reset(config->createTimingCache(nullptr, 0));
    ASSERT_TRUE(config->setTimingCache(*cache, false));
    auto* first = network->addMatrixMultiply(input("a", {64, 64}), nv::MatrixOperation::kNONE, input("b", {64, 64}),
                                             nv::MatrixOperation::kNONE);
    auto* soft = network->addSoftMax(*first->getOutput(0));
    auto* second = network->addMatrixMultiply(*soft->getOutput(0), nv::MatrixOperation::kNONE, input("c", {64, 64}),
                                              nv::MatrixOperation::kNONE);
    first->setName("matMul1");
    soft->setName("softmax");
    second->setName("matMul2");
    output(second->getOutput(0), "y");
  }
  // Builds, and finds the kernel of each layer in the inspector's lines.
  std::map<std::string, std::string> build() {
    log.details.clear();
    const auto loaded = engine();
    if (loaded == nullptr) return {};
    std::map<std::string, std::string> kernels;
    const std::unique_ptr<nv::IEngineInspector> inspector(loaded->createEngineInspector());
    for (int32_t i = 0; i < loaded->getNbLayers(); ++i) {
      const std::string line = inspector->getLayerInformation(i, nv::LayerInformationFormat::kONELINE);
      char name[129]{}, kernel[129]{};
      EXPECT_EQ(std::sscanf(line.c_str(), "Name: %128[^,]", name), 1);
      EXPECT_EQ(std::sscanf(line.c_str() + line.find("TacticName: "), "TacticName: %128[^,]", kernel), 1);
      kernels[name] = kernel;
    }
    return kernels;
  }
  static std::optional<std::string> otherThan(const Record& record) {
    for (const auto& [tactic, kernel] : record.kernels) {
      if (kernel != record.kernels.at(record.selected)) return tactic;
    }
    return std::nullopt;
  }
  static uint64_t hash(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 16); }

  std::unique_ptr<nv::ITimingCache> cache;
};

TEST_F(EditableCache, TheLogTellsWhatTheCacheHolds) {
  const auto kernels = build();
  const auto records = parse(log.details);
  for (const auto* name : {"matMul1", "matMul2"}) {
    ASSERT_TRUE(records.contains(name)) << fmt::format("{}", fmt::join(log.details, "\n"));
    const auto& record = records.at(name);
    EXPECT_GE(record.kernels.size(), 2U);
    ASSERT_TRUE(record.kernels.contains(record.selected));
    EXPECT_EQ(kernels.at(name), record.kernels.at(record.selected));
    const auto value = cache->query(keyOf(record.key));
    EXPECT_EQ(value.tacticHash, hash(record.selected));
    EXPECT_GT(value.timingMSec, 0);
  }
  EXPECT_NE(records.at("matMul1").key, records.at("matMul2").key);  // each layer has its own choice
  std::vector<nv::TimingCacheKey> keys(static_cast<size_t>(cache->queryKeys(nullptr, 0)));
  EXPECT_EQ(cache->queryKeys(keys.data(), static_cast<int64_t>(keys.size())), static_cast<int64_t>(keys.size()));
  const auto wanted = keyOf(records.at("matMul1").key);
  EXPECT_TRUE(std::any_of(keys.begin(), keys.end(),
                          [&](const auto& key) { return std::memcmp(key.data, wanted.data, sizeof(key.data)) == 0; }));
}

TEST_F(EditableCache, AnUpdateChangesTheNextBuildOfThatLayerOnly) {
  const auto before = build();
  const auto records = parse(log.details);
  ASSERT_TRUE(records.contains("matMul1"));
  const auto& record = records.at("matMul1");
  const auto other = otherThan(record);
  ASSERT_TRUE(other.has_value());
  ASSERT_TRUE(cache->update(keyOf(record.key), {hash(*other), 1.0F}));
  EXPECT_EQ(cache->query(keyOf(record.key)).tacticHash, hash(*other));
  EXPECT_FLOAT_EQ(cache->query(keyOf(record.key)).timingMSec, 1.0F);
  const auto after = build();
  EXPECT_EQ(after.at("matMul1"), record.kernels.at(*other));
  EXPECT_EQ(after.at("matMul2"), before.at("matMul2"));
  EXPECT_TRUE(parse(log.details).empty()) << "nothing is tuned again";
  // The choice is kept in the cache's bytes, and another cache takes it over.
  const std::unique_ptr<nv::IHostMemory> bytes(cache->serialize());
  std::unique_ptr<nv::ITimingCache> stored(config->createTimingCache(bytes->data(), bytes->size()));
  std::unique_ptr<nv::ITimingCache> combined(config->createTimingCache(nullptr, 0));
  ASSERT_TRUE(combined->combine(*stored, false));
  ASSERT_TRUE(config->setTimingCache(*combined, false));
  EXPECT_EQ(build().at("matMul1"), record.kernels.at(*other));
  // Without the flag choices count for nothing.
  config->clearFlag(nv::BuilderFlag::kEDITABLE_TIMING_CACHE);
  EXPECT_EQ(build().at("matMul1"), before.at("matMul1"));
}

TEST_F(EditableCache, ATacticThatTheLayerCannotUseEndsTheBuild) {
  build();
  const auto records = parse(log.details);
  ASSERT_TRUE(records.contains("matMul1"));
  const auto key = keyOf(records.at("matMul1").key);
  ASSERT_TRUE(cache->update(key, {0x1234, 1.0F}));
  EXPECT_TRUE(build().empty());
  ASSERT_EQ(log.errors.size(), 1U);
  for (const auto& part : {std::string("0x0000000000001234"), std::string("matMul1"), records.at("matMul1").key,
                           records.at("matMul1").selected}) {
    EXPECT_NE(log.errors[0].find(part), std::string::npos) << part << " in " << log.errors[0];
  }
  log.errors.clear();
  ASSERT_TRUE(cache->update(key, {0, std::nanf("")}));  // takes the entry out
  EXPECT_EQ(cache->query(key).tacticHash, nv::TimingCacheValue::kINVALID_TACTIC_HASH);
  EXPECT_FALSE(cache->update(key, {1, 1.0F}));
  EXPECT_FALSE(build().empty());
}

TEST_F(EditableCache, ValuesThatAreNoneAreRefused) {
  build();
  const auto records = parse(log.details);
  ASSERT_TRUE(records.contains("matMul1"));
  const auto key = keyOf(records.at("matMul1").key);
  EXPECT_FALSE(cache->update(key, {1, -1.0F}));
  expectError("finite");
  EXPECT_FALSE(cache->update(key, {1, INFINITY}));
  expectError("finite");
  EXPECT_FALSE(cache->update(key, {nv::TimingCacheValue::kINVALID_TACTIC_HASH, 1.0F}));
  expectError("kINVALID_TACTIC_HASH");
  EXPECT_EQ(cache->query(key).tacticHash, hash(records.at("matMul1").selected));
}

}  // namespace
