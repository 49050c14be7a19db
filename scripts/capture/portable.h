// Types and marks that host compilers, nvcc, NVRTC and hipcc share; no headers, because NVRTC has none.
#pragma once
#ifdef __HIP__
#include "hip.h"
#endif

#if defined(__CUDACC__) || defined(__CUDACC_RTC__) || defined(__HIP__)
#define DEVICE_CODE
#define BOTH __host__ __device__ inline
#else
#define BOTH inline
#endif

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

struct Place {
    int row, column;
};
