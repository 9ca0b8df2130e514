// What is lent, for people and programs. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <map>
#include <string>
#include <vector>

#include "src/agent/state.h"
#include "src/gpu/device/snapshot.h"
#include "src/node/loans/ledger.h"

namespace kgpu::agent {

// What is wrong with the GPUs of a loan; empty: nothing is known. `snapshot` may be null: nothing
// is known yet.
std::string ProblemOf(const loans::Loan& loan, const device::Snapshot* snapshot);

// Field names are part of the interface: docs/reference/agent.md.
boost::json::object LoanJson(const loans::Loan& loan);
// With health.
boost::json::array LoansJson(const std::vector<loans::Loan>& loans,
                             const device::Snapshot* snapshot);
// The local pools, each with its devices.
boost::json::array LocalPoolsJson(const AgentState& state);
// Both as tables for `kgpu status`; empty on a host that lends nothing.
std::string LocalTable(const AgentState& state);

// Who has which GPU, by UUID.
std::map<std::string, std::string> HoldersOf(const std::vector<loans::Loan>& loans);

}  // namespace kgpu::agent
