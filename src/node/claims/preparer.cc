#include "src/node/claims/preparer.h"

#include <boost/json.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/node/claims/choice.h"
#include "src/platform/base/ascii.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::claims {
namespace {

using dra::Allocation;
using dra::Checkpoint;
using dra::PreparedClaim;
using dra::PreparedDevice;

// Well below the 45 s that the kubelet gives a call: it asks again.
constexpr std::chrono::seconds kAskTime{20};
constexpr std::chrono::seconds kLoadAgain{5};
constexpr size_t kMaxUid = 64;

// It becomes part of a file's name and of CDI names.
Status CheckUid(std::string_view uid) {
  const auto is_good = [](char c) { return IsAlphanumeric(c) || c == '-'; };
  if (uid.empty() || uid.size() > kMaxUid || !std::ranges::all_of(uid, is_good)) {
    return InvalidArgument("UID {} of the claim is none: letters, digits and dashes, at most {}",
                           Printable(uid, kMaxUid), kMaxUid);
  }
  return OkStatus();
}

std::vector<std::string> SlotsOf(const PreparedClaim& claim) {
  std::vector<std::string> slots;
  for (const PreparedDevice& device : claim.devices) {
    slots.insert(slots.end(), device.slots.begin(), device.slots.end());
  }
  return slots;
}

SpecFacts SpecFactsOf(const PreparerFacts& facts) {
  return {.cards = facts.cards,
          .resources = facts.resources,
          .plan = facts.plan,
          .places = facts.places};
}

}  // namespace

Preparer::Preparer(EventLoop& loop, const sys::Root& host, ClaimFilesOptions options,
                   pods::Background background, PreparerHooks hooks)
    : loop_(loop),
      files_(host, std::move(options)),
      background_(std::move(background)),
      hooks_(std::move(hooks)) {
  Load();
}

Preparer::~Preparer() = default;

void Preparer::Load() {
  is_busy_ = true;
  auto loaded = std::make_shared<StatusOr<LoadedClaims>>(Internal("not read"));
  Work(
      [files = files_, loaded] {
        *loaded = files.Load();
        return loaded->status();
      },
      [this, loaded](const Status& status) {
        if (!status.ok()) {
          problem_ = fmt::format("claims that are prepared are not known: {}", Message(status));
          load_timer_.Arm(kLoadAgain, [this] { Load(); });
          is_busy_ = true;  // calls wait
          return hooks_.changed();
        }
        is_loaded_ = true;
        record_ = std::move((*loaded)->record);
        problem_ = std::move((*loaded)->problem);
        if (!problem_.empty()) {
          KGPU_LOG(kError, "record of claims not readable", {"reason", problem_});
        }
        hooks_.changed();
      });
}

void Preparer::Prepare(const ClaimRef& claim, Prepared done) {
  if (const Status status = CheckUid(claim.uid); !status.ok()) {
    return Answer(done, status);
  }
  if (steps_.size() + questions_.size() >= kMaxCalls) {
    return Answer(done, ResourceExhausted("{} calls wait: try again later", kMaxCalls));
  }
  Queue([this, claim, done = std::move(done)] {
    if (record_.claims.contains(claim.uid)) {
      return Continue(claim.uid, done);
    }
    Ask(claim, done);
    Next();
  });
}

void Preparer::Unprepare(const ClaimRef& claim, Unprepared done) {
  if (steps_.size() >= kMaxCalls) {
    return done(ResourceExhausted("{} calls wait: try again later", kMaxCalls));
  }
  Queue([this, uid = claim.uid, done = std::move(done)] { Release(uid, done); });
}

