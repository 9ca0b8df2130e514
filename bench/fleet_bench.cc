// A cluster whose nodes all start at once: 10,000 agents' clients, writers and gates over one stub
// API server in simulated time. How many requests it gets in its worst second, whether each client
// keeps its limits, when the last node is ready, what a quiet hour and a change cost, and what one
// node's part weighs in memory. docs/benchmarks.md explains the rows.
//   fleet-bench [NODES]      default 10000
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/measure.h"
#include "src/kube/api/http_client.h"
#include "src/kube/api/test_transport.h"
#include "src/node/object/syncer.h"
#include "src/node/object/test_facts.h"
#include "src/platform/base/log.h"
#include "src/platform/base/strings.h"
#include "testing/apiserver/api.h"
#include "testing/apiserver/memory_transport.h"
#include "testing/fake_loop.h"

namespace kgpu::bench {
namespace {

namespace json = boost::json;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

size_t UsedMemory() {
  return mallinfo2().uordblks;
}

// Requests of all nodes by second of simulated time.
class Load {
 public:
  explicit Load(const Clock& clock) : clock_(clock), start_(clock.Now()) {}
  void Note() {
    ++total_;
    ++by_second_[std::chrono::floor<seconds>(clock_.Now() - start_).count()];
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
  const Clock& clock_;
  SteadyTime start_;
  uint64_t total_ = 0;
  std::map<int64_t, uint64_t> by_second_;
};

// Counts what a client sends, and holds it to its token bucket.
class WatchedTransport final : public kube::Transport {
 public:
  WatchedTransport(kube::Transport& below, const Clock& clock, Load& load)
      : below_(below), clock_(clock), load_(load) {}

  std::unique_ptr<kube::Exchange> Start(const http::Request& request,
                                        kube::ExchangeHandlers handlers) override {
    load_.Note();
    const SteadyTime now = clock_.Now();
    sent_.push_back(now);
    if (sent_.size() > kKept) {
      sent_.pop_front();
    }
    for (size_t i = 0; i < sent_.size(); ++i) {
      const double allowed = limits_.burst + limits_.per_second * Seconds(now - sent_[i]) + 1e-3;
      is_within_ = is_within_ && static_cast<double>(sent_.size() - i) <= allowed;
    }
    return below_.Start(request, std::move(handlers));
  }
  bool is_within() const { return is_within_; }

 private:
  static constexpr size_t kKept = 64;
  kube::Transport& below_;
  const Clock& clock_;
  Load& load_;
  kube::GateOptions limits_;
  std::deque<SteadyTime> sent_;
  bool is_within_ = true;
};

// As many labels as an NFD and a GFD set on a node of eight GPUs.
labels::NodeClaims Claims() {
  labels::NodeClaims claims;
  for (int i = 0; i < 70; ++i) {
    claims.labels[fmt::format("feature.node.kubernetes.io/cpu-cpuid.FLAG{}", i)] = "true";
  }
  for (int i = 0; i < 25; ++i) {
    claims.labels[fmt::format("nvidia.com/gpu.fact{}", i)] = fmt::format("NVIDIA-value-{}", i);
  }
  for (int i = 0; i < 8; ++i) {
    claims.annotations[fmt::format("kgpu.dev/gpu-{}", i)] =
        "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77";
  }
  return claims;
}

// The part of an agent that speaks to the API server.
class Agent {
 public:
  Agent(FakeLoop& loop, kube::Transport& transport, Load& load, int number)
      : name_(fmt::format("node-{:05}", number)),
        transport_(transport, loop.clock(), load),
        random_(static_cast<uint64_t>(number) + 1),
        client_(loop, transport_, authenticator_, random_),
        recorder_(loop, client_, random_, {.instance = name_}) {
    node::SyncerOptions options;
    options.node = name_;
    options.gate = {.sets_taint = true, .booted = loop.clock().WallNow()};
    syncer_ = std::make_unique<node::Syncer>(
        loop, client_, random_, std::move(options),
        node::Syncer::Handlers{.notify =
                                   [this](const node::NodeEvent& event) {
                                     recorder_.Record(node::EventOf(event, name_));
                                   },
                               .changed = [] {}});
  }

