#include "src/functions/provider/programs.h"

#include <utility>

namespace kgpu::functions {
namespace {

constexpr size_t kOutputLimit = size_t{4} << 20;

}  // namespace

ChildPrograms::ChildPrograms(EventLoop& loop, std::vector<std::string> environment,
                             size_t at_a_time)
    : loop_(loop), environment_(std::move(environment)), at_a_time_(at_a_time) {
}

void ChildPrograms::Start(ProgramRequest request, Done done) {
  waiting_.push_back({std::move(request), std::move(done)});
  loop_.Post(lifetime_.Bind([this] { StartNext(); }));
}

void ChildPrograms::StartNext() {
  while (running_.size() < at_a_time_ && !waiting_.empty()) {
    Waiting next = std::move(waiting_.front());
    waiting_.pop_front();
    const uint64_t number = ++last_number_;
    // A program may leave a process behind that outlives it: the monitor of a container.
    auto run = sys::ChildRun::Start(loop_,
                                    {.argv = std::move(next.request.argv),
                                     .environment = environment_,
                                     .deadline = next.request.limit,
                                     .output_limit = kOutputLimit,
                                     .kills = sys::KillScope::kGroup},
                                    [this, number, done = next.done](sys::ChildEnd end) {
                                      OnEnd(number, done, std::move(end));
                                    });
    if (!run.ok()) {
      next.done(run.status());
      continue;
    }
    running_.emplace(number, *std::move(run));
  }
}

void ChildPrograms::OnEnd(uint64_t number, const Done& done, sys::ChildEnd end) {
  running_.erase(number);
  auto start_next = lifetime_.Bind([this] { StartNext(); });
  done(end.status.ok() ? StatusOr<sys::RunResult>(std::move(end.result)) : end.status);
  start_next();
}

}  // namespace kgpu::functions
