#include "src/node/pools/notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "src/node/config/selector.h"

namespace kgpu::pools {
namespace {

bool MatchesAnything(const config::Selector& selector, const device::Snapshot& snapshot) {
  return std::ranges::any_of(snapshot.gpus, [&](const device::Gpu& gpu) {
    return Matches(selector, gpu) ||
           std::ranges::any_of(gpu.mig_devices, [&](const device::MigDevice& mig) {
             return Matches(selector, gpu, mig);
           });
  });
}

// "2 × A100-SXM4-80GB, 7 × MIG 1g.10gb".
std::string WhatThereIs(const device::Snapshot& snapshot) {
  std::map<std::string, unsigned> counts;
  for (const device::Gpu& gpu : snapshot.gpus) {
    ++counts[gpu.model];
    for (const device::MigDevice& mig : gpu.mig_devices) {
      ++counts[fmt::format("MIG {}", mig.profile)];
    }
  }
  std::vector<std::string> words;
  words.reserve(counts.size());
  for (const auto& [name, count] : counts) {
    words.push_back(fmt::format("{} × {}", count, name));
  }
  return words.empty() ? "the driver reports no GPU"
                       : fmt::format("this host has {}", fmt::join(words, ", "));
}

void NoteSelectors(const device::Snapshot& snapshot, const config::NodeConfig& config,
                   const Claims& claims, std::vector<std::string>& notes) {
  const std::string there_is = WhatThereIs(snapshot);
  for (size_t i = 0; i < config.exclude.size(); ++i) {
    if (!MatchesAnything(config.exclude[i], snapshot)) {
      notes.push_back(fmt::format("exclude[{}] ({}) matches no device: {}", i,
                                  ToString(config.exclude[i]), there_is));
    }
  }
  for (size_t pool = 0; pool < config.pools.size(); ++pool) {
    const config::Selector& selector = config.pools[pool].devices;
    if (selector == config::Selector() && snapshot.gpus.empty()) {
      continue;  // A pool of everything on a host without GPUs is nothing odd.
    }
    if (!MatchesAnything(selector, snapshot)) {
      notes.push_back(fmt::format("{} matches no device: {}", PoolName(config, pool), there_is));
    } else if (std::ranges::find(claims.claims, pool, &Claim::pool) == claims.claims.end()) {
      notes.push_back(
          fmt::format("{} gets no device: all matching devices are excluded, taken by earlier "
                      "pools or unusable",
                      PoolName(config, pool)));
    }
  }
}

void NoteMigOff(const device::Snapshot& snapshot, const config::NodeConfig& config,
                std::vector<std::string>& notes) {
  for (const device::Gpu& gpu : snapshot.gpus) {
    const auto pool = PoolOfGpu(config, gpu);
    if (pool && StrategyOf(config, *pool) == config::MigStrategy::kDynamic && gpu.mig_mode &&
        !MakesMigDevices(config, gpu)) {
      notes.push_back(fmt::format(
          "{} offers GPU {} whole only: turning MIG on resets this model, so claims cannot do it; "
          "while it is idle, run kgpu mig apply --gpu {} --select all-enabled",
          PoolName(config, *pool), gpu.index, gpu.index));
    }
  }
}

}  // namespace

std::vector<std::string> NotesOn(const device::Snapshot& snapshot, const config::NodeConfig& config,
                                 const Claims& claims) {
  std::vector<std::string> notes;
  if (snapshot.driver.state == device::DriverState::kReady) {
    NoteSelectors(snapshot, config, claims, notes);
    NoteMigOff(snapshot, config, notes);
  }
  return notes;
}

}  // namespace kgpu::pools
