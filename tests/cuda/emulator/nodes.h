// Graphs with conditional nodes, as those see them who know no type of the toolkit.
#pragma once

void* emulatedGraphOf(void* stream);  // that it is captured to; null: none
// What kernels set, and nodes of the same graph look at.
unsigned* addCondition(void* graph, unsigned value);
// The graphs of its bodies; null where it cannot be.
void** addNode(void* graph, const unsigned* condition, int kind, unsigned bodies);
bool beginCaptureTo(void* stream, void* graph);
