// What is lent, for people and programs. Pure functions.
#pragma once

#include <boost/json/fwd.hpp>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/node/loans/ledger.h"
#include "src/node/pools/assignment.h"
#include "src/node/sharing/slice_paths.h"
#include "src/platform/metrics/exposition.h"

namespace kgpu::loans {

// What is wrong with the GPUs of a loan; empty: nothing is known. `snapshot` may be null: nothing
// is known yet.
std::string ProblemOf(const loans::Loan& loan, const device::Snapshot* snapshot);

// Field names are part of the interface: docs/reference/agent.md. `files` are
// those of slices; null: without what a container mounts.
boost::json::object LoanJson(const loans::Loan& loan, const sharing::SlicePaths* files = nullptr);
// With health.
boost::json::array LoansJson(const std::vector<loans::Loan>& loans,
                             const device::Snapshot* snapshot,
                             const sharing::SlicePaths* files = nullptr);
// The local pools, each with its devices.
boost::json::array LocalPoolsJson(const std::vector<pools::Resource>& local,
                                  const std::vector<loans::Loan>& loans);
// The GPUs of a pool, whether whole or in slices.
size_t CountGpus(const pools::Resource& pool);
// Both as tables for `kgpu status`; empty on a host that lends nothing.
std::string LocalTable(const std::vector<pools::Resource>& local,
                       const std::vector<loans::Loan>& loans, const device::Snapshot* snapshot);

// Who has which GPU, by UUID; several names where its slices are lent.
std::map<std::string, std::string> HoldersOf(const std::vector<loans::Loan>& loans);
// The families of both.
void WriteLoanSeries(const std::vector<pools::Resource>& local,
                     const std::vector<loans::Loan>& loans, metrics::Exposition& page);

}  // namespace kgpu::loans
