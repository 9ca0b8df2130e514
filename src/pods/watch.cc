#include "src/pods/watch.h"

#include <algorithm>
#include <set>
#include <utility>

#include "src/base/log.h"
#include "src/cri/containers.h"
#include "src/pods/container_book.h"
#include "src/pods/join.h"
#include "src/pods/kubelet_list.h"

namespace kgpu::pods {
namespace {

using std::chrono::milliseconds;

// Between two questions to the kubelet, which has 100 a second for all of its clients.
constexpr milliseconds kLeastPause{1'000};
// The runtime is asked again for what it did not know, later and later, and now and then in any
// case: a pod may be followed by another one of the same name.
constexpr milliseconds kRuntimeFirst{2'000};
constexpr milliseconds kRuntimeLast{60'000};

}  // namespace

class Watch::Impl {
 public:
  Impl(EventLoop& loop, const sys::Root& host, WatchOptions options,
       std::function<void(const PodMapPtr&)> changed)
      : loop_(loop), host_(host), options_(std::move(options)), changed_(std::move(changed)) {
    PodMap unknown;
    unknown.problem = options_.every.count() == 0 ? "" : "the kubelet has not answered yet";
    current_ = std::make_shared<const PodMap>(std::move(unknown));
    PollAfter(milliseconds(0));
  }
  ~Impl() {
    loop_.CancelTimer(poll_timer_);
    loop_.CancelTimer(runtime_timer_);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void SetEvery(milliseconds every);
  void OnSample(const device::SampleSetPtr& samples);
  void Refresh();
  const PodMapPtr& current() const { return current_; }

 private:
  void PollAfter(milliseconds pause);
  void Poll();
  void OnList(StatusOr<std::vector<DeviceUse>> uses);
  milliseconds NextPause() const;
  void ConsiderRuntime();
  void AskRuntime(size_t socket);
  void OnContainers(size_t socket, const StatusOr<std::vector<cri::ContainerFacts>>& containers);
  bool Rejoin();
  void Tell();
  JoinInput Input() const { return {.uses = uses_, .book = book_, .processes = processes_}; }

  EventLoop& loop_;
  const sys::Root& host_;
  WatchOptions options_;
  std::function<void(const PodMapPtr&)> changed_;
  PodMapPtr current_;

  std::vector<DeviceUse> uses_;
  SteadyTime listed_{};
  std::string list_problem_ = "the kubelet has not answered yet";
  unsigned failures_ = 0;
  SteadyTime polled_{};
  bool is_again_wanted_ = false;
  std::unique_ptr<ListCall> list_;
  TimerId poll_timer_ = TimerId::kNone;

  std::vector<SeenProcess> processes_;
  ContainerBook book_;
  bool is_book_old_ = false;
  std::string runtime_problem_;
  std::set<std::string> asked_;  // what the last question was for
  milliseconds runtime_pause_ = kRuntimeFirst;
  std::unique_ptr<cri::Question> question_;
  TimerId runtime_timer_ = TimerId::kNone;
};

void Watch::Impl::SetEvery(milliseconds every) {
  if (every == options_.every) {
    return;
  }
  options_.every = every;
  if (every.count() == 0) {
    loop_.CancelTimer(std::exchange(poll_timer_, TimerId::kNone));
    list_.reset();
    uses_.clear();
    list_problem_.clear();
    Tell();
  } else {
    Refresh();
  }
}

void Watch::Impl::PollAfter(milliseconds pause) {
  loop_.CancelTimer(poll_timer_);
  poll_timer_ = TimerId::kNone;
  if (options_.every.count() != 0) {
    poll_timer_ = loop_.After(pause, [this] { Poll(); });
  }
}

void Watch::Impl::Refresh() {
  is_again_wanted_ = list_ != nullptr;
  if (!is_again_wanted_) {
    const auto since = std::chrono::duration_cast<milliseconds>(loop_.clock().Now() - polled_);
    PollAfter(
        std::clamp(std::min(kLeastPause, options_.every) - since, milliseconds(0), kLeastPause));
  }
}

void Watch::Impl::Poll() {
  poll_timer_ = TimerId::kNone;
  polled_ = loop_.clock().Now();
  is_again_wanted_ = false;
  list_ = AskKubelet(loop_, options_.pod_resources_socket, options_.deadline,
                     [this](auto uses) { OnList(std::move(uses)); });
}

void Watch::Impl::OnList(StatusOr<std::vector<DeviceUse>> uses) {
  list_.reset();
  const SteadyTime now = loop_.clock().Now();
  if (uses.ok()) {
    if (failures_ != 0) {
      KGPU_LOG(kInfo, "the kubelet tells again which pods have GPUs");
    }
    failures_ = 0;
    list_problem_.clear();
    listed_ = now;
    // A pod that is gone has taken its containers along.
    is_book_old_ = is_book_old_ || !std::ranges::includes(*uses, uses_);
    uses_ = *std::move(uses);
  } else {
    if (++failures_ == 1) {
      KGPU_LOG(kWarning, "the kubelet does not tell which pods have GPUs",
               {"reason", Message(uses.status())});
    }
    list_problem_ = Message(uses.status());
    if (now - listed_ > options_.every + options_.stale) {
      uses_.clear();
    }
  }
  PollAfter(NextPause());
  Tell();
}

// After a failure 1 s, 2 s, 4 s, … as far as the period: a kubelet that restarts is met soon.
milliseconds Watch::Impl::NextPause() const {
  if (is_again_wanted_ || failures_ == 0) {
    return is_again_wanted_ ? std::min(kLeastPause, options_.every) : options_.every;
  }
  constexpr unsigned kMostDoublings = 6;
  return std::min(options_.every, kLeastPause * (1U << std::min(failures_ - 1, kMostDoublings)));
}

void Watch::Impl::OnSample(const device::SampleSetPtr& samples) {
  processes_ = SeenProcesses(*samples, host_);
  Rejoin();
  ConsiderRuntime();
}

// Asks at once for what is new; what was asked for in vain waits for its turn.
void Watch::Impl::ConsiderRuntime() {
  const std::set<std::string> unknown = UnknownTo(Input());
  const bool is_new = is_book_old_ || !std::ranges::includes(asked_, unknown);
  if (question_ != nullptr || (runtime_timer_ != TimerId::kNone && !is_new)) {
    return;
  }
  if (unknown.empty() && uses_.empty() && !is_book_old_) {
    return;  // nobody has a GPU
  }
  is_book_old_ = false;
  runtime_pause_ = is_new ? kRuntimeFirst : std::min(runtime_pause_ * 2, kRuntimeLast);
  asked_ = unknown;
  loop_.CancelTimer(std::exchange(runtime_timer_, TimerId::kNone));
  AskRuntime(0);
}

void Watch::Impl::AskRuntime(size_t socket) {
  const bool is_there = socket < options_.runtime_sockets.size();
  question_ = cri::ListContainers(
      loop_, is_there ? options_.runtime_sockets[socket] : std::string(), options_.deadline,
      [this, socket](const auto& containers) { OnContainers(socket, containers); });
}

void Watch::Impl::OnContainers(size_t socket,
                               const StatusOr<std::vector<cri::ContainerFacts>>& containers) {
  question_.reset();
  if (!containers.ok() && socket + 1 < options_.runtime_sockets.size()) {
    AskRuntime(socket + 1);
    return;
  }
  runtime_problem_.clear();
  if (containers.ok()) {
    book_.Learn(*containers);
  } else if (const Status logs = book_.LearnFromLogs(host_); !logs.ok()) {
    runtime_problem_ = fmt::format("{}; {}", Message(containers.status()), Message(logs));
  }
  runtime_timer_ = loop_.After(runtime_pause_, [this] {
    runtime_timer_ = TimerId::kNone;
    ConsiderRuntime();
  });
  Tell();
}

// True when something has changed.
bool Watch::Impl::Rejoin() {
  PodMap map = Join(Input());
  map.problem = list_problem_.empty() ? runtime_problem_ : list_problem_;
  if (map == *current_) {
    return false;
  }
  current_ = std::make_shared<const PodMap>(std::move(map));
  return true;
}

void Watch::Impl::Tell() {
  const bool is_news = Rejoin();
  ConsiderRuntime();
  if (is_news) {
    changed_(current_);
  }
}

Watch::Watch(EventLoop& loop, const sys::Root& host, WatchOptions options,
             std::function<void(const PodMapPtr&)> changed)
    : impl_(std::make_unique<Impl>(loop, host, std::move(options), std::move(changed))) {
}

Watch::~Watch() = default;

void Watch::SetEvery(std::chrono::milliseconds every) {
  impl_->SetEvery(every);
}

void Watch::OnSample(const device::SampleSetPtr& samples) {
  impl_->OnSample(samples);
}

void Watch::Refresh() {
  impl_->Refresh();
}

const PodMapPtr& Watch::current() const {
  return impl_->current();
}

}  // namespace kgpu::pods
