// The controller of a large cluster: its memory once it knows all nodes and GPU pods, how soon it
// reacts, what a quiet hour costs, and how fast and with how many requests it replaces drivers. One
// stub API server with light agents, in simulated time. docs/benchmarks.md explains the rows.
//   controller-bench [NODES]      default 10000
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/cluster/controller/controller.h"
#include "src/cluster/fleet/node_facts.h"
#include "src/kube/api/http_client.h"
#include "src/kube/api/test_transport.h"
#include "src/platform/base/log.h"
#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "testing/apiserver/api.h"
#include "testing/apiserver/memory_transport.h"
#include "testing/fake_loop.h"
#include "testing/fleet/sim_fleet.h"

namespace kgpu::bench {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

constexpr size_t kGpuPods = 4;
constexpr size_t kOtherPods = 6;

size_t UsedMemory() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

double MiB(size_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

double Seconds(nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

// Counts requests by second of simulated time.
class CountingTransport final : public kube::Transport {
 public:
  CountingTransport(kube::Transport& below, const Clock& clock) : below_(below), clock_(clock) {}
  std::unique_ptr<kube::Exchange> Start(const http::Request& request,
                                        kube::ExchangeHandlers handlers) override {
    ++total_;
    ++by_second_[std::chrono::floor<seconds>(clock_.Now().time_since_epoch()).count()];
    return below_.Start(request, std::move(handlers));
  }
  void Reset() {
    total_ = 0;
    by_second_.clear();
  }
  uint64_t total() const { return total_; }
  uint64_t Peak() const {
    uint64_t peak = 0;
    for (const auto& [second, count] : by_second_) {
      peak = std::max(peak, count);
    }
    return peak;
  }

 private:
  kube::Transport& below_;
  const Clock& clock_;
  uint64_t total_ = 0;
  std::map<int64_t, uint64_t> by_second_;
};

class Bench {
 public:
  explicit Bench(size_t nodes) : nodes_(nodes) {}

  int Run() {
    const auto begun = steady_clock::now();
    Prepare();
    Synchronise();
    Floor();
    React();
    QuietHour();
    Upgrade();
    std::puts(fmt::format("({} nodes, {} GPU pods, {} other pods; {:.0f} s of real time)", nodes_,
                          nodes_ * kGpuPods, nodes_ * kOtherPods,
                          Seconds(steady_clock::now() - begun))
                  .c_str());
    return is_kept_ ? 0 : 1;
  }

 private:
  void Say(const std::string& what, const std::string& value, const std::string& limit,
           bool is_kept) {
    is_kept_ = is_kept_ && is_kept;
    std::puts(fmt::format("{:<46} {:>18}   budget {:<12}{}", what, value, limit,
                          is_kept ? "" : "  MISSED")
                  .c_str());
    (void)std::fflush(stdout);
  }

  void Policy(bool upgrades) {
    json::array groups;
    for (const char* pool : {"a", "b"}) {
      json::object group = {{"name", pool}, {"nodeSelector", {{"matchLabels", {{"pool", pool}}}}}};
      if (upgrades) {
        group["driver"] = {{"from", "package"}, {"branch", "550"}};
      }
      groups.push_back(std::move(group));
    }
    json::object spec = {{"groups", std::move(groups)},
                         {"upgrade", {{"maxUnavailable", "2%"}, {"waitForJobsSeconds", 60}}},
                         {"quarantine", {{"enabled", true}}}};
    const std::string path = "/apis/kgpu.dev/v1alpha1/gpupolicies";
    const auto stored = api_.Find(path + "/bench");
    if (stored == nullptr) {
      api_.Do("POST", path,
              {{"apiVersion", "kgpu.dev/v1alpha1"},
               {"kind", "GpuPolicy"},
               {"metadata", {{"name", "bench"}}},
               {"spec", std::move(spec)}})
          .IgnoreError();
      return;
    }
    json::object object = stored->object();
    object["spec"] = std::move(spec);
    api_.Do("PUT", path + "/bench", object).IgnoreError();
  }

  void Prepare() {
    std::ifstream file(KGPU_SOURCE_DIR "/deploy/chart/crds/gpupolicies.yaml");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto crd = doc::Parse(text, doc::Format::kYaml, "crd");
    api_.Do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            crd.value_or(json::value()))
        .IgnoreError();
    sim_ = std::make_unique<fleet_sim::SimFleet>(
        loop_, api_, random_,
        fleet_sim::SimOptions{
            .nodes = nodes_, .gpu_pods = kGpuPods, .other_pods = kOtherPods, .has_ballast = true});
    Policy(false);
  }

  void Start() {
    auto started = controller::Controller::Start(
        loop_, {main_, lease_, events_}, random_,
        {.pods = {.image = "kgpu", .validates = true}, .identity = "bench"}, [](const Status&) {});
    if (!started.ok()) {
      std::puts(std::string(Message(started.status())).c_str());
      std::exit(1);  // NOLINT(concurrency-mt-unsafe): there is one thread
    }
    controller_ = *std::move(started);
  }

  // Memory by what its end frees: the stub's own changes all the time. The peak contains what the
  // stub holds meanwhile.
  void Synchronise() {
    const size_t before = UsedMemory();
    Start();
    std::string why = "not the leader";
    size_t peak = 0;
    const SteadyTime begun = loop_.clock().Now();
    while (loop_.clock().Now() - begun < minutes(5)) {
      // Looking at so large a heap takes a while.
      loop_.Advance(seconds(1));
      peak = std::max(peak, UsedMemory());
      if (controller_->is_leader() && controller_->IsReady(&why)) {
        break;
      }
    }
    const double took = Seconds(loop_.clock().Now() - begun);
    loop_.Advance(seconds(10));
    const size_t with = UsedMemory();
    controller_.reset();
    loop_.RunUntilIdle();
    used_ = with - UsedMemory();
    Say("memory, all nodes and GPU pods known", fmt::format("{:.0f} MiB", MiB(used_)), "<= 200 MiB",
        MiB(used_) <= 200);
    Say("peak while it reads them (with the stub's)",
        fmt::format("{:.0f} MiB", MiB(peak - std::min(peak, before))), "-", true);
    Say("from its start to complete", fmt::format("{:.1f} s", took), "<= 60 s", took <= 60);
    Start();
    loop_.Advance(minutes(2));
  }

  // The same fields as text, one string for each object.
  void Floor() {
    const size_t before = UsedMemory();
    std::vector<std::string> copy;
    for (const auto& [storage, trim] : {std::pair("nodes", true), std::pair("pods", false)}) {
      for (const auto& [key, stored] : api_.store().All(storage)) {
        json::value object = stored->object();
        if (trim) {
          fleet::TrimNode(object, {"pool"});
        } else if (fleet::IsRelevantPod(object)) {
          fleet::TrimPod(object);
        } else {
          continue;
        }
        copy.push_back(json::serialize(object));
      }
    }
    const size_t bytes = UsedMemory() - before;
    Say("of it, the bare copy of the fields as text",
        fmt::format("{:.0f} MiB: {:.1f}x", MiB(bytes),
                    static_cast<double>(used_) / static_cast<double>(bytes)),
        "-", true);
  }

  void React() {
    nanoseconds worst{0};
    double work = 0;
    for (size_t i = 0; i < 20; ++i) {
      const size_t node = i * (nodes_ / 20);
      sim_->SetHealthy(node, false);
      const SteadyTime begun = loop_.clock().Now();
      const auto real = steady_clock::now();
      while (loop_.clock().Now() - begun < seconds(10)) {
        loop_.Advance(milliseconds(10));
        const auto object = api_.Find(fmt::format("/api/v1/nodes/{}", sim_->Name(node)));
        if (json::serialize(object->object()).find("kgpu.dev/quarantined") != std::string::npos) {
          break;
        }
      }
      worst = std::max<nanoseconds>(worst, loop_.clock().Now() - begun);
      work = std::max(work, Seconds(steady_clock::now() - real));
      sim_->SetHealthy(node, true);
      sim_->DeletePods(node);
      loop_.Advance(minutes(3));  // validated, and out again
    }
    const double whole = Seconds(worst) + work;
    Say("from a fault to the fence, worst of 20", fmt::format("{:.2f} s", whole), "< 1 s",
        whole < 1);
    Say("of it, computing (and the stub)", fmt::format("{:.2f} s", work), "-", true);
  }

  void QuietHour() {
    loop_.Advance(minutes(10));
    network_.Reset();
    loop_.Advance(std::chrono::hours(1));
    // Renewals of the lease, and watches that are reopened.
    const double rate = static_cast<double>(network_.total()) / 3600;
    Say("requests of a quiet hour, each second", fmt::format("{:.2f}", rate), "<= 1", rate <= 1);
  }

  void Upgrade() {
    network_.Reset();
    Policy(true);
    const SteadyTime begun = loop_.clock().Now();
    const auto real = steady_clock::now();
    loop_.Advance(minutes(20));
    const double took = Seconds(loop_.clock().Now() - begun);
    const size_t done = sim_->CountDriver("550");
    Say("20 min of upgrades, nodes with the new driver", fmt::format("{}", done), "> 0", done > 0);
    Say("requests, each second",
        fmt::format("{:.1f}", static_cast<double>(network_.total()) / took), "<= 31",
        static_cast<double>(network_.total()) / took <= 31);
    Say("requests for each node",
        fmt::format("{:.1f}", static_cast<double>(network_.total()) /
                                  static_cast<double>(std::max<size_t>(done, 1))),
        "<= 25", network_.total() <= 25 * std::max<size_t>(done, 1));
    Say("worst second", fmt::format("{}", network_.Peak()), "<= 70", network_.Peak() <= 70);
    Say("processor time of all of it (and the stub)",
        fmt::format("{:.1f} %", 100 * Seconds(steady_clock::now() - real) / took), "-", true);
  }

  size_t nodes_;
  size_t used_ = 0;
  bool is_kept_ = true;
  FakeLoop loop_;
  apiserver::Api api_{loop_, {.max_history = 300'000}};
  apiserver::MemoryTransport transport_{loop_, api_, {.latency = milliseconds(2)}};
  CountingTransport network_{transport_, loop_.clock()};
  Random random_{1};
  kube::TestAuthenticator authenticator_;
  kube::HttpClient main_{
      loop_, network_, authenticator_, random_, {.gate = {.per_second = 20, .burst = 30}}};
  kube::HttpClient lease_{loop_, network_, authenticator_, random_};
  kube::HttpClient events_{loop_, network_, authenticator_, random_};
  std::unique_ptr<fleet_sim::SimFleet> sim_;
  std::unique_ptr<controller::Controller> controller_;
};

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  kgpu::SetLogLevel(kgpu::LogLevel::kError);
  const auto nodes = argc > 1 ? kgpu::ParseUint(argv[1]).value_or(0) : 10'000;
  if (nodes < 20 || nodes > 20'000) {
    std::fputs("usage: controller-bench [NODES]    20 to 20000\n", stderr);
    return 2;
  }
  return kgpu::bench::Bench(nodes).Run();
}
