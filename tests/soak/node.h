// The built agent between everything that it depends on: a simulated host, a kubelet that gives out
// devices and claims, an API server, a disk that can be full. Carries out the actions of a plan.
#pragma once

#include <boost/json.hpp>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "testing/kubelet/fake_kubelet.h"
#include "tests/e2e/cluster_fixture.h"
#include "tests/soak/holders.h"
#include "tests/soak/plan.h"

namespace kgpu::soak {

// The claims as the kubelet sees them. Thread: any.
class SoakClaims final : public kubelet::ClaimSource {
 public:
  StatusOr<std::string> GetClaim(const std::string& space, const std::string& name) override;
  void WipeSlices(const std::string& driver) override;
  void Put(const std::string& name, std::string text);
  void Remove(const std::string& name);

  std::function<void()> wipe{};  // set before the kubelet starts

 private:
  std::mutex mutex_;
  std::map<std::string, std::string> claims_;
};

struct Loan {
  std::string id;
  Units units;
};

// A fault that must be reported, and how.
struct ExpectedReport {
  std::string gpu{};  // UUID; empty: all
  int xid = 0;        // 0: the devices are unhealthy until the fault is repaired
  bool is_hang = false;
};

// The end of a unit's kind.
inline constexpr std::string_view kByMps = " by MPS";

class SoakNode : public e2e::ClusterFixture {
 protected:
  static void SetUpTestSuite();
  void SetUp() override;
  void TearDown() override;
  std::string Profile() const override;
  std::vector<std::string> ServerFlags() const override;

  void Do(const Action& action, const Plan& plan);
  // Undoes every fault of the round.
  void Repair();

  // Answers of the agent; null while it does not answer.
  boost::json::value FromAgent(const std::string& target) const;
  std::map<std::string, Units> Held() const;
  // Pods that the kubelet refused, which are removed.
  std::vector<std::string> TakeRefused();
  // Claims of pods that are gone are deleted, and the Node object has the kubelet's resources.
  void ActForCluster(const boost::json::value& status);
  std::vector<std::string> PublishedUuids() const;
  // Whether the configuration says so: devices in use follow later.
  bool IsSharedByMps() const { return config_.find("by: mps") != std::string::npos; }
  pid_t agent_pid() const { return agent_ ? agent_->pid() : 0; }

  std::unique_ptr<kubelet::FakeKubelet> kubelet_;
  std::vector<std::string> gpus_;             // UUIDs by index
  std::map<std::string, Loan> loans_;         // that were given, by holder
  std::set<std::string> returned_;            // ids of loans whose end nobody confirmed yet
  std::map<std::string, Units> claims_held_;  // by pod: what the scheduler gave its claim
  std::set<std::string> claims_by_mps_;       // those of them that their containers share by MPS
  std::vector<ExpectedReport> expected_;      // of the faults of this round
  bool is_agent_new_ = false;                 // it ended in this round
  bool is_config_broken_ = false;
  bool may_refuse_ = false;             // pods: this round has faults
  size_t refused_ = 0;                  // pods so far
  std::map<std::string, size_t> done_;  // actions so far, by verb

 private:
  void Configure(const Plan& plan);
  void StartKubelet();
  void RunKubelet();
  void StartFreshAgent();
  void DoWorkload(const Action& action);
  void DoDriver(const Action& action);
  void DoCluster(const Action& action);
  void DoAgent(const Action& action, const Plan& plan);
  void StartPod(const std::string& name, const std::string& resource, int64_t count);
  void DeleteHopelessPods(bool serves_no_claims);
  void StartClaim(const std::string& name, const std::string& part);
  void Lend(const std::string& holder, bool is_slice);
  void Return(const std::string& holder);
  void ReturnAgain();
  void RemoveSockets() const;
  void FillDisk(bool is_full) const;
  void KillProbe() const;
  void KillMpsDaemons() const;
  bool Inject(const std::string& verb, std::vector<std::string> arguments) const;
  StatusOr<http::Response> Control(const std::string& method, const std::string& target,
                                   const std::string& body = "") const;
  std::vector<boost::json::value> ListOf(const char* path) const;
  Units UnitsOf(const kubelet::ContainerStatus& container) const;
  // "gpu-0-20gi" as a unit.
  Unit UnitOfDevice(const std::string& device) const;

  SoakClaims claims_;
  std::string config_;
  bool is_api_ill_ = false;
  bool is_kubelet_stopped_ = false;
  bool has_disk_ = false;
  std::set<std::string> counted_;  // resources on the Node object
};

}  // namespace kgpu::soak
