// Which columns of convolutions by tiles share a panel, and their weights in it.
#include <algorithm>

#include "backends/cpu/kernels/common/convolution_tiles.h"
#include "backends/cpu/kernels/common/kernel_row.h"
#include "backends/cpu/kernels/common/work_queue.h"
#include "core/error.h"

namespace tenon::backends::cpu {

ConvolutionTiles::ConvolutionTiles(std::vector<ConvolutionPart> parts, const runtime::KernelLoad& load)
    : parts_(std::move(parts)) {
  for (const auto& part : parts_) {
    const auto& w = load.constants[part.inputs[1]];
    if (!isConstantF32(w) || w.dims.rank != 4)
      throw Unsupported("cpu.{} needs constant weights of 2 spatial dimensions", load.record.name);
    if (part.op.hasBias && !isConstantF32(load.constants[part.inputs[2]]))
      throw Unsupported("cpu.{} needs a bias that is a constant", load.record.name);
    weights_.push_back(w.dims);
    const auto& first = weights_[0];
    const bool alike = w.dims[1] == first[1] && w.dims[2] == first[2] && w.dims[3] == first[3];
    if (!alike || (parts_.size() > 1 && part.op.groups != 1)) {
      throw Unsupported("cpu.{}: sibling convolutions have windows {} and {}; expected equal ones", load.record.name,
                        first.text(), w.dims.text());
    }
  }
  // Weights are read packed, so that nothing else may be read in their place.
  std::vector<size_t> others;
  for (const auto& part : parts_) {
    for (size_t i = 0; i < part.inputs.size(); ++i) {
      if (i != 1) others.push_back(part.inputs[i]);
    }
  }
  for (const auto& part : parts_) {
    if (std::find(others.begin(), others.end(), part.inputs[1]) != others.end())
      throw Unsupported("cpu.{}: operand {} is the weights of one convolution and something else of another",
                        load.record.name, part.inputs[1]);
  }
  divide();
  addBias(load);
}

// Whole panels are of one part; what is left of several parts shares panels as it fits. Of one part half a vector that
// is left goes with a whole one: alone it would take as long as that.
void ConvolutionTiles::divide() {
  const int64_t width = tileGeometry().columns;
  const int64_t half = halfColumns();
  std::vector<Panel> shared;
  for (size_t p = 0; p < parts_.size(); ++p) {
    const int64_t groups = parts_[p].op.groups;
    const int64_t columns = weights_[p][0] / groups;
    for (int64_t g = 0; g < groups; ++g) {
      int64_t count = 0;
      for (int64_t column = 0; column < columns; column += count) {
        const int64_t left = columns - column;
        count = std::min(width, left);
        if (parts_.size() == 1 && left > width && left <= width + half) count = width / 2;
        const Segment segment{p, g * columns + column, 0, count};
        if (count == width || parts_.size() == 1) {
          panels_.push_back({g, {segment}, hasHalves(count)});
          continue;
        }
        const auto used = [](const Panel& panel) { return panel.segments.back().at + panel.segments.back().count; };
        const auto place = std::find_if(shared.begin(), shared.end(),
                                        [&](const Panel& panel) { return used(panel) + count <= width; });
        if (place == shared.end()) {
          shared.push_back({0, {segment}});
        } else {
          place->segments.push_back({p, column, used(*place), count});
        }
      }
    }
  }
  panels_.insert(panels_.end(), shared.begin(), shared.end());
  panelFloats_ = weights_[0].count(1, 4) * width;
}

void ConvolutionTiles::addBias(const runtime::KernelLoad& load) {
  const int64_t width = tileGeometry().columns;
  const bool hasBias =
      std::any_of(parts_.begin(), parts_.end(), [](const ConvolutionPart& part) { return part.op.hasBias; });
  if (!hasBias) return;
  bias_.assign(panels_.size() * static_cast<size_t>(width), 0.f);
  for (size_t p = 0; p < panels_.size(); ++p) {
    for (const auto& segment : panels_[p].segments) {
      const auto& part = parts_[segment.part];
      if (!part.op.hasBias) continue;
      const auto* const values = static_cast<const float*>(load.constants[part.inputs[2]].data) + segment.column;
      std::copy_n(values, segment.count, bias_.data() + static_cast<int64_t>(p) * width + segment.at);
    }
  }
}

std::vector<runtime::PackedForm> ConvolutionTiles::packedForms(Layout) const {
  runtime::PackedForm form;
  form.recipe = fmt::format("convolution panels of {}, halves of {}", tileGeometry().columns, halfColumns());
  for (size_t p = 0; p < parts_.size(); ++p) {
    form.inputs.push_back(parts_[p].inputs[1]);
    form.recipe += fmt::format(", {} in {} groups", weights_[p].text(), parts_[p].op.groups);
  }
  form.bytes = panels_.size() * static_cast<uint64_t>(panelFloats_) * sizeof(float);
  form.isRestorable = true;
  return {form};
}

void ConvolutionTiles::pack(const runtime::PackedForm&, std::span<const void* const> sources, void* to) const {
  const int64_t width = tileGeometry().columns;
  const int64_t channels = weights_[0][1];
  const int64_t taps = weights_[0].count(2, 4);
  runJobs(static_cast<int64_t>(panels_.size()), static_cast<int64_t>(panels_.size()) * panelFloats_, [&](int64_t p) {
    float* const panel = static_cast<float*>(to) + p * panelFloats_;
    for (const auto& segment : panels_[static_cast<size_t>(p)].segments) {
      const auto* const data = static_cast<const float*>(sources[segment.part]) + segment.column * channels * taps;
      for (int64_t t = 0; t < taps; ++t) {
        float* const at = panel + t * channels * width + segment.at;
        if (segment.at == 0) {  // with zeros behind it
          packPanelsInto({data + t, channels, segment.count, taps, channels * taps}, at, 0);
          continue;
        }
        for (int64_t j = 0; j < segment.count; ++j) {
          for (int64_t c = 0; c < channels; ++c) at[c * width + j] = data[(j * channels + c) * taps + t];
        }
      }
    }
    if (panels_[static_cast<size_t>(p)].hasHalves) repeatHalf(panel, taps * channels);
  });
}

// The way back of pack().
void ConvolutionTiles::restore(const runtime::PackedForm&, size_t position, const void* packed, void* to) const {
  const int64_t width = tileGeometry().columns;
  const int64_t channels = weights_[0][1];
  const int64_t taps = weights_[0].count(2, 4);
  for (size_t p = 0; p < panels_.size(); ++p) {
    const float* const panel = static_cast<const float*>(packed) + static_cast<int64_t>(p) * panelFloats_;
    for (const auto& segment : panels_[p].segments) {
      if (segment.part != position) continue;
      float* const data = static_cast<float*>(to) + segment.column * channels * taps;
      for (int64_t j = 0; j < segment.count; ++j) {
        for (int64_t i = 0; i < channels * taps; ++i) {
          data[j * channels * taps + i] = panel[(i % taps * channels + i / taps) * width + segment.at + j];
        }
      }
    }
  }
}

const float* ConvolutionTiles::biasOf(int64_t panel) const noexcept {
  return bias_.empty() ? nullptr : bias_.data() + panel * tileGeometry().columns;
}

}  // namespace tenon::backends::cpu
