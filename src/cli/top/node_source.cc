#include "src/cli/top/node_source.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "src/cli/base/ask_agent.h"
#include "src/cli/top/header.h"
#include "src/cli/top/node_view.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::top {
namespace {

constexpr http::CallOptions kLimits = {.timeout = std::chrono::seconds(10),
                                       .max_body = kMaxLiveDocument};

http::Request LiveRequest() {
  http::Request request;
  request.target = "/v1/live";
  return request;
}

StatusOr<std::string> BodyOf(const std::string& run_dir, StatusOr<http::Response> response) {
  if (response.status().code() == StatusCode::kOutOfRange) {
    return OutOfRange("the agent's answer has more than {} MiB: is it kgpu's agent?",
                      kMaxLiveDocument >> 20);
  }
  const bool is_old = response.ok() && response->code == 404;
  StatusOr<std::string> body = cli::BodyFromAgent(run_dir, std::move(response));
  return is_old ? FailedPrecondition("the running agent is older than this kgpu: restart it")
                : std::move(body);
}

}  // namespace

StatusOr<std::string> FetchLive(const std::string& run_dir) {
  return BodyOf(run_dir, http::Fetch(cli::AgentSocket(run_dir), LiveRequest(), kLimits));
}

NodeSource::NodeSource(EventLoop& loop, NodeSourceOptions options, LiveDocument first)
    : loop_(loop), options_(std::move(options)), document_(std::move(first)) {
}

void NodeSource::Ask(std::function<void()> done) {
  call_ = http::Call::Start(
      loop_, cli::AgentSocket(options_.run_dir), LiveRequest(),
      [this, done = std::move(done)](StatusOr<http::Response> response) {
        const auto read = [&]() -> StatusOr<LiveDocument> {
          ASSIGN_OR_RETURN(const std::string body, BodyOf(options_.run_dir, std::move(response)));
          return ReadLiveDocument(body);
        };
        StatusOr<LiveDocument> document = read();
        if (document.ok()) {
          document_ = *std::move(document);
          trouble_.clear();
        } else {
          trouble_ =
              fmt::format("since {}: {}", ClockText(document_.time), Message(document.status()));
        }
        done();
      },
      kLimits);
}

std::chrono::milliseconds NodeSource::every() const {
  constexpr std::chrono::milliseconds kLeast(1'000);
  constexpr std::chrono::milliseconds kUsual(2'000);
  if (options_.every) {
    return *options_.every;
  }
  // An agent that measures seldom may begin to measure more often once it is asked.
  const auto measured =
      std::chrono::milliseconds(static_cast<int64_t>(document_.every_seconds * 1000));
  return std::clamp(measured, kLeast, kUsual);
}

View NodeSource::Show(const ListState& state, size_t columns, const terminal::Look& look) const {
  return NodeView(document_, state, columns, look, trouble_);
}

Page NodeSource::PageOf(const Target& target, const terminal::Look& look) const {
  if (target.kind == TargetKind::kPod) {
    return {.title = "kgpu explain pod " + target.name};
  }
  Page page{.title = "GPU " + target.name, .lines = GpuPage(document_, target.name, look)};
  page.lines.emplace_back();
  page.lines.emplace_back("kgpu health history:");
  return page;
}

std::vector<std::string> NodeSource::CommandFor(const Target& target) const {
  std::vector<std::string> words;
  const auto add = [&](const char* flag, const std::string& value) {
    if (!value.empty()) {
      words.emplace_back(flag);
      words.push_back(value);
    }
  };
  if (target.kind == TargetKind::kPod) {
    words = {"explain", "pod", target.name};
    add("--kubeconfig", options_.kubeconfig);
    add("--context", options_.context);
  } else {
    words = {"health", "history", "--gpu", target.name};
    add("--run-dir", options_.run_dir);
  }
  add("--host-root", options_.host_root);
  add("--color", "never");
  add("--output", "table");
  return words;
}

}  // namespace kgpu::top
