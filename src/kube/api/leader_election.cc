#include "src/kube/api/leader_election.h"

#include <boost/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

#include "src/kube/api/api_error.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/time_text.h"
#include "src/platform/base/timer.h"

namespace kgpu::kube {
namespace {

namespace json = boost::json;
using std::chrono::nanoseconds;
using std::chrono::seconds;

// A lease longer than a day is a mistake, and would lock us out for ever.
constexpr seconds kLongestLease{24 * 3600};

Status CheckOptions(const LeaderOptions& options) {
  if (options.space.empty() || options.name.empty() || options.identity.empty()) {
    return InvalidArgument("leader election: namespace, name and identity must be set");
  }
  const bool is_ordered = options.retry > seconds(0) && options.duration > options.renew_deadline &&
                          options.renew_deadline * 10 > options.retry * 12;
  if (!is_ordered) {
    return InvalidArgument(
        "leader election: {} s, {} s, {} s: must be duration > renew deadline > 1.2 × retry",
        options.duration.count(), options.renew_deadline.count(), options.retry.count());
  }
  return OkStatus();
}

}  // namespace

class LeaderElection::Impl {
 public:
  Impl(EventLoop& loop, Client& client, Random& random, LeaderOptions options,
       LeaderHandlers handlers)
      : loop_(loop),
        client_(client),
        random_(random),
        options_(std::move(options)),
        handlers_(std::move(handlers)),
        path_(kLeases.Object(options_.space, options_.name)) {}

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void Begin() {
    timer_.Arm(nanoseconds(0), [this] { Attempt(); });
  }

  bool is_leader() const { return is_leader_; }
  const std::string& holder() const { return holder_; }

  void Release(std::function<void(Status)> done) {
    timer_.Cancel();
    deadline_.Cancel();
    call_.reset();
    handlers_ = {};
    if (!std::exchange(is_leader_, false) || !record_) {
      timer_.Arm(nanoseconds(0), [done = std::move(done)] { done(OkStatus()); });
      return;
    }
    const std::string now = FormatMicroTime(loop_.clock().WallNow());
    json::value lease = *record_;
    json::object& spec = SpecOf(lease);
    spec["holderIdentity"] = "";
    spec["leaseDurationSeconds"] = 1;
    spec["renewTime"] = now;
    spec["acquireTime"] = now;
    Put(lease,
        [done = std::move(done)](const StatusOr<json::value>& answer) { done(answer.status()); });
  }

 private:
  static json::object& SpecOf(json::value& lease) {
    json::object& object = lease.get_object();
    if (!object["spec"].is_object()) {
      object["spec"] = json::object();
    }
    return object["spec"].get_object();
  }

  std::string_view HolderIn(const json::value& lease) const {
    return TextField(lease, {"spec", "holderIdentity"});
  }

  void Attempt() {
    // A leader's own record is still as it wrote it, most often: one request instead of two.
    if (is_leader_ && record_) {
      return Put(Renewed(*record_), [this](StatusOr<json::value> answer) {
        if (answer.ok()) {
          OnHeld(*std::move(answer));
        } else {
          Read();
        }
      });
    }
    Read();
  }

  void Read() {
    ApiRequest request{.path = path_, .timeout = options_.renew_deadline, .is_repeated = false};
    call_ = client_.Send(std::move(request), [this](StatusOr<json::value> answer) {
      call_.reset();
      if (answer.ok() && answer->is_object()) {
        OnRead(*std::move(answer));
      } else if (answer.status().code() == StatusCode::kNotFound) {
        CreateLease();
      } else {
        TryLater(answer.ok() ? Unavailable("GET {}: the answer is not a lease", path_)
                             : answer.status());
      }
    });
  }

  void CreateLease() {
    json::value lease = {{"apiVersion", "coordination.k8s.io/v1"},
                         {"kind", "Lease"},
                         {"metadata", {{"name", options_.name}, {"namespace", options_.space}}},
                         {"spec", json::object{{"leaseTransitions", 0}}}};
    Claim(lease);
    ApiRequest request = CreateRequest(kLeases.Collection(options_.space), lease);
    request.timeout = options_.renew_deadline;
    request.is_repeated = false;
    sent_ = loop_.clock().Now();
    call_ = client_.Send(std::move(request),
                         [this](StatusOr<json::value> answer) { OnWritten(std::move(answer)); });
  }

  void OnRead(json::value lease) {
    if (!record_ || VersionOf(*record_) != VersionOf(lease)) {
      changed_ = loop_.clock().Now();
      record_ = lease;
    }
    const std::string_view holder = HolderIn(lease);
    const bool is_mine = holder == options_.identity;
    if (is_leader_ && !is_mine) {
      why_ = FailedPrecondition("held by \"{}\"", holder);
      return Lose();
    }
    NoteHolder(holder);
    if (!holder.empty() && !is_mine && loop_.clock().Now() < changed_ + DurationOf(lease)) {
      return ScheduleNext(CandidateWait());
    }
    json::value next;
    if (is_mine) {
      next = Renewed(lease);
    } else {
      next = lease;
      json::object& spec = SpecOf(next);
      spec["leaseTransitions"] = IntField(lease, {"spec", "leaseTransitions"}).value_or(0) + 1;
      Claim(next);
    }
    Put(next, [this](StatusOr<json::value> answer) { OnWritten(std::move(answer)); });
  }

