// The deconvolution's row; its kernel is the template of dnnl_convolution.cpp, which defines
// kernelRow_dnnl_deconvolution.
