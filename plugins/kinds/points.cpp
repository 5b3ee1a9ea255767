// Clouds of points in pillars: their making, their map, and the boxes decoded from it.
#include <cmath>

#include "common/spec.h"

namespace tenon::plugins {
namespace {

using Type = nv::PluginFieldType;

// rows [N, P, C] at the places [N, P] below `count`, the others left out: [N, count, C], zeros where none is.
Value scatterRows(const Value& rows, const Value& places, const Size& count) {
  Layers& layers = rows.layers();
  const Size images = rows.dim(0);
  const Size width = rows.dim(2);
  const Value nothing = layers.fill({images, count + Size(1), width}, 0, rows.type());
  const Value indices = places.unsqueeze(2).expand(rows.shape());
  return layers.add("scatter{axis=1}", {nothing, indices, rows}).slice(1, 0, count);
}

Spec voxels() {
  return {"VoxelGeneratorPlugin",
          "1",
          Interface::kV2DynamicExt,
          false,
          {{"max_num_points_per_voxel", Type::kINT32},
           {"max_voxels", Type::kINT32},
           {"point_cloud_range", Type::kFLOAT32},
           {"voxel_feature_num", Type::kINT32},
           {"voxel_size", Type::kFLOAT32}},
          "fi",
          "fii",
          [](const Fields& f, const std::vector<Dims>& in) {
            const Dim images = in.at(0).at(0);
            const Dim most = f.integer("max_voxels");
            return std::vector<Dims>{
                {images, most, f.integer("max_num_points_per_voxel"), f.integer("voxel_feature_num")},
                {images, most, 4},
                {images}};
          },
          [](Layers& layers) {
            const Fields& f = layers.fields();
            const auto out = layers.addMany(
                fmt::format("pillars{{pillars={} points={} features={} range=[{}] size=[{}]}}", f.integer("max_voxels"),
                            f.integer("max_num_points_per_voxel"), f.integer("voxel_feature_num"),
                            fmt::join(f.reals("point_cloud_range"), ","), fmt::join(f.reals("voxel_size"), ",")),
                {layers.input(0).cast(nv::DataType::kFLOAT), layers.input(1)}, 3);
            for (int i = 0; i < 3; ++i) layers.output(i, out[static_cast<size_t>(i)]);
          },
          0,
          [](const Fields& f) {
            if (f.reals("point_cloud_range").size() != 6 || f.reals("voxel_size").size() != 3) {
              throw PluginError("expected 6 numbers of point_cloud_range and 3 of voxel_size");
            }
          }};
}

Spec pillarScatter() {
  return {"PillarScatterPlugin",
          "1",
          Interface::kV2DynamicExt,
          false,
          {{"dense_shape", Type::kINT32, 1, true}},
          "xii",
          "x",
          [](const Fields& f, const std::vector<Dims>& in) {
            const auto shape = f.integers("dense_shape");
            return std::vector<Dims>{{in.at(0).at(0), in.at(0).at(2), shape.at(0), shape.at(1)}};
          },
          [](Layers& layers) {
            const auto shape = layers.fields().integers("dense_shape");
            const Value features = layers.input(0);
            const Value cells = layers.input(1);
            const Value row = cells.slice(2, 2, 1).squeeze(2);
            const Value column = cells.slice(2, 3, 1).squeeze(2);
            const int64_t count = shape[0] * shape[1];
            // Behind the last pillar, and cells that are not there, go to the row that is cut off.
            const Value places = layers.pointwise(
                fmt::format("less(x0,x1);less(x2,0);less(x3,0);or(t1,t2);less(x2,{});less(x3,{});and(t4,t5);not(t3);"
                            "and(t6,t7);and(t0,t8);mul(x2,{});add(t10,x3);select(t9,t11,{})",
                            shape[0], shape[1], shape[1], count),
                {layers.iota(features.dim(1)), layers.input(2).unsqueeze(1), row, column});
            layers.output(0, scatterRows(features, places, count)
                                 .transpose({0, 2, 1})
                                 .reshape({features.dim(0), features.dim(2), Size(shape[0]), Size(shape[1])}));
          },
          0,
          [](const Fields& f) {
            const auto shape = f.integers("dense_shape");
            if (shape.size() != 2 || shape[0] < 1 || shape[1] < 1)
              throw PluginError("dense_shape: expected 2 numbers of 1 or more");
          }};
}

Spec decodeBoxes() {
  return {
      "DecodeBbox3DPlugin",
      "1",
      Interface::kV2DynamicExt,
      false,
      {{"point_cloud_range", Type::kFLOAT32},
       {"anchors", Type::kFLOAT32},
       {"anchor_bottom_height", Type::kFLOAT32},
       {"dir_offset", Type::kFLOAT32},
       {"dir_limit_offset", Type::kFLOAT32},
       {"num_dir_bins", Type::kINT32},
       {"score_thresh", Type::kFLOAT32}},
      "f",
      "fi",
      [](const Fields& f, const std::vector<Dims>& in) {
        const Dims& scores = in.at(0);
        const auto anchors = static_cast<int64_t>(f.reals("anchors").size() / 4);
        return std::vector<Dims>{{scores.at(0), scores.at(1) * scores.at(2) * Dim(anchors), 9}, {scores.at(0)}};
      },
      [](Layers& layers) {
        const Fields& f = layers.fields();
        const auto range = f.reals("point_cloud_range");
        const auto table = f.reals("anchors");
        const auto bottoms = f.reals("anchor_bottom_height");
        const auto anchors = static_cast<int64_t>(table.size() / 4);
        const Value given = layers.input(0);
        const Size images = given.dim(0);
        const int64_t rows = given.dim(1).number();
        const int64_t columns = given.dim(2).number();
        const auto line = [&](double low, double high, int64_t count) {
          std::vector<float> places;
          for (int64_t i = 0; i < count; ++i) {
            places.push_back(
                static_cast<float>(low + static_cast<double>(i) * (high - low) / static_cast<double>(count - 1)));
          }
          return places;
        };
        const auto perAnchor = [&](auto&& number) {
          std::vector<float> values;
          for (size_t a = 0; a < static_cast<size_t>(anchors); ++a) values.push_back(static_cast<float>(number(a)));
          return layers.constant(values, {1, 1, 1, anchors});
        };
        const Value x = layers.constant(line(range[0], range[3], columns), {1, 1, columns, 1});
        const Value y = layers.constant(line(range[1], range[4], rows), {1, rows, 1, 1});
        const Value z = perAnchor([&](size_t a) { return table[a * 4 + 2] / 2 + bottoms[a / 2]; });
        const Value dx = perAnchor([&](size_t a) { return table[a * 4]; });
        const Value dy = perAnchor([&](size_t a) { return table[a * 4 + 1]; });
        const Value dz = perAnchor([&](size_t a) { return table[a * 4 + 2]; });
        const Value turn = perAnchor([&](size_t a) { return table[a * 4 + 3]; });
        const Value diagonal = perAnchor([&](size_t a) { return std::hypot(table[a * 4], table[a * 4 + 1]); });
        const Size cells[] = {images, Size(rows), Size(columns), Size(anchors)};
        const auto byAnchor = [&](const Value& value, const Size& last) {
          return value.reshape({cells[0], cells[1], cells[2], cells[3], last});
        };
        const Value code = byAnchor(layers.input(1), 7);
        const auto part = [&](int64_t i) { return code.slice(4, i, 1).squeeze(4); };
        const Value ways = byAnchor(layers.input(2), 2);
        const Value way = layers.pointwise("greater(x0,x1);select(t0,0,1);cast.f32(t1)",
                                           {ways.slice(4, 0, 1).squeeze(4), ways.slice(4, 1, 1).squeeze(4)});
        const double period = 2 * M_PI / static_cast<double>(f.integer("num_dir_bins", 2));
        const double offset = f.real("dir_offset");
        const Value angle = layers.pointwise(
            fmt::format("add(x0,x1);sub(t0,{0});div(t1,{1});add(t2,{2});floor(t3);mul(t4,{1});sub(t1,t5);add(t6,{0});"
                        "mul(x2,{1});add(t7,t8)",
                        offset, period, f.real("dir_limit_offset")),
            {part(6), turn, way});
        const auto top = byAnchor(given.call("sigmoid"), floorDiv(given.dim(3), anchors)).topk(1, 4);
        const Value score = top[0].squeeze(4);
        std::vector<Value> numbers = {part(0) * diagonal + x,
                                      part(1) * diagonal + y,
                                      part(2) * dz + z,
                                      part(3).call("exp") * dx,
                                      part(4).call("exp") * dy,
                                      part(5).call("exp") * dz,
                                      angle,
                                      top[1].squeeze(4).cast(nv::DataType::kFLOAT),
                                      score};
        const Size all(rows * columns * anchors);
        for (Value& number : numbers) number = number.reshape({images, all, Size(1)});
        // Those above the threshold, one behind the other.
        const Value found = score.reshape({images, all})
                                .scalar(fmt::format("less(x0,{});not(t0);cast.i32(t1)", f.real("score_thresh")));
        const Value number = layers.add("cumulative{axis=1}", {found});
        const Value places =
            layers.pointwise(fmt::format("greater(x0,0);sub(x1,1);select(t0,t1,{})", all.text()), {found, number});
        layers.output(0, scatterRows(layers.concat(numbers, 2), places, all));
        layers.output(1, found.reduce("sum", 1));
      },
      0,
      [](const Fields& f) {
        const size_t bottoms = f.reals("anchor_bottom_height").size();
        if (bottoms == 0 || f.reals("anchors").size() != bottoms * 8 || f.reals("point_cloud_range").size() != 6) {
          throw PluginError(
              fmt::format("{} anchor_bottom_height, {} anchors and {} numbers of point_cloud_range; expected "
                          "8 anchors for each height, and 6",
                          bottoms, f.reals("anchors").size(), f.reals("point_cloud_range").size()));
        }
        if (f.integer("num_dir_bins", 2) < 1) throw PluginError("num_dir_bins must be 1 or more");
      }};
}

}  // namespace

std::vector<Spec> specs_points() { return {voxels(), pillarScatter(), decodeBoxes()}; }

}  // namespace tenon::plugins
