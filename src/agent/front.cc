#include "src/agent/front.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "src/agent/web.h"
#include "src/node/part/answer.h"

namespace kgpu::agent {
namespace {

// Root, and the group that owns the run folder.
constexpr mode_t kSocketMode = 0660;

}  // namespace

Front::Front(EventLoop& loop, FrontHandlers handler)
    : handler_(std::move(handler)),
      server_(loop, [this](const http::Request& request, const http::Responder& responder) {
        if (!handler_.others(request, responder)) {
          responder.Send(Answer(request));
        }
      }) {
}

http::Response Front::Answer(const http::Request& request) const {
  return node::IsMetricsRead(request)
             ? handler_.metrics(request)
             : AnswerLocal(request, handler_.state(), handler_.parts, handler_.version);
}

Status Front::OpenLocal(const std::string& run_dir) {
  std::error_code error;
  if (std::filesystem::create_directories(run_dir, error)) {
    // Not closed to others: kgpu-runtime of rootless engines reads the injection index in it.
    using enum std::filesystem::perms;
    std::filesystem::permissions(
        run_dir, owner_all | group_read | group_exec | others_read | others_exec, error);
  }
  if (error) {
    return ErrnoStatus(error.value(), fmt::format("make {}", run_dir));
  }
  const auto address = server_.Listen(fmt::format("{}/{}", run_dir, kSocketFile), kSocketMode);
  if (!address.ok() && address.status().code() == StatusCode::kAlreadyExists) {
    return AlreadyExists("another agent is running: {}", Message(address.status()));
  }
  return address.status();
}

}  // namespace kgpu::agent
