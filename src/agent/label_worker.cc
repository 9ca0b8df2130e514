#include "src/agent/label_worker.h"

#include <pthread.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "src/base/log.h"
#include "src/base/status.h"

namespace kgpu::agent {
namespace {

constexpr int kStuckExitCode = 1;

// One look to be made.
struct Job {
  config::LabelsConfig config;
  labels::LookOptions options;
};

labels::LabelLook Run(const sys::Root& host, std::optional<labels::LabelSource>& source,
                      config::LabelsConfig& config, const std::string& node, const Job& job) {
  if (!source || config != job.config) {
    config = job.config;
    source.emplace(host, config, node);
  }
  return source->Look(job.options);
}

// A thread's last word: what a library throws must not end the process.
labels::LabelLook RunSafely(const sys::Root& host, std::optional<labels::LabelSource>& source,
                            config::LabelsConfig& config, const std::string& node, const Job& job) {
  try {
    return Run(host, source, config, node, job);
  } catch (const std::exception& error) {
    labels::LabelLook look;
    look.publishes = false;
    look.labels.problems.push_back(fmt::format("looking at the host: {}", error.what()));
    return look;
  }
}

}  // namespace

class LabelWorker::Impl : public std::enable_shared_from_this<LabelWorker::Impl> {
 public:
  Impl(EventLoop& loop, const sys::Root& host, LabelWorkerOptions options,
       std::function<void(labels::LabelLook)> done)
      : loop_(loop), host_(host), options_(std::move(options)), done_(std::move(done)) {}

  void Start() {
    thread_ = std::jthread([this] { Work(); });
    pthread_setname_np(thread_.native_handle(), "kgpu-labels");
  }

  void Stop() {
    is_open_ = false;
    std::unique_lock lock(mutex_);
    is_stopping_ = true;
    wake_.notify_all();
    if (ended_.wait_for(lock, options_.stop_limit, [this] { return has_ended_; })) {
      lock.unlock();
      thread_.join();
      return;
    }
    lock.unlock();
    KGPU_LOG(kError, "a look at the host hangs in the kernel",
             {"effect", "the process ends without waiting for it"});
    _exit(kStuckExitCode);
  }

  void SetConfig(const config::LabelsConfig& config) { config_ = config; }

  void Look(labels::LookOptions options) {
    const std::lock_guard lock(mutex_);
    job_ = Job{config_, std::move(options)};
    if (!asked_since_) {
      asked_since_ = loop_.clock().Now();
    }
    wake_.notify_all();
  }

  std::string problem() const {
    if (!asked_since_ || loop_.clock().Now() - *asked_since_ < options_.slow) {
      return {};
    }
    return fmt::format(
        "a look at the host takes {} s already: a file of /sys or /proc does not answer; dmesg may "
        "name the driver that hangs",
        std::chrono::duration_cast<std::chrono::seconds>(loop_.clock().Now() - *asked_since_)
            .count());
  }

 private:
  std::optional<Job> NextJob() {
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [this] { return is_stopping_ || job_; });
    return is_stopping_ ? std::nullopt : std::exchange(job_, std::nullopt);
  }

  void Work() {
    std::optional<labels::LabelSource> source;
    config::LabelsConfig config;
    while (const std::optional<Job> job = NextJob()) {
      auto look = std::make_shared<labels::LabelLook>(
          RunSafely(host_, source, config, options_.node_name, *job));
      loop_.Post([weak = weak_from_this(), look] {
        if (const auto self = weak.lock()) {
          self->OnDone(std::move(*look));
        }
      });
    }
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    ended_.notify_all();
  }

  void OnDone(labels::LabelLook look) {
    {
      const std::lock_guard lock(mutex_);
      asked_since_ = job_ ? std::optional(loop_.clock().Now()) : std::nullopt;
    }
    if (is_open_) {
      done_(std::move(look));
    }
  }

  EventLoop& loop_;
  const sys::Root& host_;
  const LabelWorkerOptions options_;
  const std::function<void(labels::LabelLook)> done_;
  // Of the loop's thread.
  config::LabelsConfig config_;
  std::optional<SteadyTime> asked_since_;
  bool is_open_ = true;

  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  std::condition_variable ended_;
  std::optional<Job> job_;
  bool is_stopping_ = false;
  bool has_ended_ = false;

  std::jthread thread_;
};

LabelWorker::LabelWorker(EventLoop& loop, const sys::Root& host, LabelWorkerOptions options,
                         std::function<void(labels::LabelLook)> done)
    : impl_(std::make_shared<Impl>(loop, host, std::move(options), std::move(done))) {
  impl_->Start();
}

LabelWorker::~LabelWorker() {
  impl_->Stop();
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

}  // namespace kgpu::agent
