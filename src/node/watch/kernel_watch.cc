#include "src/node/watch/kernel_watch.h"

#include <fmt/format.h>

#include <boost/json/value.hpp>
#include <utility>
#include <vector>

#include "src/host/inspect/installed_kernels.h"
#include "src/node/telemetry/own_series.h"
#include "src/platform/base/log.h"
#include "src/platform/base/strings.h"

namespace kgpu::watch {
namespace {

constexpr std::chrono::minutes kEvery{5};

// Changes when a kernel comes or goes, and when depmod has run for it.
std::string MarksOf(const sys::Root& host) {
  std::string marks;
  for (const std::string& name : host.ListDir("lib/modules").value_or(std::vector<std::string>())) {
    const auto status = host.Stat(fmt::format("lib/modules/{}/modules.dep", name));
    marks += status.ok()
                 ? fmt::format("{} {}.{}\n", name, status->st_mtim.tv_sec, status->st_mtim.tv_nsec)
                 : fmt::format("{}\n", name);
  }
  return marks;
}

std::string ProblemOf(const sys::Root& host) {
  const std::string running = host::RunningKernel(host);
  const std::vector<host::InstalledKernel> kernels = host::ReadInstalledKernels(host);
  const host::InstalledKernel* next = host::NextWithoutDriver(kernels, running);
  if (next == nullptr) {
    return "";
  }
  return fmt::format(
      "kernel {} is installed, newer than the running {}, and has no NVIDIA module: the next boot "
      "loses the driver: run kgpu doctor",
      next->release, running);
}

}  // namespace

struct KernelWatch::Seen {
  std::string marks;
  std::string problem;
  bool is_new = false;  // the marks are others than before
};

KernelWatch::KernelWatch(EventLoop& loop, const sys::Root& host, Post post)
    : loop_(loop), host_(host), post_(std::move(post)) {
  Look();
}

void KernelWatch::Look() {
  timer_.Arm(kEvery, [this] { Look(); });
  const std::function<void(const Seen&)> take =
      lifetime_.Bind([this](const Seen& seen) { Take(seen); });
  // A disk that is behind is asked again next time.
  (void)post_(
      [take, &host = host_, marks = marks_]() -> sys::DiskWorker::Done {
        Seen seen{.marks = MarksOf(host), .problem = "", .is_new = false};
        seen.is_new = seen.marks != marks;
        if (seen.is_new) {
          seen.problem = ProblemOf(host);
        }
        return [take, seen = std::move(seen)] { take(seen); };
      },
      [](const Status&) {});
}

void KernelWatch::Take(const Seen& seen) {
  if (!seen.is_new) {
    return;
  }
  marks_ = seen.marks;
  if (seen.problem == problem_) {
    return;
  }
  problem_ = seen.problem;
  if (!problem_.empty()) {
    KGPU_LOG(kWarning, "driver missing for the next kernel", {"reason", problem_});
  }
}

void KernelWatch::ShowStatus(const node::NodeState& /*state*/, node::StatusPage& page) const {
  page.AddLine("kernel", problem_);
  page.fields["kernelProblem"] = problem_;
}

void KernelWatch::WriteSeries(const node::NodeState& /*state*/, metrics::Exposition& page) const {
  telemetry::Write(telemetry::Own("kgpu_next_kernel_ok"), problem_.empty() ? 1 : 0, page);
}

}  // namespace kgpu::watch
