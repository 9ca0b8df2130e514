// Shared by the servers of this program: signals, the pid file, reporting that they are ready.
#pragma once

#include "src/platform/base/status.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu::simhost {

// SIGTERM and SIGINT as a descriptor; they no longer end the process by themselves. Call it before
// starting the first thread. Source: signalfd(2).
StatusOr<UniqueFd> BlockSignals();

// Writes our pid into the file that `lock` has locked.
Status WritePid(const UniqueFd& lock);

// Sends one byte to whoever waits for the server; closes `ready_fd`. -1: nobody waits.
void ReportReady(int ready_fd);

}  // namespace kgpu::simhost
