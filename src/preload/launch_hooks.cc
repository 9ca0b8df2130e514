// Launches of kernels: they pass the gate of the container's share of the GPU's time. Stand-ins
// only where a slot has a share: else programs get the driver's own functions.
#include "src/preload/gates.h"
#include "src/preload/hook.h"

namespace cu = kgpu::cuda_api;

namespace kgpu::preload {
namespace {

using LaunchFn = Result(cu::Function function);
using LaunchGridFn = Result(cu::Function function, int width, int height);
using LaunchGridAsyncFn = Result(cu::Function function, int width, int height, cu::Stream stream);
using LaunchCooperativeMultiDeviceFn = Result(cu::LaunchParams* launches, unsigned count,
                                              unsigned flags);

// Finding the driver reads the limits, which the gate belongs to.
template <typename Fn, typename... Args>
Result Launch(HookId id, const LaunchStream& stream, Args... args) {
  Fn* function = Real<Fn>(id);
  if (function == nullptr) {
    return cu::kNotInitialized;
  }
  return LaunchInTurn(stream, [&] { return function(args...); });
}

}  // namespace
}  // namespace kgpu::preload

using namespace kgpu::preload;  // NOLINT(google-build-using-namespace): what follows is C

KGPU_STAND_IN cuLaunch(cu::Function function) {
  return Launch<LaunchFn>(k_cuLaunch, {nullptr, false}, function);
}
KGPU_STAND_IN cuLaunchGrid(cu::Function function, int width, int height) {
  return Launch<LaunchGridFn>(k_cuLaunchGrid, {nullptr, false}, function, width, height);
}
KGPU_STAND_IN cuLaunchGridAsync(cu::Function function, int width, int height, cu::Stream stream) {
  return Launch<LaunchGridAsyncFn>(k_cuLaunchGridAsync, {stream, false}, function, width, height,
                                   stream);
}

KGPU_STAND_IN cuLaunchKernel(cu::Function function, unsigned grid_x, unsigned grid_y,
                             unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
                             unsigned shared_bytes, cu::Stream stream, void** arguments,
                             void** extra) {
  return Launch<cu::LaunchKernelFn>(k_cuLaunchKernel, {stream, false}, function, grid_x, grid_y,
                                    grid_z, block_x, block_y, block_z, shared_bytes, stream,
                                    arguments, extra);
}
KGPU_STAND_IN cuLaunchKernel_ptsz(cu::Function function, unsigned grid_x, unsigned grid_y,
                                  unsigned grid_z, unsigned block_x, unsigned block_y,
                                  unsigned block_z, unsigned shared_bytes, cu::Stream stream,
                                  void** arguments, void** extra) {
  return Launch<cu::LaunchKernelFn>(k_cuLaunchKernel_ptsz, {stream, true}, function, grid_x, grid_y,
                                    grid_z, block_x, block_y, block_z, shared_bytes, stream,
                                    arguments, extra);
}

KGPU_STAND_IN cuLaunchKernelEx(const cu::LaunchConfig* config, cu::Function function,
                               void** arguments, void** extra) {
  return Launch<cu::LaunchKernelExFn>(k_cuLaunchKernelEx,
                                      {config == nullptr ? nullptr : config->stream, false}, config,
                                      function, arguments, extra);
}
KGPU_STAND_IN cuLaunchKernelEx_ptsz(const cu::LaunchConfig* config, cu::Function function,
                                    void** arguments, void** extra) {
  return Launch<cu::LaunchKernelExFn>(k_cuLaunchKernelEx_ptsz,
                                      {config == nullptr ? nullptr : config->stream, true}, config,
                                      function, arguments, extra);
}

KGPU_STAND_IN cuLaunchCooperativeKernel(cu::Function function, unsigned grid_x, unsigned grid_y,
                                        unsigned grid_z, unsigned block_x, unsigned block_y,
                                        unsigned block_z, unsigned shared_bytes, cu::Stream stream,
                                        void** arguments) {
  return Launch<cu::LaunchCooperativeKernelFn>(k_cuLaunchCooperativeKernel, {stream, false},
                                               function, grid_x, grid_y, grid_z, block_x, block_y,
                                               block_z, shared_bytes, stream, arguments);
}
KGPU_STAND_IN cuLaunchCooperativeKernel_ptsz(cu::Function function, unsigned grid_x,
                                             unsigned grid_y, unsigned grid_z, unsigned block_x,
                                             unsigned block_y, unsigned block_z,
                                             unsigned shared_bytes, cu::Stream stream,
                                             void** arguments) {
  return Launch<cu::LaunchCooperativeKernelFn>(k_cuLaunchCooperativeKernel_ptsz, {stream, true},
                                               function, grid_x, grid_y, grid_z, block_x, block_y,
                                               block_z, shared_bytes, stream, arguments);
}

// One kernel for each of several devices; the turn is that of the current one.
KGPU_STAND_IN cuLaunchCooperativeKernelMultiDevice(cu::LaunchParams* launches, unsigned count,
                                                   unsigned flags) {
  const bool has_stream = launches != nullptr && count > 0;
  return Launch<LaunchCooperativeMultiDeviceFn>(k_cuLaunchCooperativeKernelMultiDevice,
                                                {has_stream ? launches->stream : nullptr, false},
                                                launches, count, flags);
}
