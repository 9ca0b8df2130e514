// A node's GPU labels: those of NVIDIA's GPU feature discovery with its exact names and values, one
// set per model if a node has several, and an annotation that lists the cards. Pure functions.
// Source: docs/reference/node-labels.md has the table.
#pragma once

#include <optional>
#include <string>

#include "src/gpu/device/snapshot.h"
#include "src/host/inspect/vgpu.h"
#include "src/node/config/node_config.h"
#include "src/node/labels/node_claims.h"
#include "src/platform/sys/root.h"

namespace kgpu::labels {

// Facts about the host that are not in its inventory.
struct GpuHost {
  std::string machine;  // DMI product name: "DGXA100 920-23687-2530-000"; empty: not known
  std::optional<host::VgpuHost> vgpu;  // of a guest
};

// Reads them. `snapshot` lists the cards.
GpuHost ReadGpuHost(const sys::Root& host, const device::Snapshot& snapshot);

// The key of the one annotation: a list of cards as JSON, by PCI address.
inline constexpr char kGpusAnnotation[] = "kgpu.dev/gpus";

// Claims of labels and annotations only; none on a node without GPUs. If GPUs differ,
// nvidia.com/gpu.* describe the model with the most cards (then with more memory, then by name):
// the labels of a set belong together, and do not change while the cards stay the same. They do not
// include health, which comes and goes.
NodeClaims GpuClaims(const device::Snapshot& snapshot, const config::NodeConfig& config,
                     const GpuHost& host);

}  // namespace kgpu::labels
