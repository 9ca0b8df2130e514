// How soon everybody agrees after a change under way: the kubelet's list, the agent's inventory and
// the CDI specs, for GPUs, MIG devices and drivers that come, go and fail. docs/benchmarks.md
// explains the rows.
//   change-bench [RUNS [REMOVALS]]      default 7 and 800
// At the end a GPU is added and removed REMOVALS times, each time another one, and a change is
// compared with what it cost before: devices that vanished are kept for ten minutes.
#include <fmt/format.h>
#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bench/measure.h"
#include "bench/probe_kubelet.h"
#include "bench/process.h"
#include "bench/sim_node.h"
#include "src/container/cdi/folder.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/net/http/client.h"
#include "src/platform/sys/root.h"
#include "testing/driver/control.h"

namespace kgpu::bench {
namespace {

namespace json = boost::json;
using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{1};

[[noreturn]] void Fail(const std::string& what) {
  (void)std::fprintf(stderr, "change-bench: %s\n", what.c_str());
  std::_Exit(1);
}

HealthyIds InventoryOf(const std::string& run_dir) {
  http::Request request;
  request.target = "/v1/status?output=json";
  const auto response = http::Fetch(run_dir + "/agent.sock", request);
  if (!response.ok()) {
    return {};
  }
  const auto status = doc::Parse(response->body, doc::Format::kJson, "status");
  HealthyIds healthy;
  for (const json::value& resource : status->at("resources").as_array()) {
    for (const json::value& device : resource.at("devices").as_array()) {
      if (device.at("healthy").as_bool()) {
        healthy[std::string(resource.at("name").as_string())].emplace(device.at("id").as_string());
      }
    }
  }
  return healthy;
}

bool AreDeclared(const sys::Root& host, const HealthyIds& healthy) {
  const cdi::FolderContents contents =
      cdi::ReadFolders(host, {std::string(cdi::kStaticFolder), std::string(cdi::kDynamicFolder)});
  return std::ranges::all_of(healthy, [&](const auto& entry) {
    return std::ranges::all_of(entry.second, [&](const std::string& id) {
      return std::ranges::any_of(contents.devices, [&](const cdi::Resolved& device) {
        return device.name == "kgpu.dev/gpu=" + id;
      });
    });
  });
}

class Changes {
 public:
  explicit Changes(const SimNode& node)
      : node_(node),
        host_(sys::Root::Open(node.host()).value()),
        control_(sim::ControlClient::Connect(node.host()).value()) {}

  // Runs `command` and waits until the kubelet's healthy devices are `count` in number. How long
  // that took, in milliseconds.
  double Notify(const std::string& command, size_t count) {
    const SteadyPoint begun = steady_clock::now();
    if (const auto answer = control_.Run(command); !answer.ok()) {
      Fail(fmt::format("{}: {}", command, Message(answer.status())));
    }
    return Since(begun, kubelet_.WaitHealthy([&](const HealthyIds& now) {
      size_t all = 0;
      for (const auto& [resource, ids] : now) {
        all += ids.size();
      }
      return all == count;
    }));
  }
  pid_t agent() const { return agent_.pid(); }
  const std::vector<Row>& rows() const { return rows_; }

  // Runs `command`, waits until the kubelet's healthy devices are `count` in number, and until
  // inventory and CDI specs agree with them. `into` empty: not noted.
  void Step(const std::string& command, size_t count, const std::string& into) {
    const SteadyPoint begun = steady_clock::now();
    SteadyPoint done;
    std::jthread commander([&] {
      if (const auto answer = control_.Run(command); !answer.ok()) {
        Fail(fmt::format("{}: {}", command, Message(answer.status())));
      }
      done = steady_clock::now();
    });
    HealthyIds healthy;
    const SteadyPoint reported = kubelet_.WaitHealthy([&](const HealthyIds& now) {
      size_t all = 0;
      for (const auto& [resource, ids] : now) {
        all += ids.size();
      }
      healthy = now;
      return all == count;
    });
    while (InventoryOf(node_.run_dir()) != healthy || !AreDeclared(host_, healthy)) {
      std::this_thread::sleep_for(kLook);
    }
    const SteadyPoint agreed = std::max(reported, steady_clock::now());
    commander.join();
    if (!into.empty()) {
      Row& row = RowOf(into);
      row.samples.Add(Since(begun, agreed));
      row.floor.Add(Since(begun, done));
    }
  }

