// All time limits of the kubelet that a plugin can notice, in one place. The defaults are those of
// kubelet 1.36.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace kgpu::kubelet {

using std::chrono::nanoseconds;

struct Constants {
  // How long the kubelet waits for a plugin's answer.
  nanoseconds dial_limit = std::chrono::seconds(10);
  nanoseconds get_info_limit = std::chrono::seconds(1);
  nanoseconds notify_limit = std::chrono::seconds(5);
  nanoseconds pre_start_limit = std::chrono::seconds(30);
  nanoseconds claim_limit = std::chrono::seconds(45);     // to prepare or unprepare claims
  nanoseconds health_timeout = std::chrono::seconds(30);  // of a DRA device, unless it has its own
  nanoseconds wipe_delay = std::chrono::seconds(30);  // of the slices of a DRA driver that is gone

  // Delays of the kubelet itself.
  nanoseconds dial_retry = std::chrono::seconds(1);          // after a refused connection
  nanoseconds reconcile_period = std::chrono::seconds(1);    // of the plugin watcher
  nanoseconds retry_first = std::chrono::milliseconds(500);  // of a path that could not register
  nanoseconds retry_longest = std::chrono::seconds(122);
  nanoseconds stop_grace = std::chrono::minutes(5);  // of a stopped endpoint
  nanoseconds node_status_period = std::chrono::seconds(10);
  nanoseconds pod_sync_period = std::chrono::minutes(1);
  nanoseconds sync_retry = std::chrono::seconds(10);     // of a container that could not start
  nanoseconds restart_first = std::chrono::seconds(10);  // crash loop: doubles up to the longest
  nanoseconds restart_longest = std::chrono::minutes(5);
  nanoseconds restart_reset = std::chrono::minutes(10);   // a run this long forgives the crashes
  nanoseconds reconnect_first = std::chrono::seconds(1);  // to a DRA plugin
  nanoseconds reconnect_longest = std::chrono::minutes(2);
  nanoseconds health_retry = std::chrono::seconds(5);    // after a health stream has ended
  nanoseconds claims_period = std::chrono::seconds(60);  // of unpreparing claims of vanished pods
  nanoseconds termination_grace = std::chrono::seconds(30);  // SIGTERM to SIGKILL

  // Not times.
  uint32_t requests_per_second = 100;  // of the pod resources server, all clients together
  uint32_t request_burst = 10;
  size_t receive_limit = size_t{4} << 20;  // of one message from a plugin
};

// Times multiplied by `factor` (1.0/60: a minute becomes a second). Limits that a plugin must meet
// never fall below a second, so that a busy test machine does not fail a good plugin.
Constants Scaled(double factor);

}  // namespace kgpu::kubelet