  static nanoseconds DurationOf(const json::value& lease) {
    const int64_t count = IntField(lease, {"spec", "leaseDurationSeconds"}).value_or(0);
    return seconds(std::clamp<int64_t>(count, 0, kLongestLease.count()));
  }

  // As its holder from now on.
  void Claim(json::value& lease) const {
    const std::string now = FormatMicroTime(loop_.clock().WallNow());
    json::object& spec = SpecOf(lease);
    spec["holderIdentity"] = options_.identity;
    spec["leaseDurationSeconds"] = options_.duration.count();
    spec["acquireTime"] = now;
    spec["renewTime"] = now;
  }

  json::value Renewed(json::value lease) const {
    json::object& spec = SpecOf(lease);
    spec["leaseDurationSeconds"] = options_.duration.count();
    spec["renewTime"] = FormatMicroTime(loop_.clock().WallNow());
    return lease;
  }

  // All of what was read goes back: a newer server may keep there what we do not know.
  void Put(const json::value& lease, Client::Done done) {
    StatusOr<ApiRequest> request = ReplaceRequest(path_, lease);
    if (!request.ok()) {
      return TryLater(request.status());
    }
    request->timeout = options_.renew_deadline;
    request->is_repeated = false;
    sent_ = loop_.clock().Now();
    call_ = client_.Send(*std::move(request),
                         [this, done = std::move(done)](StatusOr<json::value> answer) {
                           const auto call = std::move(call_);
                           done(std::move(answer));
                         });
  }

  void OnWritten(StatusOr<json::value> answer) {
    if (answer.ok() && answer->is_object()) {
      OnHeld(*std::move(answer));
    } else {
      TryLater(answer.ok() ? Unavailable("{}: the answer is not a lease", path_) : answer.status());
    }
  }

  void OnHeld(json::value lease) {
    record_ = std::move(lease);
    changed_ = loop_.clock().Now();
    // From when it was sent: others count from some time behind that, and never from before.
    deadline_.Arm(sent_ + options_.renew_deadline - changed_, [this] { Lose(); });
    why_ = Unavailable("no answer");
    ScheduleNext(options_.retry);
    NoteHolder(options_.identity);
    if (!std::exchange(is_leader_, true)) {
      if (const auto on_elected = handlers_.on_elected) {
        on_elected();
      }
    }
  }

  void TryLater(const Status& why) {
    why_ = why;
    ScheduleNext(is_leader_ ? nanoseconds(options_.retry) : CandidateWait());
    if (const auto on_trouble = handlers_.on_trouble) {
      on_trouble(why);
    }
  }

  nanoseconds CandidateWait() const {
    return options_.retry + random_.PartOf(options_.retry * 12 / 10);
  }

  void ScheduleNext(nanoseconds wait) {
    timer_.Arm(wait, [this] { Attempt(); });
  }

  void Lose() {
    is_leader_ = false;
    call_.reset();
    timer_.Cancel();
    const Status why = MakeStatus(StatusCode::kAborted,
                                  fmt::format("{} was not renewed for {} s: {}", path_,
                                              options_.renew_deadline.count(), Message(why_)));
    if (const auto on_lost = std::exchange(handlers_.on_lost, nullptr)) {
      on_lost(why);
    }
  }

  void NoteHolder(std::string_view holder) {
    if (holder_ == holder) {
      return;
    }
    holder_ = holder;
    if (const auto on_holder = handlers_.on_holder) {
      on_holder(holder_);
    }
  }

  EventLoop& loop_;
  Client& client_;
  Random& random_;
  const LeaderOptions options_;
  LeaderHandlers handlers_;
  const std::string path_;
  std::optional<json::value> record_;  // as it was read or written last
  SteadyTime changed_{};               // when that was new to us
  SteadyTime sent_{};                  // the last write
  bool is_leader_ = false;
  std::string holder_;
  Status why_;  // the last attempt did not do
  std::unique_ptr<Call> call_;
  Timer timer_{loop_};
  Timer deadline_{loop_};
};

StatusOr<std::unique_ptr<LeaderElection>> LeaderElection::Start(EventLoop& loop, Client& client,
                                                                Random& random,
                                                                LeaderOptions options,
                                                                LeaderHandlers handlers) {
  if (Status status = CheckOptions(options); !status.ok()) {
    return status;
  }
  auto impl = std::make_unique<Impl>(loop, client, random, std::move(options), std::move(handlers));
  impl->Begin();
  return std::unique_ptr<LeaderElection>(new LeaderElection(std::move(impl)));
}

LeaderElection::LeaderElection(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
}

LeaderElection::~LeaderElection() = default;

bool LeaderElection::is_leader() const {
  return impl_->is_leader();
}

const std::string& LeaderElection::holder() const {
  return impl_->holder();
}

void LeaderElection::Release(std::function<void(Status)> done) {
  impl_->Release(std::move(done));
}

}  // namespace kgpu::kube