  // The agent has just started: the driver has not answered.
  void Begin() {
    node::ChainFacts facts;
    facts.gpus = 8;
    syncer_->SetFacts(facts);
  }
  void BeReady() {
    syncer_->SetFacts(node::ReadyFacts());
    syncer_->SetClaims(Claims());
  }
  void Change(const std::string& value) {
    labels::NodeClaims claims = Claims();
    claims.labels["nvidia.com/gpu.fact0"] = value;
    syncer_->SetClaims(claims);
  }
  bool IsDone() const {
    const node::NodeReport report = syncer_->report();
    if (!report.seen || !report.writer.is_settled || !report.is_ready) {
      return false;
    }
    const std::optional<node::SeenCondition>& condition = report.seen->gpu_ready;
    return condition && condition->status == "True";
  }
  const std::string& name() const { return name_; }
  bool is_within() const { return transport_.is_within(); }

 private:
  std::string name_;
  WatchedTransport transport_;
  kube::TestAuthenticator authenticator_;
  Random random_;
  kube::HttpClient client_;
  kube::EventRecorder recorder_;
  std::unique_ptr<node::Syncer> syncer_;
};

struct Budget {
  std::string what;
  std::string value;
  std::string limit;
  bool is_kept;
};

class Fleet {
 public:
  explicit Fleet(int nodes) : nodes_(nodes) {}

  int Run() {
    MakeNodes();
    const size_t before = UsedMemory();
    const auto started = std::chrono::steady_clock::now();
    StartAll();
    WaitUntilReady();
    QuietHour();
    Changes();
    Restart();
    const size_t with_agents = UsedMemory();
    const bool are_within =
        std::ranges::all_of(agents_, [](const auto& agent) { return agent->is_within(); });
    agents_.clear();
    loop_.RunUntilIdle();
    const double each = static_cast<double>(with_agents - UsedMemory()) / 1024 / nodes_;
    (void)before;
    Say("memory of one node's part", fmt::format("{:.0f} KiB", each), "<= 128 KiB", each <= 128);
    Say("clients within 5/s, burst 10", are_within ? "all" : "NOT ALL", "all", are_within);
    std::puts(fmt::format("({} nodes, {:.0f} s of real time)", nodes_,
                          Seconds(std::chrono::steady_clock::now() - started))
                  .c_str());
    return is_healthy_ ? 0 : 1;
  }

 private:
  void Say(const std::string& what, const std::string& value, const std::string& limit,
           bool is_kept) {
    is_healthy_ = is_healthy_ && is_kept;
    // Each row as it comes: the whole takes minutes.
    std::puts(fmt::format("{:<44} {:>18}   budget {:<14}{}", what, value, limit,
                          is_kept ? "" : "  MISSED")
                  .c_str());
    (void)std::fflush(stdout);
  }

  // As kubelets registered them, tainted from the start.
  void MakeNodes() {
    for (int i = 0; i < nodes_; ++i) {
      const std::string name = fmt::format("node-{:05}", i);
      const json::value node{{"apiVersion", "v1"},
                             {"kind", "Node"},
                             {"metadata", {{"name", name}}},
                             {"spec",
                              {{"taints", json::array{json::object{{"key", "kgpu.dev/not-ready"},
                                                                   {"effect", "NoSchedule"}}}}}}};
      if (const auto done = api_.Do("POST", "/api/v1/nodes", node); !done.ok()) {
        std::puts(std::string(Message(done.status())).c_str());
      }
      const json::value status{
          {"status",
           {{"capacity", {{"nvidia.com/gpu", "8"}}}, {"allocatable", {{"nvidia.com/gpu", "8"}}}}}};
      (void)api_.Do("PATCH", fmt::format("/api/v1/nodes/{}/status", name), status);
    }
  }

  void StartAll() {
    load_.emplace(loop_.clock());
    for (int i = 0; i < nodes_; ++i) {
      agents_.push_back(std::make_unique<Agent>(loop_, transport_, *load_, i));
      agents_.back()->Begin();
    }
    // Drivers take their time: one to four seconds.
    for (const auto& agent : agents_) {
      loop_.After(seconds(1) + random_.PartOf(seconds(3)), [&agent] { agent->BeReady(); });
    }
  }

