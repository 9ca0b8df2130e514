#include "src/functions/kubernetes/pod_logs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "src/functions/manifests/objects.h"
#include "src/kube/api/resource.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"

namespace kgpu::functions {
namespace {

kube::ApiRequest LogRequestOf(const std::string& space, const std::string& pod) {
  kube::ApiRequest request{.path = kube::kPods.Object(space, pod, "log")};
  request.query.emplace_back("container", kFunctionContainer);
  return request;
}

}  // namespace

std::vector<LogLine> ParsePodLog(std::string_view text) {
  std::vector<LogLine> lines;
  WallTime last{};
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    std::string_view line = text.substr(0, end + 1);
    text.remove_prefix(end + 1);
    const size_t space = line.find(' ');
    if (space != std::string_view::npos) {
      if (const StatusOr<WallTime> time = ParseTime(line.substr(0, space)); time.ok()) {
        last = *time;
        line.remove_prefix(space + 1);
      }
    }
    lines.push_back({last, std::string(line)});
    if (!line.ends_with('\n')) {
      lines.back().text += '\n';
    }
  }
  return lines;
}

PodLogRead::PodLogRead(kube::Client& client, const std::string& space,
                       const std::vector<std::string>& pods, const LogRequest& request, Done done)
    : request_(request), done_(std::move(done)), parts_(pods.size()), left_(pods.size()) {
  most_ = kMaxLogText / std::max<size_t>(pods.size(), 1);
  for (size_t i = 0; i < pods.size(); ++i) {
    Part& part = parts_[i];
    part.pod = pods[i];
    kube::ApiRequest asked = LogRequestOf(space, pods[i]);
    asked.query.emplace_back("timestamps", "true");
    asked.query.emplace_back("limitBytes", std::to_string(most_));
    if (request_.since) {
      asked.query.emplace_back("sinceTime", FormatTime(*request_.since));
    }
    if (request_.tail) {
      asked.query.emplace_back("tailLines", std::to_string(*request_.tail));
    }
    part.call = client.Stream(
        std::move(asked), {.on_text =
                               [this, &part](std::string_view text) {
                                 const size_t room = most_ - part.text.size();
                                 part.text += text.substr(0, room);
                               },
                           .on_end = [this, &part](const Status& status) { OnEnd(part, status); }});
  }
}

void PodLogRead::OnEnd(Part& part, const Status& status) {
  if (!status.ok()) {
    part.text = fmt::format("{}: log not read: {}\n", part.pod, Printable(Message(status), 300));
  }
  if (--left_ > 0) {
    return;
  }
  std::vector<LogLine> lines;
  for (const Part& each : parts_) {
    std::vector<LogLine> more = ParsePodLog(each.text);
    std::ranges::move(more, std::back_inserter(lines));
  }
  // The API server has left out the lines before the time requested.
  std::string text = JoinLogLines(std::move(lines), {.tail = request_.tail});
  const Done done = std::move(done_);
  done(std::move(text));  // may destroy this
}

PodLogFollow::PodLogFollow(kube::Client& client, const std::string& space,
                           const std::vector<std::string>& pods, WallTime now,
                           std::function<bool(std::string_view)> write, std::function<void()> ended)
    : write_(std::move(write)), ended_(std::move(ended)), left_(pods.size()) {
  for (const std::string& pod : pods) {
    kube::ApiRequest asked = LogRequestOf(space, pod);
    asked.query.emplace_back("follow", "true");
    asked.query.emplace_back("sinceTime", FormatTime(now));
    calls_.push_back(
        client.Stream(std::move(asked), {.on_text =
                                             [this](std::string_view text) {
                                               if (!write_(text)) {
                                                 left_ = 1;
                                                 OnEnd();
                                               }
                                             },
                                         .on_end = [this](const Status&) { OnEnd(); }}));
  }
}

// When nobody reads, or no pod writes any more.
void PodLogFollow::OnEnd() {
  if (--left_ > 0) {
    return;
  }
  if (const std::function<void()> ended = std::exchange(ended_, nullptr)) {
    ended();
  }
}

}  // namespace kgpu::functions
