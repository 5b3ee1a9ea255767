// Products with experts in any type, one multiplication after another.
#include "experts.cuh"
