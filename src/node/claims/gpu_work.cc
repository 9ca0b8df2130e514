#include "src/node/claims/gpu_work.h"

#include <chrono>
#include <utility>

#include "src/node/layouts/helper_run.h"

namespace kgpu::claims {
namespace {

// The driver takes some seconds where it has to start; the kubelet asks again after 45.
constexpr std::chrono::seconds kHelperTime{60};
// The driver's files of a new device are looked for beside the loop.
constexpr std::chrono::seconds kDeviceTime{10};
// Other claims wait meanwhile; the kubelet asks again.
constexpr std::chrono::seconds kMpsTime{5};
constexpr std::chrono::milliseconds kLookAgain{20};

Status StatusOf(const StatusOr<mig::HelperReply>& reply) {
  if (!reply.ok()) {
    return reply.status();
  }
  if (reply->outcome == mig::Outcome::kDone) {
    return OkStatus();
  }
  return reply->outcome == mig::Outcome::kBusy ? Unavailable("{}", reply->reason)
                                               : FailedPrecondition("{}", reply->reason);
}

}  // namespace

GpuWork::GpuWork(EventLoop& loop, GpuWorkOptions options, GpuWorkHooks hooks)
    : loop_(loop), options_(std::move(options)), hooks_(std::move(hooks)), child_(loop) {
}

void GpuWork::Run(const GpuTask& task, GpuDone done) {
  done_ = std::move(done);
  until_ = loop_.clock().Now() + kMpsTime;
  if (task.awaits_mps) {
    return timer_.Arm({}, [this, uuid = task.gpu] { AwaitMps(uuid); });
  }
  if (!task.without_mps.empty()) {
    return timer_.Arm({}, [this, task] { AwaitNoMps(task); });
  }
  Start(task);
}

void GpuWork::Start(const GpuTask& task) {
  if (options_.program.empty() || child_.is_running()) {
    loop_.Post(lifetime_.Bind([this] {
      End(options_.program.empty()
              ? FailedPrecondition("this agent cannot change MIG: install kgpu as a whole")
              : Unavailable("an earlier change of MIG still runs"));
    }));
    return;
  }
  // The driver changes the mode only of a GPU that no program has open.
  const bool changes_mode = task.step == mig::Step::kEmpty ||
                            (task.step == mig::Step::kMake && !hooks_.is_in_mig_mode(task.gpu));
  if (!changes_mode) {
    return Ask(task);
  }
  is_closed_ = true;
  hooks_.close(lifetime_.Bind([this, task] { Ask(task); }));
}

void GpuWork::Ask(const GpuTask& task) {
  layouts::AskHelper(
      child_, options_.program,
      {.step = task.step,
       .place = task.place,
       .time_slice = static_cast<unsigned>(task.time_slice),
       .gpus = {task.gpu},
       .host = options_.host},
      kHelperTime, [this, task](const StatusOr<mig::HelperReply>& reply) { OnReply(task, reply); });
}

void GpuWork::OnReply(const GpuTask& task, const StatusOr<mig::HelperReply>& reply) {
  if (std::exchange(is_closed_, false)) {
    hooks_.open();
  }
  const Status status = StatusOf(reply);
  const mig::MadeDevice made =
      status.ok() ? reply->made.value_or(mig::MadeDevice()) : mig::MadeDevice();
  hooks_.read(lifetime_.Bind([this, task, status, made] {
    if (!status.ok()) {
      return End(status);
    }
    until_ = loop_.clock().Now() + kDeviceTime;
    AwaitDevice(task.step == mig::Step::kEmpty ? task.gpu : made.uuid, made);
  }));
}

// An empty `uuid`: whatever the devices are.
void GpuWork::AwaitDevice(const std::string& uuid, const mig::MadeDevice& made) {
  if (hooks_.is_known(uuid)) {
    return End(made);
  }
  if (loop_.clock().Now() >= until_) {
    return End(Unavailable(
        "the device nodes of {} were not found: run `kgpu cdi generate --dry-run`", uuid));
  }
  timer_.Arm(kLookAgain, [this, uuid, made] { AwaitDevice(uuid, made); });
}

void GpuWork::AwaitMps(const std::string& uuid) {
  const device::Health health = hooks_.mps(uuid);
  if (health.is_healthy) {
    return End(mig::MadeDevice());
  }
  if (loop_.clock().Now() >= until_) {
    return End(Unavailable("{}: {}", uuid, health.message));
  }
  timer_.Arm(kLookAgain, [this, uuid] { AwaitMps(uuid); });
}

// A server of MPS would hold the device that is to be removed.
void GpuWork::AwaitNoMps(const GpuTask& task) {
  if (hooks_.end_mps(task.without_mps)) {
    return Start(task);
  }
  if (loop_.clock().Now() >= until_) {
    return End(Unavailable("{}: its MPS daemon still runs", task.without_mps));
  }
  timer_.Arm(kLookAgain, [this, task] { AwaitNoMps(task); });
}

void GpuWork::End(StatusOr<mig::MadeDevice> made) {
  std::exchange(done_, nullptr)(std::move(made));
}

}  // namespace kgpu::claims
