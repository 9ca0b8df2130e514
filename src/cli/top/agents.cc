#include "src/cli/top/agents.h"

#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "src/cli/top/live_document.h"
#include "src/kube/api/json.h"
#include "src/kube/api/lister.h"
#include "src/kube/api/pod_proxy.h"
#include "src/kube/api/resource.h"

namespace kgpu::top {
namespace {

namespace json = boost::json;

constexpr std::chrono::seconds kAgentTime{5};
constexpr char kAgentLabel[] = "app.kubernetes.io/name=kgpu-agent";

struct Agent {
  std::string name{};
  std::string path{};  // of its document
};

}  // namespace

class AgentsReader::Impl {
 public:
  Impl(kube::Client& client, const std::string& node, Done done)
      : client_(client), done_(std::move(done)) {
    std::string fields = "status.phase=Running";
    if (!node.empty()) {
      fields += ",spec.nodeName=" + node;
    }
    calls_.push_back(
        kube::ListObjects(client_,
                          {.selection = {.path = kube::kPods.Collection(),
                                         .label_selector = kAgentLabel,
                                         .field_selector = fields},
                           .is_repeated = false},
                          [this](const StatusOr<kube::ListResult>& pods) { OnPods(pods); }));
  }

 private:
  void OnPods(const StatusOr<kube::ListResult>& pods) {
    if (!pods.ok()) {
      answer_.problem = fmt::format("GPU use: the agents' pods: {}", Message(pods.status()));
      return End();
    }
    for (const json::value& pod : pods->items) {
      if (const std::string proxy = kube::ProxyPathOf(pod, "metrics"); !proxy.empty()) {
        agents_.push_back({.name = std::string(kube::NameOf(pod)), .path = proxy + "/live"});
      }
    }
    std::ranges::sort(agents_, {}, &Agent::name);
    all_ = agents_.size();
    agents_.resize(std::min(all_, kMostAgents));
    if (agents_.empty()) {
      return End();
    }
    for (size_t i = 0; i < kAgentsAtOnce; ++i) {
      AskNext();
    }
  }

  void AskNext() {
    if (next_ == agents_.size()) {
      return;
    }
    const Agent& agent = agents_[next_++];
    ++open_;
    calls_.push_back(client_.Send(
        {.path = agent.path, .timeout = kAgentTime, .is_repeated = false},
        [this, &agent](const StatusOr<json::value>& document) { OnAnswer(agent, document); }));
  }

  void OnAnswer(const Agent& agent, const StatusOr<json::value>& document) {
    --open_;
    const StatusOr<LiveDocument> live =
        document.ok() ? LiveDocumentOf(*document) : StatusOr<LiveDocument>(document.status());
    if (live.ok()) {
      Add(*live);
    } else {
      ++failed_;
      const bool is_forbidden = live.status().code() == StatusCode::kPermissionDenied;
      if (failure_.empty()) {
        failure_ = fmt::format("{}: {}{}", agent.name, Message(live.status()),
                               is_forbidden ? ": use --api-only to ask none" : "");
      }
      if (is_forbidden) {
        failed_ += agents_.size() - next_;
        next_ = agents_.size();
      }
    }
    AskNext();
    if (open_ == 0) {
      End();
    }
  }

  void Add(const LiveDocument& live) {
    for (const LiveGpu& gpu : live.gpus) {
      answer_.uses.push_back({.node = live.node,
                              .model = gpu.model,
                              .resource = gpu.pool,
                              .utilization = gpu.utilization,
                              .memory_used = gpu.memory_used,
                              .memory_total = gpu.memory_total});
    }
  }

  // The caller may destroy us.
  void End() {
    if (failed_ > 0) {
      answer_.problem =
          fmt::format("GPU use: {} of {} agents did not answer: {}", failed_, all_, failure_);
    } else if (all_ > kMostAgents) {
      answer_.problem =
          fmt::format("GPU use: only {} of {} agents were asked: --node NAME asks that node's",
                      kMostAgents, all_);
    }
    if (const Done done = std::exchange(done_, nullptr); done) {
      done(std::move(answer_));
    }
  }

  kube::Client& client_;
  Done done_;
  std::vector<Agent> agents_;
  size_t all_ = 0;
  size_t next_ = 0;
  size_t open_ = 0;
  size_t failed_ = 0;
  std::string failure_;
  AgentsAnswer answer_;
  std::vector<std::unique_ptr<kube::Call>> calls_;
};

AgentsReader::AgentsReader(kube::Client& client, const std::string& node, Done done)
    : impl_(std::make_unique<Impl>(client, node, std::move(done))) {
}

AgentsReader::~AgentsReader() = default;

}  // namespace kgpu::top
