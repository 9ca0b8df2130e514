#include "src/platform/base/event_loop.h"

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

#include "src/platform/base/mutex.h"
#include "src/platform/base/unique_fd.h"

namespace kgpu {
namespace {

// Keys of the two descriptors of the loop itself; watched ones count from kFirstKey.
constexpr uint64_t kWakeKey = 0;
constexpr uint64_t kTimerKey = 1;
constexpr uint64_t kFirstKey = 2;

// An error, or the end of the connection, is an event for either kind of watch.
constexpr uint32_t kReadEvents = EPOLLIN | EPOLLRDHUP;
constexpr uint32_t kWriteEvents = EPOLLOUT;
constexpr uint32_t kAnyEvents = EPOLLERR | EPOLLHUP;

void Drain(int fd) {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(fd, &count, sizeof(count));
}

}  // namespace

struct EpollLoop::State {
  using TimerKey = std::pair<SteadyTime, uint64_t>;

  // Shared, so that a task that unwatches itself lives until it returns.
  struct Watch {
    uint64_t id = 0;
    std::shared_ptr<Task> task;
  };
  // epoll knows a descriptor once, for both kinds of watches.
  struct Descriptor {
    int fd = -1;
    Watch read;
    Watch write;
    uint32_t events() const {
      return (read.task ? kReadEvents : 0U) | (write.task ? kWriteEvents : 0U);
    }
  };

  StatusOr<WatchId> Add(int fd, Watch Descriptor::* kind, Task task);
  // Tells epoll what `key` waits for.
  int Control(int operation, uint64_t key) const;

  RealClock clock;
  UniqueFd epoll;
  UniqueFd wake;
  UniqueFd timer;

  // Ordered by due time, then by creation, so that equal times run in the order they were asked.
  std::map<TimerKey, Task> timers;
  std::unordered_map<uint64_t, SteadyTime> timer_due;
  uint64_t next_timer = 1;
  // By keys that are never used again: an event that was fetched for a descriptor that is gone by
  // now finds nothing.
  std::unordered_map<uint64_t, Descriptor> descriptors;
  std::unordered_map<int, uint64_t> key_of_fd;
  std::unordered_map<uint64_t, uint64_t> key_of_watch;
  uint64_t next_key = kFirstKey;
  uint64_t next_watch = 1;

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

int EpollLoop::State::Control(int operation, uint64_t key) const {
  const Descriptor& descriptor = descriptors.at(key);
  epoll_event event{.events = descriptor.events(), .data = {.u64 = key}};
  return epoll_ctl(epoll.get(), operation, descriptor.fd, &event);
}

StatusOr<WatchId> EpollLoop::State::Add(int fd, Watch Descriptor::* kind, Task task) {
  Watch watch{.id = next_watch++, .task = std::make_shared<Task>(std::move(task))};
  const auto known = key_of_fd.find(fd);
  if (known != key_of_fd.end() && !(descriptors.at(known->second).*kind).task) {
    Descriptor& descriptor = descriptors.at(known->second);
    descriptor.*kind = watch;
    if (Control(EPOLL_CTL_MOD, known->second) == 0) {
      key_of_watch.emplace(watch.id, known->second);
      return WatchId{watch.id};
    }
    descriptor.*kind = {};
    // ENOENT: the descriptor was closed while it was watched, and this is another one.
    if (errno != ENOENT) {
      return ErrnoStatus(errno, fmt::format("watch descriptor {}", fd));
    }
  }
  const uint64_t key = next_key++;
  Descriptor& descriptor = descriptors[key];
  descriptor.fd = fd;
  descriptor.*kind = watch;
  if (Control(EPOLL_CTL_ADD, key) != 0) {
    const int error = errno;
    descriptors.erase(key);
    return ErrnoStatus(error, fmt::format("watch descriptor {}", fd));
  }
  key_of_fd[fd] = key;
  key_of_watch.emplace(watch.id, key);
  return WatchId{watch.id};
}

StatusOr<WatchId> EpollLoop::WatchReadable(int fd, Task task) {
  return state_->Add(fd, &State::Descriptor::read, std::move(task));
}

StatusOr<WatchId> EpollLoop::WatchWritable(int fd, Task task) {
  return state_->Add(fd, &State::Descriptor::write, std::move(task));
}

void EpollLoop::Unwatch(WatchId watch) {
  const auto found = state_->key_of_watch.find(static_cast<uint64_t>(watch));
  if (found == state_->key_of_watch.end()) {
    return;
  }
  const uint64_t key = found->second;
  state_->key_of_watch.erase(found);
  State::Descriptor& descriptor = state_->descriptors.at(key);
  State::Watch& gone =
      descriptor.read.id == static_cast<uint64_t>(watch) ? descriptor.read : descriptor.write;
  gone = {};
  const auto owner = state_->key_of_fd.find(descriptor.fd);
  const bool is_owner = owner != state_->key_of_fd.end() && owner->second == key;
  const bool is_last = descriptor.events() == 0;
  if (is_owner) {
    // Fails when the descriptor was closed before: epoll has forgotten it then.
    (void)state_->Control(is_last ? EPOLL_CTL_DEL : EPOLL_CTL_MOD, key);
  }
  if (is_last) {
    if (is_owner) {
      state_->key_of_fd.erase(owner);
    }
    state_->descriptors.erase(key);
  }
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
  // Those that the tasks make wait for the next pass, even when they are due: a timer that arms
  // itself for now, or for the past, must not keep watches and posted tasks from their turn.
  const uint64_t first_new = state_->next_timer;
  auto timer = state_->timers.begin();
  while (timer != state_->timers.end() && timer->first.first <= now && !state_->quit.load()) {
    if (timer->first.second >= first_new) {
      ++timer;
      continue;
    }
    auto node = state_->timers.extract(timer);
    state_->timer_due.erase(node.key().second);
    node.mapped()();
    // Timers that are now before this one are new.
    timer = state_->timers.upper_bound(node.key());
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

void EpollLoop::RunWatches(uint64_t descriptor, uint32_t events) {
  using Kind = State::Watch State::Descriptor::*;
  for (const auto& [kind, wanted] :
       {std::pair<Kind, uint32_t>{&State::Descriptor::read, kReadEvents},
        {&State::Descriptor::write, kWriteEvents}}) {
    // The first task may have removed the second, or both, or ended the loop.
    const auto found = state_->descriptors.find(descriptor);
    if (found == state_->descriptors.end() || state_->quit.load()) {
      return;
    }
    const std::shared_ptr<Task> task = (found->second.*kind).task;
    if (task && (events & (wanted | kAnyEvents)) != 0) {
      (*task)();
    }
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
      } else {
        RunWatches(key, events.at(i).events);
      }
    }
  }
  state_->quit.store(false);
}

}  // namespace kgpu
