#include "src/node/pods/watch.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "src/container/cri/containers.h"
#include "src/node/pods/claims.h"
#include "src/node/pods/container_index.h"
#include "src/node/pods/join.h"
#include "src/node/pods/kubelet_list.h"
#include "src/platform/base/log.h"
#include "src/platform/base/timer.h"

namespace kgpu::pods {
namespace {

using std::chrono::milliseconds;

// Between two questions to the kubelet, which has 100 a second for all of its clients.
constexpr milliseconds kLeastPause{1'000};
// The runtime is asked again about what it did not know, at growing intervals, and from time to
// time in any case: another pod of the same name may follow a pod.
constexpr milliseconds kRuntimeFirst{2'000};
constexpr milliseconds kRuntimeLast{60'000};

// Of the file `path`. True if that cannot be found out.
bool HasFolder(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(std::filesystem::path(path).parent_path(), error) || error;
}

}  // namespace

class Watch::Impl {
 public:
  Impl(EventLoop& loop, const sys::Root& host, WatchOptions options, Background background,
       std::function<void(const PodMapPtr&)> changed)
      : loop_(loop),
        host_(host),
        options_(std::move(options)),
        background_(std::move(background)),
        changed_(std::move(changed)) {
    PodMap unknown;
    unknown.problem = options_.every.count() == 0 ? "" : "the kubelet has not answered yet";
    current_ = std::make_shared<const PodMap>(std::move(unknown));
    PollAfter(milliseconds(0));
  }
  ~Impl() {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void SetEvery(milliseconds every);
  void OnSample(const device::SampleSetPtr& samples, std::function<void()> looked);
  void SetSnapshot(const device::SnapshotPtr& snapshot);
  void Refresh();
  const PodMapPtr& current() const { return current_; }
  const ListState& list_state() const { return list_state_; }

 private:
  void PollAfter(milliseconds pause);
  void Poll();
  void OnList(StatusOr<std::vector<DeviceUse>> uses);
  void TakeUses(std::vector<DeviceUse> uses);
  milliseconds NextPause() const;
  void ConsiderRuntime();
  void AskRuntime(size_t socket);
  void OnContainers(size_t socket, const StatusOr<std::vector<cri::ContainerFacts>>& containers);
  template <typename Result>
  bool DoAside(std::function<StatusOr<Result>()> work, void (Impl::*done)(StatusOr<Result>));
  void LookUp();
  void EndLook();
  void OnPlaces(StatusOr<std::vector<SeenProcess>> found);
  void ReadLogs();
  void OnLogs(StatusOr<LoggedPods> logs);
  bool Rejoin();
  void Notify();
  JoinInput Input() const { return {.uses = uses_, .index = index_, .processes = processes_}; }

  EventLoop& loop_;
  const sys::Root& host_;
  WatchOptions options_;
  Background background_;
  std::function<void(const PodMapPtr&)> changed_;
  PodMapPtr current_;

  device::SnapshotPtr snapshot_;
  std::vector<DeviceUse> claims_;  // as the kubelet lists them
  std::vector<DeviceUse> uses_;    // of devices that are known
  SteadyTime listed_{};
  ListState list_state_;
  std::string list_problem_ = "the kubelet has not answered yet";
  unsigned failures_ = 0;
  SteadyTime polled_{};
  bool is_again_wanted_ = false;
  std::unique_ptr<ListCall> list_;
  Timer poll_timer_{loop_};

  std::vector<SeenProcess> seen_;       // of the newest round
  std::vector<SeenProcess> processes_;  // those of them whose places are known, as of the last look
  bool is_looking_ = false;
  std::function<void()> looked_;  // who waits for that
  std::string look_problem_;
  bool is_reading_logs_ = false;
  ContainerIndex index_;
  bool is_index_old_ = false;
  Status refusal_;  // the runtime's last
  std::string runtime_problem_;
  std::set<std::string> asked_;  // what the last question was for
  milliseconds runtime_pause_ = kRuntimeFirst;
  std::unique_ptr<cri::Question> question_;
  Timer runtime_timer_{loop_};
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // answers from aside may come late
};

// `done` is called on the loop, once, if it is taken. `work` must not touch what is the loop's.
template <typename Result>
bool Watch::Impl::DoAside(std::function<StatusOr<Result>()> work,
                          void (Impl::*done)(StatusOr<Result>)) {
  const auto notify = [this, done, alive = std::weak_ptr<int>(alive_)](StatusOr<Result> result) {
    if (!alive.expired()) {
      (this->*done)(std::move(result));
    }
  };
  return background_(
      [work = std::move(work), notify]() -> std::function<void()> {
        auto result = std::make_shared<StatusOr<Result>>(work());
        return [notify, result] { notify(std::move(*result)); };
      },
      notify);
}

void Watch::Impl::SetEvery(milliseconds every) {
  if (every == options_.every) {
    return;
  }
  options_.every = every;
  if (every.count() == 0) {
    poll_timer_.Cancel();
    list_.reset();
    claims_.clear();
    uses_.clear();
    list_state_ = {};
    list_problem_.clear();
    Notify();
  } else {
    Refresh();
  }
}

void Watch::Impl::PollAfter(milliseconds pause) {
  poll_timer_.Cancel();
  if (options_.every.count() != 0) {
    poll_timer_.Arm(pause, [this] { Poll(); });
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
      KGPU_LOG(kInfo, "pod list available again");
    }
    failures_ = 0;
    list_problem_.clear();
    listed_ = now;
    list_state_ = {.asked = polled_, .has_no_kubelet = false};
    claims_.clear();
    std::ranges::copy_if(*uses, std::back_inserter(claims_), &DeviceUse::is_claimed);
    TakeUses(*std::move(uses));
  } else {
    if (++failures_ == 1) {
      KGPU_LOG(kWarning, "pod list not available", {"reason", Message(uses.status())});
    }
    list_problem_ = Message(uses.status());
    list_state_.has_no_kubelet = !list_state_.asked && !HasFolder(options_.pod_resources_socket);
    if (now - listed_ > options_.every + options_.stale) {
      claims_.clear();
      uses_.clear();
      list_state_.asked.reset();
    }
  }
  PollAfter(NextPause());
  Notify();
}

void Watch::Impl::TakeUses(std::vector<DeviceUse> uses) {
  const device::Snapshot none;
  uses = WithClaims(std::move(uses), snapshot_ ? *snapshot_ : none, options_.claim_ids);
  // A pod that is gone has taken its containers along.
  is_index_old_ = is_index_old_ || !std::ranges::includes(uses, uses_);
  uses_ = std::move(uses);
}

void Watch::Impl::SetSnapshot(const device::SnapshotPtr& snapshot) {
  snapshot_ = snapshot;
  if (claims_.empty()) {
    return;
  }
  std::vector<DeviceUse> uses = claims_;
  std::ranges::copy_if(uses_, std::back_inserter(uses),
                       [](const DeviceUse& use) { return !use.is_claimed(); });
  TakeUses(std::move(uses));
  Notify();
}

// After a failure 1 s, 2 s, 4 s, … as far as the period: a kubelet that restarts is met soon.
milliseconds Watch::Impl::NextPause() const {
  if (is_again_wanted_ || failures_ == 0) {
    return is_again_wanted_ ? std::min(kLeastPause, options_.every) : options_.every;
  }
  constexpr unsigned kMostDoublings = 6;
  return std::min(options_.every, kLeastPause * (1U << std::min(failures_ - 1, kMostDoublings)));
}

void Watch::Impl::OnSample(const device::SampleSetPtr& samples, std::function<void()> looked) {
  if (is_looking_) {
    look_problem_ = "processes were not listed for one round: the disk or /proc does not respond";
  }
  EndLook();
  looked_ = std::move(looked);
  seen_ = ListedProcesses(*samples);
  std::map<uint32_t, SeenProcess*> known;
  for (SeenProcess& process : processes_) {
    known.emplace(process.pid, &process);
  }
  std::vector<SeenProcess> kept;
  for (const SeenProcess& process : seen_) {
    if (const auto before = known.find(process.pid); before != known.end()) {
      kept.push_back({process.pid, process.devices, std::move(before->second->places)});
    }
  }
  processes_ = std::move(kept);
  Rejoin();
  LookUp();
  ConsiderRuntime();
}

void Watch::Impl::LookUp() {
  if (is_looking_) {
    return;
  }
  if (seen_.empty()) {
    look_problem_.clear();
    Rejoin();
    return EndLook();
  }
  is_looking_ = true;
  const bool is_taken = DoAside<std::vector<SeenProcess>>(
      [listed = seen_, &host = host_] { return WithPlaces(listed, host); }, &Impl::OnPlaces);
  if (!is_taken) {
    OnPlaces(ResourceExhausted("the disk is too slow"));
  }
}

void Watch::Impl::EndLook() {
  if (const auto looked = std::exchange(looked_, nullptr)) {
    looked();
  }
}

// The list may have changed meanwhile.
void Watch::Impl::OnPlaces(StatusOr<std::vector<SeenProcess>> found) {
  is_looking_ = false;
  if (!found.ok()) {
    look_problem_ = fmt::format("processes cannot be listed: {}", Message(found.status()));
    Notify();
    return EndLook();  // the next round looks again
  }
  look_problem_.clear();
  std::map<uint32_t, SeenProcess*> places;
  for (SeenProcess& process : *found) {
    places.emplace(process.pid, &process);
  }
  processes_.clear();
  for (const SeenProcess& process : seen_) {
    if (const auto place = places.find(process.pid); place != places.end()) {
      processes_.push_back({process.pid, process.devices, std::move(place->second->places)});
    }
  }
  Notify();
  if (processes_.size() < seen_.size()) {
    LookUp();
  } else {
    EndLook();
  }
}

// Asks at once for what is new; what was asked for in vain waits for its turn.
void Watch::Impl::ConsiderRuntime() {
  const std::set<std::string> unknown = UnknownTo(Input());
  const bool is_new = is_index_old_ || !std::ranges::includes(asked_, unknown);
  if (question_ != nullptr || (runtime_timer_.is_armed() && !is_new)) {
    return;
  }
  if (unknown.empty() && uses_.empty() && !is_index_old_) {
    return;  // nobody has a GPU
  }
  is_index_old_ = false;
  runtime_pause_ = is_new ? kRuntimeFirst : std::min(runtime_pause_ * 2, kRuntimeLast);
  asked_ = unknown;
  runtime_timer_.Cancel();
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
  runtime_timer_.Arm(runtime_pause_, [this] { ConsiderRuntime(); });
  refusal_ = containers.status();
  if (containers.ok()) {
    runtime_problem_.clear();
    index_.Learn(*containers);
  } else {
    ReadLogs();
  }
  Notify();
}

// A disk that hangs is a usual reason why the runtime does not answer.
void Watch::Impl::ReadLogs() {
  if (is_reading_logs_) {
    runtime_problem_ = fmt::format("{}; the log folders have not been read yet", Message(refusal_));
    return;
  }
  is_reading_logs_ = true;
  const bool is_taken =
      DoAside<LoggedPods>([&host = host_] { return ReadLoggedPods(host); }, &Impl::OnLogs);
  if (!is_taken) {
    OnLogs(ResourceExhausted("the disk is too slow"));
  }
}

void Watch::Impl::OnLogs(StatusOr<LoggedPods> logs) {
  is_reading_logs_ = false;
  if (refusal_.ok()) {
    return;  // the runtime has answered meanwhile
  }
  runtime_problem_.clear();
  if (logs.ok()) {
    index_.LearnLogs(*std::move(logs));
  } else {
    runtime_problem_ = fmt::format("{}; {}", Message(refusal_), Message(logs.status()));
  }
  Notify();
}

// True when something has changed.
bool Watch::Impl::Rejoin() {
  PodMap map = Join(Input());
  for (const std::string& problem : {list_problem_, runtime_problem_, look_problem_}) {
    if (map.problem.empty()) {
      map.problem = problem;
    }
  }
  if (map == *current_) {
    return false;
  }
  current_ = std::make_shared<const PodMap>(std::move(map));
  return true;
}

void Watch::Impl::Notify() {
  const bool is_event = Rejoin();
  ConsiderRuntime();
  if (is_event) {
    changed_(current_);
  }
}

Watch::Watch(EventLoop& loop, const sys::Root& host, WatchOptions options, Background background,
             std::function<void(const PodMapPtr&)> changed)
    : impl_(std::make_unique<Impl>(loop, host, std::move(options), std::move(background),
                                   std::move(changed))) {
}

Watch::~Watch() = default;

void Watch::SetEvery(std::chrono::milliseconds every) {
  impl_->SetEvery(every);
}

void Watch::OnSample(const device::SampleSetPtr& samples, std::function<void()> looked) {
  impl_->OnSample(samples, std::move(looked));
}

void Watch::SetSnapshot(const device::SnapshotPtr& snapshot) {
  impl_->SetSnapshot(snapshot);
}

void Watch::Refresh() {
  impl_->Refresh();
}

ListState Watch::list_state() const {
  return impl_->list_state();
}

const PodMapPtr& Watch::current() const {
  return impl_->current();
}

}  // namespace kgpu::pods
