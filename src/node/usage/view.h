// A ledger's content for a period, for people and programs.
#pragma once

#include <boost/json/fwd.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/node/usage/ledger.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"

namespace kgpu::usage {

enum class GroupBy : uint8_t { kPod, kNamespace };

struct UsageQuery {
  WallTime now{};
  std::chrono::seconds since = std::chrono::hours(24);  // whole hours that overlap it
  GroupBy by = GroupBy::kPod;
};

struct UsageRow {
  PodName pod;  // without a pod if grouped by namespace
  Amounts amounts;
  bool operator==(const UsageRow&) const = default;
};

// Errors: InvalidArgument naming both words.
StatusOr<GroupBy> ParseGroupBy(std::string_view what, std::string_view text);

// Sorted by use, highest first.
std::vector<UsageRow> UsageRows(const Ledger& ledger, const UsageQuery& query);
std::string UsageTable(const std::vector<UsageRow>& rows, const UsageQuery& query);
boost::json::value UsageJson(const std::vector<UsageRow>& rows, const UsageQuery& query);

}  // namespace kgpu::usage
