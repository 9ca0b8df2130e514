// A machine for tests of the provider: an agent with a few GPUs, a container engine, and in every
// container a watchdog, all of them fakes with state on the test's own loop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/functions/provider/programs.h"
#include "src/functions/provider/provider.h"
#include "src/functions/service/service.h"
#include "src/platform/net/http/client.h"
#include "src/platform/net/http/server.h"
#include "src/platform/sys/child_process.h"
#include "testing/fake_loop.h"
#include "testing/temp_dir.h"

namespace kgpu::functions {

// The agent's ledger. Fails the test if a GPU is lent twice.
class FakeAgent {
 public:
  FakeAgent(EventLoop& loop, std::string socket, std::vector<std::string> gpus);

  void Start();
  void Stop() { server_.reset(); }
  std::set<std::string> Holders() const;
  size_t free() const;
  int loans_made() const { return last_; }
  std::optional<http::Response> refusal{};  // of the next requests for loans
  bool has_full_disk = false;               // loans neither begin nor end
  std::set<std::string> unhealthy{};        // GPUs

 private:
  struct Lent {
    std::string holder;
    std::vector<std::string> gpus;
  };
  http::Response Answer(const http::Request& request);
  http::Response Borrow(const http::Request& request);
  std::string LoanText(const std::string& id) const;

  EventLoop& loop_;
  const std::string socket_;
  const std::vector<std::string> gpus_;
  std::map<std::string, Lent> loans_;
  int last_ = 0;
  std::unique_ptr<http::Server> server_;
};

// podman, with containers that are a process and a watchdog's socket.
class FakePodman final : public Programs {
 public:
  using Handler = std::function<void(const http::Request&, const http::Responder&)>;

  explicit FakePodman(EventLoop& loop) : loop_(loop) {}

  void Start(ProgramRequest request, Done done) override;
  // Called with the command line of each program that starts.
  std::function<void(const std::vector<std::string>& argv)> on_start{};

  size_t containers() const { return containers_.size(); }
  // The devices that containers have, of all: a device in two containers is there twice.
  std::multiset<std::string> Devices() const;
  // The last `podman run`.
  const std::vector<std::string>& last_run() const { return last_run_; }
  int runs() const { return runs_; }
  // As if the container's first process had been killed.
  void KillAll();
  // The provider is gone: nobody waits for the answers of podman any more.
  void Forget() { ++generation_; }

  std::set<std::string> images = {"localhost/kgpu-fn/hello:latest"};
  std::string run_error{};  // not empty: podman run fails with it
  bool makes_workers_ready = true;
  std::string worker_problem{};  // not empty: no worker starts
  // As where the network of running containers is out of podman's sight: it lists nothing, and
  // removes none of them.
  bool is_blind = false;
  bool removes_none = false;  // as without a low-level runtime
  bool holds_runs = false;    // podman run does not end until Release
  void Release();
  Handler handler{};  // of calls; by default, they are answered with their input

 private:
  struct Container {
    std::map<std::string, std::string> labels;
    std::vector<std::string> devices;
    std::unique_ptr<sys::ChildProcess> process;
    std::unique_ptr<http::Server> watchdog;
    bool is_running = true;
  };
  sys::RunResult Do(const std::vector<std::string>& argv);
  sys::RunResult Run(const std::vector<std::string>& argv);
  bool IsOutOfSight(const std::string& name) const;
  std::string List() const;
  void Answer(const http::Request& request, const http::Responder& responder);

  EventLoop& loop_;
  std::map<std::string, Container> containers_;
  std::vector<std::string> last_run_;
  std::vector<std::function<void()>> held_;
  int runs_ = 0;
  uint64_t generation_ = 0;
};

class TestMachine {
 public:
  explicit TestMachine(std::vector<std::string> gpus = {"GPU-a", "GPU-b"});
  ~TestMachine();

  // A new provider and service, as after a restart.
  void StartProvider();
  // As kill -9: nothing is ended in an orderly way.
  void KillProvider();

  // Lets time pass until `holds`; false if it does not within a minute.
  bool Until(const std::function<bool()>& holds);
  void Advance(std::chrono::nanoseconds time) { loop.Advance(time); }
  // Through the service's socket.
  http::Response Ask(const http::Request& request) { return AskAt(socket(), request); }
  http::Response AskAt(const std::string& socket, const http::Request& request);
  std::unique_ptr<http::Call> Begin(const http::Request& request,
                                    std::optional<http::Response>& answer) {
    return BeginAt(socket(), request, answer);
  }
  // OK once the function is deployed.
  Status Deploy(const Function& function, DeployMode mode = DeployMode::kCreate);
  // A function with this minimum; true once all its replicas run.
  bool DeployAndRun(int64_t replicas);
  http::Response Call(const std::string& input, const std::string& name = "hello");
  size_t Running() const;
  std::string socket() const { return dir.At("run/functions.sock"); }

  TempDir dir;
  FakeLoop loop;
  FakeAgent agent;
  FakePodman podman;
  std::unique_ptr<Provider> provider;
  std::unique_ptr<Service> service;
  bool was_stopped = false;
  QueueOptions queue{};  // of the next service

 private:
  std::unique_ptr<http::Call> BeginAt(const std::string& socket, const http::Request& request,
                                      std::optional<http::Response>& answer);

  uint64_t starts_ = 0;  // seeds: two providers must not give replicas the same names
};

// One that has a GPU, no minimum, and an image.
Function HelloFunction();

}  // namespace kgpu::functions
