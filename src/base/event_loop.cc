#include "src/base/event_loop.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "src/base/mutex.h"
#include "src/base/unique_fd.h"

namespace kgpu {
namespace {

// Keys of the two descriptors of the loop itself; watches count from kFirstWatch.
constexpr uint64_t kWakeKey = 0;
constexpr uint64_t kTimerKey = 1;
constexpr uint64_t kFirstWatch = 2;

void Drain(int fd) {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(fd, &count, sizeof(count));
}

}  // namespace

struct EpollLoop::State {
  using TimerKey = std::pair<SteadyTime, uint64_t>;

  RealClock clock;
  UniqueFd epoll;
  UniqueFd wake;
  UniqueFd timer;

  // Ordered by due time, then by creation, so that equal times run in the order they were asked.
  std::map<TimerKey, Task> timers;
  std::unordered_map<uint64_t, SteadyTime> timer_due;
  uint64_t next_timer = 1;
  // Shared, so that a task that unwatches itself lives until it returns.
  std::unordered_map<uint64_t, std::pair<int, std::shared_ptr<Task>>> watches;
  uint64_t next_watch = kFirstWatch;

  Mutex mutex;
  std::vector<Task> posted ABSL_GUARDED_BY(mutex);
  std::atomic<bool> quit{false};
};

StatusOr<std::unique_ptr<EpollLoop>> EpollLoop::Create() {
  auto state = std::make_unique<State>();
  state->epoll.Reset(epoll_create1(EPOLL_CLOEXEC));
  state->wake.Reset(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  state->timer.Reset(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!state->epoll.is_valid() || !state->wake.is_valid() || !state->timer.is_valid()) {
    return ErrnoStatus(errno, "create the event loop's descriptors");
  }
  for (const auto& [fd, key] :
       {std::pair{state->wake.get(), kWakeKey}, std::pair{state->timer.get(), kTimerKey}}) {
    epoll_event event{.events = EPOLLIN, .data = {.u64 = key}};
    if (epoll_ctl(state->epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
      return ErrnoStatus(errno, "add to the event loop");
    }
  }
  return std::unique_ptr<EpollLoop>(new EpollLoop(std::move(state)));
}

EpollLoop::EpollLoop(std::unique_ptr<State> state) : state_(std::move(state)) {
}
EpollLoop::~EpollLoop() = default;

const Clock& EpollLoop::clock() const {
  return state_->clock;
}

void EpollLoop::Post(Task task) {
  {
    const MutexLock lock(state_->mutex);
    state_->posted.push_back(std::move(task));
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(state_->wake.get(), &one, sizeof(one));
}

TimerId EpollLoop::After(std::chrono::nanoseconds delay, Task task) {
  const uint64_t id = state_->next_timer++;
  const SteadyTime due = state_->clock.Now() + delay;
  state_->timers.emplace(std::pair{due, id}, std::move(task));
  state_->timer_due.emplace(id, due);
  if (state_->timers.begin()->first.second == id) {
    ArmTimer();
  }
  return TimerId{id};
}

void EpollLoop::CancelTimer(TimerId timer) {
  const auto found = state_->timer_due.find(static_cast<uint64_t>(timer));
  if (found == state_->timer_due.end()) {
    return;
  }
  // A timer left armed for a cancelled task only wakes the loop once in vain.
  state_->timers.erase({found->second, found->first});
  state_->timer_due.erase(found);
}

StatusOr<WatchId> EpollLoop::WatchReadable(int fd, Task task) {
  const uint64_t id = state_->next_watch++;
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.u64 = id}};
  if (epoll_ctl(state_->epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0) {
    return ErrnoStatus(errno, fmt::format("watch descriptor {}", fd));
  }
  state_->watches.emplace(id, std::pair{fd, std::make_shared<Task>(std::move(task))});
  return WatchId{id};
}

void EpollLoop::Unwatch(WatchId watch) {
  const auto found = state_->watches.find(static_cast<uint64_t>(watch));
  if (found == state_->watches.end()) {
    return;
  }
  // Fails when the descriptor was closed before: epoll has forgotten it then.
  (void)epoll_ctl(state_->epoll.get(), EPOLL_CTL_DEL, found->second.first, nullptr);
  state_->watches.erase(found);
}

void EpollLoop::Quit() {
  state_->quit.store(true);
  Post([] {});
}

void EpollLoop::ArmTimer() {
  itimerspec when{};
  if (!state_->timers.empty()) {
    const auto since_boot = state_->timers.begin()->first.first.time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_boot);
    when.it_value.tv_sec = seconds.count();
    when.it_value.tv_nsec = std::chrono::nanoseconds(since_boot - seconds).count();
    if (when.it_value.tv_sec <= 0 && when.it_value.tv_nsec <= 0) {
      when.it_value.tv_nsec = 1;  // zero would disarm the timer
    }
  }
  (void)timerfd_settime(state_->timer.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void EpollLoop::RunTimers() {
  Drain(state_->timer.get());
  const SteadyTime now = state_->clock.Now();
  while (!state_->timers.empty() && state_->timers.begin()->first.first <= now &&
         !state_->quit.load()) {
    auto node = state_->timers.extract(state_->timers.begin());
    state_->timer_due.erase(node.key().second);
    node.mapped()();
  }
  ArmTimer();
}

void EpollLoop::RunPosted() {
  Drain(state_->wake.get());
  std::vector<Task> tasks;
  {
    const MutexLock lock(state_->mutex);
    tasks.swap(state_->posted);
  }
  for (Task& task : tasks) {
    task();
  }
}

void EpollLoop::Run() {
  std::array<epoll_event, 32> events{};
  while (!state_->quit.load()) {
    const int count = epoll_wait(state_->epoll.get(), events.data(), events.size(), -1);
    for (int i = 0; i < count && !state_->quit.load(); ++i) {
      const uint64_t key = events.at(i).data.u64;
      if (key == kWakeKey) {
        RunPosted();
      } else if (key == kTimerKey) {
        RunTimers();
      } else if (const auto found = state_->watches.find(key); found != state_->watches.end()) {
        const std::shared_ptr<Task> task = found->second.second;
        (*task)();
      }
    }
  }
  state_->quit.store(false);
}

}  // namespace kgpu