void Preparer::RemoveUnclaimed(const PreparedDevice& device, Unprepared done) {
  Queue([this, device, done = std::move(done)] {
    for (const auto& [uid, claim] : record_.claims) {
      if (!claim.name.empty() &&
          std::ranges::find(claim.devices, device.device_uuid, &PreparedDevice::device_uuid) !=
              claim.devices.end()) {
        done(Unavailable("claim {}/{} has it", claim.space, claim.name));
        return Next();
      }
    }
    record_.claims.try_emplace(device.device_uuid, PreparedClaim{.devices = {device}});
    Release(device.device_uuid, done);
  });
}

void Preparer::Ask(const ClaimRef& claim, Prepared done) {
  kube::Client* client = hooks_.client();
  if (client == nullptr) {
    return Answer(done, Unavailable("the API server is not known yet: see `kgpu status`"));
  }
  const uint64_t id = ++last_question_;
  Question& question = questions_[id];
  question.uid = claim.uid;
  question.done = std::move(done);
  question.call =
      client->Send({.path = kClaims.Object(claim.space, claim.name), .timeout = kAskTime},
                   [this, id, claim](StatusOr<boost::json::value> object) {
                     OnClaim(id, claim, std::move(object));
                   });
}

void Preparer::OnClaim(uint64_t id, const ClaimRef& claim, StatusOr<boost::json::value> object) {
  auto question = questions_.extract(id);
  Prepared done = std::move(question.mapped().done);
  if (!object.ok()) {
    return Answer(done, Annotate(object.status(), "read claim {}/{}", claim.space, claim.name));
  }
  StatusOr<Allocation> allocation = dra::ReadAllocation(*object, claim.uid);
  if (!allocation.ok()) {
    return Answer(done, allocation.status());
  }
  Queue([this, uid = claim.uid, allocation = *std::move(allocation), done = std::move(done)] {
    if (record_.claims.contains(uid)) {
      return Continue(uid, done);  // a call for it that came meanwhile
    }
    Commit(uid, allocation, done);
  });
}

// Of a claim that is in the record.
void Preparer::Continue(const std::string& uid, const Prepared& done) {
  if (ending_.erase(uid) > 0) {
    hooks_.changed();
  }
  if (record_.claims.at(uid).is_complete) {
    return Repeat(uid, done);
  }
  Make(uid, {}, done);
}

// The record, and where it may lack claims the devices that the kubelet knows of.
StatusOr<Checkpoint> Preparer::TakenFor(const Allocation& allocation) {
  if (!record_.has_lost) {
    return record_;
  }
  ASSIGN_OR_RETURN(std::vector<PreparedClaim> held, hooks_.held(record_));
  if (held.empty()) {
    record_.has_lost = false;
    problem_.clear();
  }
  Checkpoint taken = record_;
  for (PreparedClaim& claim : held) {
    std::string key = fmt::format("{}/{}", claim.space, claim.name);  // no UID has a slash
    if (claim.space != allocation.space || claim.name != allocation.name) {
      taken.claims.emplace(std::move(key), std::move(claim));
    }
  }
  return taken;
}

void Preparer::Commit(const std::string& uid, const Allocation& allocation, const Prepared& done) {
  const StatusOr<PreparerFacts> facts = hooks_.facts();
  if (!facts.ok()) {
    return Refuse(done, facts.status());
  }
  const StatusOr<Checkpoint> taken = TakenFor(allocation);
  if (!taken.ok()) {
    return Refuse(done, taken.status());
  }
  StatusOr<PreparedClaim> claim = ChooseDevices(allocation, facts->cards, *taken, facts->pool);
  if (!claim.ok()) {
    return Refuse(done, claim.status());
  }
  std::set<std::string> none;
  if (!NextTask(*claim, facts->cards, none)) {
    return Finish(uid, *std::move(claim), *facts, done);
  }
  // Before anything is made: a later process must know of it.
  Checkpoint record = record_;
  record.claims[uid] = *std::move(claim);
  Record(record, [this, uid, done](const Status& status) {
    if (!status.ok()) {
      return Answer(done, status);
    }
    is_busy_ = true;
    Make(uid, {}, done);
  });
}