 private:
  Row& RowOf(const std::string& what) {
    const auto it = std::ranges::find(rows_, what, &Row::what);
    if (it != rows_.end()) {
      return *it;
    }
    rows_.push_back(MakeRow(what, "ms", "the simulated host itself", "100"));
    return rows_.back();
  }

  const SimNode& node_;
  std::vector<Row> rows_;
  sys::Root host_;
  sim::ControlClient control_;
  ProbeKubelet kubelet_{node_.kubelet()};
  Daemon agent_{node_.Agent()};
};

void Round(Changes& changes) {
  changes.Step("add", 9, "a GPU is added");
  changes.Step("remove 8", 8, "a GPU is removed");
  changes.Step("lose 3", 7, "a GPU is lost");
  changes.Step("heal 3", 8, "it is healthy again (hold-down 5 ms)");
  changes.Step("mig-mode 2 on", 8, "");  // in force after a reset
  changes.Step("heal 2", 7, "MIG mode is set");
  changes.Step("mig-create 2 3g.40gb", 8, "a MIG device is made");
  changes.Step("mig-destroy 2", 7, "it is destroyed");
  changes.Step("mig-mode 2 off", 7, "");
  changes.Step("heal 2", 8, "MIG mode is unset");
  changes.Step("unload", 0, "the driver is unloaded");
  changes.Step("load", 8, "it is loaded again");
}

// The cost of a GPU that is added or removed.
struct Cost {
  double reported = 0;  // milliseconds until the kubelet knows, the median
  double cpu = 0;       // milliseconds of the agent's CPU time, the mean
};

void Churn(Changes& changes, int removals) {
  for (int i = 0; i < removals; ++i) {
    changes.Notify("add", 9);
    changes.Notify("remove 8", 8);
  }
}

Cost MeasureCost(Changes& changes) {
  constexpr int kPairs = 20;
  // The work after a change: CDI specs, labels, pages.
  constexpr std::chrono::milliseconds kSettle{200};
  std::this_thread::sleep_for(kSettle);
  const double cpu = CpuMs(changes.agent());
  Samples reported;
  for (int i = 0; i < kPairs; ++i) {
    reported.Add(changes.Notify("add", 9));
    std::this_thread::sleep_for(kSettle);
    reported.Add(changes.Notify("remove 8", 8));
    std::this_thread::sleep_for(kSettle);
  }
  return {.reported = reported.Median(), .cpu = (CpuMs(changes.agent()) - cpu) / (2 * kPairs)};
}

// On a node of its own, where nothing has vanished yet.
void CompareAfter(int removals) {
  const SimNode node("8xA100-SXM4-80GB");
  node.WriteConfig("auto", "");
  Changes changes(node);
  changes.Notify("clients", 8);
  Churn(changes, 5);
  const Cost before = MeasureCost(changes);
  (void)std::fprintf(stderr, "%d removals …\n", removals);
  Churn(changes, removals);
  const Cost after = MeasureCost(changes);
  fmt::print("a change after {} removals: {:.2f} ms, {:.2f} ms before: ratio {:.2f}\n", removals,
             after.reported, before.reported, after.reported / before.reported);
  fmt::print("  CPU time of the agent: {:.2f} ms, {:.2f} ms before: ratio {:.2f}\n", after.cpu,
             before.cpu, after.cpu / before.cpu);
}

int Run(int runs, int removals) {
  const SimNode node("8xA100-SXM4-80GB");
  node.WriteConfig("auto", "migStrategy: mixed\n");
  {
    Changes changes(node);
    changes.Step("clients", 8, "");
    for (int i = 0; i < runs; ++i) {
      (void)std::fprintf(stderr, "round %d of %d …\n", i + 1, runs);
      Round(changes);
    }
    if (runs > 0) {
      (void)std::fputs(RenderRows(changes.rows()).c_str(), stdout);
    }
  }
  if (removals > 0) {
    CompareAfter(removals);
  }
  return 0;
}

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  const auto runs = kgpu::ParseUint(argc > 1 ? argv[1] : "7");
  const auto removals = kgpu::ParseUint(argc > 2 ? argv[2] : "800");
  if (!runs || *runs > 100 || !removals || *removals > 100'000 || argc > 3) {
    (void)std::fputs("usage: change-bench [RUNS [REMOVALS]]\n", stderr);
    return 2;
  }
  return kgpu::bench::Run(static_cast<int>(*runs), static_cast<int>(*removals));
}
