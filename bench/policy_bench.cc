// What GetPreferredAllocation costs apart from its RPC: every size of 8 and of 16 GPUs, and nodes
// far beyond those that are sold, each beside the floor of the same run: copying the request and
// taking the first ids of it. docs/benchmarks.md explains the rows.
//   policy-bench [RUNS]      default 500
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "bench/measure.h"
#include "src/node/plugin/preferred.h"
#include "src/node/plugin/test_topology.h"
#include "src/platform/base/strings.h"

namespace kgpu::bench {
namespace {

using Microseconds = std::chrono::duration<double, std::micro>;
using std::chrono::steady_clock;

std::vector<std::string> AnyPick(const std::vector<std::string>& available, size_t size) {
  std::vector<std::string> request = available;
  request.resize(size);
  return request;
}

template <typename Work>
double TimeOf(const Work& work) {
  const auto start = steady_clock::now();
  const auto answer = work();
  const double took = Microseconds(steady_clock::now() - start).count();
  if (answer.empty()) {
    (void)std::fputs("no answer\n", stderr);
  }
  return took;
}

// The node as one resource, and ids as the kubelet sends them: in no order.
class Node {
 public:
  Node(const device::Snapshot& snapshot, unsigned replicas, config::SharedPolicy shared)
      : resource_(plugin::TestResource(snapshot, replicas)), policy_(resource_, snapshot, shared) {
    for (const pools::Slot& slot : resource_.slots) {
      ids_.push_back(slot.id);
    }
    std::mt19937 random(1);  // NOLINT: the same order in every run
    std::ranges::shuffle(ids_, random);
  }

  void Measure(Row& row, size_t size, int runs) const {
    for (int i = 0; i < runs; ++i) {
      row.samples.Add(TimeOf([&] { return policy_.Choose(ids_, {}, size).value(); }));
      row.floor.Add(TimeOf([&] { return AnyPick(ids_, size); }));
    }
  }

 private:
  pools::Resource resource_;
  plugin::PreferredPolicy policy_;
  std::vector<std::string> ids_;
};

Row EmptyRow(std::string what, std::string budget) {
  return {.what = std::move(what),
          .unit = "us",
          .samples = {},
          .floor_name = "copy, any pick",
          .floor = {},
          .budget = std::move(budget)};
}

Row OneRow(std::string what, std::string budget, const device::Snapshot& snapshot, size_t size,
           int runs) {
  Row row = EmptyRow(std::move(what), std::move(budget));
  Node(snapshot, 1, config::SharedPolicy::kDistributed).Measure(row, size, runs);
  return row;
}

Row SharedRow(std::string_view name, config::SharedPolicy shared, size_t size, int runs) {
  Row row = EmptyRow(fmt::format("{} of 1024 slots of 8 GPUs, {}", size, name), "-");
  Node(plugin::AllToAll(8, 12), 128, shared).Measure(row, size, runs);
  return row;
}

int Run(int runs) {
  std::vector<Row> rows;
  for (const auto& [cards, budget] : {std::pair{size_t{8}, "200"}, {16, "500"}}) {
    for (size_t size = 1; size <= cards; ++size) {
      rows.push_back(OneRow(fmt::format("{} of {} GPUs", size, cards), budget,
                            plugin::PcieTree(cards, 4), size, runs));
    }
  }
  const int few = std::max(runs / 50, 3);
  for (const size_t cards : {32U, 64U, 1024U}) {
    const device::Snapshot snapshot = plugin::PcieTree(cards, 4);
    for (const size_t size : {size_t{1}, size_t{8}, cards / 2}) {
      rows.push_back(OneRow(fmt::format("{} of {} GPUs", size, cards), "-", snapshot, size, few));
    }
  }
  for (const size_t size : {1U, 8U, 512U}) {
    rows.push_back(SharedRow("distributed", config::SharedPolicy::kDistributed, size, runs));
    rows.push_back(SharedRow("packed", config::SharedPolicy::kPacked, size, runs));
  }
  (void)std::fputs(RenderRows(rows).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const auto runs = kgpu::ParseUint(argc > 1 ? argv[1] : "500");
  if (!runs || *runs == 0 || *runs > 100'000) {
    (void)std::fputs("usage: policy-bench [RUNS], 1 to 100000\n", stderr);
    return 2;
  }
  return kgpu::bench::Run(static_cast<int>(*runs));
}