  void WaitUntilReady() {
    seconds at{0};
    size_t done = 0;
    seconds half{0};
    while (done < agents_.size() && at < seconds(600)) {
      loop_.Advance(seconds(1));
      at += seconds(1);
      done = static_cast<size_t>(
          std::ranges::count_if(agents_, [](const auto& agent) { return agent->IsDone(); }));
      half = done * 2 >= agents_.size() && half.count() == 0 ? at : half;
    }
    const double per_node = static_cast<double>(load_->total()) / nodes_;
    Say("half of the nodes ready, labelled, untainted", fmt::format("{} s", half.count()),
        "<= 15 s", half <= seconds(15));
    Say("all of them", fmt::format("{} s", at.count()), "<= 30 s",
        done == agents_.size() && at <= seconds(30));
    Say("requests of one node's start", fmt::format("{:.1f}", per_node), "<= 10", per_node <= 10);
    const double peak = static_cast<double>(load_->Peak());
    Say("worst second, requests per node", fmt::format("{:.2f}", peak / nodes_), "<= 2",
        peak <= 2.0 * nodes_);
    Say("worst second, all requests", fmt::format("{:.0f}", peak), "-", true);
  }

  uint64_t Writes() {
    uint64_t writes = 0;
    for (const char* verb : {"create", "update", "patch", "apply", "delete"}) {
      writes += api_.counters().Sum(verb).requests;
    }
    return writes;
  }

  void QuietHour() {
    loop_.Advance(minutes(10));
    api_.counters().Reset();
    loop_.Advance(hours(1));
    const uint64_t writes = Writes();
    Say("writes of a quiet hour, all nodes", std::to_string(writes), "0", writes == 0);
    const double reads = static_cast<double>(api_.counters().Sum().requests) / nodes_;
    Say("other requests of it, one node", fmt::format("{:.1f}", reads), "<= 12", reads <= 12);
  }

  void Changes() {
    api_.counters().Reset();
    for (const auto& agent : agents_) {
      agent->Change("changed");
    }
    loop_.Advance(minutes(1));
    const auto sum = api_.counters().Sum("apply");
    const double in = static_cast<double>(sum.bytes_in) / nodes_;
    const double out = static_cast<double>(api_.counters().Sum().bytes_out) / nodes_;
    Say("requests of one label's change",
        fmt::format("{:.1f}", static_cast<double>(api_.counters().Sum().requests) / nodes_), "<= 2",
        api_.counters().Sum().requests <= 2 * static_cast<uint64_t>(nodes_));
    Say("bytes sent for it (95 labels)", fmt::format("{:.0f}", in), "<= 8192", in <= 8192);
    Say("bytes received (answer and watch)", fmt::format("{:.0f}", out), "-", true);
  }

  void Restart() {
    agents_.clear();
    loop_.Advance(minutes(1));
    api_.counters().Reset();
    load_.emplace(loop_.clock());
    for (int i = 0; i < nodes_; ++i) {
      agents_.push_back(std::make_unique<Agent>(loop_, transport_, *load_, i));
      agents_.back()->BeReady();
      agents_.back()->Change("changed");
    }
    loop_.Advance(minutes(2));
    const uint64_t writes = Writes();
    Say("writes when all agents restart", std::to_string(writes), "0", writes == 0);
    Say("worst second of that, requests per node",
        fmt::format("{:.2f}", static_cast<double>(load_->Peak()) / nodes_), "<= 1",
        load_->Peak() <= static_cast<uint64_t>(nodes_));
  }

  int nodes_;
  FakeLoop loop_;
  apiserver::Api api_{loop_, {.max_watches = 1'000'000}};
  apiserver::MemoryTransport transport_{loop_, api_, {.latency = milliseconds(2)}};
  Random random_{1};
  std::optional<Load> load_;
  std::vector<std::unique_ptr<Agent>> agents_;
  bool is_healthy_ = true;
};

}  // namespace
}  // namespace kgpu::bench

int main(int argc, char** argv) {
  kgpu::SetLogLevel(kgpu::LogLevel::kError);
  const auto nodes = argc > 1 ? kgpu::ParseUint(argv[1]).value_or(0) : 10'000;
  if (nodes == 0 || nodes > 100'000) {
    std::fputs("usage: fleet-bench [NODES]\n", stderr);
    return 2;
  }
  return kgpu::bench::Fleet(static_cast<int>(nodes)).Run();
}
