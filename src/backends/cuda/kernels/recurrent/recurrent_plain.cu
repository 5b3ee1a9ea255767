// The form that needs nothing of the sizes.
#include "recurrent_plain.cuh"
