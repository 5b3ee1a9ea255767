// The row of dequantize is made in quantize.cpp, beside the code that both share.
