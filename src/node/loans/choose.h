// Which GPUs or slices a loan gets: a pure function of what the agent knows.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/gpu/device/snapshot.h"
#include "src/node/config/node_config.h"
#include "src/node/loans/ledger.h"
#include "src/node/loans/loan_request.h"
#include "src/node/pools/assignment.h"
#include "src/platform/base/status.h"

namespace kgpu::loans {

// What can be lent. Borrows all.
struct Stock {
  const config::NodeConfig* config = nullptr;  // null: no valid configuration yet
  const device::Snapshot* snapshot = nullptr;  // null: the driver has not answered yet
  const pools::Assignment& assignment;
  // Why a GPU that is healthy and not lent cannot be lent now; empty: it can.
  std::function<std::string(const device::GpuUuid&)> obstacle;
};

struct Choice {
  std::string model;
  std::vector<device::GpuUuid> gpus;
  LentSlices slices{};  // empty: the GPUs are lent whole
};

// GPUs of one model: the first of the request that has enough free ones. Among these, those that
// the device plugin would prefer: best linked with each other, then leaving the rest best linked.
// A request for memory gets the smallest free slices that have it, all of one size, or whole GPUs
// if this host has no slices that large. The same input has the same answer. Errors:
// FailedPrecondition (this host can never lend that: with the fix), Unavailable (not now: with the
// reason).
StatusOr<Choice> ChooseGpus(const LoanRequest& request, const Ledger& ledger, const Stock& stock);

}  // namespace kgpu::loans
