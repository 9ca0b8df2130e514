// The protocol between kgpu and kgpu-cuda. The job is kgpu-cuda's command line and the PTX on its
// standard input; it reports what it does and finds on its standard output, in lines:
//   hello VERSION       the first line, whatever the command line is: both come from one release
//   begin PHASE         a driver call of this phase follows: the parent's clock starts again
//   set KEY VALUE       something measured or read; the value extends to the end of the line
//   fail CODE TEXT      the last line: CODE is CUDA's number, or one of those below
//   done                the last line of a successful run
// Lines have at most kMaxLine bytes, including their ends.
#pragma once

#include <cstddef>
#include <cstdint>

namespace kgpu::validate {

inline constexpr size_t kMaxLine = 1024;
inline constexpr size_t kMaxPtx = size_t{64} << 10;

inline constexpr int kWrongResult = 0;
inline constexpr int kNoLibrary = -1;
inline constexpr int kNoHostMemory = -2;

inline constexpr uint32_t kElements = 50'000;
inline constexpr uint32_t kThreads = 256;
inline constexpr uint32_t kBlocks = (kElements + kThreads - 1) / kThreads;

}  // namespace kgpu::validate
