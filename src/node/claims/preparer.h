// Prepares claims for their pods, one after another, and gives their devices back. What it has
// answered survives a kill at any moment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/kube/api/client.h"
#include "src/node/claims/claim_files.h"
#include "src/node/claims/claim_spec.h"
#include "src/node/claims/claim_status.h"
#include "src/node/claims/gpu_task.h"
#include "src/node/dra/allocation.h"
#include "src/node/dra/checkpoint.h"
#include "src/node/dra/offer.h"
#include "src/node/pods/background.h"
#include "src/platform/base/event_loop.h"
#include "src/platform/base/lifetime.h"
#include "src/platform/base/status.h"
#include "src/platform/base/timer.h"

namespace kgpu::claims {

// As the kubelet names a claim.
struct ClaimRef {
  std::string space{};
  std::string name{};
  std::string uid{};
};

// The node at the moment of a call.
struct PreparerFacts {
  std::string pool{};  // of the slices: the node's name
  std::vector<dra::CardOffer> cards{};
  std::vector<pools::Resource> resources{};
  std::shared_ptr<const inject::InjectionPlan> plan{};
  sharing::Places places{};
};

struct PreparerHooks {
  // Errors: Unavailable (nothing can be prepared now: says why).
  std::function<StatusOr<PreparerFacts>()> facts{};
  // Null while there is no cluster.
  std::function<kube::Client*()> client{};
  // Claims that containers have by the kubelet's list, and that `known` does not have. Errors:
  // Unavailable (there is no list).
  std::function<StatusOr<std::vector<dra::PreparedClaim>>(const dra::Checkpoint& known)> held{};
  // Calls back later, on the loop: of kMake, once containers can get the device, which the others
  // leave empty. One at a time.
  std::function<void(const GpuTask& task, GpuDone done)> change_gpu{};
  // Gives slots to their next container; any thread.
  std::function<Status(std::span<const std::string> ids)> renew_slots{};
  // record() or problem() has changed.
  std::function<void()> changed{};
};

struct PreparerCounts {
  uint64_t prepared = 0;
  uint64_t failed = 0;
};

// Lives on the loop's thread.
class Preparer {
 public:
  using Prepared = std::function<void(StatusOr<std::vector<dra::PreparedDevice>>)>;
  using Unprepared = std::function<void(Status)>;

  // Calls at one time. The kubelet makes one for each pod that starts or ends.
  static constexpr size_t kMaxCalls = 1024;

  // `loop` must outlive it, `host` also what `background` runs. Begins to read the record; calls
  // wait for that.
  Preparer(EventLoop& loop, const sys::Root& host, ClaimFilesOptions options,
           pods::Background background, PreparerHooks hooks);
  Preparer(const Preparer&) = delete;
  Preparer& operator=(const Preparer&) = delete;
  ~Preparer();

  // The devices of the claim, the same each time until it is unprepared. Errors: InvalidArgument
  // (the UID), NotFound (the claim has ended, or is another one), Unavailable (API server, driver;
  // unprepared meanwhile), ResourceExhausted (too many calls), those of ChooseDevices, of SpecOf,
  // of the change of MIG and of the disk. After one of the last two, MIG devices may exist: the
  // next call goes on, or Unprepare() removes them.
  void Prepare(const ClaimRef& claim, Prepared done);
  // OK for a claim that is not prepared. Removes MIG devices that were made for it. Errors: those
  // of the removal (a process still uses the device) and of the disk.
  void Unprepare(const ClaimRef& claim, Unprepared done);
  // Removes a MIG device of no claim in the same way: until it is gone, it is in the record under
  // its UUID, as a claim without a name, and another call tries again. Errors: as of Unprepare().
  void RemoveUnclaimed(const dra::PreparedDevice& device, Unprepared done);

  const dra::Checkpoint& record() const { return record_; }
  // The devices that were made for the claim are being removed.
  bool IsEnding(const std::string& uid) const { return ending_.contains(uid); }
  // For people: why claims of before are not known; empty: they are.
  const std::string& problem() const { return problem_; }
  const PreparerCounts& counts() const { return counts_; }
  // The record was read, or cannot be.
  bool is_loaded() const { return is_loaded_; }

 private:
  struct Question {
    std::string uid{};
    Prepared done{};
    std::unique_ptr<kube::Call> call{};
  };
  using Step = std::function<void()>;

  void Load();
  void Ask(const ClaimRef& claim, Prepared done);
  void OnClaim(uint64_t id, const ClaimRef& claim, StatusOr<boost::json::value> object);
  void Continue(const std::string& uid, const Prepared& done);
  StatusOr<dra::Checkpoint> TakenFor(const dra::Allocation& allocation);
  void Commit(const std::string& uid, const dra::Allocation& allocation, const Prepared& done);
  void Record(const dra::Checkpoint& record, std::function<void(const Status&)> done);
  void Make(const std::string& uid, std::set<std::string> ended, const Prepared& done);
  void Finish(const std::string& uid, dra::PreparedClaim claim, const PreparerFacts& facts,
              const Prepared& done);
  void Refuse(const Prepared& done, const Status& status);
  void Repeat(const std::string& uid, const Prepared& done);
  void Release(const std::string& uid, const Unprepared& done);
  void Unmake(const std::string& uid, size_t next, const Unprepared& done);
  void NoteUnmade(const std::string& uid, size_t device);
  void Forget(const std::string& uid, const Unprepared& done);
  void Queue(Step step);
  void Next();
  // `job` on another thread, then `done` here, then the next step.
  void Work(std::function<Status()> job, std::function<void(Status)> done);
  void Answer(const Prepared& done, StatusOr<std::vector<dra::PreparedDevice>> devices);

  EventLoop& loop_;
  const ClaimFiles files_;
  const pods::Background background_;
  const PreparerHooks hooks_;
  ClaimStatus status_;
  dra::Checkpoint record_;
  std::set<std::string> ending_;  // UIDs
  std::string problem_;
  PreparerCounts counts_;
  bool is_loaded_ = false;
  bool is_busy_ = false;
  std::deque<Step> steps_;
  std::map<uint64_t, Question> questions_;  // to the API server
  uint64_t last_question_ = 0;
  Timer load_timer_{loop_};
  Lifetime lifetime_;
};

}  // namespace kgpu::claims
