// Stands in for the driver library of a machine with a GPU: starts, and counts one device.
extern "C" {
__attribute__((visibility("default"))) int cuInit(unsigned) { return 0; }
__attribute__((visibility("default"))) int cuDeviceGetCount(int* count) {
  *count = 1;
  return 0;
}
}
