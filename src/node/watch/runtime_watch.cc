#include "src/node/watch/runtime_watch.h"

#include <chrono>
#include <utility>

#include "src/node/plugin/kubelet.h"
#include "src/platform/base/log.h"

namespace kgpu::watch {
namespace {

constexpr std::chrono::milliseconds kDeadline{2000};
constexpr std::chrono::seconds kAgainAfterAnswer{60};
// A runtime that starts after us is met soon.
constexpr std::chrono::seconds kAgainAfterFailure{5};

}  // namespace

RuntimeWatch::RuntimeWatch(EventLoop& loop, std::vector<std::string> sockets,
                           std::function<void()> changed)
    : loop_(loop), sockets_(std::move(sockets)), changed_(std::move(changed)) {
  Ask();
}

void RuntimeWatch::Ask() {
  for (const std::string& socket : sockets_) {
    if (plugin::IdentityOf(socket)) {
      question_ = cri::AskRuntime(loop_, socket, kDeadline,
                                  [this](auto facts) { OnAnswer(std::move(facts)); });
      return;
    }
  }
  std::string looked;
  for (const std::string& socket : sockets_) {
    looked += (looked.empty() ? "" : ", ") + socket;
  }
  OnAnswer(NotFound("no container runtime socket found ({})", looked));
}

void RuntimeWatch::OnAnswer(StatusOr<cri::RuntimeFacts> facts) {
  question_.reset();
  again_.Arm(facts.ok() ? kAgainAfterAnswer : kAgainAfterFailure, [this] { Ask(); });
  const bool is_event = !facts_ || facts_->ok() != facts.ok() ||
                        (facts.ok() ? **facts_ != *facts : facts_->status() != facts.status());
  if (!is_event) {
    return;
  }
  if (facts.ok()) {
    KGPU_LOG(kInfo, "container runtime", {"name", facts->name}, {"version", facts->version},
             {"reads_cdi", facts->reads_cdi}, {"evidence", facts->evidence});
  }
  facts_ = std::move(facts);
  changed_();
}

}  // namespace kgpu::watch
