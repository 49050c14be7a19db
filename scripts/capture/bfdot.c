// A product by Arm's BFDOT, two products at a time, k ascending, from +0: docs/capturing.md.
//
//     cc -O2 -march=armv8.2-a+bf16 -shared -fPIC -o bfdot.so bfdot.c     (a Mac: -mcpu=apple-m2)
//
// No processor has run it.

#include <arm_neon.h>
#include <stdint.h>
#include <string.h>

uint64_t fpcr(void) { uint64_t x; __asm__("mrs %0, fpcr" : "=r"(x)); return x; }

/* d = a * b; b lies column by column. */
void product(const uint16_t *a, const uint16_t *b, float *d, long m, long n, long k) {
    for (long i = 0; i < m; i++)
        for (long j = 0; j < n; j++) {
            float32x2_t sum = vdup_n_f32(0);
            for (long l = 0; l < k; l += 2) {
                uint32_t x, y;
                memcpy(&x, a + i * k + l, 4);
                memcpy(&y, b + j * k + l, 4);
                sum = vbfdot_f32(sum, vreinterpret_bf16_u32(vdup_n_u32(x)), vreinterpret_bf16_u32(vdup_n_u32(y)));
            }
            d[i * n + j] = vget_lane_f32(sum, 0);
        }
}
