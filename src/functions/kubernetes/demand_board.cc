#include "src/functions/kubernetes/demand_board.h"

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "src/functions/manifests/objects.h"
#include "src/kube/api/json.h"
#include "src/kube/api/resource.h"
#include "src/kube/api/writes.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/base/time_text.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_reader.h"

namespace kgpu::functions {
namespace {

namespace json = boost::json;
using std::chrono::seconds;

constexpr seconds kWriteEvery{2};
constexpr seconds kRenewEvery{10};
constexpr seconds kDeadAfter{30};
constexpr size_t kMaxDemandBytes = size_t{64} << 10;
constexpr size_t kMaxFunctions = 5'000;
constexpr char kDemandAnnotation[] = "kgpu.dev/gateway-demand";
constexpr char kBoardLabel[] = "kgpu.dev/gateway";

std::string LeaseName(const std::string& identity) {
  return "kgpu-gateway-calls-" + identity;
}

}  // namespace

std::string PrintDemand(const Demand& demand) {
  json::object object;
  size_t bytes = 2;
  for (const auto& [key, calls] : demand) {
    constexpr size_t kRoomForNumber = 24;
    bytes += key.size() + kRoomForNumber;
    if (bytes > kMaxDemandBytes) {
      break;
    }
    object[key] = calls;
  }
  return doc::PrintLine(object);
}

StatusOr<Demand> ParseDemand(std::string_view text) {
  constexpr char kWhere[] = "gateway demand";
  ASSIGN_OR_RETURN(const json::value root,
                   doc::ParseJson(text, kWhere, {.bytes = kMaxDemandBytes}));
  if (!root.is_object() || root.get_object().size() > kMaxFunctions) {
    return InvalidArgument("{}: must be a map of at most {} functions", kWhere, kMaxFunctions);
  }
  Demand demand;
  for (const auto& [key, calls] : root.get_object()) {
    const int64_t* number = calls.if_int64();
    if (number == nullptr || *number <= 0) {
      return InvalidArgument("{}: {}: must be a number from 1", kWhere,
                             Printable({key.data(), key.size()}, 80));
    }
    demand.emplace(std::string(key), *number);
  }
  return demand;
}

DemandBoard::DemandBoard(EventLoop& loop, kube::Client& client, Random& random,
                         BoardOptions options, std::function<void()> changed)
    : loop_(loop),
      client_(client),
      options_(std::move(options)),
      changed_(std::move(changed)),
      last_write_(loop.clock().Now() - kWriteEvery),
      write_timer_(loop),
      drop_timer_(loop) {
  kube::ReflectorOptions follow;
  follow.selection = {.path = kube::kLeases.Collection(options_.space),
                      .label_selector = fmt::format("{}=calls", kBoardLabel)};
  follow.max_objects = 1'000;
  reflector_ = std::make_unique<kube::Reflector>(
      loop_, client_, random, std::move(follow),
      kube::ReflectorHandlers{
          .on_changed = [this](const kube::ObjectPtr& lease) { OnLease(lease); },
          .on_gone = [this](const kube::ObjectPtr& lease) { OnLeaseGone(lease); },
          .on_synced = [this] { changed_(); }});
}

DemandBoard::~DemandBoard() = default;

void DemandBoard::OnLease(const kube::ObjectPtr& lease) {
  const std::string name(kube::NameOf(*lease));
  if (name == LeaseName(options_.identity)) {
    return;
  }
  StatusOr<Demand> demand =
      ParseDemand(kube::TextField(*lease, {"metadata", "annotations", kDemandAnnotation}));
  if (!demand.ok()) {
    KGPU_LOG(kWarning, "calls of a gateway not read", {"lease", name},
             {"reason", Message(demand.status())});
    return;
  }
  others_[name] = {std::string(kube::VersionOf(*lease)), loop_.clock().Now(), *std::move(demand)};
  if (!drop_timer_.is_armed()) {
    drop_timer_.Arm(kDeadAfter, [this] { DropDead(); });
  }
  changed_();
}

void DemandBoard::OnLeaseGone(const kube::ObjectPtr& lease) {
  if (others_.erase(std::string(kube::NameOf(*lease))) > 0) {
    changed_();
  }
}

// One that has no calls need not show that it lives. The Leases of those that ended go, too.
void DemandBoard::DropDead() {
  const SteadyTime oldest = loop_.clock().Now() - kDeadAfter;
  std::optional<SteadyTime> next;
  bool has_changed = false;
  for (auto at = others_.begin(); at != others_.end();) {
    const auto& [name, other] = *at;
    if (other.changed > oldest) {
      next = std::min(next.value_or(other.changed), other.changed);
      ++at;
      continue;
    }
    has_changed = has_changed || !other.demand.empty();
    if (is_scaling_) {
      removals_[name] = client_.Send(kube::DeleteRequest(kube::kLeases.Object(options_.space, name),
                                                         {.resource_version = other.version}),
                                     [this, name](const StatusOr<json::value>&) {
                                       const auto ended = removals_.extract(name);
                                     });
    }
    at = others_.erase(at);
  }
  if (next) {
    drop_timer_.Arm(*next - oldest, [this] { DropDead(); });
  }
  if (has_changed) {
    changed_();
  }
}

int64_t DemandBoard::OthersCalls(const std::string& key) const {
  int64_t calls = 0;
  for (const auto& [name, other] : others_) {
    const auto found = other.demand.find(key);
    calls += found == other.demand.end() ? 0 : found->second;
  }
  return calls;
}

void DemandBoard::SetScaling(bool is_scaling) {
  is_scaling_ = is_scaling;
  has_changed_ = shown_ != written_;
  ArmWrite();
}

void DemandBoard::Show(const std::string& key, int64_t calls) {
  const auto found = shown_.find(key);
  if ((found == shown_.end() ? 0 : found->second) == calls) {
    return;
  }
  if (calls == 0) {
    shown_.erase(found);
  } else {
    shown_[key] = calls;
  }
  has_changed_ = true;
  ArmWrite();
}

void DemandBoard::ArmWrite() {
  // The one that scales knows its own calls; its Lease of earlier times must not be counted.
  const bool is_changed = is_scaling_ ? !written_.empty() : has_changed_;
  const bool is_renewed = !is_scaling_ && !written_.empty();
  if (call_ != nullptr || (!is_changed && !is_renewed)) {
    return;
  }
  const SteadyTime due = last_write_ + (is_changed ? kWriteEvery : kRenewEvery);
  if (write_timer_.is_armed() && write_due_ <= due) {
    return;
  }
  write_due_ = due;
  const auto delay = std::max(due - loop_.clock().Now(), std::chrono::nanoseconds(0));
  write_timer_.Arm(delay, [this] { Write(); });
}

void DemandBoard::Write() {
  last_write_ = loop_.clock().Now();
  const Demand demand = is_scaling_ ? Demand() : shown_;
  has_changed_ = false;
  const json::object lease = {
      {"apiVersion", "coordination.k8s.io/v1"},
      {"kind", "Lease"},
      {"metadata",
       {{"name", LeaseName(options_.identity)},
        {"namespace", options_.space},
        {"labels", {{kBoardLabel, "calls"}, {kManagedByLabel, kGatewayManager}}},
        {"annotations", {{kDemandAnnotation, PrintDemand(demand)}}}}},
      {"spec",
       {{"holderIdentity", options_.identity},
        {"renewTime", FormatMicroTime(loop_.clock().WallNow())}}}};
  StatusOr<kube::ApiRequest> request =
      kube::ApplyRequest(kube::kLeases.Object(options_.space, LeaseName(options_.identity)), lease,
                         true, {.field_manager = kGatewayManager});
  if (!request.ok()) {
    KGPU_LOG(kWarning, "calls not shown to other gateways", {"reason", Message(request.status())});
    return;
  }
  call_ = client_.Send(*std::move(request), [this, demand](const StatusOr<json::value>& answer) {
    const auto ended = std::move(call_);
    if (answer.ok()) {
      written_ = demand;
    } else {
      has_changed_ = true;
    }
    ArmWrite();
  });
}

}  // namespace kgpu::functions
