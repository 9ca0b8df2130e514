#include "testing/apiserver/pod_logs.h"

#include "testing/apiserver/failure.h"

namespace kgpu::apiserver {
namespace {

// The last `lines` lines of `text`.
std::string_view LastLines(std::string_view text, uint64_t lines) {
  size_t start = text.ends_with('\n') ? text.size() - 1 : text.size();
  for (uint64_t seen = 0; seen < lines; ++seen) {
    const size_t end = start == 0 ? std::string_view::npos : text.rfind('\n', start - 1);
    if (end == std::string_view::npos) {
      return text;
    }
    start = end;
  }
  return lines == 0 ? std::string_view() : text.substr(start + 1);
}

}  // namespace

void PodLogs::Append(const ObjectKey& pod, std::string_view text) {
  Log& log = logs_[pod];
  log.is_ended = false;
  log.text.append(text);
  if (log.text.size() > kMaxText) {
    log.text.erase(0, log.text.size() - kMaxText);
  }
  if (!text.empty()) {
    log.followers.remove_if([&](const std::shared_ptr<Sink>& sink) { return !sink->Write(text); });
  }
}

void PodLogs::End(const ObjectKey& pod) {
  const auto found = logs_.find(pod);
  if (found == logs_.end()) {
    return;
  }
  found->second.is_ended = true;
  for (const std::shared_ptr<Sink>& sink : found->second.followers) {
    sink->End();
  }
  found->second.followers.clear();
}

void PodLogs::Forget(const ObjectKey& pod) {
  End(pod);
  logs_.erase(pod);
}

Status PodLogs::Serve(const ObjectKey& pod, const LogRequest& request,
                      const std::shared_ptr<Sink>& sink) {
  const auto found = logs_.find(pod);
  if (found == logs_.end()) {
    return BadRequest(
        fmt::format("a container in pod \"{}\" is waiting to start: ContainerCreating", pod.name));
  }
  Log& log = found->second;
  const std::string_view text =
      request.tail_lines ? LastLines(log.text, *request.tail_lines) : std::string_view(log.text);
  sink->Begin(200, {{"Content-Type", "text/plain"}});
  if (!text.empty()) {
    sink->Write(text);
  }
  if (request.follows && !log.is_ended) {
    log.followers.push_back(sink);
  } else {
    sink->End();
  }
  return OkStatus();
}

}  // namespace kgpu::apiserver
