// Reaps processes that lost their parent, which the kernel gives to us: what workers have started
// and left behind.
#pragma once

#include <sys/types.h>

#include <functional>

namespace kgpu::watchdog {

// Orphans below this process become its children, also when it is not the first of a container.
// Source: prctl(2), PR_SET_CHILD_SUBREAPER.
void AdoptOrphans();

// Reaps all that have ended and are not `is_ours`: those are reaped through their pidfds, and their
// numbers must stay their own until then. Call after SIGCHLD, and after one of ours was reaped.
void ReapOrphans(const std::function<bool(pid_t)>& is_ours);

}  // namespace kgpu::watchdog
