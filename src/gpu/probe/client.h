// The parent's end of kgpu-probe: keeps one probe running, starts it again when it ends, and turns
// requests into typed answers. Picture and states: docs/how-it-works/probe.md.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/nvml/abi.h"
#include "src/gpu/probe/report.h"
#include "src/gpu/probe/session.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/status.h"

namespace kgpu::probe {

struct ClientOptions {
  std::string program;                   // the kgpu-probe program
  std::vector<std::string> environment;  // all of the probe's environment
  std::chrono::milliseconds call_deadline{2000};
  std::chrono::milliseconds start_deadline{30000};
  std::chrono::milliseconds kill_grace{1000};
  std::chrono::milliseconds first_backoff{100};
  std::chrono::milliseconds last_backoff{30000};
  std::chrono::milliseconds stable_after{10000};  // up that long: the back-off starts again
};

// Why there are no answers.
enum class DownCause {
  kNoLibrary,     // no libnvidia-ml.so.1 was found
  kNotStarted,    // kgpu-probe could not be started
  kLoadFailed,    // the library could not be loaded
  kInitFailed,    // nvmlInit answered `result`
  kUnresponsive,  // a call outlived its deadline
  kCrashed,       // the probe ended or sent nonsense
};

struct Down {
  DownCause cause = DownCause::kCrashed;
  nvml::Return result = nvml::kSuccess;  // of kInitFailed
  std::string text{};                    // for people
  bool was_up = false;                   // answers came before
};

// What the driver said to a request: `result`, and the value when it was success.
template <typename T>
struct Answer {
  nvml::Return result = nvml::kSuccess;
  StatusOr<T> value;
};
template <typename T>
using AnswerTask = std::function<void(const Answer<T>&)>;

// Lives on the loop's thread. Tasks of requests are dropped without a call when the probe goes down
// first: on_down tells that once for all of them.
class Client {
 public:
  struct Listener {
    std::function<void()> on_up;               // the driver is initialised, requests may be made
    std::function<void(const Down&)> on_down;  // after on_up, or instead of it, at each attempt
    std::function<void(const Event&)> on_event;
    std::function<void()> on_abandoned;  // after on_down: the probe outlived SIGKILL
  };
  // The NVML file to load, looked for before each start.
  using FindLibrary = std::function<StatusOr<std::string>()>;

  // `loop` outlives the client.
  Client(EventLoop& loop, ClientOptions options, FindLibrary find_library, Listener listener);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Starts the first probe on the loop's next turn. The client tries again for ever.
  void Start();
  // A new probe at once, without on_down: the host has changed under the old one.
  void Restart();
  // Ends the probe and tells on_down `down`: its answers are of no use. Tried again with back-off.
  void GiveUp(Down down);
  // Ends a pause between two attempts: something has changed that may help.
  void RetryNow();

  bool is_up() const { return is_up_; }
  // The probe outlived SIGKILL and no other is started until it is gone.
  bool is_abandoned() const;
  // 0 when none is there.
  pid_t probe_pid() const;
  const std::string& library() const { return library_; }

  void ReadDriver(AnswerTask<DriverReport> done);
  void ReadGpu(unsigned gpu, AnswerTask<GpuReport> done);
  void ReadMigDevice(unsigned gpu, unsigned index, AnswerTask<MigReport> done);
  void ReadNvLinks(unsigned gpu, AnswerTask<NvLinkReport> done);
  void ReadTopology(unsigned gpu, AnswerTask<TopologyReport> done);
  // Registers for the events of a GPU; the value is the mask of registered types.
  void WatchEvents(unsigned gpu, AnswerTask<uint64_t> done);
  // What is measured (decode_sample.h). SampleGpu is the first of a GPU in each round.
  void SampleGpu(unsigned gpu, AnswerTask<SampleReport> done);
  void SampleNvLinks(unsigned gpu, AnswerTask<std::vector<device::NvLinkSample>> done);
  // A page of the list that asking for page 0 made.
  void SampleProcesses(unsigned gpu, unsigned page, AnswerTask<ProcessPage> done);
  void SampleMigDevice(unsigned gpu, unsigned index, AnswerTask<device::MigSample> done);
  // After the GPUs are registered: events begin to come.
  void StartEvents();

 private:
  template <typename T>
  void Ask(Op op, unsigned gpu, unsigned index, StatusOr<T> (*decode)(std::span<const std::byte>),
           AnswerTask<T> done);
  void StartSession();
  // Starts a probe, or tells why that cannot be.
  std::optional<Down> TrySession();
  void OnHello();
  void OnInit(const Reply& reply);
  void OnEnd(const SessionEnd& end);
  void OnGone();
  void GoDown(const Down& down);
  void Schedule(std::chrono::milliseconds delay);

  EventLoop& loop_;
  ClientOptions options_;
  FindLibrary find_library_;
  Listener listener_;
  std::unique_ptr<Session> session_;
  std::string library_;
  std::chrono::milliseconds backoff_;
  SteadyTime next_start_{};
  std::optional<SteadyTime> up_since_;
  std::optional<Down> own_reason_;  // reported instead of the end that we caused ourselves
  TimerId start_timer_ = TimerId::kNone;
  bool is_up_ = false;
  bool is_restart_wanted_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // tasks posted outlive us
};

}  // namespace kgpu::probe
