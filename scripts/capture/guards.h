// Which instructions the target being compiled has. PTX outside it would not assemble, so it is left out
// and the kernel says so (see product.cuh).
#pragma once

#ifdef __CUDA_ARCH__
#define ARCH __CUDA_ARCH__
#else
#define ARCH 0
#endif

#define LEFT_OUT(...) return false

#if ARCH >= 700
#define ON_SM70(...) __VA_ARGS__; return true
#else
#define ON_SM70 LEFT_OUT
#endif
#if ARCH >= 750
#define ON_SM75(...) __VA_ARGS__; return true
#else
#define ON_SM75 LEFT_OUT
#endif
#if ARCH >= 800
#define ON_SM80(...) __VA_ARGS__; return true
#else
#define ON_SM80 LEFT_OUT
#endif
#if ARCH >= 890
#define ON_SM89(...) __VA_ARGS__; return true
#else
#define ON_SM89 LEFT_OUT
#endif
// FP8 with FP16 accumulators came with PTX ISA 8.7, CUDA 12.8.
#if ARCH >= 890 && (__CUDACC_VER_MAJOR__ > 12 || __CUDACC_VER_MAJOR__ == 12 && __CUDACC_VER_MINOR__ >= 8)
#define ON_SM89_PTX87(...) __VA_ARGS__; return true
#else
#define ON_SM89_PTX87 LEFT_OUT
#endif
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define ON_SM90A(...) __VA_ARGS__; return true
#else
#define ON_SM90A LEFT_OUT
#endif
// B200 and B300; the latter has no kind::i8.
#if defined(__CUDA_ARCH_FEAT_SM100_ALL) || defined(__CUDA_ARCH_FEAT_SM103_ALL)
#define ON_SM100A(...) __VA_ARGS__; return true
#define HAS_TENSOR_MEMORY
#else
#define ON_SM100A LEFT_OUT
#endif
#ifdef __CUDA_ARCH_FEAT_SM100_ALL
#define ON_SM100A_INTEGER(...) __VA_ARGS__; return true
#else
#define ON_SM100A_INTEGER LEFT_OUT
#endif
#if defined(__CUDA_ARCH_FEAT_SM120_ALL) || defined(__CUDA_ARCH_FEAT_SM121_ALL)
#define ON_SM120A(...) __VA_ARGS__; return true
#else
#define ON_SM120A LEFT_OUT
#endif
// UE8M0 scales for every 16 k came with PTX ISA 9.1, CUDA 13.1.
#if __CUDACC_VER_MAJOR__ > 13 || __CUDACC_VER_MAJOR__ == 13 && __CUDACC_VER_MINOR__ >= 1
#define ON_SM120A_PTX91 ON_SM120A
#else
#define ON_SM120A_PTX91 LEFT_OUT
#endif

// AMD's.
#if defined(__gfx908__) || defined(__gfx90a__) || defined(__gfx942__)
#define ON_GFX908(...) __VA_ARGS__; return true
#else
#define ON_GFX908 LEFT_OUT
#endif
#if defined(__gfx90a__) || defined(__gfx942__)
#define ON_GFX90A(...) __VA_ARGS__; return true
#else
#define ON_GFX90A LEFT_OUT
#endif
#ifdef __gfx908__
#define ON_ONLY_GFX908(...) __VA_ARGS__; return true
#else
#define ON_ONLY_GFX908 LEFT_OUT
#endif
#ifdef __gfx90a__
#define ON_ONLY_GFX90A(...) __VA_ARGS__; return true
#else
#define ON_ONLY_GFX90A LEFT_OUT
#endif
#ifdef __gfx942__
#define ON_ONLY_GFX942(...) __VA_ARGS__; return true
#else
#define ON_ONLY_GFX942 LEFT_OUT
#endif
