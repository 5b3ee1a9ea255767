// Which constants belong together, and their bytes in all layouts.
#include "runtime/region_constants.h"

#include <algorithm>
#include <numeric>

#include "core/error.h"
#include "core/storage.h"

namespace tenon::runtime {

RegionsKernel::RegionsKernel(std::span<const ops::Region> regions, size_t first, size_t changing, RegionLoad load)
    : first_(first), alignment_(load.alignment) {
  TextReader in(load.owner.record.params, "kernels of regions");
  const auto kernels = readFields<ops::RegionKernels>(in);
  load.constants = load.constants.subspan(std::min(first, load.constants.size()));
  std::vector<TensorView> constants(load.constants.begin(), load.constants.end());
  std::fill_n(constants.begin(), std::min(changing, constants.size()), TensorView{});
  load.constants = constants;
  for (size_t i = 0; i < regions.size(); ++i)
    steps_.push_back(std::make_unique<RegionSteps>(regions[i], i == 0 ? kernels.first : kernels.second, load));
  for (auto& group : groups(load.constants.size())) bundles_.push_back(bundleOf(std::move(group), load.constants));
}

// Inputs that some kernel reads packed; together where a layout is made of several.
std::vector<std::vector<size_t>> RegionsKernel::groups(size_t inputs) const {
  std::vector<size_t> group(inputs);
  std::iota(group.begin(), group.end(), size_t{0});
  std::vector<bool> isPacked(inputs);
  for (const auto& steps : steps_) {
    for (const auto& packed : steps->packed()) {
      for (const size_t input : packed.form.inputs) {
        isPacked[input] = true;
        const size_t from = group[input];
        const size_t to = group[packed.form.inputs[0]];
        std::replace(group.begin(), group.end(), from, to);
      }
    }
  }
  std::vector<std::vector<size_t>> result;
  for (size_t id = 0; id < inputs; ++id) {
    std::vector<size_t> members;
    for (size_t input = 0; input < inputs; ++input) {
      if (isPacked[input] && group[input] == id) members.push_back(input);
    }
    if (!members.empty()) result.push_back(std::move(members));
  }
  return result;
}

// A constant that is read in one form only keeps the form's recipe, so that it is shared with kernels elsewhere.
RegionsKernel::Bundle RegionsKernel::bundleOf(std::vector<size_t> inputs, std::span<const TensorView> constants) {
  Bundle bundle;
  bundle.form.inputs = std::move(inputs);
  std::string recipe;
  for (auto& steps : steps_) {
    for (auto& packed : steps->packed()) addPacked(bundle, *steps, packed, recipe);
  }
  for (size_t i = 0; i < bundle.form.inputs.size(); ++i) {
    const size_t input = bundle.form.inputs[i];
    const bool isRead =
        std::any_of(steps_.begin(), steps_.end(), [&](const auto& steps) { return steps->readsRowMajor(input); });
    if (!isRead) continue;
    for (auto& steps : steps_) steps->setRowMajor(input, {bundle.form.inputs[0], bundle.form.bytes});
    bundle.sections.push_back({nullptr, nullptr, {i}, bundle.form.bytes, constants[input].bytes()});
    bundle.form.bytes += alignBytes(constants[input].bytes(), alignment_);
    recipe += fmt::format(" row-major {}", i);
  }
  const auto& only = bundle.sections[0];
  const bool isPlain = bundle.sections.size() == 1;
  bundle.form.recipe = isPlain ? only.packed->form.recipe : "of regions:" + recipe;
  if (isPlain) {
    bundle.form.bytes = only.bytes;
    bundle.form.inputs = only.packed->form.inputs;
    std::iota(bundle.sections[0].sources.begin(), bundle.sections[0].sources.end(), size_t{0});
    for (auto& steps : steps_) {
      for (auto& packed : steps->packed()) {
        const auto& of = bundle.form.inputs;
        if (std::find(of.begin(), of.end(), packed.form.inputs[0]) != of.end()) packed.place = {of[0], 0};
      }
    }
  }
  return bundle;
}

void RegionsKernel::addPacked(Bundle& bundle, RegionSteps& steps, RegionSteps::Packed& packed, std::string& recipe) {
  const auto& members = bundle.form.inputs;
  std::vector<size_t> sources;
  for (const size_t input : packed.form.inputs) {
    const auto at = std::find(members.begin(), members.end(), input);
    if (at == members.end()) return;
    sources.push_back(static_cast<size_t>(at - members.begin()));
  }
  const auto known = std::find_if(bundle.sections.begin(), bundle.sections.end(), [&](const Section& section) {
    return section.sources == sources && section.packed->form.recipe == packed.form.recipe;
  });
  if (known != bundle.sections.end()) {
    checkInternal(known->bytes == packed.form.bytes, "the layout '{}' has {} bytes for one kernel and {} for another",
                  packed.form.recipe, known->bytes, packed.form.bytes);
    packed.place = {members[0], known->offset};
    return;
  }
  packed.place = {members[0], bundle.form.bytes};
  recipe += fmt::format(" {} {}", quote(packed.form.recipe), fmt::join(sources, ","));
  bundle.sections.push_back({&steps, &packed, std::move(sources), bundle.form.bytes, packed.form.bytes});
  bundle.form.bytes += alignBytes(packed.form.bytes, alignment_);
}

std::vector<PackedForm> RegionsKernel::packedForms(Layout) const {
  std::vector<PackedForm> forms;
  for (const auto& bundle : bundles_) {
    forms.push_back(bundle.form);
    for (auto& input : forms.back().inputs) input += first_;
  }
  return forms;
}

void RegionsKernel::pack(const PackedForm& form, std::span<const void* const> sources, void* to) const {
  const auto isIt = [&](const Bundle& bundle) {
    return bundle.form.recipe == form.recipe && bundle.form.inputs[0] + first_ == form.inputs[0];
  };
  const auto bundle = std::find_if(bundles_.begin(), bundles_.end(), isIt);
  checkInternal(bundle != bundles_.end(), "a loop or conditional has no packed layout '{}'", form.recipe);
  for (const auto& section : bundle->sections) {
    auto* const at = static_cast<std::byte*>(to) + section.offset;
    std::vector<const void*> own;
    for (const size_t source : section.sources) own.push_back(sources[source]);
    if (section.packed != nullptr) {
      section.steps->pack(*section.packed, own, at);
    } else {
      std::copy_n(static_cast<const std::byte*>(own[0]), section.bytes, at);
    }
  }
}

}  // namespace tenon::runtime
