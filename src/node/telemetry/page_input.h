// All input of the pages of series, at one moment. A value: rendering it is pure.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/device/sample.h"
#include "src/gpu/device/snapshot.h"
#include "src/gpu/health/health_event.h"
#include "src/node/config/node_config.h"
#include "src/node/pods/pod_map.h"
#include "src/platform/base/clock.h"

namespace kgpu::telemetry {

// A pod's GPU use since its counting began.
struct PodUse {
  std::string pod_namespace;
  std::string pod;
  double gpu_seconds = 0;  // allocated; a slot of n replicas counts 1/n
  std::optional<double>
      busy_gpu_seconds;           // utilisation × time; nothing: the driver does not report it
  double memory_gib_seconds = 0;  // GiB × s
};

// A container's slices of one device.
struct SliceFigures {
  pods::Container user{};
  std::string device_uuid{};
  Bytes memory_limit{};
  Bytes memory_peak{};  // by the driver's count, since the agent knows the container
  // What the container's own ledger claims, since then.
  std::optional<double> refused{}, waited_seconds{};
  // Percent of the device's time: its share, what it is to have now, and what it used beyond that.
  std::optional<double> compute_share{}, compute_target{}, compute_error{};
};

using SliceFiguresPtr = std::shared_ptr<const std::vector<SliceFigures>>;

// Null: unknown (yet); its series are absent.
struct PageInput {
  device::SnapshotPtr snapshot;
  device::SampleSetPtr samples;
  std::optional<WallTime> measured{};  // when GPUs last answered; kept when `samples` is too old
  device::SampleSetPtr previous;       // the previous round: rates come from the difference
  pods::PodMapPtr pods;
  std::shared_ptr<const health::Overview> health;
  std::shared_ptr<const std::vector<PodUse>> usage;
  SliceFiguresPtr slices{};
  std::string hostname;  // the node's name, as Kubernetes has it
  std::vector<config::DcgmLabel> dcgm_labels{};
};

}  // namespace kgpu::telemetry
