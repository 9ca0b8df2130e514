// What is lent, for people and programs. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "src/agent/state.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/loans/ledger.h"
#include "src/node/pools/assignment.h"
#include "src/node/share/slice_paths.h"

namespace kgpu::agent {

// What is wrong with the GPUs of a loan; empty: nothing is known. `snapshot` may be null: nothing
// is known yet.
std::string ProblemOf(const loans::Loan& loan, const device::Snapshot* snapshot);

// Field names are part of the interface: docs/reference/agent.md. `files` are
// those of slices; null: without what a container mounts.
boost::json::object LoanJson(const loans::Loan& loan, const share::SlicePaths* files = nullptr);
// With health.
boost::json::array LoansJson(const std::vector<loans::Loan>& loans,
                             const device::Snapshot* snapshot,
                             const share::SlicePaths* files = nullptr);
// The local pools, each with its devices.
boost::json::array LocalPoolsJson(const AgentState& state);
// The GPUs of a pool, whether whole or in slices.
size_t CountGpus(const pools::Resource& pool);
// Both as tables for `kgpu status`; empty on a host that lends nothing.
std::string LocalTable(const AgentState& state);

// Who has which GPU, by UUID; several names where its slices are lent.
std::map<std::string, std::string> HoldersOf(const std::vector<loans::Loan>& loans);
// Who has which slot of a local pool, by its id: a GPU or a slice.
std::map<std::string, std::string> SlotHoldersOf(const std::vector<loans::Loan>& loans);

}  // namespace kgpu::agent
