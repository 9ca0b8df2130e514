// The devices of a node as the scheduler sees them: pure functions of the inventory and the
// assignment. Names, attributes and capacities are those of the DRA driver that people use today
// (gpu.nvidia.com); more of them are in the domain kgpu.dev.
#pragma once

#include <boost/json/object.hpp>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/node/dra/checkpoint.h"
#include "src/node/mig/geometry.h"
#include "src/node/pools/assignment.h"

namespace kgpu::dra {

inline constexpr std::string_view kDriverName = "gpu.nvidia.com";

// A device that a claim can get: a GPU, a MIG device, one that could be made, or a GPU that several
// claims share.
struct Offer {
  std::string name;  // "gpu-0", "gpu-0-mig-1g10gb-19-0"; unique on the node
  // Of the GPU or MIG device; empty: a MIG device that is made for a claim.
  std::string device_uuid{};
  // Of a MIG device that is made for a claim.
  std::optional<mig::Placement> placement{};
  std::string profile{};  // of the same: "1g.10gb"
  // Of a MIG device on a GPU of OfferOptions::partitioned that was not made for a claim: what it
  // is, if its place is known.
  std::optional<MadeInstance> unclaimed{};
  bool is_gpu = false;     // a GPU, not a MIG device
  bool is_mig_on = false;  // of a whole GPU: who gets it has MIG turned off
  std::string resource{};  // of its pool: "nvidia.com/gpu"
  device::Health health{};
  std::vector<std::string> slots{};    // ids, of a device that several claims share
  std::optional<Bytes> slot_memory{};  // of each; nothing: slots have no memory of their own
  boost::json::object device{};        // as in ResourceSlice's spec.devices
};

// All devices of one GPU. Those of one GPU are always published together.
struct CardOffer {
  device::GpuUuid gpu{};
  // As in ResourceSlice's spec.sharedCounters; empty: no device excludes another one.
  boost::json::object counters{};
  std::vector<Offer> offers{};
};

struct OfferOptions {
  // The first part of each device's path below /sys/devices: "pci0000:00".
  std::map<device::PciBusId, std::string> pcie_roots{};
  // UUIDs of GPUs of which MIG devices are made for claims. MIG devices that somebody else has made
  // on them are offered, and what they leave.
  std::set<std::string> partitioned{};
  // Names of MIG devices that were, or are being, made for claims.
  std::set<std::string> made{};
};

// The devices of `resources`, by card.
std::vector<CardOffer> OffersOf(const device::Snapshot& snapshot,
                                const std::vector<pools::Resource>& resources,
                                const OfferOptions& options);

// "gpu-0-mig-1g10gb-19-0": the same for a MIG device that exists and for one that could be made.
std::string MigDeviceName(unsigned minor, std::string_view profile, unsigned profile_id,
                          unsigned start);

}  // namespace kgpu::dra