void Preparer::Record(const Checkpoint& record, std::function<void(const Status&)> done) {
  auto shared = std::make_shared<const Checkpoint>(record);
  Work([files = files_, shared] { return files.Record(*shared); },
       [this, shared, done = std::move(done)](const Status& status) {
         if (status.ok()) {
           record_ = *shared;
           hooks_.changed();
         }
         done(status);
       });
}

void Preparer::Make(const std::string& uid, std::set<std::string> ended, const Prepared& done) {
  const StatusOr<PreparerFacts> facts = hooks_.facts();
  if (!facts.ok()) {
    return Refuse(done, facts.status());
  }
  const auto task = NextTask(record_.claims.at(uid), facts->cards, ended);
  if (!task) {
    return Finish(uid, record_.claims.at(uid), *facts, done);
  }
  hooks_.change_gpu(*task, lifetime_.Bind([this, uid, ended = std::move(ended), done,
                                           task = *task](StatusOr<mig::MadeDevice> made) {
    if (!made.ok()) {
      return Refuse(done, made.status());
    }
    NoteMade(task, *made, record_.claims.at(uid));
    Make(uid, ended, done);
  }));
}

void Preparer::Finish(const std::string& uid, PreparedClaim claim, const PreparerFacts& facts,
                      const Prepared& done) {
  StatusOr<cdi::Spec> spec = SpecOf(claim, SpecFactsOf(facts));
  if (!spec.ok()) {
    return Refuse(done, spec.status());
  }
  claim.is_complete = true;
  auto record = std::make_shared<Checkpoint>(record_);
  record->claims[uid] = claim;
  Work(
      [files = files_, uid, spec = *std::move(spec), record, slots = SlotsOf(claim),
       renew = hooks_.renew_slots]() -> Status {
        if (renew && !slots.empty()) {
          RETURN_IF_ERROR(renew(slots));
        }
        return files.Add(uid, spec, *record);
      },
      [this, uid, record, done](const Status& status) {
        if (!status.ok()) {
          return Answer(done, status);
        }
        record_ = *record;
        hooks_.changed();
        const PreparedClaim& prepared = record_.claims.at(uid);
        Answer(done, prepared.devices);
        if (kube::Client* client = hooks_.client(); client != nullptr) {
          status_.Write(*client, uid, prepared, loop_.clock().WallNow());
        }
      });
}

void Preparer::Refuse(const Prepared& done, const Status& status) {
  Answer(done, status);
  Next();
}

// The file may be gone, and the driver's files may be others by now.
void Preparer::Repeat(const std::string& uid, const Prepared& done) {
  const PreparedClaim& claim = record_.claims.at(uid);
  const StatusOr<PreparerFacts> facts = hooks_.facts();
  StatusOr<cdi::Spec> spec =
      facts.ok() ? SpecOf(claim, SpecFactsOf(*facts)) : StatusOr<cdi::Spec>(facts.status());
  if (!spec.ok()) {
    return Refuse(done, spec.status());
  }
  Work([files = files_, uid, spec = *std::move(spec)] { return files.Renew(uid, spec); },
       [this, devices = claim.devices, done](const Status& status) {
         Answer(done, status.ok() ? StatusOr<std::vector<PreparedDevice>>(devices)
                                  : StatusOr<std::vector<PreparedDevice>>(status));
       });
}

void Preparer::Release(const std::string& uid, const Unprepared& done) {
  for (auto question = questions_.begin(); question != questions_.end();) {
    if (question->second.uid != uid) {
      ++question;
      continue;
    }
    const Prepared waiting = std::move(question->second.done);
    question = questions_.erase(question);
    Answer(waiting, Unavailable("the claim was unprepared meanwhile"));
  }
  if (!record_.claims.contains(uid)) {
    done(OkStatus());
    return Next();
  }
  PreparedClaim& claim = record_.claims.at(uid);
  if (std::ranges::none_of(claim.devices,
                           [](const auto& device) { return UndoingOf(device).has_value(); })) {
    return Forget(uid, done);
  }
  // From now on no container may start with it, and another process goes on.
  claim.is_complete = false;
  Work([files = files_, uid, record = record_] { return files.Remove(uid, record); },
       [this, uid, done](const Status& status) {
         if (!status.ok()) {
           return done(status);
         }
         is_busy_ = true;
         ending_.insert(uid);
         hooks_.changed();
         Unmake(uid, 0, done);
       });
}

