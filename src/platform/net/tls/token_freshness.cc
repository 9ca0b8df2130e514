#include "src/platform/net/tls/token_freshness.h"

#include <chrono>
#include <string_view>
#include <utility>

#include "src/platform/base/log.h"

namespace kgpu::tls {
namespace {

// The file may no longer hold them.
constexpr std::chrono::hours kLongestUnread{1};

}  // namespace

void TokenFreshness::OnRead(SteadyTime now) {
  problem_.clear();
  read_at_ = now;
}

bool TokenFreshness::OnProblem(const Status& problem, bool has_known, SteadyTime now) {
  const bool is_over = problem.code() == StatusCode::kNotFound || now - read_at_ >= kLongestUnread;
  const std::string_view effect =
      is_over || !has_known ? "no client is let in" : "the previous tokens stay valid for an hour";
  std::string text = fmt::format("cannot read tokens: {}: {}", Message(problem), effect);
  if (text != problem_) {
    KGPU_LOG(kError, "tokens not read", {"reason", Message(problem)}, {"effect", effect});
    problem_ = std::move(text);
  }
  return is_over;
}

}  // namespace kgpu::tls
