// What GPUs say of a node: the labels of NVIDIA's GPU feature discovery with its exact names and
// values, one set for each model where a node has several, and an annotation that lists the cards.
// Pure. Source: docs/reference/node-labels.md has the table.
#pragma once

#include <optional>
#include <string>

#include "src/gpu/device/snapshot.h"
#include "src/host/inspect/vgpu.h"
#include "src/node/config/node_config.h"
#include "src/node/labels/node_claims.h"
#include "src/platform/sys/root.h"

namespace kgpu::labels {

// What the host says besides its inventory.
struct GpuHost {
  std::string machine;  // DMI product name: "DGXA100 920-23687-2530-000"; empty: not known
  std::optional<host::VgpuHost> vgpu;  // of a guest
};

// Reads them. `snapshot` tells which cards there are.
GpuHost ReadGpuHost(const sys::Root& host, const device::Snapshot& snapshot);

// The key of the one annotation: a list of cards as JSON, by PCI address.
inline constexpr char kGpusAnnotation[] = "kgpu.dev/gpus";
// Heads the labels of one model: "kgpu.dev/gpu.model.A100-SXM4-80GB.count".
inline constexpr char kModelLabelPrefix[] = "kgpu.dev/gpu.model.";

// Claims of labels and annotations only; none on a node without GPUs. Where GPUs differ,
// nvidia.com/gpu.* tell of the model with most cards (then of more memory, then by name): what one
// set says belongs together, and it does not change while the cards do not. Health, which comes
// and goes, is not in here.
NodeClaims GpuClaims(const device::Snapshot& snapshot, const config::NodeConfig& config,
                     const GpuHost& host);

}  // namespace kgpu::labels
