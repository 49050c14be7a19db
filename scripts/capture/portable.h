// Types and marks that host compilers, nvcc and NVRTC share; no headers, because NVRTC has none.
#pragma once

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
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