// `next`: of the claim's devices.
void Preparer::Unmake(const std::string& uid, size_t next, const Unprepared& done) {
  const std::vector<PreparedDevice>& devices = record_.claims.at(uid).devices;
  std::optional<GpuTask> task;
  while (next < devices.size() && !(task = UndoingOf(devices[next]))) {
    ++next;
  }
  if (!task) {
    return Forget(uid, done);
  }
  // A pod that has ended does not wait for a time slice, which harms nobody.
  const bool may_stay = task->step == mig::Step::kTimeSlice;
  const auto go_on = [this, uid, next, may_stay, done](const StatusOr<mig::MadeDevice>& gone) {
    if (!gone.ok() && !may_stay) {
      done(gone.status());
      return Next();
    }
    if (!gone.ok()) {
      KGPU_LOG(kWarning, "time slice of a claim not taken back",
               {"reason", Message(gone.status())});
    }
    NoteUnmade(uid, next);
    Unmake(uid, next + 1, done);
  };
  hooks_.change_gpu(*task, lifetime_.Bind(go_on));
}

void Preparer::NoteUnmade(const std::string& uid, size_t device) {
  PreparedDevice& undone = record_.claims.at(uid).devices[device];
  if (undone.made) {
    undone.device_uuid.clear();
    undone.made->gpu_instance.reset();
    undone.made->compute_instance.reset();
  }
}

void Preparer::Forget(const std::string& uid, const Unprepared& done) {
  auto record = std::make_shared<Checkpoint>(record_);
  record->claims.erase(uid);
  Work([files = files_, uid, record] { return files.Remove(uid, *record); },
       [this, uid, record, done](const Status& status) {
         if (status.ok()) {
           record_ = *record;
           ending_.erase(uid);
           hooks_.changed();
         }
         done(status);
       });
}

void Preparer::Queue(Step step) {
  steps_.push_back(std::move(step));
  if (!is_busy_) {
    Next();
  }
}

void Preparer::Next() {
  is_busy_ = !steps_.empty();
  if (is_busy_) {
    // Not at once: many calls that need no disk would nest.
    loop_.Post(lifetime_.Bind([this] {
      const Step step = std::move(steps_.front());
      steps_.pop_front();
      step();
    }));
  }
}

void Preparer::Work(std::function<Status()> job, std::function<void(Status)> done) {
  struct Item {
    std::function<void(Status)> done;
    Status status;
  };
  const auto item = std::make_shared<Item>(Item{std::move(done), OkStatus()});
  const auto finish = [this, item] {
    is_busy_ = false;
    item->done(item->status);
    if (!is_busy_) {
      Next();
    }
  };
  const bool is_accepted = background_(
      [item, job = std::move(job), bound = lifetime_.Bind(finish)] {
        item->status = job();
        return bound;
      },
      lifetime_.Bind([item, finish](const Status& status) {
        item->status = status;
        finish();
      }));
  if (!is_accepted) {
    item->status = Unavailable("the disk is busy: try again");
    loop_.Post(lifetime_.Bind(finish));
  }
}

void Preparer::Answer(const Prepared& done, StatusOr<std::vector<PreparedDevice>> devices) {
  ++(devices.ok() ? counts_.prepared : counts_.failed);
  if (!devices.ok()) {
    KGPU_LOG(kWarning, "claim not prepared", {"reason", Message(devices.status())});
  }
  done(std::move(devices));
}

}  // namespace kgpu::claims
