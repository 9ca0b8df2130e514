#include "src/agent/usage_desk.h"

#include <boost/json.hpp>

#include <utility>

#include "src/agent/web.h"
#include "src/base/duration.h"
#include "src/report/format.h"
#include "src/usage/book.h"
#include "src/usage/view.h"

namespace kgpu::agent {
namespace {

using UsePtr = std::shared_ptr<const std::vector<telemetry::PodUse>>;

UsePtr UseOf(const std::map<usage::PodName, usage::Amounts>& current) {
  auto use = std::make_shared<std::vector<telemetry::PodUse>>();
  use->reserve(current.size());
  for (const auto& [pod, amounts] : current) {
    use->push_back({.pod_namespace = pod.pod_namespace,
                    .pod = pod.pod,
                    .gpu_seconds = amounts.gpu_seconds,
                    .busy_gpu_seconds = usage::ToldBusy(amounts),
                    .memory_gib_seconds = amounts.gib_seconds});
  }
  return use;
}

usage::Book::Disk BookDiskOn(DiskWorker& disk) {
  using usage::Kept;
  return {.write =
              [&disk](usage::LedgerWrite write, const std::function<void(const Status&)>& done) {
                return disk.Post(
                    [write = std::move(write), done]() -> DiskWorker::Done {
                      return [status = write.Do(), done] { done(status); };
                    },
                    done);
              },
          .load =
              [&disk](const std::string& folder, const std::function<void(StatusOr<Kept>)>& done) {
                return disk.Post(
                    [folder, done]() -> DiskWorker::Done {
                      auto kept = std::make_shared<StatusOr<Kept>>(usage::LoadLedger(folder));
                      return [kept, done] { done(std::move(*kept)); };
                    },
                    done);
              }};
}

}  // namespace

class UsageDesk::Impl {
 public:
  Impl(EventLoop& loop, DiskWorker& disk, std::string folder)
      : loop_(loop), book_(std::move(folder), BookDiskOn(disk)) {}
  ~Impl() { book_.Flush(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void SetConfig(const config::UsageConfig& config) {
    is_enabled_ = config.enabled;
    book_.SetRetention(config.retention);
    if (!is_enabled_) {
      book_.Pause();
      pods_.reset();
    }
  }

  void OnSample(const usage::MeterInput& input) {
    if (is_enabled_) {
      const bool is_first = !has_round_;
      has_round_ = true;
      book_.Count(input);
      pods_ = is_first ? nullptr : UseOf(book_.current());
    }
  }

  void Flush() { book_.Flush(); }
  const UsePtr& pods() const { return pods_; }
  const std::string& problem() const { return book_.problem(); }
  http::Response Answer(const http::Request& request) const;

 private:
  EventLoop& loop_;
  usage::Book book_;
  bool is_enabled_ = true;
  bool has_round_ = false;
  UsePtr pods_;
};

http::Response UsageDesk::Impl::Answer(const http::Request& request) const {
  if (request.method != "GET" && request.method != "HEAD") {
    return http::WrongMethod(request, "GET, HEAD");
  }
  const auto format = FormatOf(request);
  const auto since = ParseSince("since", request.QueryValue("since").value_or("24h"));
  const auto by = usage::ParseGroupBy("by", request.QueryValue("by").value_or("pod"));
  for (const Status& status : {format.status(), since.status(), by.status()}) {
    if (!status.ok()) {
      return http::TextResponse(400, Message(status));
    }
  }
  if (!is_enabled_ && book_.ledger().empty()) {
    return http::TextResponse(404, "usage is not counted: usage.enabled is false");
  }
  const usage::UsageQuery query{.now = loop_.clock().WallNow(), .since = *since, .by = *by};
  const std::vector<usage::UsageRow> rows = usage::UsageRows(book_.ledger(), query);
  return Shown(*format, usage::UsageJson(rows, query), usage::UsageTable(rows, query), true);
}

UsageDesk::UsageDesk(EventLoop& loop, DiskWorker& disk, std::string folder)
    : impl_(std::make_unique<Impl>(loop, disk, std::move(folder))) {
}

UsageDesk::~UsageDesk() = default;

void UsageDesk::SetConfig(const config::UsageConfig& config) {
  impl_->SetConfig(config);
}

void UsageDesk::OnSample(const device::Snapshot& snapshot, const device::SampleSet& samples,
                         const pods::PodMap& pods, const pools::Assignment& assignment) {
  impl_->OnSample(
      {.snapshot = snapshot, .samples = samples, .pods = pods, .assignment = assignment});
}

const UsePtr& UsageDesk::pods() const {
  return impl_->pods();
}

void UsageDesk::Flush() {
  impl_->Flush();
}

std::string UsageDesk::problem() const {
  return impl_->problem();
}

http::Response UsageDesk::Answer(const http::Request& request) const {
  return impl_->Answer(request);
}

}  // namespace kgpu::agent
