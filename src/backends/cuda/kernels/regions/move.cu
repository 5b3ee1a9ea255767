// Several copies in one launch: a row of blocks for each.
#include "move.cuh"

KERNEL(tenon_move, MoveParameters) { moveAll(p.moves[blockIdx.y]); }
