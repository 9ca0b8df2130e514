#include "src/agent/front.h"

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "src/agent/web.h"
#include "src/base/log.h"

namespace kgpu::agent {
namespace {

constexpr std::chrono::seconds kRetry{5};
// Root, and the group that owns the run folder.
constexpr mode_t kSocketMode = 0660;

}  // namespace

Front::Front(EventLoop& loop, FrontDesk desk)
    : loop_(loop),
      desk_(std::move(desk)),
      local_(loop, [this](const http::Request& request, const http::Responder& responder) {
        responder.Send(AnswerOnSocket(request));
      }) {
}

Front::~Front() {
  loop_.CancelTimer(retry_);
}

http::Response Front::AnswerOnSocket(const http::Request& request) const {
  return IsMetricsRead(request) ? desk_.metrics(request)
                                : AnswerLocal(request, desk_.state(), desk_.version);
}

http::Response Front::AnswerOnAddress(const http::Request& request) const {
  return IsMetricsRead(request) ? desk_.metrics(request) : AnswerPublic(request, desk_.state());
}

Status Front::OpenLocal(const std::string& run_dir) {
  std::error_code error;
  if (std::filesystem::create_directories(run_dir, error)) {
    // Not closed to others: kgpu-runtime of rootless engines reads the injection book in it.
    using enum std::filesystem::perms;
    std::filesystem::permissions(
        run_dir, owner_all | group_read | group_exec | others_read | others_exec, error);
  }
  if (error) {
    return ErrnoStatus(error.value(), fmt::format("make {}", run_dir));
  }
  const auto address = local_.Listen(run_dir + "/agent.sock", kSocketMode);
  if (!address.ok() && address.status().code() == StatusCode::kAlreadyExists) {
    return AlreadyExists("another agent runs: {}", Message(address.status()));
  }
  return address.status();
}

void Front::SetAddress(const std::string& address) {
  if (address == address_) {
    return;
  }
  address_ = address;
  loop_.CancelTimer(std::exchange(retry_, TimerId::kNone));
  public_.reset();
  OpenPublic();
}

void Front::OpenPublic() {
  if (address_.empty()) {
    return;
  }
  public_ = std::make_unique<http::Server>(
      loop_, [this](const http::Request& request, const http::Responder& responder) {
        responder.Send(AnswerOnAddress(request));
      });
  const auto address = public_->Listen(address_);
  if (address.ok()) {
    problem_.clear();
    KGPU_LOG(kInfo, "metrics are served", {"address", *address});
    return;
  }
  std::string problem(Message(address.status()));
  if (problem != problem_) {
    KGPU_LOG(kError, "metrics are not served", {"address", address_}, {"reason", problem},
             {"mend", "free the address, or set http.address"});
    problem_ = std::move(problem);
  }
  public_.reset();
  retry_ = loop_.After(kRetry, [this] {
    retry_ = TimerId::kNone;
    OpenPublic();
  });
}

}  // namespace kgpu::agent
