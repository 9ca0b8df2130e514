// What MPS adds for a program whose environment leads to a control daemon (testing/mps): a limit on
// the process's memory, and an end with the faults of others. With the library's lock held.
#pragma once

#include <cstdint>

#include "src/gpu/cuda_abi/abi.h"

namespace kgpu::simcuda {

// Before a context is made. kSuccess also without a daemon: the program goes on as one without MPS.
// kMpsServerNotReady: a fault blocks the server, or it has as many clients as it takes.
// kMpsConnectionFailed: the daemon does not answer.
cuda_api::Result JoinMps();
// kOutOfMemory: over the process's limit. Memory that several processes share is not counted.
cuda_api::Result ChargeMps(uint64_t bytes);
void RefundMps(uint64_t bytes);
// Why the contexts of this process are lost: kMpsClientTerminated (a client's fault),
// kMpsRpcFailure (the server is gone); kSuccess: they are not.
cuda_api::Result MpsFailure();
// A kernel of this process went wrong: all clients lose their contexts.
void ReportMpsFault();

}  // namespace kgpu::simcuda
