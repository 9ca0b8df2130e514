#include "src/node/cluster/label_worker.h"

#include <fmt/format.h>

#include <atomic>
#include <exception>
#include <optional>
#include <utility>

#include "src/platform/base/status.h"
#include "src/platform/sys/worker_thread.h"

namespace kgpu::cluster {
namespace {

// One look to be made.
struct Job {
  config::LabelsConfig config;
  labels::LookOptions options;
};

// Who makes them, one after another.
class Looker {
 public:
  Looker(const sys::Root& host, std::string node) : host_(host), node_(std::move(node)) {}

  // A thread's last word: what a library throws must not end the process.
  labels::LabelLook Look(const Job& job) {
    try {
      if (!source_ || config_ != job.config) {
        config_ = job.config;
        source_.emplace(host_, config_, node_);
      }
      return source_->Look(job.options);
    } catch (const std::exception& error) {
      labels::LabelLook look;
      look.publishes = false;
      look.labels.problems.push_back(fmt::format("inspecting the host: {}", error.what()));
      return look;
    }
  }

 private:
  const sys::Root& host_;
  const std::string node_;
  config::LabelsConfig config_;
  std::optional<labels::LabelSource> source_;
};

}  // namespace

class LabelWorker::Impl : public std::enable_shared_from_this<LabelWorker::Impl> {
 public:
  Impl(EventLoop& loop, const sys::Root& host, LabelWorkerOptions options,
       std::function<void(labels::LabelLook)> done)
      : loop_(loop),
        slow_(options.slow),
        done_(std::move(done)),
        looker_(host, std::move(options.node_name)),
        thread_(loop.clock(), {.name = "kgpu-labels",
                               .stuck = "host inspection stuck in the kernel",
                               .stop_limit = options.stop_limit}) {}

  void Stop() {
    is_open_ = false;
    thread_.Stop();
  }

  void StopBy(SteadyTime deadline) { thread_.StopBy(deadline); }
  void SetConfig(const config::LabelsConfig& config) { config_ = config; }

  void Look(labels::LookOptions options) {
    if (!asked_since_) {
      asked_since_ = loop_.clock().Now();
      Begin({config_, std::move(options)});
    } else {
      next_ = Job{config_, std::move(options)};
    }
  }

  std::string problem() const {
    if (!asked_since_ || loop_.clock().Now() - *asked_since_ < slow_) {
      return {};
    }
    return fmt::format(
        "inspecting the host has taken {} s so far: a file in /sys or /proc does not respond; "
        "dmesg may name the driver at fault",
        std::chrono::duration_cast<std::chrono::seconds>(loop_.clock().Now() - *asked_since_)
            .count());
  }

 private:
  // At most one is on its way: it is always taken.
  void Begin(Job job) {
    thread_.Post([this, job = std::move(job)] {
      if (!is_open_) {
        return;
      }
      auto look = std::make_shared<labels::LabelLook>(looker_.Look(job));
      loop_.Post([weak = weak_from_this(), look] {
        if (const auto self = weak.lock(); self && self->is_open_) {
          self->OnDone(std::move(*look));
        }
      });
    });
  }

  void OnDone(labels::LabelLook look) {
    asked_since_.reset();
    if (std::optional<Job> next = std::exchange(next_, std::nullopt)) {
      asked_since_ = loop_.clock().Now();
      Begin(*std::move(next));
    }
    done_(std::move(look));
  }

  EventLoop& loop_;
  const std::chrono::milliseconds slow_;
  const std::function<void(labels::LabelLook)> done_;
  config::LabelsConfig config_;
  std::optional<SteadyTime> asked_since_;  // of the look in progress
  std::optional<Job> next_;                // the newest of those that wait for it
  std::atomic<bool> is_open_ = true;
  Looker looker_;  // worker's thread only
  sys::WorkerThread thread_;
};

LabelWorker::LabelWorker(EventLoop& loop, const sys::Root& host, LabelWorkerOptions options,
                         std::function<void(labels::LabelLook)> done)
    : impl_(std::make_shared<Impl>(loop, host, std::move(options), std::move(done))) {
}

LabelWorker::~LabelWorker() {
  impl_->Stop();
}

void LabelWorker::StopBy(SteadyTime deadline) {
  impl_->StopBy(deadline);
}

void LabelWorker::SetConfig(const config::LabelsConfig& config) {
  impl_->SetConfig(config);
}

void LabelWorker::Look(labels::LookOptions options) {
  impl_->Look(std::move(options));
}

std::string LabelWorker::problem() const {
  return impl_->problem();
}

}  // namespace kgpu::cluster
