// The kernels that test a GPU, as PTX: building and running them needs no CUDA toolkit.
#pragma once

#include <string_view>

namespace kgpu::validate {

// vector_add(a, b, c, count): c[i] = a[i] + b[i], floats. burn(out, rounds): fused multiply-adds
// that end with the bits they started with; each thread writes the exclusive or of its four chains
// to out[i]. Uses the oldest PTX and GPU that our drivers support: any later driver compiles it for
// any later GPU.
inline constexpr std::string_view kKernels = R"ptx(
.version 6.0
.target sm_30
.address_size 64

.visible .entry vector_add(
  .param .u64 a, .param .u64 b, .param .u64 c, .param .u32 count)
{
  .reg .pred %p<2>;
  .reg .f32 %f<4>;
  .reg .b32 %r<6>;
  .reg .b64 %rd<11>;
  ld.param.u64 %rd1, [a];
  ld.param.u64 %rd2, [b];
  ld.param.u64 %rd3, [c];
  ld.param.u32 %r2, [count];
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %ctaid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.u32 %r1, %r3, %r4, %r5;
  setp.ge.u32 %p1, %r1, %r2;
  @%p1 bra END;
  cvta.to.global.u64 %rd4, %rd1;
  cvta.to.global.u64 %rd5, %rd2;
  cvta.to.global.u64 %rd6, %rd3;
  mul.wide.u32 %rd7, %r1, 4;
  add.s64 %rd8, %rd4, %rd7;
  add.s64 %rd9, %rd5, %rd7;
  add.s64 %rd10, %rd6, %rd7;
  ld.global.f32 %f1, [%rd8];
  ld.global.f32 %f2, [%rd9];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd10], %f3;
END:
  ret;
}

.visible .entry burn(.param .u64 out, .param .u32 rounds)
{
  .reg .pred %p<2>;
  .reg .f32 %f<5>;
  .reg .b32 %r<16>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r2, [rounds];
  mov.u32 %r3, %ntid.x;
  mov.u32 %r4, %ctaid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.u32 %r1, %r3, %r4, %r5;
  // Four numbers in [1, 2) with the bits of a hash of the thread's index.
  mul.lo.u32 %r6, %r1, 0x9e3779b1;
  mul.lo.u32 %r7, %r6, 0x85ebca6b;
  mul.lo.u32 %r8, %r7, 0x85ebca6b;
  mul.lo.u32 %r9, %r8, 0x85ebca6b;
  shr.u32 %r6, %r6, 9;
  shr.u32 %r7, %r7, 9;
  shr.u32 %r8, %r8, 9;
  shr.u32 %r9, %r9, 9;
  or.b32 %r6, %r6, 0x3f800000;
  or.b32 %r7, %r7, 0x3f800000;
  or.b32 %r8, %r8, 0x3f800000;
  or.b32 %r9, %r9, 0x3f800000;
  mov.b32 %f1, %r6;
  mov.b32 %f2, %r7;
  mov.b32 %f3, %r8;
  mov.b32 %f4, %r9;
  mov.u32 %r10, 0;
LOOP:
  // x becomes 3 - x, which is exact, and then x again.
  fma.rn.f32 %f1, %f1, 0fbf800000, 0f40400000;
  fma.rn.f32 %f2, %f2, 0fbf800000, 0f40400000;
  fma.rn.f32 %f3, %f3, 0fbf800000, 0f40400000;
  fma.rn.f32 %f4, %f4, 0fbf800000, 0f40400000;
  fma.rn.f32 %f1, %f1, 0fbf800000, 0f40400000;
  fma.rn.f32 %f2, %f2, 0fbf800000, 0f40400000;
  fma.rn.f32 %f3, %f3, 0fbf800000, 0f40400000;
  fma.rn.f32 %f4, %f4, 0fbf800000, 0f40400000;
  add.u32 %r10, %r10, 1;
  setp.lt.u32 %p1, %r10, %r2;
  @%p1 bra LOOP;
  mov.b32 %r11, %f1;
  mov.b32 %r12, %f2;
  mov.b32 %r13, %f3;
  mov.b32 %r14, %f4;
  xor.b32 %r15, %r11, %r12;
  xor.b32 %r15, %r15, %r13;
  xor.b32 %r15, %r15, %r14;
  cvta.to.global.u64 %rd2, %rd1;
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r15;
  ret;
}
)ptx";

}  // namespace kgpu::validate
