// A library of NVIDIA's that has nothing in it: its users say what is missing.
namespace {
[[maybe_unused]] constexpr int kNothing = 0;
}
