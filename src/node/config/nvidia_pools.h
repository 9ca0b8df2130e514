// Converts resources, names and sharing of NVIDIA's configuration to pools.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/node/config/foreign_reader.h"
#include "src/node/config/node_config.h"

namespace kgpu::config {

// An entry of resources.gpus or resources.mig.
struct NvidiaName {
  std::string pattern;   // selects models, or MIG profiles
  std::string resource;  // complete
};

// An entry of sharing.timeSlicing.resources or sharing.mps.resources.
struct NvidiaShare {
  Node node;             // of the entry
  std::string resource;  // complete
  std::optional<std::string> rename{};
  std::vector<Selector> devices{};  // any of them; empty: all
  unsigned replicas = 2;
};

struct NvidiaResources {
  MigStrategy mig = MigStrategy::kNone;
  std::vector<NvidiaName> gpus{};
  std::vector<NvidiaName> mig_devices{};
  std::vector<NvidiaShare> shares{};
  bool is_renamed_by_default = false;
  sharing::MultipleSlots multiple = sharing::MultipleSlots::kAllow;
  const sharing::Kind* by = nullptr;  // of `shares`
};

std::vector<Pool> NvidiaPools(const NvidiaResources& resources, ForeignNotes& notes);

}  // namespace kgpu::config
