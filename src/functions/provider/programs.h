// Runs other programs as children that the event loop watches: nothing blocks, and only a few run
// at a time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/child_run.h"
#include "src/platform/sys/run.h"

namespace kgpu::functions {

struct ProgramRequest {
  std::vector<std::string> argv{};
  std::chrono::milliseconds limit{120'000};
};

class Programs {
 public:
  // A program that fails is a result. Errors: NotFound, PermissionDenied, DeadlineExceeded (it was
  // killed).
  using Done = std::function<void(StatusOr<sys::RunResult>)>;

  virtual ~Programs() = default;
  // Calls `done` once, from the loop and never from within Start.
  virtual void Start(ProgramRequest request, Done done) = 0;
};

class ChildPrograms final : public Programs {
 public:
  // Destroyed, it kills what still runs. `environment`: of the programs. `loop` must outlive this.
  ChildPrograms(EventLoop& loop, std::vector<std::string> environment, size_t at_a_time);
  ChildPrograms(const ChildPrograms&) = delete;
  ChildPrograms& operator=(const ChildPrograms&) = delete;

  void Start(ProgramRequest request, Done done) override;

 private:
  struct Waiting {
    ProgramRequest request;
    Done done;
  };

  void StartNext();
  void OnEnd(uint64_t number, const Done& done, sys::ChildEnd end);

  EventLoop& loop_;
  const std::vector<std::string> environment_;
  const size_t at_a_time_;
  std::deque<Waiting> waiting_;
  std::map<uint64_t, std::unique_ptr<sys::ChildRun>> running_;
  uint64_t last_number_ = 0;
  Lifetime lifetime_;
};

}  // namespace kgpu::functions
