// Statistics, the performance report, the layer table, tensor values and the JSON files.
#include "../../tools/trtexec/report/exports.h"
#include "../../tools/trtexec/report/layer_profile.h"
#include "../../tools/trtexec/report/performance.h"
#include "../../tools/trtexec/report/statistics.h"
#include "../../tools/trtexec/report/tensor_values.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

namespace tenon::trtexec {
namespace {

using nvinfer1::DataType;
using Json = nlohmann::json;

TEST(Statistics, PercentilesOfKnownValues) {
  std::vector<float> values;
  for (int i = 100; i >= 1; --i) {
    values.push_back(static_cast<float>(i));
  }
  const Statistics s = summarize(values, {0, 50, 90, 99, 100});
  EXPECT_EQ(s.min, 1);
  EXPECT_EQ(s.max, 100);
  EXPECT_FLOAT_EQ(s.mean, 50.5F);
  EXPECT_FLOAT_EQ(s.median, 50.5F);
  EXPECT_NEAR(s.variation, std::sqrt(833.25) / 50.5, 1e-6);
  EXPECT_EQ(s.percentiles, (std::vector<float>{1, 50, 90, 99, 100}));
}

TEST(Statistics, FewValues) {
  EXPECT_EQ(summarize({}, {90}).percentiles, (std::vector<float>{0}));
  const Statistics one = summarize({7}, {0, 50, 100});
  EXPECT_EQ(one.median, 7);
  EXPECT_EQ(one.percentiles, (std::vector<float>{7, 7, 7}));
  EXPECT_EQ(summarize({3, 1, 2}, {}).median, 2);
}

InferenceTrace trace(float start, float compute) {
  InferenceTrace t;
  t.enqueueStart = start;
  t.enqueueEnd = start + 0.25F;
  t.h2dStart = start;
  t.h2dEnd = t.computeStart = start + 1;
  t.computeEnd = t.d2hStart = t.computeStart + compute;
  t.d2hEnd = t.d2hStart + 2;
  return t;
}

bool has(const std::vector<ReportLine>& lines, std::string_view text) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const ReportLine& l) { return l.text.find(text) != std::string::npos; });
}

TEST(Performance, SummaryCountsWhatFollowsTheWarmUp) {
  std::vector<InferenceTrace> traces;
  for (int i = 0; i < 30; ++i) {
    traces.push_back(trace(static_cast<float>(i * 10), 5));
  }
  InferenceOptions inference;
  inference.warmUpMs = 100;  // The first to compute at 100 ms or later is number 10.
  ReportOptions report;
  report.avgRuns = 20;
  EXPECT_EQ(countWarmUps(traces, inference.warmUpMs), 10u);
  const auto lines = performanceReport(traces, inference, report, false);
  // From 100 to 298 ms: 20 queries in 198 ms.
  EXPECT_TRUE(has(lines, "=== Performance summary ==="));
  EXPECT_TRUE(has(lines, "Throughput: 101.01 qps"));
  EXPECT_TRUE(has(lines,
                  "Latency: min = 8 ms, max = 8 ms, mean = 8 ms, median = 8 ms, percentile(90%) = 8 ms, "
                  "percentile(95%) = 8 ms, percentile(99%) = 8 ms"));
  EXPECT_TRUE(has(lines, "Enqueue Time: min = 0.25 ms"));
  EXPECT_TRUE(has(lines, "H2D Latency: min = 1 ms"));
  EXPECT_TRUE(has(lines, "GPU Compute Time: min = 5 ms"));
  EXPECT_TRUE(has(lines, "D2H Latency: min = 2 ms"));
  EXPECT_TRUE(has(lines, "Total Host Walltime: 0.198 s"));
  EXPECT_TRUE(has(lines, "Total GPU Compute Time: 0.1 s"));
  EXPECT_TRUE(has(lines, "Average on 20 runs - GPU latency: 5 ms - Host latency: 8 ms (enqueue 0.25 ms)"));
  EXPECT_TRUE(has(lines, "Warmup completed 10 queries over 100 ms"));
  EXPECT_TRUE(has(lines, "Timing trace has 20 queries over 0.198 s"));
}

TEST(Performance, HintsFitTheDevice) {
  std::vector<InferenceTrace> traces;
  for (int i = 0; i < 30; ++i) {
    traces.push_back(trace(static_cast<float>(i * 10), i % 2 == 0 ? 1.0F : 2.0F));
    traces.back().enqueueEnd = traces.back().enqueueStart + 5;
  }
  InferenceOptions inference;
  inference.warmUpMs = 0;
  const auto gpu = performanceReport(traces, inference, ReportOptions{}, false);
  for (const char* hint : {"--useCudaGraph", "--noDataTransfers", "--useSpinWait", "GPU compute time is unstable"}) {
    EXPECT_TRUE(has(gpu, hint)) << hint;
  }
  const auto host = performanceReport(traces, inference, ReportOptions{}, true);
  for (const char* hint :
       {"--useCudaGraph", "--noDataTransfers", "--useSpinWait", "GPU compute time is unstable", "Without a GPU"}) {
    EXPECT_FALSE(has(host, hint)) << hint;
  }
  EXPECT_TRUE(has(host, "* Compute time is unstable, with coefficient of variance = "));
  EXPECT_TRUE(has(host, "A longer --duration, or a machine without other work"));
}

