// The GPUs of this node, from its agent.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/cli/top/live_document.h"
#include "src/cli/top/source.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"
#include "src/platform/net/http/client.h"

namespace kgpu::top {

struct NodeSourceOptions {
  std::string run_dir{};
  std::string host_root{};
  std::string kubeconfig{};  // for explanations of pods
  std::string context{};
  std::optional<std::chrono::milliseconds> every{};  // empty: as often as the agent measures
};

// The agent's answer. Errors: those of cli::FetchFromAgent; the agent is too old for it;
// OutOfRange (it is huge).
StatusOr<std::string> FetchLive(const std::string& run_dir);

class NodeSource final : public Source {
 public:
  NodeSource(EventLoop& loop, NodeSourceOptions options, LiveDocument first);

  void Ask(std::function<void()> done) override;
  std::chrono::milliseconds every() const override;
  View Show(const ListState& state, size_t columns, const terminal::Look& look) const override;
  Page PageOf(const Target& target, const terminal::Look& look) const override;
  std::vector<std::string> CommandFor(const Target& target) const override;

 private:
  EventLoop& loop_;
  const NodeSourceOptions options_;
  LiveDocument document_;
  std::string trouble_;  // why `document_` is an old one; empty: it is the last answer
  std::unique_ptr<http::Call> call_;
};

}  // namespace kgpu::top
