// tcgen05.mma of sm_100a and sm_103a: A and B through shared memory, D and scales in tensor memory.
#pragma once
#include "descriptors.h"
#include "fragments.h"
#include "guards.h"
#include "wgmma.cuh"

// D is always added to.
#define TENSOR_MMA(KIND)                                                                                   \
    asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; tcgen05.mma.cta_group::1.kind::" KIND                \
                 " [%0], %1, %2, %3, p;}" ::"r"(d), "l"(a), "l"(b), "r"(DESCRIPTOR) : "memory")
#define TENSOR_MMA_SCALED(KIND)                                                                            \
    asm volatile("{.reg .pred p; setp.ne.b32 p, 1, 0; tcgen05.mma.cta_group::1.kind::" KIND                \
                 " [%0], %1, %2, %3, [%4], [%5], p;}" ::"r"(d), "l"(a), "l"(b), "r"(DESCRIPTOR),           \
                 "r"(scale_a), "r"(scale_b) : "memory")

#ifdef DEVICE_CODE
/// A block's tensor memory and the barrier that says when an instruction is done, for one chain.
template <class U>
class TensorStep {
    typedef typename U::Layout L;
    /// Words of a lane: D, scales of A, scales of B.
    static const int SCALE_A = 16, SCALE_B = 20, WORDS = 32;
    u32 memory_ = 0, done_ = 0, steps_ = 0;

  public:
#ifdef HAS_TENSOR_MEMORY
    __device__ TensorStep() {
        __shared__ u32 memory;
        __shared__ alignas(8) u64 done;
        done_ = u32(__cvta_generic_to_shared(&done));
        if (threadIdx.x < 32)
            asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(
                             u32(__cvta_generic_to_shared(&memory))), "n"(WORDS) : "memory");
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(done_) : "memory");
            asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        }
        synchronize();
        memory_ = *(volatile u32*)&memory;
    }
    __device__ ~TensorStep() {
        synchronize();
        if (threadIdx.x == 0) asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(done_) : "memory");
        if (threadIdx.x < 32)
            asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, %1;" ::"r"(memory_), "n"(WORDS));
        __syncthreads();
    }

    __device__ bool run(const Operands& operands, int lane, u64 row, u64 column, u64 k, u32* d) {
        __shared__ alignas(128) u8 a[128 * 32];
        __shared__ alignas(128) u8 b[16 * 32];
        // Loops stay loops: there are many units.
#pragma unroll 1
        for (int at = lane; at < 128 * 2; at += 128) {
            int r = at / 2, half = at % 2;
            Chunk chunk;
#pragma unroll 1
            for (int i = 0; i < L::PER; i++)
                chunk.put(i, U::A_BITS, operands.a_code(row + r, k + half * L::PER + i));
            store(a + L::shared(r, half * 16), chunk);
        }
        if (lane < 16 * 2) {
            int c = lane / 2, half = lane % 2;
            Chunk chunk;
#pragma unroll 1
            for (int i = 0; i < L::PER; i++)
                chunk.put(i, U::B_BITS, operands.b_code(k + half * L::PER + i, column + c));
            store(b + L::shared(c, half * 16), chunk);
        }
        // A warp reaches its own quarter of the lanes.
        const u32 quarter = memory_ + (u32(lane / 32 * 32) << 16);
        store16(quarter, d);
        if (U::BLOCK > 0) {
            u32 scale_a[4] = {}, scale_b[4] = {};
#pragma unroll
            for (int word = 0; word < 4; word++) {
                const int at = L::scale_row(lane, word);
                for (int i = 0; i < L::K / (U::BLOCK > 0 ? U::BLOCK : 1); i++) {
                    const u64 block = k / (U::BLOCK > 0 ? U::BLOCK : 1) + i;
                    scale_a[word] |= operands.scale_a_code(row + at, block) << 8 * i;
                    if (at < L::COLUMNS) scale_b[word] |= operands.scale_b_code(block, column + at) << 8 * i;
                }
            }
            store4(quarter + SCALE_A, scale_a);
            store4(quarter + SCALE_B, scale_b);
        }
        asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
        // What was written above must be seen by the asynchronous proxy that reads it.
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        synchronize();
        bool issued = true;
        if (lane == 0) {
            // Bit 46: the format of this descriptor is that of tcgen05.
            const u64 version = 1ull << 46;
            issued = U::issue(memory_, descriptor<L>(a) | version, descriptor<L>(b) | version, memory_ + SCALE_A,
                              memory_ + SCALE_B);
            asm volatile("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%0];" ::"r"(done_)
                         : "memory");
        }
        wait(steps_++ & 1);
        asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
        load16(quarter, d);
        asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
        synchronize();
        return __syncthreads_and(issued);
    }

  private:
    __device__ static void synchronize() {
        asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
        __syncthreads();
        asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    }
    __device__ static void store(u8* at, const Chunk& chunk) {
        ((u64*)at)[0] = chunk.low, ((u64*)at)[1] = chunk.high;
    }
    /// Until the barrier's phase is over; an instruction that never ends must not hang a node.
    __device__ void wait(u32 phase) const {
        for (u32 tries = 0, over = 0; !over; tries++) {
            asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
                         : "=r"(over)
                         : "r"(done_), "r"(phase)
                         : "memory");
            if (tries > 1u << 22) __trap();
        }
        __syncwarp();
    }
    __device__ static void store16(u32 to, const u32* d) {
        asm volatile("tcgen05.st.sync.aligned.32x32b.x16.b32 [%0], {%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16};" ::
                         "r"(to), "r"(d[0]), "r"(d[1]), "r"(d[2]), "r"(d[3]), "r"(d[4]), "r"(d[5]), "r"(d[6]), "r"(d[7]),
                     "r"(d[8]), "r"(d[9]), "r"(d[10]), "r"(d[11]), "r"(d[12]), "r"(d[13]), "r"(d[14]), "r"(d[15])
                     : "memory");
    }
    __device__ static void store4(u32 to, const u32* d) {
        asm volatile("tcgen05.st.sync.aligned.32x32b.x4.b32 [%0], {%1,%2,%3,%4};" ::"r"(to), "r"(d[0]), "r"(d[1]),
                     "r"(d[2]), "r"(d[3])
                     : "memory");
    }
    __device__ static void load16(u32 from, u32* d) {
        asm volatile("tcgen05.ld.sync.aligned.32x32b.x16.b32 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, [%16];"
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3]), "=r"(d[4]), "=r"(d[5]), "=r"(d[6]), "=r"(d[7]),
                       "=r"(d[8]), "=r"(d[9]), "=r"(d[10]), "=r"(d[11]), "=r"(d[12]), "=r"(d[13]), "=r"(d[14]), "=r"(d[15])
                     : "r"(from)
                     : "memory");
    }
#else
    __device__ bool run(const Operands&, int, u64, u64, u64, u32*) { return false; }
#endif
};
#endif