TEST(Performance, NothingAfterTheWarmUpIsSaid) {
  EXPECT_TRUE(has(performanceReport({trace(0, 1)}, InferenceOptions{}, ReportOptions{}, true), "nothing to report"));
  EXPECT_TRUE(has(performanceReport({}, InferenceOptions{}, ReportOptions{}, true), "nothing to report"));
}

TEST(LayerTable, InferencesAreToldApartByTheFirstLayer) {
  LayerProfile profile;
  for (int i = 0; i < 3; ++i) {
    profile.reportLayerTime("a", 1);
    profile.reportLayerTime("b", static_cast<float>(i));
    profile.reportLayerTime("b", 5);
  }
  EXPECT_EQ(profile.inferences(), 3u);
  const auto rows = profile.rows();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_FLOAT_EQ(rows[1].totalMs, 3);
  EXPECT_FLOAT_EQ(rows[1].medianMs, 1);
  EXPECT_FLOAT_EQ(rows[2].averageMs, 5);
  EXPECT_NEAR(rows[0].percentage + rows[1].percentage + rows[2].percentage, 100, 1e-3);
  const auto table = profile.table();
  EXPECT_EQ(table[0], "=== Profile (3 iterations ) ===");
  EXPECT_EQ(table[1], "    Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer");
  EXPECT_EQ(table.back(), "       21.00       7.0000       7.0000     100.0   Total");
}

TEST(LayerTable, LayersMayBeAbsent) {
  LayerProfile profile;
  for (const char* name : {"a", "b", "c", "a", "c", "a", "b", "c"}) {
    profile.reportLayerTime(name, 1);
  }
  const auto rows = profile.rows();
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_FLOAT_EQ(rows[1].totalMs, 2);
  EXPECT_FLOAT_EQ(rows[2].totalMs, 3);
  EXPECT_TRUE(LayerProfile().rows().empty());
}

float asFloat(const Element& element) {
  return std::visit([](auto value) { return static_cast<float>(value); }, element);
}

TEST(TensorValues, HalfAgreesWithTheFormat) {
  const std::pair<uint16_t, float> known[] = {{0x0000, 0.0F},           {0x3c00, 1.0F},     {0xc000, -2.0F},
                                              {0x7bff, 65504.0F},       {0x0400, 0x1p-14F}, {0x0001, 0x1p-24F},
                                              {0x3555, 0.333251953125F}};
  for (const auto& [bits, value] : known) {
    EXPECT_EQ(asFloat(readElement(DataType::kHALF, &bits, 0)), value);
    uint16_t written = 0xffff;
    writeElement(DataType::kHALF, &written, 0, value);
    EXPECT_EQ(written, bits) << value;
  }
  const uint16_t infinity = 0x7c00;
  const uint16_t nan = 0x7e00;
  EXPECT_TRUE(std::isinf(asFloat(readElement(DataType::kHALF, &infinity, 0))));
  EXPECT_TRUE(std::isnan(asFloat(readElement(DataType::kHALF, &nan, 0))));
}

TEST(TensorValues, BfloatIsTheUpperHalfOfAFloat) {
  std::mt19937 random(7);
  for (int i = 0; i < 1000; ++i) {
    const auto bits = static_cast<uint16_t>(random());
    const uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float expected = 0;
    std::memcpy(&expected, &wide, sizeof expected);
    const float got = asFloat(readElement(DataType::kBF16, &bits, 0));
    EXPECT_TRUE(got == expected || (std::isnan(got) && std::isnan(expected))) << bits;
  }
}

TEST(TensorValues, EveryFiniteValueSurvivesTheRoundTrip) {
  for (const DataType type : {DataType::kHALF, DataType::kBF16, DataType::kFP8, DataType::kFP4, DataType::kINT8,
                              DataType::kUINT8, DataType::kINT4, DataType::kBOOL, DataType::kE8M0}) {
    const uint32_t count = 1U << (type == DataType::kBOOL ? 1 : bitsPerElement(type));
    for (uint32_t bits = 0; bits < count; ++bits) {
      const float value = asFloat(readElement(type, &bits, 0));
      if (!std::isfinite(value)) {
        continue;
      }
      uint32_t again = 0;
      writeElement(type, &again, 0, value);
      EXPECT_EQ(again, bits) << "type " << static_cast<int>(type) << " value " << value;
    }
  }
}

