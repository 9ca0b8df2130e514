#include "src/gpu/probe/stderr_relay.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"

namespace kgpu::probe {
namespace {

// Reads of one turn, so that a flood does not starve the loop. Everything is read in the end: a
// full pipe would block the library.
constexpr int kReadsPerTurn = 16;
// A program that never stops printing does not keep us from ending.
constexpr int kReadsAtEnd = 64;

}  // namespace

StderrRelay::StderrRelay(EventLoop& loop, UniqueFd pipe, const OutputLimits& limits)
    : loop_(loop),
      pipe_(std::move(pipe)),
      limits_(limits),
      limit_(limits, [](std::string_view line) {
        KGPU_LOG(kWarning, "driver library wrote to stderr", {"line", line});
      }) {
}

StderrRelay::~StderrRelay() {
  loop_.Unwatch(watch_);
  for (int i = 0; i < kReadsAtEnd && ReadSome(); ++i) {
  }
  limit_.Finish(loop_.clock().Now());
  ReportDropped();
}

Status StderrRelay::Watch() {
  ASSIGN_OR_RETURN(watch_, loop_.WatchReadable(pipe_.get(), [this] { OnReadable(); }));
  return OkStatus();
}

bool StderrRelay::ReadSome() {
  std::array<char, 4096> buffer{};
  const ssize_t size = read(pipe_.get(), buffer.data(), buffer.size());
  if (size > 0) {
    limit_.Add({buffer.data(), static_cast<size_t>(size)}, loop_.clock().Now());
    return true;
  }
  if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
    loop_.Unwatch(std::exchange(watch_, WatchId::kNone));
  }
  return false;
}

void StderrRelay::OnReadable() {
  for (int i = 0; i < kReadsPerTurn && ReadSome(); ++i) {
  }
  if (limit_.has_dropped() && !report_timer_.is_armed()) {
    report_timer_.Arm(limits_.period, [this] { ReportDropped(); });
  }
}

void StderrRelay::ReportDropped() {
  if (const uint64_t lines = limit_.TakeDropped(); lines > 0) {
    KGPU_LOG(kWarning, "driver library output dropped", {"lines", lines});
  }
}

}  // namespace kgpu::probe
