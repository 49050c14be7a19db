// wgmma.mma_async of sm_90a: A and B through shared memory, D in the registers of four warps.
#pragma once
#include "fragments.h"
#include "guards.h"

// scale-d is 1: D is always added to. FP operands: both scales 1; 16-bit ones also take transposes, none here.
#define WGMMA_4(PTX, REST)                                                             \
    asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; " PTX                            \
                 " {%0,%1,%2,%3}, %4, %5, p" REST ";}"                                 \
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])                      \
                 : "l"(a), "l"(b)                                                      \
                 : "memory")
#define WGMMA_2(PTX, REST)                                                             \
    asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; " PTX " {%0,%1}, %2, %3, p" REST ";}" \
                 : "+r"(d[0]), "+r"(d[1])                                              \
                 : "l"(a), "l"(b)                                                      \
                 : "memory")

#ifdef DEVICE_CODE
/// "Matrix Descriptor Format" of the PTX ISA: address, distance of core matrices along k, and down the
/// rows, each in units of 16 bytes; the two top bits 0 for no swizzle.
template <class L>
__device__ u64 descriptor(const u8* shared) {
    u64 address = (u64)__cvta_generic_to_shared(shared);
    return (address & 0x3ffff) >> 4 | (u64)(L::ALONG_K >> 4) << 16 | (u64)(L::ALONG_ROWS >> 4) << 32;
}

template <class U>
struct WgmmaStep {
    __device__ static bool run(const Operands& operands, int lane, u64 row, u64 column, u64 k, u32* d) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
        typedef typename U::Layout L;
        const int width = 32 / L::K;
        __shared__ alignas(128) u8 a[64 * 32];
        __shared__ alignas(128) u8 b[8 * 32];
        for (int at = lane; at < 64 * L::K; at += 128) {
            int r = at / L::K, c = at % L::K;
            put(a + L::shared(r, c * width), operands.a_code(row + r, k + c), width);
        }
        for (int at = lane; at < 8 * L::K; at += 128) {
            int r = at / L::K, c = at % L::K;
            put(b + L::shared(r, c * width), operands.b_code(k + c, column + r), width);
        }
        // What was written above must be seen by the asynchronous proxy that reads it.
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        bool issued = U::issue(descriptor<L>(a), descriptor<L>(b), d);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
        __syncthreads();
        return issued;
#else
        return false;
#endif
    }
};
#endif