TEST(TensorValues, RoundingIsToTheNearestEven) {
  uint16_t bits = 0;
  writeElement(DataType::kHALF, &bits, 0, 1 + 0x1p-11);  // Half-way between 0x3c00 and 0x3c01.
  EXPECT_EQ(bits, 0x3c00);
  writeElement(DataType::kHALF, &bits, 0, 1 + 3 * 0x1p-11);
  EXPECT_EQ(bits, 0x3c02);
  writeElement(DataType::kHALF, &bits, 0, 1e9);
  EXPECT_EQ(bits, 0x7bff);
  uint8_t small = 0;
  writeElement(DataType::kFP8, &small, 0, 448);
  EXPECT_EQ(small, 0x7e);
}

TEST(TensorValues, PackedTypesShareBytes) {
  EXPECT_EQ(bytesOf(DataType::kINT4, 0), 0u);
  EXPECT_EQ(bytesOf(DataType::kINT4, 7), 4u);
  EXPECT_EQ(bytesOf(DataType::kFLOAT, 7), 28u);
  uint8_t data[4] = {};
  for (size_t i = 0; i < 7; ++i) {
    writeElement(DataType::kINT4, data, i, static_cast<double>(i) - 4);
  }
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_EQ(asFloat(readElement(DataType::kINT4, data, i)), static_cast<float>(i) - 4);
  }
}

TEST(TensorValues, RandomValuesStayInRangeAndDependOnTheNameOnly) {
  std::vector<float> a(1013), b(1013), c(1013);
  fillRandom(DataType::kFLOAT, a.data(), a.size(), "x");
  fillRandom(DataType::kFLOAT, b.data(), b.size(), "x");
  fillRandom(DataType::kFLOAT, c.data(), c.size(), "y");
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_TRUE(std::all_of(a.begin(), a.end(), [](float v) { return v >= -1 && v < 1; }));
  EXPECT_NEAR(std::accumulate(a.begin(), a.end(), 0.0) / 1013, 0, 0.1);
  for (const DataType type : {DataType::kINT32, DataType::kINT64, DataType::kBOOL, DataType::kINT8, DataType::kUINT8}) {
    std::vector<int64_t> data(257);
    fillRandom(type, data.data(), 257, "x");
    float low = 1000, high = -1000;
    for (size_t i = 0; i < 257; ++i) {
      low = std::min(low, asFloat(readElement(type, data.data(), i)));
      high = std::max(high, asFloat(readElement(type, data.data(), i)));
    }
    const bool wide = type == DataType::kINT8 || type == DataType::kUINT8;
    EXPECT_GE(low, type == DataType::kINT8 ? -128 : 0);
    EXPECT_LE(high, wide ? 255 : 1);
    EXPECT_LT(low, high);
  }
}

TEST(Exports, TensorsAsJson) {
  const float values[] = {0.1F, -2, std::numeric_limits<float>::quiet_NaN(), 3e10F};
  const int64_t whole[] = {9007199254740993};
  const Json json = Json::parse(tensorsJson({{"out \"1\"", DataType::kFLOAT, {2, 2}, values},
                                             {"scalar", DataType::kINT64, {}, whole},
                                             {"empty", DataType::kFLOAT, {0, 3}, values}}));
  EXPECT_EQ(json[0]["name"], "out \"1\"");
  EXPECT_EQ(json[0]["dimensions"], "2x2");
  EXPECT_EQ(static_cast<float>(json[0]["values"][0].get<double>()), 0.1F);
  EXPECT_TRUE(json[0]["values"][2].is_null());
  EXPECT_EQ(json[1]["dimensions"], "");
  EXPECT_EQ(json[1]["values"][0].get<int64_t>(), 9007199254740993);
  EXPECT_TRUE(json[2]["values"].empty());
  EXPECT_EQ(Json::parse(tensorsJson({})), Json::array());
}

TEST(Exports, VectorFormatsAreUnpacked) {
  // 1x3x1x2 as CHW2: two vectors of channels (0, 1) and (2, padding), each over two columns.
  const float data[] = {0, 2, 1, 3, 4, -1, 5, -1};
  TensorView view{"t", DataType::kFLOAT, {1, 3, 1, 2}, data, 1, 2, {4, 2, 2, 1}};
  std::vector<float> seen;
  for (int64_t i = 0; i < view.volume(); ++i) {
    seen.push_back(asFloat(readElement(view.type, view.data, view.offsetOf(i))));
  }
  EXPECT_EQ(seen, (std::vector<float>{0, 1, 2, 3, 4, 5}));
}

TEST(Exports, TimesAndProfile) {
  const Json times = Json::parse(timesJson({trace(1, 5), trace(11, 6)}));
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[1]["computeMs"], 6);
  EXPECT_EQ(times[1]["latencyMs"], 9);
  EXPECT_EQ(times[0]["startH2dMs"], 1);
  EXPECT_EQ(times[0]["endD2hMs"], 9);
  LayerProfile profile;
  profile.reportLayerTime("a", 3);
  profile.reportLayerTime("b", 1);
  const Json layers = Json::parse(profileJson(profile));
  EXPECT_EQ(layers[0]["count"], 1);
  EXPECT_EQ(layers[1]["name"], "a");
  EXPECT_EQ(layers[1]["percentage"], 75);
}

}  // namespace
}  // namespace tenon::trtexec
