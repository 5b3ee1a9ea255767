// What differs between the interfaces of oneDNN 2.x and 3.x, decided by what the library's own types have.
#pragma once

#include <dnnl.hpp>

#include <optional>

namespace tenon::backends::cpu {

const dnnl::engine& dnnlEngine();

// 2.x describes an operation first (Forward::desc) and then asks for an implementation; 3.x does both at once.
template <typename Forward>
concept DescribedFirst = requires {
  typename Forward::desc;
};

// Calls see(primitive) for each implementation, in the library's order, until it says that it has seen enough. Throws
// where there is none. In 2.x the next one is found only while the description lives.
template <typename Forward, typename See, typename... Arguments>
void eachImplementation(const See& see, const dnnl::primitive_attr& attributes, const Arguments&... arguments) {
  using Primitive = typename Forward::primitive_desc;
  const auto walk = [&](Primitive next) {
    while (!see(next) && next.next_impl()) {
    }
  };
  if constexpr (DescribedFirst<Forward>) {
    const typename Forward::desc description(arguments...);
    walk(Primitive(description, attributes, dnnlEngine()));
  } else {
    walk(Primitive(dnnlEngine(), arguments..., attributes));
  }
}

// 3.x takes the dilation of the window too, counted from 0.
template <typename See, typename Forward = dnnl::pooling_forward>
void eachPooling(const See& see, const dnnl::primitive_attr& attributes, dnnl::algorithm algorithm,
                 const dnnl::memory::desc& x, const dnnl::memory::desc& y, const dnnl::memory::dims& strides,
                 const dnnl::memory::dims& window, const dnnl::memory::dims& before, const dnnl::memory::dims& after) {
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
  if constexpr (DescribedFirst<Forward>) {
    eachImplementation<Forward>(see, attributes, kKind, algorithm, x, y, strides, window, before, after);
  } else {
    const dnnl::memory::dims dilation(window.size(), 0);
    eachImplementation<Forward>(see, attributes, kKind, algorithm, x, y, strides, window, dilation, before, after);
  }
}

// 3.x takes the description of the output too.
template <typename See, typename Forward = dnnl::lrn_forward>
void eachLrn(const See& see, const dnnl::primitive_attr& attributes, const dnnl::memory::desc& x,
             dnnl::memory::dim window, float alpha, float beta, float k) {
  constexpr auto kKind = dnnl::prop_kind::forward_inference;
  constexpr auto kAcross = dnnl::algorithm::lrn_across_channels;
  if constexpr (DescribedFirst<Forward>) {
    eachImplementation<Forward>(see, attributes, kKind, kAcross, x, window, alpha, beta, k);
  } else {
    eachImplementation<Forward>(see, attributes, kKind, kAcross, x, x, window, alpha, beta, k);
  }
}

// 2.x has a scale in front, which is 1 here.
template <typename Ops>
void appendEltwise(Ops& ops, dnnl::algorithm algorithm, float alpha, float beta) {
  if constexpr (requires { ops.append_eltwise(1.f, algorithm, alpha, beta); }) {
    ops.append_eltwise(1.f, algorithm, alpha, beta);
  } else {
    ops.append_eltwise(algorithm, alpha, beta);
  }
}

template <typename Desc>
dnnl::memory::dims extentsOf(const Desc& desc) {
  if constexpr (requires { desc.get_dims(); }) {
    return desc.get_dims();
  } else {
    return desc.dims();
  }
}

// Where the elements of a tensor lie: strides of the outer axes in elements, and the blocks within. Nothing where a
// library's layout is of another kind.
struct Blocking {
  dnnl::memory::dims strides;
  dnnl::memory::dims blocks;
  dnnl::memory::dims axes;  // of the blocks
  bool operator==(const Blocking&) const = default;
};

template <typename Desc>
std::optional<Blocking> blockingOf(const Desc& desc) {
  if constexpr (requires { desc.get_strides(); }) {
    if (desc.get_format_kind() != dnnl::memory::format_kind::blocked) return std::nullopt;
    return Blocking{desc.get_strides(), desc.get_inner_blks(), desc.get_inner_idxs()};
  } else {
    if (desc.data.format_kind != dnnl_blocked) return std::nullopt;
    const auto& b = desc.data.format_desc.blocking;
    return Blocking{{b.strides, b.strides + desc.data.ndims},
                    {b.inner_blks, b.inner_blks + b.inner_nblks},
                    {b.inner_idxs, b.inner_idxs + b.inner_nblks}};
  }
}

}  // namespace tenon::backends::cpu
